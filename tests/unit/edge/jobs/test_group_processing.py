"""A document of a group that is deleted or changed while it is indexed ends as its own job would end it."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.internal.indexing.v1alpha1 import group_service_pb2 as indexing_groups
from footnote.internal.ingestion.v1alpha1 import group_service_pb2 as ingestion_groups
from footnote.stages.v1.parsing_pb2 import ParsedMetadata
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote.types.v1.role_pb2 import ROLE_SYSTEM
from footnote_edge.jobs.group_processing import SMALL_TYPES, GroupProcessor
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.settings import Settings
from footnote_ingestion.documents.group_extraction import KINDS
from footnote_kit.errors import Aborted, FootnoteError, Internal, NotFound, Unavailable
from footnote_kit.status import to_proto

SCOPE = Scope(tenant_id="acme", user_id="ann", roles=[ROLE_SYSTEM])


class Ingestion:
    """The group service of ingestion, where a document is deleted between its first move and its last."""

    def __init__(self, deleted: str) -> None:
        self._deleted = deleted

    async def MoveDocuments(
        self, request: ingestion_groups.MoveDocumentsRequest, timeout: float
    ) -> ingestion_groups.MoveDocumentsResponse:
        response = ingestion_groups.MoveDocumentsResponse()
        for move in request.moves:
            moved = response.documents.add()
            if move.state == DOCUMENT_STATE_INDEXED and move.document_id == self._deleted:
                moved.error.CopyFrom(to_proto(NotFound("deleted meanwhile", reason="DOCUMENT_NOT_FOUND")))
            else:
                moved.document.CopyFrom(Document(id=move.document_id, revision=1, state=move.state, collection_id="c"))
        return response

    def ParseDocuments(self, request: ingestion_groups.ParseDocumentsRequest, timeout: float) -> Any:
        async def responses() -> AsyncIterator[ingestion_groups.ParseDocumentsResponse]:
            for index, _ in enumerate(request.document_ids):
                found = ingestion.ParseDocumentResponse(metadata=ParsedMetadata())
                yield ingestion_groups.ParseDocumentsResponse(
                    parts=[ingestion_groups.ParsedPart(index=index, found=found)]
                )

        return _Call(responses())


class _Call:
    def __init__(self, stream: AsyncIterator[Any]) -> None:
        self._stream = stream

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._stream

    def cancel(self) -> None:
        """Like the call's own."""


class Indexing:
    """The group service of indexing, which indexes everything."""

    async def IndexDocuments(
        self, messages: AsyncIterator[Any], timeout: float
    ) -> indexing_groups.IndexDocumentsResponse:
        count = sum([part.HasField("header") async for message in messages for part in message.parts])
        response = indexing_groups.IndexDocumentsResponse()
        for _ in range(count):
            response.documents.add(result=indexing.IndexResult(chunks_expected=1, chunks_stored=1))
        return response


class Alone:
    """Notes the moves that are made as of a document's own job."""

    def __init__(self) -> None:
        self.finished: list[ingestion.UpdateDocumentStateRequest] = []

    async def finish(self, scope: Scope, document: Document, move: ingestion.UpdateDocumentStateRequest) -> str:
        self.finished.append(move)
        return "DELETED"


class Nothing:
    """Shares and metering, which do not matter here."""

    async def job_turn(self, *_: object) -> None:
        """Do not wait."""

    def charge(self, *_: object) -> None:
        """Count nothing."""


async def test_a_document_deleted_meanwhile_is_finished_in_the_scope_of_its_user() -> None:
    stages, alone, rest = SimpleNamespace(), Alone(), Nothing()
    stages.ingestion_groups, stages.indexing_groups = Ingestion("gone"), Indexing()
    groups: Any = GroupProcessor
    processor = groups(stages, ProgressBus(), rest, rest, alone, Settings())
    documents = [Document(id=name, revision=1, collection_id="c", owner_id="ann") for name in ("gone", "kept")]
    assert await processor.process(SCOPE, documents) == []
    [move] = alone.finished
    assert (move.document_id, move.revision, move.scope) == ("gone", 1, SCOPE)


