"""The contract's promises for ingestion: bytes in, a document with a life cycle and blocks with exact places out."""

import hashlib
from typing import Any

from footnote.ingestion.v1.ingestion_service_pb2 import ReplaceMetadata, UploadMetadata
from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_HEADING
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_PROCESSING, DOCUMENT_STATE_UPLOADED
from google.protobuf.field_mask_pb2 import FieldMask

from footnote_conformance.stages import common
from footnote_conformance.stages.asking import INVALID, refused, stranger, with_scope
from footnote_conformance.stages.common import foreign_token, walked
from footnote_conformance.stages.library import Library
from footnote_conformance.suite import Suite, expect
from footnote_conformance.target import Refusal, Target, request_of

SUITE = Suite("ingestion", probe="GetIsolation", needs=("indexing",))
common.add_to(SUITE)

_TEXT = "# Travel\n\nThe allowance is 54 euros abroad — größer als 38 🙂.\n\n## Trains\n\nTrains are second class.\n"
_PART = 256 * 1024
_NO_DOCUMENT = ("NOT_FOUND", "DOCUMENT_NOT_FOUND")


def _library(target: Target) -> Library:
    return Library(target.others["indexing"], target.scope)


def _messages(
    target: Target,
    scope: Scope,
    data: bytes,
    metadata: UploadMetadata | ReplaceMetadata,
    name: str = "UploadDocument",
) -> list[Any]:
    """Return the requests of an upload: metadata first, then the bytes in parts of at most 256 KiB."""
    method = target.stage.contract.methods_by_name[name]
    parts = [data[start : start + _PART] for start in range(0, len(data), _PART)]
    first = request_of(method, scope, metadata=metadata)
    return [first, *(request_of(method, None, data=part) for part in parts)]


async def _uploaded(
    target: Target, collection_id: str, data: bytes | str = _TEXT, name: str = "travel.md", **fields: Any
) -> Any:
    """Upload a file and return the response."""
    metadata = UploadMetadata(collection_id=collection_id, filename=name, **fields)
    data = data.encode() if isinstance(data, str) else data
    return await target.stage.call("UploadDocument", _messages(target, target.scope, data, metadata))


async def _replaced(target: Target, document_id: str, data: str) -> Document:
    """Replace a document's file and return the document."""
    metadata = ReplaceMetadata(document_id=document_id)
    messages = _messages(target, target.scope, data.encode(), metadata, "ReplaceDocument")
    document: Document = (await target.stage.call("ReplaceDocument", messages)).document
    return document


@SUITE.check(
    "Checks and stores a file.",
    "UploadDocument returns the document in state UPLOADED, with revision 1 and indexed revision 0, with the size and"
    " the SHA-256 of its bytes, its tenant, its collection and the caller as its owner; GetDocument returns the same.",
    "Required; only its last path segment is kept.",
)
async def an_upload_is_a_document(target: Target) -> None:
    """Size and SHA-256 are those of the bytes; of the name the last segment is kept."""
    async with _library(target).collection() as made:
        document = (await _uploaded(target, made.id, name="../../etc/travel.md", tags=["t"])).document
        digest = hashlib.sha256(_TEXT.encode()).hexdigest()
        reported = (document.filename, document.size_bytes, document.sha256)
        expect(reported == ("travel.md", len(_TEXT.encode()), digest), f"name, size and SHA-256 are {reported}")
        state = (document.state, document.revision, document.indexed_revision)
        expect(state == (DOCUMENT_STATE_UPLOADED, 1, 0), f"state and revisions are {state}")
        owner = (document.tenant_id, document.owner_id, document.collection_id)
        expect(owner == (target.scope.tenant_id, target.scope.user_id, made.id), f"it belongs to {owner}")
        found = (await target.call("GetDocument", document_id=document.id)).document
        expect(found == document, "GetDocument returns another than UploadDocument")


