"""Uploads and replacements of files: checked, stored, and given to a document once for each request."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
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
from footnote_ingestion.model.files import Added, Addition, with_new_file
from footnote_ingestion.model.quota import Quota
from footnote_ingestion.model.repeats import (
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
from footnote_ingestion.parsers.failures import INTERNAL, NO_ROOM, PARSER_KILLED, ParseError
from footnote_ingestion.parsers.sniff import FileType
from footnote_ingestion.ports import Documents, Requests, WorkerPool
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
    if error.reason == NO_ROOM:
        return transient_errors.unavailable(error.message, transient_errors.DISK, 10.0)
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
        inspectors: WorkerPool,
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
        async with spool.receive(parts, self._max_file_bytes, self._scratch) as received:
            check_transfer(received.size, received.sha256, new.size, new.sha256)
            [outcome] = await self._take(scope, new.collection_id, new.quota, [_Arrival(new, received)])
        if isinstance(outcome, FootnoteError):
            raise outcome
        return outcome

    async def upload_many(
        self, scope: Scope, collection_id: str, quota: Quota, files: Sequence[tuple[NewFile, bytes] | FootnoteError]
    ) -> list[Uploaded | FootnoteError]:
        """Do the same with whole files of one collection; what is refused, some of it already, is refused alone."""
        await self._permissions.to_upload(scope, collection_id)
        outcomes: dict[int, Uploaded | FootnoteError] = {}
        content: dict[int, bytes] = {}
        described: dict[int, NewFile] = {}
        for index, one in enumerate(files):
            if isinstance(one, FootnoteError):
                outcomes[index] = one
            elif not one[1]:
                outcomes[index] = spool.empty()
            elif len(one[1]) > self._max_file_bytes:
                outcomes[index] = spool.too_large(self._max_file_bytes)
            else:
                described[index], content[index] = one
        async with spool.keep(content.values(), self._scratch) as spooled:
            arrivals: dict[int, _Arrival] = {}
            for (index, new), received in zip(described.items(), spooled, strict=True):
                try:
                    check_transfer(received.size, received.sha256, new.size, new.sha256)
                    arrivals[index] = _Arrival(new, received)
                except FootnoteError as error:
                    outcomes[index] = error
            taken = await self._take(scope, collection_id, quota, list(arrivals.values()))
        outcomes |= zip(arrivals, taken, strict=True)
        return [outcomes[index] for index in range(len(files))]

    async def _take(
        self, scope: Scope, collection_id: str, quota: Quota, arrivals: Sequence[_Arrival]
    ) -> list[Uploaded | FootnoteError]:
        """Check and store received files of one collection, all in one transaction; return the outcomes in order."""
        if not quota.own:
            quota = replace(quota, collection_documents=self._max_documents)
        outcomes: dict[int, Uploaded | FootnoteError | Repeated] = {}
        requests = {index: request for index, one in enumerate(arrivals) if (request := one.request(scope)) is not None}
        answered = await self._requests.find([one.key for one in requests.values()]) if requests else {}
        outcomes |= {index: Repeated(answered[one.key]) for index, one in requests.items() if one.key in answered}
        wanted = {
            index: one.addition(requests.get(index)) for index, one in enumerate(arrivals) if index not in outcomes
        }
        fresh: list[int] = []
        found = await self._documents.precheck(scope.tenant_id, collection_id, quota, list(wanted.values()))
        for index, same in zip(list(wanted), found, strict=True):
            if isinstance(same, FootnoteError):
                outcomes[index] = same
                del wanted[index]
            elif same:
                wanted[index] = replace(wanted[index], same=same)
            else:
                fresh.append(index)
        kinds: dict[int, FileType] = {}
        for index, kind in zip(fresh, await self._inspect_all(scope, [arrivals[one] for one in fresh]), strict=True):
            if isinstance(kind, FootnoteError):
                outcomes[index] = kind
                del wanted[index]
            else:
                kinds[index] = kind
        async with self._stored_files.stored(scope, [arrivals[index].received.path for index in kinds]) as stored:
            keys = dict(zip(kinds, stored, strict=True))
            for index, kind in kinds.items():
                document = _new_document(scope, arrivals[index].new, arrivals[index].received, kind)
                wanted[index] = replace(wanted[index], new=Stored(document, keys[index], "", 1))
            if wanted:
                # A deletion of the collection, which a long transfer may outlast, would not find what is added now.
                await self._permissions.still_to_upload(scope, collection_id)
            ended = await self._documents.add(scope.tenant_id, collection_id, quota, list(wanted.values()))
            for index, one in zip(wanted, ended, strict=True):
                if isinstance(one, Added):
                    outcomes[index] = Uploaded(one.stored.document, one.duplicate, one.merged)
                    if not one.duplicate:
                        del keys[index]
                        _count(one.stored.document)
                else:
                    outcomes[index] = one
            await self._stored_files.give_up(list(keys.values()))
        return [await self._answer(scope, requests.get(index), outcomes[index]) for index in range(len(arrivals))]

    async def _answer(
        self, scope: Scope, request: Request | None, outcome: Uploaded | FootnoteError | Repeated
    ) -> Uploaded | FootnoteError:
        """Return an outcome, of a repeated request its first answer."""
        if not isinstance(outcome, Repeated):
            return outcome
        known = outcome.outcome
        try:
            check_same(known, request.content if request is not None else "")
            return Uploaded(await self._get(scope, known.document_id), known.duplicate, known.merged)
        except FootnoteError as error:
            return error

    async def replace(self, scope: Scope, new: Replacement, parts: AsyncIterator[bytes]) -> tuple[Document, bool]:
        """Replace a document's file; return the document, and True when bytes and name are unchanged."""
        seen = (await self._permissions.document(scope, new.document_id, Access.WRITE)).document
        key = RequestKey(scope.tenant_id, scope.user_id, new.request_id) if new.request_id else None
        known = (await self._requests.find([key])).get(key) if key else None
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
        if received.sha256 == newest(seen).sha256 and new.filename in ("", newest(seen).filename):
            if request is not None:
                await self._documents.change(scope.tenant_id, new.document_id, lambda before: before, request=request)
            return seen, True
        kind = await self._inspect(scope, received.path, new.filename or newest(seen).filename)
        old: list[str] = []
        async with self._stored_files.stored(scope, [received.path]) as [key]:

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

    async def _inspect_all(self, scope: Scope, arrivals: Sequence[_Arrival]) -> list[FileType | FootnoteError]:
        """Return the files' types, or the typed errors of unreadable ones; one worker inspects them all."""
        kinds: list[FileType | FootnoteError] = []
        if not arrivals:
            return kinds
        jobs = [Job("inspect", str(one.received.path), "", one.new.filename, self._limits) for one in arrivals]
        with span("ingestion.inspect"):
            async with aclosing(self._inspectors.run_many(jobs, scope.tenant_id, scope.user_id)) as ends:
                async for end in ends:
                    kinds.append(file_error(end) if isinstance(end, ParseError) else FileType(**json.loads(end[-1][1])))
        return kinds


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A received file, and what its uploader says about it."""

    new: NewFile
    received: spool.Received

    def request(self, scope: Scope) -> Request | None:
        """Return the request that it came by, None without an id."""
        if not self.new.request_id:
            return None
        key = RequestKey(scope.tenant_id, scope.user_id, self.new.request_id)
        return Request(key, digest(self.new.about, self.received.sha256))

    def addition(self, request: Request | None) -> Addition:
        """Return it as a file to add, without its document."""

        def merged(before: Stored) -> Stored:
            document = Document()
            document.CopyFrom(before.document)
            merge(document, self.new.tags, self.new.metadata)
            return before if document == before.document else replace(before, document=document)

        return Addition(self.received.sha256, self.received.size, self.new.allow_duplicate, merged, request)


def _count(document: Document) -> None:
    counter("footnote.ingestion.bytes").add(document.size_bytes)
    _log.info(
        "document_uploaded",
        document_id=document.id,
        bytes=document.size_bytes,
        document_type=document.document_type,
    )


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
