"""Uploads and replacements of files: checked, stored, and given to a document once for each request."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DocumentFile
from footnote_kit import transient_errors
from footnote_kit.access import Access
from footnote_kit.document_files import newest
from footnote_kit.errors import FootnoteError, Internal, InvalidArgument
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import counter, span
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from footnote_ingestion.documents import spool
from footnote_ingestion.documents.permissions import Permissions
from footnote_ingestion.documents.stored_files import StoredFiles
from footnote_ingestion.model import lifecycle
from footnote_ingestion.model.files import with_new_file
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
from footnote_ingestion.model.values import Stored, now_micros
from footnote_ingestion.parsers.base import Limits
from footnote_ingestion.parsers.failures import INTERNAL, PARSER_KILLED, ParseError
from footnote_ingestion.parsers.sniff import FileType
from footnote_ingestion.ports import Documents, Readers, Requests
from footnote_ingestion.worker.wire import Job

_log = get_logger("footnote.ingestion")

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
    """The whole description except `request_id`, to distinguish requests."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """The description of a document's new file, with validated names."""

    document_id: str
    filename: str
    etag: str
    quota: Quota
    request_id: str = ""
    about: bytes = b""
    """The whole description except `request_id`, to distinguish requests."""


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


class Uploads:
    """Takes new files for documents."""

    def __init__(
        self,
        documents: Documents,
        permissions: Permissions,
        requests: Requests,
        stored_files: StoredFiles,
        inspectors: Readers,
        scratch: Path,
        max_file_bytes: int,
        max_documents: int,
        limits: Limits,
    ) -> None:
        self._documents = documents
        self._permissions = permissions
        self._requests = requests
        self._stored_files = stored_files
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
        return Uploaded(await self._get(scope, known.document_id), known.duplicate, known.merged)

    async def _take(
        self, scope: Scope, new: NewFile, received: spool.Received, quota: Quota, request: Request | None
    ) -> Uploaded:
        same = await self._documents.precheck(
            scope.tenant_id, new.collection_id, received.sha256, received.size, quota, new.allow_duplicate
        )
        if same is not None:
            return await self._merged(scope, new, same.document, request)
        kind = await self._inspect(scope, received.path, new.filename)
        async with self._stored_files.stored(scope, received.path) as key:
            document = _new_document(scope, new, received, kind)
            same = await self._documents.insert(Stored(document, key, "", 1), quota, new.allow_duplicate, request)
            if same is not None:
                await self._stored_files.give_up(key)
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
            return await self._get(scope, known.document_id), not known.merged

    async def _put(
        self, scope: Scope, new: Replacement, seen: Document, received: spool.Received, request: Request | None
    ) -> tuple[Document, bool]:
        if received.sha256 == newest(seen).sha256:
            if request is not None:
                await self._documents.change(scope.tenant_id, new.document_id, lambda before: before, request=request)
            return seen, True
        kind = await self._inspect(scope, received.path, new.filename or newest(seen).filename)
        old: list[str] = []
        async with self._stored_files.stored(scope, received.path) as key:

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
        await self._stored_files.drop(old)
        _log.info("document_replaced", document_id=new.document_id, revision=stored.document.revision)
        return stored.document, False

    async def _get(self, scope: Scope, document_id: str) -> Document:
        return (await self._permissions.document(scope, document_id, Access.READ)).document

    async def _inspect(self, scope: Scope, path: Path, filename: str) -> FileType:
        """Return the file's type, detected in a worker process; raises the typed error of an unreadable file."""
        job = Job("inspect", str(path), "", filename, self._limits)
        with span("ingestion.inspect"):
            try:
                return FileType(**json.loads(await self._inspectors.last(job, scope.tenant_id, scope.user_id)))
            except ParseError as error:
                raise file_error(error) from error


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
