"""The contract's promises for indexing beyond documents: changes, access, hiding, giving up, own vectors, providers."""

from typing import Any

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.collection_pb2 import ChunkingSettings, Collection, CollectionSettings, EmbeddingSettings
from footnote.types.v1.provider_pb2 import PROVIDER_KIND_EMBEDDING, PROVIDER_KIND_STORE
from footnote.types.v1.role_pb2 import ROLE_SYSTEM, ROLE_WRITER
from footnote.types.v1.vector_pb2 import VectorRow
from google.protobuf.field_mask_pb2 import FieldMask

from footnote_conformance.stages.asking import refused, stranger, with_scope
from footnote_conformance.stages.common import walked
from footnote_conformance.stages.library import TEXTS, Library
from footnote_conformance.suite import Suite, expect
from footnote_conformance.target import Refusal, Target

_NO_COLLECTION = ("NOT_FOUND", "COLLECTION_NOT_FOUND")
_NO_VECTOR = ("NOT_FOUND", "VECTOR_NOT_FOUND")
_ILLEGAL = ("FAILED_PRECONDITION", "ILLEGAL_STATE")
_DENIED = ("PERMISSION_DENIED", "PERMISSION_DENIED")
_LENGTH = ("INVALID_ARGUMENT", "DIMENSION_MISMATCH")


def add_to(suite: Suite) -> None:
    """Add these checks, after the others."""
    _of_collections(suite)
    _of_documents(suite)
    _of_vectors(suite)
    _of_providers(suite)


def _library(target: Target) -> Library:
    return Library(target.stage, target.scope)


def _of_collections(suite: Suite) -> None:
    @suite.check(
        "Changes what the mask names.",
    )
    async def masks_say_what_changes(target: Target) -> None:
        """And the rest stays, whatever the resource holds."""
        async with _library(target).collection("instruments", description="old") as made:
            wanted = Collection(name="renamed", description="new")
            mask = FieldMask(paths=["description"])
            await target.call("UpdateCollection", collection=made.id, resource=wanted, update_mask=mask)
            found = (await target.call("GetCollection", collection=made.id)).collection
            reported = (found.name, found.description)
            expect(reported == ("instruments", "new"), f"name and description are {reported}")

    @suite.check(
        "Changing embedding or chunking settings does not touch what is indexed until a reindex.",
    )
    async def new_settings_leave_what_is_indexed(target: Target) -> None:
        """The chunks of before are listed as they were."""
        library = _library(target)
        async with library.collection() as made:
            await library.index(made, "sextant", TEXTS["sextant"])
            one: dict[str, Any] = {"collection_id": made.id, "document_id": "sextant"}
            before = (await target.call("ListChunks", **one)).chunks
            wanted = Collection(settings=CollectionSettings(chunking=ChunkingSettings(size=100)))
            mask = FieldMask(paths=["settings.chunking.size"])
            await target.call("UpdateCollection", collection=made.id, resource=wanted, update_mask=mask)
            after = (await target.call("ListChunks", **one)).chunks
            same = [(chunk.id, chunk.text) for chunk in after] == [(chunk.id, chunk.text) for chunk in before]
            expect(before and same, f"there were {len(before)} chunks, and are {len(after)} others")

    @suite.check(
        "As for a change, the caller must own it or administer the tenant.",
    )
    async def deleting_needs_ownership(target: Target) -> None:
        """A colleague who may write in it may not delete it."""
        colleague = Scope(tenant_id=target.scope.tenant_id, user_id="colleague", roles=[ROLE_WRITER])
        async with _library(target).collection() as made:
            call = with_scope(target, "DeleteCollection", colleague, collection=made.id)
            await refused(call, _DENIED, "DeleteCollection of another user's")
            await target.call("GetCollection", collection=made.id)

    @suite.check(
        "Returns the collections with these names or ids, or all visible ones, with the settings that a search of "
        "them uses.",
        "ResolveCollectionsResponse.collections: In the order asked for.",
    )
    async def collections_are_resolved_in_order(target: Target) -> None:
        """By name and by id; another tenant sees none."""
        library = _library(target)
        async with library.collection("first") as first, library.collection("second") as second:
            for names in ([second.id, "first"], ["second", first.id]):
                found = (await target.call("ResolveCollections", collections=names)).collections
                names = [one.name for one in found]
                expect(names == ["second", "first"], f"'second' and 'first' are resolved as {names}")
            seen = {one.id for one in (await target.call("ResolveCollections")).collections}
            expect(seen == {first.id, second.id}, f"of 2 collections that the caller can see {len(seen)} are resolved")
            others = (await with_scope(target, "ResolveCollections", stranger(target))).collections
            expect(not others, f"another tenant sees {len(others)} collections")

    @suite.check(
        "The collections that the caller may read, in no particular order; absent and hidden ones are left out.",
        "The caller may also change, share and delete it.",
    )
    async def access_is_reported(target: Target) -> None:
        """Of one's own everything, of another tenant's nothing."""
        async with _library(target).collection() as made:
            asked = {"collection_ids": [made.id, "f" * 32]}
            held = (await target.call("AuthorizeCollections", **asked)).collections
            reported = [(one.collection_id, one.may_manage) for one in held]
            expect(reported == [(made.id, True)], f"its owner gets {reported}")
            held = (await with_scope(target, "AuthorizeCollections", stranger(target), **asked)).collections
            expect(not held, f"another tenant sees {len(held)}")

    @suite.check(
        "Hides a collection that is about to be deleted: it exists for services only, and its name is free.",
        "For callers that may delete it; only services can restore it: to other callers a hidden collection does not "
        "exist.",
        "A service may repeat the call without effect.",
    )
    async def hidden_collections_are_out_of_sight(target: Target) -> None:
        """Until a service restores them."""
        system = Scope(tenant_id=target.scope.tenant_id, user_id="conformance", roles=[ROLE_SYSTEM])
        async with _library(target).collection() as made:
            for scope in (target.scope, system):
                answer = await with_scope(target, "HideCollection", scope, collection=made.id)
                expect(answer.collection_id == made.id, f"it says that '{answer.collection_id}' is hidden")
            for name in (made.id, made.name):
                await refused(target.call("GetCollection", collection=name), _NO_COLLECTION, "what is hidden")
            async with _library(target).collection():  # its name is free
                pass
            restore: dict[str, Any] = {"collection": made.id, "restore": True}
            await refused(target.call("HideCollection", **restore), _NO_COLLECTION, "restoring by who is no service")
            await with_scope(target, "HideCollection", system, **restore)
            await target.call("GetCollection", collection=made.id)


