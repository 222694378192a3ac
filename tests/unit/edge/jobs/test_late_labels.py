"""Labels that change while a job indexes their document reach its chunks, also when edge dies before the job's end."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.internal.ingestion.v1alpha1 import upkeep_service_pb2 as upkeep
from footnote.stages.v1.parsing_pb2 import ParsedMetadata
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_PROCESSING, DOCUMENT_STATE_UPLOADED
from footnote_edge.documents.interrupted_work import InterruptedWork
from footnote_edge.jobs.interrupting import Interruptions
from footnote_edge.jobs.labels import align
from footnote_edge.jobs.postponing import Postponements
from footnote_edge.jobs.processing import Processor
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.settings import Settings
from footnote_ingestion.model import lifecycle
from footnote_ingestion.servicer import move_of

SCOPE = Scope(tenant_id="t", user_id="u")


class Both:
    """Ingestion's record of one document, moved by its own rules, and indexing's chunks of it, once published."""

    def __init__(self) -> None:
        self.document = Document(id="d", state=DOCUMENT_STATE_UPLOADED, revision=1, tags=["old"], etag="1")
        self.chunks: list[str] | None = None
        self.marked = False
        self.copies = 0

    def change(self, *tags: str) -> None:
        """Change the record, as ingestion's UpdateDocument does."""
        self.document.tags[:] = tags
        self.marked = True

    async def GetDocument(self, request: Any, **_: Any) -> ingestion.GetDocumentResponse:
        return ingestion.GetDocumentResponse(document=self.document)

    async def UpdateDocumentState(self, request: Any, **_: Any) -> ingestion.UpdateDocumentStateResponse:
        lifecycle.apply(self.document, move_of(request))
        return ingestion.UpdateDocumentStateResponse(document=self.document)

    async def ConfirmLabels(self, request: Any, **_: Any) -> upkeep.ConfirmLabelsResponse:
        self.marked = False
        return upkeep.ConfirmLabelsResponse()

    async def ListUnfinishedDocuments(self, request: Any, **_: Any) -> upkeep.ListUnfinishedDocumentsResponse:
        found = [upkeep.UnfinishedDocument(document=self.document, labels=True)] if self.marked else []
        return upkeep.ListUnfinishedDocumentsResponse(documents=found)

    async def UpdateDocumentChunks(self, request: Any, **_: Any) -> indexing.UpdateDocumentChunksResponse:
        self.copies += 1
        if self.chunks is not None:
            self.chunks = list(request.document.tags)
        return indexing.UpdateDocumentChunksResponse()

    async def run(self, scope: Any, document: Document, stored: Any) -> tuple[ParsedMetadata, indexing.IndexResult]:
        if self.chunks is None:  # a searched revision is left as it is
            self.chunks = list(document.tags)
        return ParsedMetadata(), indexing.IndexResult(chunks_expected=1, chunks_stored=1)


def processor(both: Both, monkeypatch: pytest.MonkeyPatch) -> Processor:
    async def at_once(*_: Any) -> None:
        return None

    unused: Any = None
    shares: Any = SimpleNamespace(job_turn=at_once)
    made = Processor(stages(both), ProgressBus(), Interruptions(), unused, shares, Postponements(), unused, Settings())
    monkeypatch.setattr(made, "_pipe", both)
    return made


def stages(both: Any) -> Any:
    return SimpleNamespace(ingestion=both, ingestion_upkeep=both, indexing=both)


async def changed(both: Both) -> None:
    both.change("new")
    record = Document()
    record.CopyFrom(both.document)
    await align(stages(both), SCOPE, record, 5.0)


@pytest.mark.parametrize("dies", [False, True])
async def test_labels_that_change_during_indexing_reach_the_chunks(dies: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    both = Both()
    job = processor(both, monkeypatch)
    begun = await job.begin(SCOPE, "d", 1)
    assert begun is not None
    document = Document()
    document.CopyFrom(begun)
    await changed(both)
    move = await job.index(SCOPE, document)
    assert both.chunks == ["old"]
    work = InterruptedWork(stages(both), SimpleNamespace(), Settings())  # type: ignore[arg-type]
    assert await work.finish() == 0, "while a job is at work its end settles this"
    if dies:  # after the publication, before its record; another process repeats the job from its beginning
        job = processor(both, monkeypatch)
        again = await job.begin(SCOPE, "d", 1)
        assert again is not None
        document.CopyFrom(again)
        move = await job.index(SCOPE, document)
    assert await job.finish(SCOPE, document, move) == "INDEXED"
    await work.finish()
    assert (both.chunks, both.marked) == (["new"], False)


async def test_a_change_of_a_document_at_rest_is_confirmed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    both = Both()
    job = processor(both, monkeypatch)
    begun = await job.begin(SCOPE, "d", 1)
    assert begun is not None
    await job.finish(SCOPE, begun, await job.index(SCOPE, begun))
    async with asyncio.timeout(5):
        await changed(both)
    assert (both.chunks, both.marked) == (["new"], False)


async def test_searched_chunks_get_a_change_that_a_crash_interrupted_while_a_reindex_waits() -> None:
    both = Both()
    both.document.state, both.document.revision, both.document.indexed_revision = DOCUMENT_STATE_PROCESSING, 2, 1
    both.chunks = ["old"]
    both.change("new")  # edge is killed before it has told the chunks
    work = InterruptedWork(stages(both), SimpleNamespace(), Settings())  # type: ignore[arg-type]
    for _ in range(3):
        await work.finish()
    assert (both.chunks, both.marked, both.copies) == (["new"], True, 1)


@pytest.mark.parametrize("number", [1, 5000])
async def test_labels_are_copied_once_however_many_documents_wait_and_whatever_else_of_them_changes(
    number: int,
) -> None:
    waiting = [Both() for _ in range(number)]
    copied: list[Document] = []

    async def listed(*_: Any, **__: Any) -> upkeep.ListUnfinishedDocumentsResponse:
        found = [upkeep.UnfinishedDocument(document=one.document, labels=True) for one in waiting if one.marked]
        return upkeep.ListUnfinishedDocumentsResponse(documents=found)

    async def record(request: Any, **_: Any) -> ingestion.GetDocumentResponse:
        return ingestion.GetDocumentResponse(document=waiting[int(request.document_id)].document)

    async def copy(request: Any, **_: Any) -> indexing.UpdateDocumentChunksResponse:
        copied.append(request.document)
        return indexing.UpdateDocumentChunksResponse()

    for index, one in enumerate(waiting):
        one.document.id, one.document.indexed_revision = str(index), 1
        one.change("new")
    book = SimpleNamespace(ListUnfinishedDocuments=listed, GetDocument=record, UpdateDocumentChunks=copy)
    work = InterruptedWork(stages(book), SimpleNamespace(), Settings())  # type: ignore[arg-type]
    for etag in "234":
        await work.finish()
        waiting[0].document.etag = etag  # its job only notes that it waits
    assert len(copied) == number
    waiting[0].change("newer")
    await work.finish()
    await work.finish()
    assert [one.id for one in copied[number:]] == ["0"]
