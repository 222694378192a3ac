"""The searched revision is indexed again where nothing of it is left, and no job waits for that without end."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.internal.indexing.v1alpha1 import upkeep_service_pb2 as upkeep
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DocumentFile
from footnote_edge.jobs import restoring
from footnote_edge.jobs.restoring import Restoring
from footnote_edge.settings import Settings
from footnote_kit.errors import FailedPrecondition, FootnoteError, Unavailable


class Both:
    """Both stages and the pipe between them: a document whose replacement, revision 3, failed."""

    def __init__(self, searched: int = 0, error: FootnoteError | None = None) -> None:
        self.document = Document(
            id="d", revision=3, indexed_revision=1, state=DOCUMENT_STATE_ERROR, filename="old.txt",
            replacement=DocumentFile(filename="new.txt", first_revision=3),
        )  # fmt: skip
        self.searched = searched
        self.error = error
        self.indexed: list[tuple[int, str, bool]] = []

    async def GetDocument(self, request: Any, **more: Any) -> ingestion.GetDocumentResponse:
        return ingestion.GetDocumentResponse(document=self.document)

    async def ListIndexedDocuments(self, request: Any, **more: Any) -> upkeep.ListIndexedDocumentsResponse:
        found = [upkeep.IndexedDocument(document_id="d", revision=self.searched)] if self.searched else []
        return upkeep.ListIndexedDocumentsResponse(documents=found)

    async def run(self, scope: Any, document: Document, stored: Any, *, searched_file: bool) -> None:
        self.indexed.append((document.revision, document.filename, searched_file))
        if self.error is not None:
            raise self.error


async def restored(both: Both) -> bool:
    stages = SimpleNamespace(ingestion=both, indexing_upkeep=both)
    settings = Settings(retry_ceiling_seconds=0.01)
    return await Restoring(*cast(Any, (stages, both, settings))).run(Scope(), "d")


async def test_the_searched_file_is_indexed_under_its_own_revision() -> None:
    both = Both()
    assert await restored(both)
    assert both.indexed == [(1, "old.txt", True)]


async def test_what_is_still_searched_is_left_alone() -> None:
    both = Both(searched=1)
    assert not await restored(both)
    assert both.indexed == []


async def test_a_newer_revision_that_is_searched_by_now_stays() -> None:
    both = Both(error=FailedPrecondition("older than 3, which is searched already"))
    assert not await restored(both)
    assert len(both.indexed) == 1


async def test_a_job_does_not_wait_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restoring, "MOST_SECONDS", 0.05)
    both = Both(error=Unavailable("down", reason="STORE_UNAVAILABLE"))
    assert not await restored(both)
    assert len(both.indexed) > 1