@SUITE.check(
    "Streams a file back as it was uploaded: that of the searched revision, or of a named one.",
    "The document; first message only.",
    "DownloadDocumentResponse.data: The next part of the file, at most 256 KiB.",
)
async def downloads_are_what_was_uploaded(target: Target) -> None:
    """A file of several parts."""
    data = "".join(f"Line {number} of a long file.\n" for number in range(30_000)).encode()
    async with _library(target).collection() as made:
        document = (await _uploaded(target, made.id, data, "long.txt")).document
        parts = await target.call("DownloadDocument", document_id=document.id)
        expect(parts[0].document.id == document.id, "the first message does not have the document")
        expect(all(len(part.data) <= _PART for part in parts), "a part is larger than 256 KiB")
        expect(b"".join(part.data for part in parts) == data, "the bytes are others")


@SUITE.check(
    "While an earlier revision is searched, its file is kept, and the new file is the document's `replacement` until "
    "it is INDEXED.",
    "The revision whose file to return; unset means `indexed_revision`, or the newest if that is 0.",
    "Only the files of these two are kept; any other revision is NOT_FOUND with REVISION_NOT_FOUND.",
    "The file that follows, and the revisions that have it; first message only.",
    "With `searched_file`, it parses the file that searches see while a replacement is in progress.",
)
async def the_searched_file_is_kept(target: Target) -> None:
    """A replacement takes nothing away before it is INDEXED, and then it takes the old file's place."""
    new = "Another text altogether.\n"
    async with _library(target).collection() as made:
        document = (await _uploaded(target, made.id)).document
        one = {"document_id": document.id, "chunks_expected": 1, "chunks_stored": 1}

        async def has(text: str, **more: int) -> None:
            parts = await target.call("DownloadDocument", document_id=document.id, **more)
            expect(b"".join(part.data for part in parts) == text.encode(), f"{more or 'unset'}: the bytes are others")
            reported, digest = parts[0].file, hashlib.sha256(text.encode()).hexdigest()
            expect(reported.sha256 == digest, f"{more or 'unset'}: the file's SHA-256 is '{reported.sha256}'")

        async def indexed() -> None:
            await target.call("UpdateDocumentState", document_id=document.id, state=DOCUMENT_STATE_PROCESSING)
            await target.call("UpdateDocumentState", state=DOCUMENT_STATE_INDEXED, **one)

        await indexed()
        replaced = await _replaced(target, document.id, new)
        expect(replaced.sha256 == document.sha256, "the document's SHA-256 is the replacement's before it is INDEXED")
        expect(replaced.replacement.first_revision == 2, f"its replacement is {replaced.replacement}")
        await has(_TEXT)
        await has(_TEXT, revision=1)
        await has(new, revision=2)
        for which, text in ((True, _TEXT), (False, new)):
            messages = await target.call("ParseDocument", document_id=document.id, searched_file=which)
            found = next(block.text for one in messages for block in one.blocks)
            expect(found in text, f"with searched_file {which}, it parsed '{found}'")
        await indexed()
        await has(new)
        call = target.call("DownloadDocument", document_id=document.id, revision=1)
        await refused(call, ("NOT_FOUND", "REVISION_NOT_FOUND"), "a revision whose file is gone")


@SUITE.check(
    "Parses the newest revision's file into batches of blocks in reading order, with progress; the last message has "
    "the metadata.",
    "`locator.span` is exact: the document's text at the span is `text`.",
    "The extracted text of a revision is its blocks' texts, in order, each followed by one line feed.",
    "A stretch of text in Unicode code points, end exclusive.",
    "Its text, cleaned; never empty.",
    "A Markdown heading is a block of kind HEADING, and the blocks below it have it in their heading path.",
    "Number of blocks.",
)
async def blocks_have_exact_places(target: Target) -> None:
    """The document's text is every block's text followed by one line feed, counted in code points."""
    async with _library(target).collection() as made:
        document = (await _uploaded(target, made.id)).document
        messages = await target.call("ParseDocument", document_id=document.id)
        expect(messages[-1].HasField("metadata"), "the last message has no metadata")
        expect(not any(one.HasField("metadata") for one in messages[:-1]), "metadata came before the last message")
        blocks = [block for one in messages for block in one.blocks]
        text = "".join(f"{block.text}\n" for block in blocks)
        for block in blocks:
            there = text[block.locator.span.start : block.locator.span.end]
            expect(block.text and there == block.text, f"at the span of '{block.text}' stands '{there}'")
        headings = [block.text for block in blocks if block.kind == BLOCK_KIND_HEADING]
        expect(headings == ["Travel", "Trains"], f"the headings are {headings}")
        expect(
            list(blocks[-1].locator.heading_path) == ["Travel", "Trains"], "the last block is not below its headings"
        )
        expect(
            messages[-1].metadata.block_count == len(blocks), f"it counts {messages[-1].metadata.block_count} blocks"
        )


