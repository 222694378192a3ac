"""Operations on documents: upload, replace, get, list, download, delete, and life cycle transitions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from uuid import uuid4

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DocumentFile
from footnote_database.cancel_safe import outcome
from footnote_kit import transient_errors
from footnote_kit.access import Access
from footnote_kit.document_files import newest
from footnote_kit.errors import FootnoteError, Internal, InvalidArgument, NotFound
from footnote_kit.logs import get_logger
from footnote_kit.paging import Page
from footnote_kit.telemetry import counter, span
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from footnote_ingestion.documents import spool
from footnote_ingestion.documents.permissions import Permissions
from footnote_ingestion.model import lifecycle
from footnote_ingestion.model.files import file_of, moved, with_new_file
from footnote_ingestion.model.quota import Quota
from footnote_ingestion.model.repeats import (
    Outcome,
    Repeated,
    Request,
    RequestKey,
    check_same,
    check_transfer,
    digest,
    merge,
)
from footnote_ingestion.model.values import GRACE_MICROS, ListQuery, Stored, Unfinished, new_key, now_micros
from footnote_ingestion.parsers.base import Limits
from footnote_ingestion.parsers.failures import INTERNAL, PARSER_KILLED, ParseError
from footnote_ingestion.parsers.sniff import FileType
from footnote_ingestion.ports import Documents, Files, Readers, Requests
from footnote_ingestion.worker.wire import Job

_log = get_logger("footnote.ingestion")

_MAX_ETAG = 18

# FailureReason -> ErrorReason of the call that detects it.
_ERROR_REASONS = {
    "PASSWORD_PROTECTED": "FILE_PASSWORD_PROTECTED",
    "TOO_LARGE": "FILE_TOO_LARGE",
    "TIMEOUT": "FILE_TOO_LARGE",
    "OUT_OF_MEMORY": "FILE_TOO_LARGE",
    "UNSUPPORTED": "FILE_UNSUPPORTED",
    "NO_TEXT": "FILE_UNSUPPORTED",
}


@dataclass(frozen=True, slots=True)
class NewFile:
    """An uploader's description of a file, with validated names."""

    collection_id: str
    filename: str
    tags: tuple[str, ...]
    metadata: Struct
    source_type: str
    expire_time: Timestamp | None
    allow_duplicate: bool
    quota: Quota
    size: int | None = None
    sha256: str = ""
    request_id: str = ""
    about: bytes = b""
    """The whole description except `request_id`, to tell one request from another."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """The description of a document's new file, with validated names."""

    document_id: str
    filename: str
    etag: str
    quota: Quota
    request_id: str = ""
    about: bytes = b""
    """The whole description except `request_id`, to tell one request from another."""


@dataclass(frozen=True, slots=True)
class Uploaded:
    """The document, whether it existed before, and whether tags or metadata were added to it."""

    document: Document
    duplicate: bool = False
    merged: bool = False


def file_error(error: ParseError) -> FootnoteError:
    """Return a call's error for an unreadable file; its metadata has `failure_reason` and `hint`.

    A file whose parser was killed may be valid: this is Unavailable.
    """
    if error.reason == PARSER_KILLED:
        return transient_errors.unavailable(error.message, transient_errors.PARSER_KILLED)
    metadata = {"failure_reason": error.reason, "hint": error.hint}
    if error.reason == INTERNAL:
        return Internal(error.message, metadata=metadata)
    reason = _ERROR_REASONS.get(error.reason, "FILE_CORRUPT")
    return InvalidArgument(error.message, reason=reason, metadata=metadata)


