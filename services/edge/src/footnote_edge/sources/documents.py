"""Document operations of a source, with the same checks and quotas as a manual upload."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from footnote.edge.v1.documents_pb2 import ReplaceMetadata, UploadMetadata
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_UPLOADED
from footnote_kit.document_files import newest
from footnote_kit.errors import Aborted, FailedPrecondition, InvalidArgument, NotFound, ResourceExhausted
from footnote_kit.origins import origin_of, with_origin
from google.protobuf.field_mask_pb2 import FieldMask

from footnote_edge.collections.collections import Collections
from footnote_edge.documents.deletion import DocumentDeletion
from footnote_edge.documents.documents import PART_BYTES, Documents
from footnote_edge.documents.upload_batches import UploadBatches
from footnote_edge.jobs.changes import Feed
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.jobs.labels import align
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.ports import Stages
from footnote_edge.sources.ports import ItemFailed
from footnote_edge.sources.stored import StoredItem, StoredSource

SKEW = timedelta(hours=1)
"""Maximum clock difference of two services."""
_RELABELLINGS = 8

_REASONS = {
    "FILE_EMPTY": "EMPTY",
    "FILE_TOO_LARGE": "TOO_LARGE",
    "FILE_UNSUPPORTED": "UNSUPPORTED",
    "FILE_PASSWORD_PROTECTED": "UNSUPPORTED",
    "FILE_CORRUPT": "INVALID",
}


@dataclass(frozen=True, slots=True)
class Content:
    """An item's bytes in a file."""

    path: Path
    size: int
    sha256: str

    @classmethod
    async def of(cls, path: Path) -> "Content":
        """Read the size and the hash of a file."""

        def read() -> "Content":
            with path.open("rb") as file:
                return cls(path, path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())

        return await asyncio.to_thread(read)

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the bytes in parts of at most 256 KiB.

        Each part opens the file again: a failed call abandons the generator halfway and would leave the file open.
        """

        def read(start: int) -> bytes:
            with self.path.open("rb") as file:
                file.seek(start)
                return file.read(PART_BYTES)

        start = 0
        while part := await asyncio.to_thread(read, start):
            yield part
            start += len(part)


class DocumentStore:
    """Puts, labels and deletes the documents of a source."""

    def __init__(
        self, stages: Stages, documents: Documents, uploads: UploadBatches, document_deletion: DocumentDeletion,
        collections: Collections, jobs: Jobs, bus: ProgressBus, timeout: float,
    ) -> None:  # fmt: skip
        self._stages = stages
        self._feed = Feed(stages, timeout)
        self._jobs = jobs
        self._documents = documents
        self._uploads = uploads
        self._document_deletion = document_deletion
        self._collections = collections
        self._bus = bus
        self._timeout = timeout

    async def collection(self, scope: Scope, source: StoredSource) -> Collection:
        """Return the collection of a source; raises NotFound if it is deleted."""
        return await self._collections.get(scope, source.collection_id, counted=False)

    async def put(
        self, scope: Scope, source: StoredSource, item: StoredItem, content: Content, label: Mapping[str, str]
    ) -> tuple[Document, bool]:
        """Replace or create an item's document; return it, and whether its bytes or its name are new.

        Raises NotFound if the document was deleted manually, ItemFailed for bytes that ingestion refuses.
        """
        try:
            if item.document_id:
                about = ReplaceMetadata(document_id=item.document_id, filename=item.name)
                document, unchanged = await self._documents.replace(scope, about, content.parts())
                return document, not unchanged
            metadata = UploadMetadata(
                collection=source.collection_id,
                filename=item.name,
                source_type=source.kind,
                allow_duplicate=True,
                size_bytes=content.size,
                sha256=content.sha256,
                # After a crash, a repeat finds the document that it created; other bytes make another upload.
                request_id=f"{item.nonce}-{content.sha256[:31]}",
            )
            done = await self._uploads.receive(scope, metadata, content.parts(), label)
        except InvalidArgument as error:
            raise ItemFailed(_REASONS.get(error.reason, "INVALID"), error.message, permanent=True) from None
        except ResourceExhausted as error:
            if error.reason == "RATE_LIMITED":
                raise
            raise ItemFailed("QUOTA", error.message) from None
        return done.document, True

    async def find(self, scope: Scope, document_id: str) -> Document | None:
        """Return a document with its newest file; None if it is deleted."""
        try:
            return newest(await self._documents.get(scope, document_id))
        except NotFound:
            return None

    async def changed_since(self, scope: Scope, source: StoredSource, since: datetime) -> dict[str, list[Document]]:
        """Return a source's documents that were created or changed since a time, by item."""
        start: int | None = int((since - SKEW).timestamp() * 1_000_000)
        try:
            return await self._of_source(scope, source, start)
        except FailedPrecondition:  # ingestion's record of changes does not reach back that far
            return await self._of_source(scope, source, None)

    async def _of_source(self, scope: Scope, source: StoredSource, since: int | None) -> dict[str, list[Document]]:
        found: dict[str, dict[str, Document]] = {}  # a document that changes meanwhile is listed twice
        async for part in self._feed.parts(scope, source.collection_id, since, self._timeout):
            for document in part.documents:
                origin = origin_of(document.metadata)
                if origin is not None and origin.source_id == source.id:
                    found.setdefault(origin.item, {})[document.id] = document
        return {item: list(documents.values()) for item, documents in found.items()}

    async def resume(self, document: Document) -> None:
        """Enqueue the job of a document whose upload was interrupted before its job began."""
        if document.state == DOCUMENT_STATE_UPLOADED:
            await self._jobs.process_if_idle(document)

    async def relabel(self, scope: Scope, document_id: str, label: Mapping[str, str]) -> None:
        """Change a document's origin, in its record and its chunks; raises NotFound.

        Its other metadata may change between reading and writing: it is read again then. Raises Aborted where it always
        does.
        """
        for attempt in range(_RELABELLINGS):
            document = await self._documents.get(scope, document_id)
            change = ingestion.UpdateDocumentRequest(
                scope=scope,
                document_id=document.id,
                resource=Document(metadata=with_origin(document.metadata, label), etag=document.etag),
                update_mask=FieldMask(paths=["metadata"]),
            )
            try:
                changed = (await self._stages.ingestion.UpdateDocument(change, timeout=self._timeout)).document
                break
            except Aborted:
                if attempt == _RELABELLINGS - 1:
                    raise
        self._bus.deliver(await align(self._stages, scope, changed, self._timeout))

    async def delete(self, scope: Scope, document_id: str) -> None:
        """Delete a document with its chunks; a missing one is no error."""
        await self._document_deletion.delete(scope, document_id, allow_missing=True)


def label_of(source: StoredSource, item: StoredItem) -> dict[str, str]:
    """Return the origin of an item's document: the stored one if nothing changed, so that its time stays."""
    fresh = {
        "id": source.id,
        "kind": source.kind,
        "item": item.item,
        "version": item.listed_version or item.sha256,
        "address": item.address,
    }
    kept: dict[str, str] = json.loads(item.label) if item.label else {}
    time = kept.pop("time", "")
    return {**fresh, "time": time if kept == fresh and time else datetime.now(UTC).isoformat()}
