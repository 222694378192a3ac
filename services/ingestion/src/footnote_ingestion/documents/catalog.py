"""Operations on documents: get, list, count, download, delete, and life cycle transitions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DocumentFile
from footnote_kit.access import Access, sees_all
from footnote_kit.errors import FootnoteError, InvalidArgument, NotFound, PermissionDenied
from footnote_kit.logs import get_logger
from footnote_kit.paging import Page
from footnote_kit.telemetry import counter

from footnote_ingestion.documents.permissions import Permissions
from footnote_ingestion.documents.stored_files import StoredFiles
from footnote_ingestion.model import lifecycle
from footnote_ingestion.model.files import file_of, is_of_searched_file, moved
from footnote_ingestion.model.quota import StoredTotals
from footnote_ingestion.model.values import ListQuery, Stored, Unfinished
from footnote_ingestion.ports import Documents, Files

_log = get_logger("footnote.ingestion")

_MAX_ETAG = 18


class Catalog:
    """Documents with their files: no row refers to a missing file, no file outlives its row for long."""

    def __init__(self, documents: Documents, permissions: Permissions, files: Files, stored_files: StoredFiles) -> None:
        self._documents = documents
        self._permissions = permissions
        self._files = files
        self._stored_files = stored_files

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
        await self._stored_files.drop(keys)
        if keys:
            _log.info("document_deleted", document_id=document_id)

    async def move(self, scope: Scope, document_id: str, move: lifecycle.Move) -> Document:
        """Move a document to another state of its life cycle."""
        await self._permissions.to_change(scope, document_id)
        released: list[str] = []
        stored = await self._documents.change(scope.tenant_id, document_id, partial(_moved, move, released))
        await self._stored_files.drop(released)
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
            await self._stored_files.drop(released[document_id])
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


def _moved(move: lifecycle.Move, released: list[str], before: Stored) -> Stored:
    """Return a document after a transition, and add the keys of files that it needs no longer to `released`.

    An earlier revision may have become searchable just before a newer one began. It is recorded as well: the newer one
    may fail or be cancelled, and searches then go on finding the earlier one.
    """
    document = Document()
    document.CopyFrom(before.document)
    if lifecycle.ends_late(document, move) and is_of_searched_file(before, move.revision):
        lifecycle.record_late_end(document, move)
    else:
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
        _log.info("document_ended", document_id=document.id, revision=move.revision or document.revision, state=state)


MOST_OWNERS = 1001
"""Owners read at once: a page of them, and one more to see whether there is a next page."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The caller's totals; for administrators, also the tenant's totals and owners."""

    own: StoredTotals
    tenant: StoredTotals | None
    owners: list[StoredTotals]


class Counting:
    """Counts documents for their owners, and for administrators and services."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    async def stored(self, scope: Scope, owners: int, after: str) -> Counted:
        """Count; raises PermissionDenied when a caller asks about others without being an administrator."""
        if not 0 <= owners <= MOST_OWNERS:
            raise InvalidArgument.field("owners", f"must be between 0 and {MOST_OWNERS}")
        if owners and not sees_all(scope):
            raise PermissionDenied("Only administrators can see what others store.")
        own = await self._documents.owner_totals(scope.tenant_id, scope.user_id)
        if not sees_all(scope):
            return Counted(own, None, [])
        used = await self._documents.used(scope.tenant_id)
        listed = await self._documents.totals_by_owner(scope.tenant_id, after, owners) if owners else []
        return Counted(own, StoredTotals("", used.tenant_documents, used.tenant_bytes), listed)