def _of_documents(suite: Suite) -> None:
    @suite.check(
        "Cancels a revision that is being written, or will be: it never becomes searchable, its chunks are removed, "
        "and calls that are writing it end with ABORTED and the metadata `cancelled`.",
        "The searched revision stays.",
        "FAILED_PRECONDITION with ILLEGAL_STATE if the revision itself is already searched; repeating the call "
        "succeeds.",
    )
    async def cancelled_revisions_never_become_searchable(target: Target) -> None:
        """Cancelled before they come, they are refused."""
        library = _library(target)
        async with library.collection() as made:
            await library.index(made, "sextant", TEXTS["sextant"])
            one: dict[str, Any] = {"collection_id": made.id, "document_id": "sextant"}
            for _ in range(2):
                await target.call("CancelDocument", **one, revision=2)
            try:
                await library.index(made, "sextant", TEXTS["barometer"], revision=2)
                expect(False, "a revision that was cancelled was indexed")
            except Refusal as refusal:
                expect(refusal.code == "ABORTED", f"indexing a revision that was cancelled: {refusal}")
            listed = await target.call("ListChunks", **one)
            expect(listed.revision == 1 and listed.total_size, f"revision {listed.revision} is searched")
            await refused(target.call("CancelDocument", **one, revision=1), _ILLEGAL, "what is searched already")

    @suite.check(
        "Copies a document's current tags, metadata and expiry time to its searched chunks; vectors stay.",
        "Chunks changed, in the generation that is searched.",
    )
    async def chunks_take_their_documents_labels(target: Target) -> None:
        """Tags of now, and none of before."""
        library = _library(target)
        async with library.collection() as made:
            result = await library.index(made, "sextant", TEXTS["sextant"], tags=["old"])
            now = Document(id="sextant", collection_id=made.id, tags=["new"])
            changed = (await target.call("UpdateDocumentChunks", document=now)).chunks_updated
            expect(changed == result.chunks_stored, f"{changed} of {result.chunks_stored} were changed")
            listed = await target.call("ListChunks", collection_id=made.id, document_id="sextant")
            tags = {tag for chunk in listed.chunks for tag in chunk.tags}
            expect(tags == {"new"}, f"the chunks have the tags {sorted(tags)}")


