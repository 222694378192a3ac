"""Edge with stages of a later version, whose enums have values that this one does not know."""

import json
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest
from footnote.edge.v1.answers_pb2 import AskCompleted, AskRequest, GetAnswerRequest, ReplayAnswerRequest
from footnote.edge.v1.documents_pb2 import Document, UploadDocumentRequest, UploadMetadata, WatchDocumentRequest
from footnote.types.v1 import answer_pb2 as ans
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED, FAILURE_REASON_INTERNAL
from footnote_edge.app import build
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import InvalidArgument
from footnote_kit.testing import Served, serve_app
from support.doubles.stages import World, serve_doubles

NEWER = 99


@pytest.fixture
async def served(world: World) -> AsyncIterator[Served]:
    """Edge with the doubles."""
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as running:
        yield running


@pytest.fixture
def edge(served: Served) -> EdgeStub:
    """A stub of edge."""
    return EdgeStub(served.channel)


async def uploaded(edge: EdgeStub, text: bytes) -> Document:
    def parts() -> Iterator[UploadDocumentRequest]:
        yield UploadDocumentRequest(metadata=UploadMetadata(collection="default", filename="tea.txt"))
        yield UploadDocumentRequest(data=text)

    document: Document = (await edge.UploadDocument(parts())).document
    async for event in edge.WatchDocument(WatchDocumentRequest(document_id=document.id), timeout=30):
        document = event.document
    return document


async def completed(edge: EdgeStub) -> AskCompleted:
    (done,) = [one.completed async for one in edge.Ask(AskRequest(question="tea ?")) if one.HasField("completed")]
    return done


async def test_an_answer_with_values_of_a_later_version_is_completed_and_stored(edge: EdgeStub, world: World) -> None:
    await uploaded(edge, b"Tea is brewed at 80 degrees.")
    world.finish_reason = NEWER
    world.degradations = [ans.Degradation(stage=NEWER, reason=NEWER, effect="Something was left out.")]  # type: ignore[arg-type]
    done = await completed(edge)
    assert done.answer.finish_reason == NEWER
    assert [one.stage for one in done.degradations] == [NEWER]
    assert (await edge.GetAnswer(GetAnswerRequest(answer_id=done.answer.id))).answer.text == done.answer.text
    await edge.ReplayAnswer(ReplayAnswerRequest(answer_id=done.answer.id), timeout=30)


async def test_other_dialects_show_values_of_a_later_version(served: Served, edge: EdgeStub, world: World) -> None:
    await uploaded(edge, b"Tea is brewed at 80 degrees.")
    world.finish_reason = world.verdict = NEWER
    async with httpx2.AsyncClient(base_url=f"http://{served.runtime.announced['http']}", timeout=60) as http:
        body = {"model": "footnote", "messages": [{"role": "user", "content": "tea ?"}], "stream": True}
        said = (await http.post("/v1/chat/completions", json=body)).text
        assert said.strip().endswith("data: [DONE]")
        events = [json.loads(line[6:]) for line in said.splitlines() if line.startswith("data: {")]
        assert "error" not in events[-1], events[-1]


async def test_a_document_with_a_choice_of_a_later_version_is_indexed(edge: EdgeStub, world: World) -> None:
    world.chunking_choice = NEWER
    assert (await uploaded(edge, b"one line\nanother line")).state == DOCUMENT_STATE_INDEXED


async def test_a_document_whose_end_is_refused_fails_and_is_not_begun_again(edge: EdgeStub, world: World) -> None:
    world.refused_end = InvalidArgument.field("chunking_choice", "has no value 99")
    document = await uploaded(edge, b"one line\nanother line")
    assert (document.state, document.failure.reason) == (DOCUMENT_STATE_ERROR, FAILURE_REASON_INTERNAL)
    assert "chunking_choice" in document.failure.message
    assert document.id not in world.chunks