class Catalog:
    """Documents with their files: no row refers to a missing file, no file outlives its row for long."""

    def __init__(
        self,
        documents: Documents,
        permissions: Permissions,
        requests: Requests,
        files: Files,
        inspectors: Readers,
        scratch: Path,
        max_file_bytes: int,
        max_documents: int,
        limits: Limits,
    ) -> None:
        self._documents = documents
        self._permissions = permissions
        self._requests = requests
        self._files = files
        self._inspectors = inspectors
        self._scratch = scratch
        self._max_file_bytes = max_file_bytes
        self._max_documents = max_documents
        self._limits = limits

    async def upload(self, scope: Scope, new: NewFile, parts: AsyncIterator[bytes]) -> Uploaded:
        """Check and store a file, or return the document with the same bytes, or the first answer to a request."""
        await self._permissions.to_upload(scope, new.collection_id)
        if new.size is not None and new.size > self._max_file_bytes:
            raise spool.too_large(self._max_file_bytes)
        quota = new.quota
        if not quota.own:
            quota = replace(quota, collection_documents=self._max_documents)
        async with spool.receive(parts, self._max_file_bytes, self._scratch) as received:
            check_transfer(received.size, received.sha256, new.size, new.sha256)
            if not new.request_id:
                return await self._take(scope, new, received, quota, None)
            key = RequestKey(scope.tenant_id, scope.user_id, new.request_id)
            request = Request(key, digest(new.about, received.sha256))
            known = await self._requests.find(key)
            try:
                if known is None:
                    return await self._take(scope, new, received, quota, request)
            except Repeated as faster:
                known = faster.outcome
            return await self._again(scope, request, known)

    async def _again(self, scope: Scope, request: Request, known: Outcome) -> Uploaded:
        """Return the first answer to a request."""
        check_same(known, request.content)
        return Uploaded(await self.get(scope, known.document_id), known.duplicate, known.merged)

    async def _take(
        self, scope: Scope, new: NewFile, received: spool.Received, quota: Quota, request: Request | None
    ) -> Uploaded:
        same = await self._documents.precheck(
            scope.tenant_id, new.collection_id, received.sha256, received.size, quota, new.allow_duplicate
        )
        if same is not None:
            return await self._merged(scope, new, same.document, request)
        kind = await self._inspect(scope, received.path, new.filename)
        async with self._stored(scope, received.path) as key:
            document = _new_document(scope, new, received, kind)
            same = await self._documents.insert(Stored(document, key, "", 1), quota, new.allow_duplicate, request)
            if same is not None:
                await self._give_up(key)
                return await self._merged(scope, new, same.document, request)
        counter("footnote.ingestion.bytes").add(received.size)
        _log.info("document_uploaded", document_id=document.id, bytes=received.size, document_type=kind.document_type)
        return Uploaded(document)

    async def _merged(self, scope: Scope, new: NewFile, there: Document, request: Request | None) -> Uploaded:
        """Add a duplicate's tags and metadata to the existing document."""

        def how(before: Stored) -> Stored:
            document = Document()
            document.CopyFrom(before.document)
            merge(document, new.tags, new.metadata)
            if document == before.document:
                return before
            return replace(before, document=document)

        after = (await self._documents.change(scope.tenant_id, there.id, how, request=request)).document
        return Uploaded(after, duplicate=True, merged=after.etag != there.etag)

    async def replace(self, scope: Scope, new: Replacement, parts: AsyncIterator[bytes]) -> tuple[Document, bool]:
        """Replace a document's file; return the document, and True when the bytes are unchanged."""
        seen = (await self._permissions.document(scope, new.document_id, Access.WRITE)).document
        key = RequestKey(scope.tenant_id, scope.user_id, new.request_id) if new.request_id else None
        known = await self._requests.find(key) if key else None
        if known is None:
            lifecycle.check_seen(seen, new.etag, 0)
        async with spool.receive(parts, self._max_file_bytes, self._scratch) as received:
            request = Request(key, digest(b"replacement " + new.about, received.sha256)) if key else None
            try:
                if known is None:
                    return await self._put(scope, new, seen, received, request)
            except Repeated as faster:
                known = faster.outcome
            check_same(known, request.content if request else "")
            return await self.get(scope, known.document_id), not known.merged

    async def _put(
        self, scope: Scope, new: Replacement, seen: Document, received: spool.Received, request: Request | None
    ) -> tuple[Document, bool]:
        if received.sha256 == newest(seen).sha256:
            if request is not None:
                await self._documents.change(scope.tenant_id, new.document_id, lambda before: before, request=request)
            return seen, True
        kind = await self._inspect(scope, received.path, new.filename or newest(seen).filename)
        old: list[str] = []
        async with self._stored(scope, received.path) as key:

            def how(before: Stored) -> Stored:
                document = newest(before.document)
                lifecycle.check_seen(document, new.etag, 0)
                file = DocumentFile(
                    filename=new.filename or document.filename,
                    mime_type=kind.mime_type,
                    document_type=kind.document_type,
                    size_bytes=received.size,
                    sha256=received.sha256,
                )
                after = with_new_file(before, file, key)
                old.extend(set(before.blob_keys()) - set(after.blob_keys()))
                return after

            stored = await self._documents.change(scope.tenant_id, new.document_id, how, new.quota, request=request)
        await self._drop(old)
        _log.info("document_replaced", document_id=new.document_id, revision=stored.document.revision)
        return stored.document, False

    async def get(self, scope: Scope, document_id: str) -> Document:
        """Return a document; raises `NotFound`."""
        return (await self._permissions.document(scope, document_id, Access.READ)).document

    async def list(
        self, scope: Scope, query: ListQuery, collection_ids: Sequence[str]
    ) -> tuple[list[Document], str, int]:
        """Return a page of documents, the next page's token, and the total number.

        Searches the named collections, or every one that the caller may read.
        """
        query = replace(query, collection_ids=await self._permissions.to_list(scope, collection_ids))
        found, token, total = await self._documents.list(query)
        return [stored.document for stored in found], token, total

    async def download(
        self, scope: Scope, document_id: str, revision: int | None = None
    ) -> tuple[Document, DocumentFile, AsyncGenerator[bytes, None]]:
        """Return a document, the file of one of its revisions, and its bytes in parts of at most 256 KiB."""
        stored = await self._permissions.document(scope, document_id, Access.READ)
        file, key = file_of(stored, revision)
        return stored.document, file, self._parts(document_id, key)

    async def _parts(self, document_id: str, key: str) -> AsyncGenerator[bytes, None]:
        try:
            async for part in self._files.parts(key):
                yield part
        except FileNotFoundError:  # deleted or replaced meanwhile
            raise NotFound(f"The file of document '{document_id}' is gone", reason="DOCUMENT_NOT_FOUND") from None

    async def begin_deletion(self, scope: Scope, document_id: str, etag: str, undo: bool) -> Document:
        """Hide a document before its deletion, or restore it; raises Aborted when it has another etag."""
        if undo:
            return (await self._documents.undo_deletion(scope.tenant_id, document_id)).document
        await self._permissions.document(scope, document_id, Access.WRITE)
        return (await self._documents.begin_deletion(scope.tenant_id, document_id, etag)).document

    async def unfinished(self, page: Page) -> tuple[Sequence[Unfinished], str]:
        """Return documents of all tenants with unfinished work, and the next page's token."""
        return await self._documents.unfinished(page)

    async def there(self, document_ids: Sequence[str]) -> Sequence[str]:
        """Return which of these documents exist, in any tenant and state."""
        return await self._documents.there(document_ids)

    async def labelled(self, scope: Scope, document_id: str, etag: str) -> None:
        """Record that a document's chunks match its record at an etag."""
        await self._permissions.document(scope, document_id, Access.WRITE)
        if not etag.isdecimal() or len(etag) > _MAX_ETAG:
            raise InvalidArgument.field("etag", "is not one that was given out")
        await self._documents.labelled(scope.tenant_id, document_id, int(etag))

    async def delete(self, scope: Scope, document_id: str) -> None:
        """Delete a document and its files; one that is deleted already, or hidden from the caller, is no error."""
        try:
            await self._permissions.to_change(scope, document_id)
        except NotFound:
            return
        keys = await self._documents.delete(scope.tenant_id, document_id)
        await self._drop(keys)
        if keys:
            _log.info("document_deleted", document_id=document_id)

    async def move(self, scope: Scope, document_id: str, move: lifecycle.Move) -> Document:
        """Move a document to another state of its life cycle."""
        await self._permissions.to_change(scope, document_id)
        released: list[str] = []
        stored = await self._documents.change(scope.tenant_id, document_id, partial(_moved, move, released))
        await self._drop(released)
        _note_end(stored.document, move)
        return stored.document

    async def move_many(self, scope: Scope, moves: Mapping[str, lifecycle.Move]) -> dict[str, Document | FootnoteError]:
        """Move several documents in one transaction; return the outcomes by document id. Only for a system scope."""
        released: dict[str, list[str]] = {document_id: [] for document_id in moves}
        ways = {key: partial(_moved, move, released[key]) for key, move in moves.items()}
        outcomes: dict[str, Document | FootnoteError] = {}
        for document_id, found in (await self._documents.change_many(scope.tenant_id, ways)).items():
            if isinstance(found, FootnoteError):
                outcomes[document_id] = found
                continue
            await self._drop(released[document_id])
            _note_end(found.document, moves[document_id])
            outcomes[document_id] = found.document
        return outcomes

    async def update(
        self, scope: Scope, document_id: str, wanted: Document, fields: frozenset[str], etag: str
    ) -> Document:
        """Change the uploader's tags, metadata and expire_time, as far as they are in `fields`."""
        await self._permissions.to_change(scope, document_id)

        def how(before: Stored) -> Stored:
            lifecycle.check_seen(before.document, etag, 0)
            document = Document()
            document.CopyFrom(before.document)
            for name in fields:
                document.ClearField(name)  # type: ignore[arg-type]
            document.MergeFrom(
                Document(
                    tags=wanted.tags if "tags" in fields else (),
                    metadata=wanted.metadata if "metadata" in fields and wanted.metadata.fields else None,
                    expire_time=wanted.expire_time
                    if "expire_time" in fields and wanted.HasField("expire_time")
                    else None,
                )
            )
            if document == before.document:
                return before
            return replace(before, document=document)

        stored = await self._documents.change(scope.tenant_id, document_id, how)
        return stored.document

    async def _inspect(self, scope: Scope, path: Path, filename: str) -> FileType:
        """Return the file's type, detected in a worker process; raises the typed error of an unreadable file."""
        job = Job("inspect", str(path), "", filename, self._limits)
        with span("ingestion.inspect"):
            try:
                return FileType(**json.loads(await self._inspectors.last(job, scope.tenant_id, scope.user_id)))
            except ParseError as error:
                raise file_error(error) from error

    @asynccontextmanager
    async def _stored(self, scope: Scope, path: Path) -> AsyncIterator[str]:
        """Yield the key of a file's stored copy; the copy is deleted unless the block gives it to a document.

        After a cancellation or a lost connection during the commit, the outcome is unknown. The deletion list then
        decides: the transaction that gives a file to a document takes it off the list.
        """
        key = new_key(scope.tenant_id, scope.user_id)
        await self._documents.doom([key], now_micros() + GRACE_MICROS)
        try:
            with span("ingestion.store"):
                await self._files.put(key, path)
            yield key
        except BaseException:
            await outcome(asyncio.ensure_future(self._give_up(key)))
            raise

    async def _give_up(self, key: str) -> None:
        """Delete a file now unless a document has it; if that is unknown, leave it to the sweeper."""
        try:
            keys = await self._documents.give_up([key])
        except FootnoteError as error:
            _log.warning("files_left_for_later", count=1, reason=error.reason)
        else:
            await self._drop(keys)

    async def _drop(self, keys: Sequence[str]) -> None:
        """Delete files that are on the list now; the sweeper deletes those that the store does not."""
        try:
            for key in keys:
                await self._files.delete(key)
            await self._documents.deleted(keys)
        except FootnoteError as error:
            _log.warning("files_left_for_later", count=len(keys), reason=error.reason)


