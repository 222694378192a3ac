"""How a job takes its document up: without asking what is known from the upload, and as before where it is not."""

from types import SimpleNamespace
from typing import Any

import pytest
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_PROCESSING, DOCUMENT_STATE_UPLOADED
from footnote_edge.jobs.postponing import Postponements
from footnote_edge.jobs.processing import Processor
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.settings import Settings
from footnote_ingestion.model import lifecycle
from footnote_kit.errors import Unavailable

SCOPE = Scope(tenant_id="t", user_id="u")


class Ingestion:
    """One document, moved by ingestion's own rules."""

    def __init__(self) -> None:
        self.document = Document(id="d", tenant_id="t", state=DOCUMENT_STATE_UPLOADED, revision=1, etag="1")
        self.calls: list[str] = []
        self.lose = 0

    async def GetDocument(self, request: Any, **_: Any) -> ingestion.GetDocumentResponse:
        self.calls.append("get")
        return ingestion.GetDocumentResponse(document=self.document)

    async def UpdateDocumentState(self, request: Any, **_: Any) -> ingestion.UpdateDocumentStateResponse:
        self.calls.append("update")
        move = lifecycle.Move(state=request.state, revision=request.revision, etag=request.etag)
        lifecycle.apply(self.document, move)
        self.document.etag = str(int(self.document.etag) + 1)
        if self.lose:
            self.lose -= 1
            raise Unavailable("the answer was lost")
        return ingestion.UpdateDocumentStateResponse(document=self.document)


@pytest.fixture
def stage() -> Ingestion:
    """Ingestion's double, which notes its calls."""
    return Ingestion()


@pytest.fixture
def processor(stage: Ingestion) -> Processor:
    """The processor of documents before that double."""

    async def at_once(*_: Any) -> None:
        return None

    stages: Any = SimpleNamespace(ingestion=stage, indexing=None)
    shares: Any = SimpleNamespace(job_turn=at_once)
    unused: Any = None
    return Processor(stages, ProgressBus(), unused, unused, shares, Postponements(), unused, Settings())


def copy(document: Document) -> Document:
    kept = Document()
    kept.CopyFrom(document)
    return kept


async def test_what_an_upload_answered_is_not_asked_for(stage: Ingestion, processor: Processor) -> None:
    processor.remember_upload(copy(stage.document))
    begun = await processor.begin(SCOPE, "d", 1)
    assert begun is not None
    assert begun.state == DOCUMENT_STATE_PROCESSING
    assert stage.calls == ["update"]


async def test_without_the_upload_it_is(stage: Ingestion, processor: Processor) -> None:
    assert await processor.begin(SCOPE, "d", 1) is not None
    assert stage.calls == ["get", "update"]


async def test_one_that_has_failed_since_is_left_alone(stage: Ingestion, processor: Processor) -> None:
    processor.remember_upload(copy(stage.document))
    stage.document.state, stage.document.etag = DOCUMENT_STATE_ERROR, "2"
    assert await processor.begin(SCOPE, "d", 1) is None
    assert stage.document.state == DOCUMENT_STATE_ERROR


async def test_another_revision_is_left_to_its_own_job(stage: Ingestion, processor: Processor) -> None:
    processor.remember_upload(copy(stage.document))
    stage.document.revision, stage.document.etag = 2, "2"
    assert await processor.begin(SCOPE, "d", 1) is None
    assert stage.document.state == DOCUMENT_STATE_UPLOADED


async def test_a_move_whose_answer_was_lost_goes_on(stage: Ingestion, processor: Processor) -> None:
    processor.remember_upload(copy(stage.document))
    stage.lose = 1
    begun = await processor.begin(SCOPE, "d", 1)
    assert begun is not None
    assert begun.state == DOCUMENT_STATE_PROCESSING