def _of_vectors(suite: Suite) -> None:
    @suite.check(
        "Adds texts with vectors that the caller made, replacing those of the same ids.",
        "Returns one text with its vector; NOT_FOUND with VECTOR_NOT_FOUND if there is no such row.",
        "Lists the texts with own vectors of a collection in the order of their ids.",
        "Deletes texts with their vectors, all or none of those named.",
    )
    async def own_vectors_are_kept(target: Target) -> None:
        """Added, replaced, listed and deleted."""
        own = CollectionSettings(embedding=EmbeddingSettings(provider="none", dimensions=3))
        async with _library(target).collection("own", settings=own) as made:
            rows = [VectorRow(id=name, text=TEXTS[name], vector=[1, 0, 0]) for name in sorted(TEXTS, reverse=True)]
            added = await target.call("AddVectors", collection=made.id, rows=rows)
            reported = (added.count, list(added.ids))
            expect(reported == (3, [row.id for row in rows]), f"it says that it added {reported}")
            again = VectorRow(id="sextant", text="Another text.", vector=[0, 1, 0])
            await target.call("AddVectors", collection=made.id, rows=[again])
            one: dict[str, Any] = {"collection": made.id, "vector_id": "sextant"}
            found = (await target.call("GetVector", **one, include_vector=True)).row
            same = (found.text, [round(number) for number in found.vector]) == (again.text, [0, 1, 0])
            expect(same, f"it has the text '{found.text}' and the vector {list(found.vector)}")

            async def page(size: int, token: str) -> Any:
                return await target.call("ListVectors", collection=made.id, page_size=size, page_token=token)

            for size in (1, 2, 1000):
                names = [row.id for row in await walked(page, "rows", size)]
                expect(names == sorted(TEXTS), f"in pages of {size} there are {names}")
            both = target.call("DeleteVectors", collection=made.id, ids=["sextant", "nothing"])
            await refused(both, _NO_VECTOR, "deleting what is there with what is not")
            await target.call("GetVector", **one)
            gone = await target.call("DeleteVectors", collection=made.id, ids=["sextant"])
            expect(gone.deleted == 1, f"{gone.deleted} were deleted of 1")
            await refused(target.call("GetVector", **one), _NO_VECTOR, "what was deleted")

    @suite.check(
        "All or nothing.",
        "The vectors' dimension is not the collection's. INVALID_ARGUMENT.",
    )
    async def vectors_are_added_all_or_none(target: Target) -> None:
        """One of another length keeps the others out."""
        own = CollectionSettings(embedding=EmbeddingSettings(provider="none", dimensions=3))
        async with _library(target).collection("own", settings=own) as made:
            rows = [VectorRow(id="long", text="Long.", vector=[1, 0, 0]), VectorRow(id="short", text="S.", vector=[1])]
            call = target.call("AddVectors", collection=made.id, rows=rows)
            await refused(call, _LENGTH, "vectors of which one has another length")
            listed = (await target.call("ListVectors", collection=made.id)).rows
            expect(not listed, f"{len(listed)} were added all the same")


def _of_providers(suite: Suite) -> None:
    @suite.check(
        "Lists the embedding providers and the vector store.",
        "Counts and sizes of what is stored, per collection.",
    )
    async def providers_and_counts_are_listed(target: Target) -> None:
        """Providers by kind, and the chunks of a collection."""
        listed = (await target.call("ListProviders")).providers
        kinds = {one.kind for one in listed}
        expect(kinds == {PROVIDER_KIND_EMBEDDING, PROVIDER_KIND_STORE}, f"there are providers of the kinds {kinds}")
        expect(all(one.id for one in listed), "a provider has no id")
        library = _library(target)
        async with library.collection() as made:
            result = await library.index(made, "sextant", TEXTS["sextant"])
            counted = (await target.call("GetIndexStats")).collections
            reported = [(one.documents, one.visible_rows) for one in counted if one.collection_id == made.id]
            wanted = [(1, result.chunks_stored)]
            expect(reported == wanted, f"documents and chunks that searches see are {reported}, not {wanted}")