def _moved(move: lifecycle.Move, released: list[str], before: Stored) -> Stored:
    """Return a document after a transition, and add the keys of files that it needs no longer to `released`."""
    document = Document()
    document.CopyFrom(before.document)
    lifecycle.apply(document, move)
    if document == before.document:
        return before
    after = moved(before, document)
    released.extend(set(before.blob_keys()) - set(after.blob_keys()))
    return after


def _note_end(document: Document, move: lifecycle.Move) -> None:
    if move.state in (lifecycle.INDEXED, lifecycle.ERROR):
        state = "INDEXED" if move.state == lifecycle.INDEXED else "ERROR"
        counter("footnote.ingestion.documents").add(1, {"footnote.state": state})
        _log.info("document_ended", document_id=document.id, revision=document.revision, state=state)


def _new_document(scope: Scope, new: NewFile, received: spool.Received, kind: FileType) -> Document:
    document = Document(
        id=uuid4().hex,
        collection_id=new.collection_id,
        tenant_id=scope.tenant_id,
        owner_id=scope.user_id,
        filename=new.filename,
        mime_type=kind.mime_type,
        document_type=kind.document_type,
        source_type=new.source_type or "upload",
        size_bytes=received.size,
        sha256=received.sha256,
        state=lifecycle.UPLOADED,
        revision=1,
        tags=new.tags,
        etag="1",
    )
    if new.metadata.fields:
        document.metadata.CopyFrom(new.metadata)
    document.create_time.FromMicroseconds(now_micros())
    document.update_time.CopyFrom(document.create_time)
    if new.expire_time is not None:
        document.expire_time.CopyFrom(new.expire_time)
    return document
