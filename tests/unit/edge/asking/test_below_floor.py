"""Passages below the search's floor: looked up again for their tables, and only where none was found for it."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from footnote.augmentation.v1.augmentation_service_pb2 import PlanQueryResponse
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.retrieval.v1.retrieval_service_pb2 import RetrieveRequest, RetrieveResponse
from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import Usage
from footnote.types.v1.table_pb2 import TableComputation
from footnote_edge.asking import tables
from footnote_edge.asking.answerers import Answerer
from footnote_edge.asking.question import Draft, Found
from footnote_edge.asking.searching import below_floor
from footnote_kit.errors import FootnoteError, InvalidArgument, Unavailable


def question(answer: RetrieveResponse | FootnoteError, asked: list[RetrieveRequest]) -> Any:
    class Retrieval:
        async def Retrieve(self, request: RetrieveRequest, timeout: float) -> RetrieveResponse:
            asked.append(request)
            if isinstance(answer, FootnoteError):
                raise answer
            return answer

    return SimpleNamespace(
        scope=Scope(), text="total?", request=AskRequest(), replayed=None,
        deadline=SimpleNamespace(share=lambda stage: 3.0),
        tools=SimpleNamespace(stages=SimpleNamespace(retrieval=Retrieval())),
    )  # fmt: skip


def draft(found: Found) -> Any:
    past = SimpleNamespace(bounds=TextBounds())
    thread = SimpleNamespace(collections=["stocks"], past=past, local_only=False)
    return SimpleNamespace(found=found, plan=SimpleNamespace(query="total?"), thread=thread)


async def test_they_are_searched_without_a_least_score() -> None:
    asked: list[RetrieveRequest] = []
    found = RetrieveResponse(chunks=[ScoredChunk(chunk=Chunk(document_id="d"))])
    chunks = await below_floor(question(found, asked), draft(Found(below_floor=True)))
    assert [one.chunk.document_id for one in chunks] == ["d"]
    assert [(one.settings.HasField("min_score"), one.settings.min_score) for one in asked] == [(True, 0.0)]
    assert list(asked[0].collections) == ["stocks"]


async def test_they_are_not_searched_where_no_floor_left_them_out() -> None:
    asked: list[RetrieveRequest] = []
    assert await below_floor(question(RetrieveResponse(), asked), draft(Found())) == ()
    assert not asked


async def test_a_failed_search_finds_none_of_them() -> None:
    assert await below_floor(question(Unavailable("away"), []), draft(Found(below_floor=True))) == ()
    with pytest.raises(InvalidArgument):
        await below_floor(question(InvalidArgument("no"), []), draft(Found(below_floor=True)))


@pytest.mark.parametrize("is_model", [True, False])
async def test_their_tables_are_asked_with_a_model_and_without(is_model: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Sequence[ScoredChunk]] = []

    async def computation(question: Any, draft: Any, chunks: Sequence[ScoredChunk]) -> tuple[TableComputation, Usage]:
        given.append(chunks)
        return TableComputation(), Usage()

    async def value(one: Any) -> Any:
        return one

    monkeypatch.setattr(tables, "_computation", computation)
    asked: Any = draft(Found(below_floor=True))
    settings: Any = SimpleNamespace(model=SimpleNamespace(strict=False))
    begun: Any = Draft(
        thread=asked.thread, settings=asyncio.ensure_future(value(settings)),
        recording=asyncio.ensure_future(value(None)),
        answerer=asyncio.ensure_future(value(Answerer(is_model=is_model))),
        plan=PlanQueryResponse(table_words=["total"]),
        found=asked.found,
    )  # fmt: skip
    found = RetrieveResponse(chunks=[ScoredChunk(chunk=Chunk(document_id="d"))])
    made = await tables.compute(question(found, []), begun)
    assert [[one.chunk.document_id for one in chunks] for chunks in given] == [["d"]]
    assert not made.found.chunks  # they are no sources
