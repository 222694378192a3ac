"""Changes an uploader's tags, metadata and expiry of a document, in its record and in its chunks."""

from datetime import UTC, datetime

from footnote.edge.v1 import documents_pb2 as edge
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_kit.access import Access
from footnote_kit.errors import InvalidArgument
from footnote_kit.origins import KEY, refuse_reserved
from footnote_kit.validation import changed_fields
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.struct_pb2 import Struct

from footnote_edge.collections.collections import Collections
from footnote_edge.documents.documents import Documents, expiry
from footnote_edge.jobs.labels import align
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.ports import Stages

FIELDS = ("tags", "metadata", "expire_time")


class DocumentEditor:
    """Changes documents' tags, metadata and expiry."""

    def __init__(
        self, stages: Stages, documents: Documents, collections: Collections, bus: ProgressBus, timeout: float
    ) -> None:
        self._stages = stages
        self._documents = documents
        self._collections = collections
        self._bus = bus
        self._timeout = timeout

    async def update(self, scope: Scope, request: edge.UpdateDocumentRequest) -> Document:
        """Change the masked fields, in the record and then in the chunks.

        Raises Aborted for another etag, and InvalidArgument where the collection's time to live has passed already.
        """
        paths = changed_fields(request.update_mask, request.resource, FIELDS)
        wanted = request.resource
        refuse_reserved(wanted.metadata, "resource.metadata")
        known = await self._documents.get(scope, request.document_id, Access.WRITE)
        change = ingestion.UpdateDocumentRequest(
            scope=scope,
            document_id=request.document_id,
            resource=Document(
                tags=wanted.tags,
                metadata=_keeping_origin(known, wanted.metadata if wanted.HasField("metadata") else None),
                expire_time=wanted.expire_time if wanted.HasField("expire_time") else None,
                etag=wanted.etag,
            ),
            update_mask=FieldMask(paths=paths),
        )
        if "expire_time" in paths and not wanted.HasField("expire_time"):
            await self._expire_by_collection(scope, known, change.resource)
        changed = (await self._stages.ingestion.UpdateDocument(change, timeout=self._timeout)).document
        aligned = await align(self._stages, scope, changed, self._timeout)
        self._bus.deliver(aligned)
        return aligned

    async def _expire_by_collection(self, scope: Scope, known: Document, changed: Document) -> None:
        """Set when a document without an expiry of its own goes; an item of a source goes when its source says so."""
        if KEY in known.metadata.fields:
            return
        collection = await self._collections.get(scope, known.collection_id, counted=False)
        expires = expiry(collection, None, known.create_time.ToDatetime(UTC))
        if expires is None:
            return
        if expires <= datetime.now(UTC):
            raise InvalidArgument.field(
                "resource.expire_time", "must be given: the collection's settings.ttl has passed since the upload"
            )
        changed.expire_time.FromDatetime(expires)


def _keeping_origin(known: Document, wanted: Struct | None) -> Struct | None:
    """Return the new metadata with the document's source item, which callers cannot change."""
    if KEY not in known.metadata.fields:
        return wanted
    both = Struct()
    both.fields[KEY].CopyFrom(known.metadata.fields[KEY])
    if wanted is not None:
        both.MergeFrom(wanted)
    return both