@SUITE.check(
    "Life cycle of a document: UPLOADED -> PROCESSING -> INDEXED or ERROR; ERROR -> PROCESSING is a retry of the "
    "same revision.",
    "Every other move is refused with ILLEGAL_STATE.",
    "The document or operation cannot change from its state to the requested one. FAILED_PRECONDITION.",
    "Chunks the store confirmed; state INDEXED is refused unless this equals `chunks_expected`.",
    "The revision that searches see; 0 before the first one is INDEXED.",
)
async def documents_go_through_their_states(target: Target) -> None:
    """INDEXED is refused unless as many chunks were stored as expected, and so is what is no step: ILLEGAL_STATE."""
    illegal = ("FAILED_PRECONDITION", "ILLEGAL_STATE")
    async with _library(target).collection() as made:
        one = (await _uploaded(target, made.id)).document.id
        leap = {"document_id": one, "state": DOCUMENT_STATE_INDEXED, "chunks_expected": 1, "chunks_stored": 1}
        await refused(target.call("UpdateDocumentState", **leap), illegal, "from UPLOADED to INDEXED at once")
        moved = await target.call("UpdateDocumentState", document_id=one, state=DOCUMENT_STATE_PROCESSING)
        expect(moved.document.state == DOCUMENT_STATE_PROCESSING, f"it is in state {moved.document.state}")
        half = target.call("UpdateDocumentState", **{**leap, "chunks_expected": 2})
        try:
            answer = await half
            expect(False, f"INDEXED with 1 of 2 chunks was answered: state {answer.document.state}")
        except Refusal as refusal:
            expect(refusal.typed and refusal.code != "INTERNAL", f"INDEXED with 1 of 2 chunks: {refusal}")
        moved = await target.call("UpdateDocumentState", **leap)
        state = (moved.document.state, moved.document.indexed_revision)
        expect(state == (DOCUMENT_STATE_INDEXED, 1), f"state and indexed revision are {state}")


@SUITE.check(
    "True when the collection had these bytes already; no file was stored.",
    "The document, new or the one that has the same bytes.",
    "Store it even if the collection has a document with the same bytes.",
)
async def the_same_bytes_are_one_document(target: Target) -> None:
    """Unless `allow_duplicate` asks for another."""
    async with _library(target).collection() as made:
        first, again = await _uploaded(target, made.id), await _uploaded(target, made.id, name="copy.md")
        expect(not first.duplicate, "the first upload counts as a duplicate")
        same = again.duplicate and again.document.id == first.document.id
        expect(same, f"the second one is '{again.document.id}', duplicate {again.duplicate}")
        third = await _uploaded(target, made.id, allow_duplicate=True)
        expect(third.document.id != first.document.id, "allow_duplicate gave the same document")


