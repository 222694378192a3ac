"""Passages below the search's floor: looked up again for their tables, and only where none was found for it."""

from types import SimpleNamespace
from typing import Any

import pytest
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.retrieval.v1.retrieval_service_pb2 import RetrieveRequest, RetrieveResponse
from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote_edge.asking.question import Found
from footnote_edge.asking.searching import below_floor
from footnote_kit.errors import FootnoteError, InvalidArgument, Unavailable


def question(answer: RetrieveResponse | FootnoteError, asked: list[RetrieveRequest]) -> Any:
    class Retrieval:
        async def Retrieve(self, request: RetrieveRequest, timeout: float) -> RetrieveResponse:
            asked.append(request)
            if isinstance(answer, FootnoteError):
                raise answer
            return answer

    async def about(scope: Scope, collections: object) -> TextBounds:
        return TextBounds()

    return SimpleNamespace(
        scope=Scope(), text="total?", request=AskRequest(), replayed=None,
        deadline=SimpleNamespace(share=lambda stage: 3.0),
        tools=SimpleNamespace(
            stages=SimpleNamespace(retrieval=Retrieval()), bounds=SimpleNamespace(about=about)
        ),
    )  # fmt: skip


def draft(found: Found) -> Any:
    past = SimpleNamespace(collections=())
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
