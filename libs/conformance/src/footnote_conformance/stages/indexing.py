"""The contract's promises for indexing: blocks in, searchable chunks out; collections; nothing of other tenants."""

from typing import Any

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.role_pb2 import ROLE_READER

from footnote_conformance.stages import common, holdings
from footnote_conformance.stages.asking import refused, stranger, with_scope
from footnote_conformance.stages.common import foreign_token, walked
from footnote_conformance.stages.library import TEXTS, Library, blocks_of
from footnote_conformance.suite import Suite, expect
from footnote_conformance.target import Refusal, Target

SUITE = Suite("indexing", probe="ListProviders")
common.add_to(SUITE)

_NO_COLLECTION = ("NOT_FOUND", "COLLECTION_NOT_FOUND")


def _library(target: Target) -> Library:
    return Library(target.stage, target.scope)


@SUITE.check(
    "Returns one collection by name or id.",
    "CreateCollection returns the collection as given, with an id, its tenant and the caller as its owner; "
    "GetCollection returns the same.",
)
async def a_collection_is_made_and_found(target: Target) -> None:
    """It belongs to the caller."""
    async with _library(target).collection("instruments", description="What the museum has.") as made:
        expect(made.id and made.name == "instruments", f"it has id '{made.id}' and name '{made.name}'")
        owner = (made.tenant_id, made.owner_id)
        expect(owner == (target.scope.tenant_id, target.scope.user_id), f"it belongs to {owner}")
        for name in (made.id, made.name):
            found = (await target.call("GetCollection", collection=name)).collection
            same = (found.id, found.description) == (made.id, made.description)
            expect(same, f"'{name}' finds '{found.id}' with description '{found.description}'")


@SUITE.check(
    "A collection of that name exists already. ALREADY_EXISTS.",
    "Unique among the shared collections of the tenant, and among the private ones of its owner, so that a name never"
    " reveals a hidden one.",
)
async def names_are_taken_once(target: Target) -> None:
    """In one tenant; another one may have the same name."""
    async with _library(target).collection():
        again = target.call("CreateCollection", collection=Collection(name="instruments"))
        await refused(again, ("ALREADY_EXISTS", "COLLECTION_EXISTS"), "a second collection of the name")
        async with Library(target.stage, stranger(target)).collection():
            pass


@SUITE.check(
    "Validate the request and return the collection that it would create, but create none.",
)
async def validating_makes_nothing(target: Target) -> None:
    """The collection is returned as it would be."""
    answer = await target.call("CreateCollection", collection=Collection(name="planned"), validate_only=True)
    expect(answer.collection.name == "planned", f"it is returned with the name '{answer.collection.name}'")
    await refused(target.call("GetCollection", collection="planned"), _NO_COLLECTION, "what was only validated")


@SUITE.check(
    "The collection does not exist or is not visible to the caller. NOT_FOUND.",
    "For a collection that the caller cannot see, every method that names one returns NOT_FOUND with "
    "COLLECTION_NOT_FOUND.",
)
async def absent_collections_are_not_found(target: Target) -> None:
    """By every method that names one."""
    missing = "f" * 32
    requests: dict[str, dict[str, Any]] = {
        "GetCollection": {"collection": missing},
        "ResolveCollections": {"collections": [missing]},
        "UpdateCollection": {"collection": missing, "resource": Collection(description="x")},
        "DeleteCollection": {"collection": missing},
        "ListVectors": {"collection": missing},
        "ListChunks": {"collection_id": missing, "document_id": "d"},
    }
    for method, fields in requests.items():
        await refused(target.call(method, **fields), _NO_COLLECTION, f"{method} of what does not exist")


@SUITE.check(
    "Nothing of one tenant is ever visible to another.",
    "For a collection that the caller cannot see, every method that names one returns NOT_FOUND with "
    "COLLECTION_NOT_FOUND.",
    "Returns one searched chunk; NOT_FOUND with CHUNK_NOT_FOUND if the caller can see no such chunk.",
)
async def nothing_of_another_tenant_is_visible(target: Target) -> None:
    """Neither by id nor by name nor in a list, to read or to delete."""
    library, other = _library(target), stranger(target)
    async with library.collection() as made:
        await library.fill(made)
        for name in (made.id, made.name):
            for method in ("GetCollection", "DeleteCollection"):
                call = with_scope(target, method, other, collection=name)
                await refused(call, _NO_COLLECTION, f"{method} of another tenant's")
        listed = await with_scope(target, "ListCollections", other)
        expect(not listed.collections, f"another tenant's {len(listed.collections)} collections are listed")
        chunk = (await target.call("ListChunks", collection_id=made.id, document_id="sextant")).chunks[0]
        call = with_scope(target, "GetChunk", other, chunk_id=chunk.id)
        await refused(call, ("NOT_FOUND", "CHUNK_NOT_FOUND"), "another tenant's chunk")
        await target.call("GetCollection", collection=made.id)