@SUITE.check(
    "Nothing is kept when it fails: empty, too large, unknown format, password-protected, quota used up.",
    "The file has no bytes. INVALID_ARGUMENT.",
    "The bytes are of no format that we read. INVALID_ARGUMENT.",
    "The bytes received do not match `size_bytes` or `sha256`; send them again. INVALID_ARGUMENT.",
)
async def bad_files_are_refused(target: Target) -> None:
    """And the collection holds no document afterwards."""
    async with _library(target).collection() as made:
        for about, reason, data, fields in (
            ("no bytes", "FILE_EMPTY", b"", {}),
            ("bytes of no format", "FILE_UNSUPPORTED", bytes(range(256)) * 40, {"name": "x.bin"}),
            ("fewer bytes than announced", "TRANSFER_CORRUPT", b"text", {"size_bytes": 5}),
            ("another SHA-256", "TRANSFER_CORRUPT", b"text", {"sha256": "0" * 64}),
        ):
            call = _uploaded(target, made.id, data, **fields)
            await refused(call, ("INVALID_ARGUMENT", reason), f"a file of {about}")
        left = (await target.call("ListDocuments", collection_ids=[made.id])).total_size
        expect(left == 0, f"{left} of them were kept")


@SUITE.check(
    "Collection to put it in. Required.",
    "Name of the file. Required; only its last path segment is kept.",
    "A text that is required is missing when it is empty or blank: INVALID_ARGUMENT with INVALID_FIELD and the "
    "field's name.",
    "The collection does not exist or is not visible to the caller. NOT_FOUND.",
)
async def uploads_say_where_they_go(target: Target) -> None:
    """What is missing is INVALID_FIELD."""
    call = _uploaded(target, "f" * 32)
    await refused(call, ("NOT_FOUND", "COLLECTION_NOT_FOUND"), "an upload into no collection")
    async with _library(target).collection() as made:
        try:
            await _uploaded(target, made.id, name="")
            expect(False, "a file without a name was taken")
        except Refusal as refusal:
            expect((refusal.code, refusal.reason) == INVALID, f"a file without a name: {refusal}")


@SUITE.check(
    "Nothing of one tenant is ever visible to another.",
    "The document does not exist or is not visible to the caller. NOT_FOUND.",
    "Succeeds, with nothing deleted, if the document does not exist or the caller cannot see it.",
)
async def nothing_of_another_tenant_is_visible(target: Target) -> None:
    """To get, download, parse or change; deleting what cannot be seen succeeds and does nothing."""
    other = stranger(target)
    async with _library(target).collection() as made:
        one = (await _uploaded(target, made.id)).document.id
        for scope, document_id in ((other, one), (target.scope, "f" * 32)):
            for method in ("GetDocument", "DownloadDocument", "ParseDocument"):
                call = with_scope(target, method, scope, document_id=document_id)
                await refused(call, _NO_DOCUMENT, f"{method} of what cannot be seen")
            await with_scope(target, "DeleteDocument", scope, document_id=document_id)
        listed = await with_scope(target, "ListDocuments", other)
        expect(not listed.documents and not listed.total_size, f"{listed.total_size} of another tenant are listed")
        await target.call("GetDocument", document_id=one)


@SUITE.check(
    "Lists documents, newest first by default.",
    "The pages have every element once, in one order, and at most `page_size` of them each; the last has no "
    "`next_page_token`.",
    "Documents on all pages.",
    "In a list that comes in pages, a `page_size` below 0 and a `page_token` that is no `next_page_token` of the "
    "same request by the same caller are INVALID_ARGUMENT with INVALID_FIELD.",
)
async def documents_come_in_pages(target: Target) -> None:
    """Every one once, whatever the size of the pages."""
    async with _library(target).collection() as made:
        ids = [(await _uploaded(target, made.id, f"Text {at}.\n", f"{at}.txt")).document.id for at in range(5)]

        async def page(size: int, token: str, scope: Scope = target.scope) -> Any:
            fields = {"collection_ids": [made.id], "page_size": size, "page_token": token}
            answer = await with_scope(target, "ListDocuments", scope, **fields)
            expect(answer.total_size == len(ids), f"total_size is {answer.total_size} of {len(ids)}")
            return answer

        for size in (1, 2, 5, 1000):
            found = [one.id for one in await walked(page, "documents", size)]
            expect(found == ids[::-1], f"in pages of {size} there are {len(found)}, newest first: {found == ids[::-1]}")
        colleague = Scope(tenant_id=target.scope.tenant_id, user_id="colleague", roles=target.scope.roles)
        await foreign_token(page, lambda size, token: page(size, token, colleague))