class Away:
    """The group service of indexing, whose store does not answer."""

    def __init__(self, error: FootnoteError) -> None:
        self._error = error

    async def IndexDocuments(self, messages: AsyncIterator[Any], timeout: float) -> None:
        _ = [message async for message in messages]
        raise self._error


class Waiting:
    """Notes the documents that are said to wait; one of them has changed meanwhile."""

    def __init__(self) -> None:
        self.said: dict[str, tuple[str, int]] = {}

    async def note_waiting(
        self, scope: Scope, document: Document, error: FootnoteError, attempts: int, pause: float
    ) -> None:
        self.said[document.id] = (error.message, attempts)
        if document.id == "changed":
            raise Aborted("changed meanwhile", reason="CONFLICT")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Unavailable("The store stands still", reason="STORE_UNAVAILABLE"), {"one", "changed", "two"}),
        (Internal("A fault of ours"), set()),
    ],
    ids=["what passes", "what does not"],
)
async def test_what_a_group_waits_for_is_said_of_its_documents_before_their_own_jobs(
    error: FootnoteError, said: set[str]
) -> None:
    stages, waiting, rest = SimpleNamespace(), Waiting(), Nothing()
    stages.ingestion_groups, stages.indexing_groups = Ingestion(""), Away(error)
    groups: Any = GroupProcessor
    processor = groups(stages, ProgressBus(), rest, rest, waiting, Settings())
    documents = [Document(id=name, revision=1, collection_id="c", owner_id="ann") for name in ("one", "changed", "two")]
    with pytest.raises(type(error)):
        await processor.process(SCOPE, documents)
    assert waiting.said == dict.fromkeys(said, (error.message, 1))


class Collections:
    """The collections of indexing, whose pictures are read or not."""

    def __init__(self, reads: bool) -> None:
        self._reads = reads

    async def GetCollection(self, request: indexing.GetCollectionRequest, timeout: float) -> Any:
        response = indexing.GetCollectionResponse()
        response.collection.effective_settings.ocr_pictures = self._reads
        return response


@pytest.mark.parametrize(
    ("types", "reads", "alone"),
    [
        (["html", "txt", "eml", "md"], True, ["html", "eml"]),
        (["html", "txt", "eml", "md"], False, []),
        (["html", "eml"], True, ["html", "eml"]),
        (["txt", "md"], True, []),
    ],
)
async def test_documents_whose_pictures_are_read_are_left_to_their_own_jobs(
    types: list[str], reads: bool, alone: list[str]
) -> None:
    stages, moved, rest = SimpleNamespace(), Moves(""), Nothing()
    stages.ingestion_groups, stages.indexing_groups, stages.indexing = moved, Indexing(), Collections(reads)
    groups: Any = GroupProcessor
    processor = groups(stages, ProgressBus(), rest, rest, Alone(), Settings())
    documents = [Document(id=name, document_type=name, revision=1, collection_id="c", owner_id="ann") for name in types]
    assert [one.id for one in await processor.process(SCOPE, documents)] == alone
    assert moved.ids == {*types} - {*alone}, "what is left to its own job still waits"
    assert moved.parsed == [name for name in types if name not in alone]


class Moves(Ingestion):
    """Notes which documents are moved and parsed."""

    def __init__(self, deleted: str) -> None:
        super().__init__(deleted)
        self.ids: set[str] = set()
        self.parsed: list[str] = []

    async def MoveDocuments(
        self, request: ingestion_groups.MoveDocumentsRequest, timeout: float
    ) -> ingestion_groups.MoveDocumentsResponse:
        self.ids |= {move.document_id for move in request.moves}
        return await super().MoveDocuments(request, timeout)

    def ParseDocuments(self, request: ingestion_groups.ParseDocumentsRequest, timeout: float) -> Any:
        self.parsed += request.document_ids
        return super().ParseDocuments(request, timeout)


def test_what_ingestion_parses_together_goes_in_groups() -> None:
    assert KINDS | {"eml"} == SMALL_TYPES, "mails go in groups, and are parsed alone: they may hold archives"