@SUITE.check(
    "Creates a collection: a private one needs ROLE_WRITER, one for all of the tenant ROLE_ADMIN.",
    "The caller's role does not allow this. PERMISSION_DENIED.",
)
async def readers_make_no_collections(target: Target) -> None:
    """Else PERMISSION_DENIED."""
    reader = Scope(tenant_id=target.scope.tenant_id, user_id="reader", roles=[ROLE_READER])
    call = with_scope(target, "CreateCollection", reader, collection=Collection(name="mine"))
    await refused(call, ("PERMISSION_DENIED", "PERMISSION_DENIED"), "a collection of a reader's")


@SUITE.check(
    "Streams progress and at last the result; then the new revision has replaced the old one in searches.",
    "The result's chunks_stored equals its chunks_expected and is not 0 if there is text; ListChunks returns that "
    "many, and together they contain the document's text.",
    "Lists the chunks of a document's searched revision in reading order.",
    "The document's extracted text at `locator.span` is exactly this.",
    "Their revision; 0 if none is searched.",
    "Documents searchable now.",
    "Chunk.tenant_id: Tenant it belongs to.",
)
async def a_document_becomes_searchable(target: Target) -> None:
    """Its chunks are listed in reading order, each exactly a piece of the text, and counted."""
    library = _library(target)
    async with library.collection() as made:
        result = await library.index(made, "sextant", TEXTS["sextant"])
        expect(
            result.chunks_stored == result.chunks_expected > 0, f"{result.chunks_stored} of {result.chunks_expected}"
        )
        listed = await target.call("ListChunks", collection_id=made.id, document_id="sextant")
        expect(listed.total_size == result.chunks_stored, f"{listed.total_size} are listed of {result.chunks_stored}")
        expect(listed.revision == 1, f"they are of revision {listed.revision}")
        text = "".join(f"{block.text}\n" for block in blocks_of("About the sextant", TEXTS["sextant"]))
        for chunk in listed.chunks:
            span = chunk.locator.span
            expect(text[span.start : span.end] == chunk.text, f"at {span.start}-{span.end} stands not '{chunk.text}'")
            expect(chunk.tenant_id == target.scope.tenant_id, f"a chunk belongs to tenant '{chunk.tenant_id}'")
        whole = "\n".join(chunk.text for chunk in listed.chunks)
        expect(TEXTS["sextant"] in whole, "the chunks do not hold the document's text")
        found = (await target.call("GetCollection", collection=made.id)).collection
        expect(found.document_count == 1, f"the collection counts {found.document_count} documents")


@SUITE.check(
    "Repeating an interrupted call stores nothing twice.",
    "Streams progress and at last the result; then the new revision has replaced the old one in searches.",
)
async def revisions_replace_one_another(target: Target) -> None:
    """Of a document there is one revision to be seen."""
    library = _library(target)
    async with library.collection() as made:
        for _ in range(2):
            result = await library.index(made, "sextant", TEXTS["sextant"])
        listed = await target.call("ListChunks", collection_id=made.id, document_id="sextant")
        expect(listed.total_size == result.chunks_expected, f"indexed twice there are {listed.total_size} chunks")
        await library.index(made, "sextant", TEXTS["barometer"], revision=2)
        listed = await target.call("ListChunks", collection_id=made.id, document_id="sextant")
        expect(listed.revision == 2, f"revision {listed.revision} is searched")
        expect(not any("Franklin" in chunk.text for chunk in listed.chunks), "the old revision is still there")