@SUITE.check(
    "Changes tags, metadata or time of expiry of a document.",
    "Changes with every change of this record; send it back to change only the version that you have read.",
    "Another call changed the resource; read it again. ABORTED.",
)
async def changes_need_the_current_etag(target: Target) -> None:
    """Tags are changed and read back."""
    async with _library(target).collection() as made:
        before = (await _uploaded(target, made.id)).document
        fields = {
            "document_id": before.id,
            "resource": Document(tags=["new"], etag=before.etag),
            "update_mask": FieldMask(paths=["tags"]),
        }
        after = (await target.call("UpdateDocument", **fields)).document
        expect(list(after.tags) == ["new"] and after.etag != before.etag, f"the tags are {list(after.tags)}")
        call = target.call("UpdateDocument", **fields)
        await refused(call, ("ABORTED", "CONFLICT"), "a change with an old etag")


@SUITE.check(
    "Deletes the record and the file.",
    "Succeeds, with nothing deleted, if the document does not exist or the caller cannot see it.",
    "The document does not exist or is not visible to the caller. NOT_FOUND.",
)
async def deleted_documents_are_gone(target: Target) -> None:
    """Twice deleted is deleted."""
    async with _library(target).collection() as made:
        one = (await _uploaded(target, made.id)).document.id
        for _ in range(2):
            await target.call("DeleteDocument", document_id=one)
        await refused(target.call("GetDocument", document_id=one), _NO_DOCUMENT, "what was deleted")


@SUITE.check(
    "Replaces the file, as a new revision in state UPLOADED.",
    "If the newest revision has the same bytes, and no other name is given, nothing changes.",
    "True if the bytes are the same as before, under no other name; nothing changed.",
)
async def replacements_are_revisions(target: Target) -> None:
    """Of the same bytes there is no second revision."""
    async with _library(target).collection() as made:
        document = (await _uploaded(target, made.id)).document
        metadata = ReplaceMetadata(document_id=document.id)
        for data, unchanged, revision in ((_TEXT, True, 1), ("Another text.\n", False, 2)):
            messages = _messages(target, target.scope, data.encode(), metadata, "ReplaceDocument")
            answer = await target.stage.call("ReplaceDocument", messages)
            reported = (answer.unchanged, answer.document.revision)
            expect(
                reported == (unchanged, revision), f"unchanged and revision are {reported}, not {(unchanged, revision)}"
            )
        expect(answer.document.state == DOCUMENT_STATE_UPLOADED, f"it is in state {answer.document.state}")


@SUITE.check(
    "Streams the changes in a collection since a time, changed documents first, then deletions; the last message has "
    "the time for the next call.",
    "The `since` of the next call, a little in the past so that nothing is missed; last message only.",
)
async def changes_are_listed_since_a_time(target: Target) -> None:
    """Without a moment every document; from it on what came, and what was deleted."""
    async with _library(target).collection() as made:
        kept, gone = [(await _uploaded(target, made.id, f"Text {at}.\n", f"{at}.txt")).document.id for at in range(2)]
        first = await target.call("ListDocumentChanges", collection_id=made.id)
        expect(first and first[-1].HasField("until"), "the last message does not say from when to ask on")
        expect(not any(one.HasField("until") for one in first[:-1]), "a message before the last one says it")
        found = {document.id for one in first for document in one.documents}
        expect(found == {kept, gone}, f"of 2 documents {len(found)} are reported")
        await target.call("DeleteDocument", document_id=gone)
        later = await target.call("ListDocumentChanges", collection_id=made.id, since=first[-1].until)
        deleted = [one for message in later for one in message.deleted]
        expect(gone in deleted and kept not in deleted, f"deleted are {deleted}, not '{gone}'")
