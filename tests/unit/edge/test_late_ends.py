"""What a job does whose revision became searchable just before a newer one began."""

from types import SimpleNamespace
from typing import Any, cast

from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.internal.ingestion.v1alpha1 import upkeep_service_pb2 as ingestion_upkeep
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_PROCESSING
from footnote_edge.jobs.processing import Processor
from footnote_edge.settings import Settings


class Both:
    """Both stages: ingestion has a newer revision and another tag by now, and records the end."""

    def __init__(self) -> None:
        self.document = Document(id="d", revision=2, state=DOCUMENT_STATE_PROCESSING, tags=["new"])
        self.labels: list[str] = ["old"]
        self.finished: list[Document | None] = []

    async def UpdateDocumentState(self, request: Any, **more: Any) -> ingestion.UpdateDocumentStateResponse:
        self.document.indexed_revision = request.revision
        return ingestion.UpdateDocumentStateResponse(document=self.document)

    async def GetDocument(self, request: Any, **more: Any) -> ingestion.GetDocumentResponse:
        return ingestion.GetDocumentResponse(document=self.document)

    async def UpdateDocumentChunks(self, request: Any, **more: Any) -> indexing.UpdateDocumentChunksResponse:
        self.labels = list(request.document.tags)
        return indexing.UpdateDocumentChunksResponse()

    async def ConfirmLabels(self, request: Any, **more: Any) -> ingestion_upkeep.ConfirmLabelsResponse:
        return ingestion_upkeep.ConfirmLabelsResponse()

    def finish(self, document_id: str, collection_id: str, document: Document | None) -> None:
        self.finished.append(document)


async def test_its_chunks_have_the_labels_that_the_document_has_now() -> None:
    both = Both()
    stages = SimpleNamespace(ingestion=both, ingestion_upkeep=both, indexing=both)
    processor = Processor(*cast(Any, (stages, both, None, None, None, None, None, Settings())))
    begun = Document(id="d", revision=1, state=DOCUMENT_STATE_PROCESSING, tags=["old"])
    move = ingestion.UpdateDocumentStateRequest(document_id="d", revision=1, state=DOCUMENT_STATE_INDEXED)
    assert await processor.finish(Scope(), begun, move) == "SUPERSEDED"
    assert both.labels == ["new"]
    assert both.finished == [None], "the newer revision goes on"