@SUITE.check(
    "Last message; without it the call counts as interrupted and nothing becomes visible.",
    "An interrupted IndexDocument ends without a result, or with a typed error.",
)
async def a_broken_off_document_is_not_visible(target: Target) -> None:
    """However the stage ends such a call."""
    library = _library(target)
    async with library.collection() as made:
        await library.index(made, "barometer", TEXTS["barometer"])
        document = Document(id="sextant", collection_id=made.id, revision=1, filename="sextant.md")
        messages = library.messages(document, blocks_of("About", TEXTS["sextant"]))[:2]
        try:
            events = await target.stage.call("IndexDocument", messages)
            expect(not any(event.HasField("result") for event in events), "it has a result")
        except Refusal as refusal:
            expect(refusal.typed, f"it ended with {refusal}")
        listed = await target.call("ListChunks", collection_id=made.id, document_id="sextant")
        expect(listed.total_size == 0, f"{listed.total_size} chunks are visible")


@SUITE.check(
    "Removes the chunks of a document, of all revisions or of one.",
    "Removing chunks that are already gone succeeds.",
    "DeleteDocumentChunksResponse.chunks_deleted: Chunks removed.",
    "DeleteDocumentChunks leaves the chunks of other documents.",
)
async def removed_chunks_are_gone(target: Target) -> None:
    """And the other documents stay."""
    library = _library(target)
    async with library.collection() as made:
        await library.fill(made)
        gone = {"collection_id": made.id, "document_id": "sextant"}
        first = await target.call("DeleteDocumentChunks", **gone)
        expect(first.chunks_deleted > 0, "no chunk was removed")
        again = await target.call("DeleteDocumentChunks", **gone)
        expect(again.chunks_deleted == 0, f"removed again: {again.chunks_deleted} chunks")
        expect((await target.call("ListChunks", **gone)).total_size == 0, "chunks are still listed")
        other = await target.call("ListChunks", collection_id=made.id, document_id="barometer")
        expect(other.total_size > 0, "another document's chunks are gone as well")


@SUITE.check(
    "Deletes a collection with all its chunks.",
    "Id of the deleted collection.",
    "After DeleteCollection the collection is not found, and its name is free.",
)
async def a_deleted_collection_is_gone(target: Target) -> None:
    """It is not found afterwards, and its name is free."""
    library = _library(target)
    async with library.collection() as made:
        await library.fill(made)
        answer = await target.call("DeleteCollection", collection=made.id)
        expect(answer.collection_id == made.id, f"it says that '{answer.collection_id}' was deleted")
        await refused(target.call("GetCollection", collection=made.id), _NO_COLLECTION, "what was deleted")
        async with library.collection():
            pass


@SUITE.check(
    "Lists the collections visible to the caller, by name.",
    "The pages have every element once, in one order, and at most `page_size` of them each; the last has no "
    "`next_page_token`.",
    "Collections on all pages.",
    "In a list that comes in pages, a `page_size` below 0 and a `page_token` that is no `next_page_token` of the "
    "same request by the same caller are INVALID_ARGUMENT with INVALID_FIELD.",
)
async def collections_come_in_pages(target: Target) -> None:
    """Every one once, whatever the size of the pages."""
    library, names = _library(target), ["a1", "b2", "c3", "d4", "e5"]

    async def page(size: int, token: str, scope: Scope = target.scope) -> Any:
        answer = await with_scope(target, "ListCollections", scope, page_size=size, page_token=token)
        expect(answer.total_size == len(names), f"total_size is {answer.total_size} of {len(names)}")
        return answer

    made = [(await target.call("CreateCollection", collection=Collection(name=name))).collection for name in names]
    try:
        for size in (1, 2, 5, 1000):
            found = [one.name for one in await walked(page, "collections", size)]
            expect(found == names, f"in pages of {size} there are {found}")
        colleague = Scope(tenant_id=target.scope.tenant_id, user_id="colleague", roles=target.scope.roles)
        await foreign_token(page, lambda size, token: page(size, token, colleague))
    finally:
        for one in made:
            await library.call("DeleteCollection", collection=one.id)


@SUITE.check(
    "An etag, if given, must be the current one.",
    "Changes with every change; send it back to change only the version that you have read.",
    "Another call changed the resource; read it again. ABORTED.",
)
async def stale_etags_change_nothing(target: Target) -> None:
    """What was changed is read back."""
    async with _library(target).collection() as made:
        wanted = Collection(description="new", etag=made.etag)
        changed = (await target.call("UpdateCollection", collection=made.id, resource=wanted)).collection
        expect(changed.description == "new" and changed.etag != made.etag, "it was not changed, or has the same etag")
        stale = Collection(description="newer", etag=made.etag)
        call = target.call("UpdateCollection", collection=made.id, resource=stale)
        await refused(call, ("ABORTED", "CONFLICT"), "a change with an old etag")


holdings.add_to(SUITE)
