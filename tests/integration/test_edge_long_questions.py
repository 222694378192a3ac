"""Long questions, with the real augmentation: documents are searched by a part of them."""

from collections.abc import AsyncIterator

import pytest
from footnote.edge.v1.answers_pb2 import AskCompleted, AskRequest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest
from footnote_augmentation.app import build as build_augmentation
from footnote_edge.app import build
from footnote_edge.settings import Settings
from footnote_kit.edge import EdgeStub
from footnote_kit.testing import serve_app
from footnote_retrieval.servicer import MAX_QUERY
from support.doubles.stages import World, serve_doubles


@pytest.fixture(params=[8000, 20_000])
async def limit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The characters that a deployment lets a question have."""
    monkeypatch.setenv("FOOTNOTE_EDGE_MAX_QUESTION_CHARACTERS", str(request.param))
    return int(request.param)


@pytest.fixture
async def edge(limit: int, world: World) -> AsyncIterator[EdgeStub]:
    """Edge with this limit."""
    async with serve_doubles(world) as addresses, serve_app(build_augmentation) as augmentation:
        addresses["augmentation"] = augmentation.address
        async with serve_app(build, addresses=addresses) as served:
            yield EdgeStub(served.channel)


async def completed(edge: EdgeStub, question: str, conversation_id: str) -> AskCompleted:
    request = AskRequest(question=question, conversation_id=conversation_id)
    (done,) = [event.completed async for event in edge.Ask(request, timeout=20) if event.HasField("completed")]
    return done


async def test_a_follow_up_as_long_as_a_question_may_be_is_answered(edge: EdgeStub, world: World, limit: int) -> None:
    conversation = (await edge.CreateConversation(CreateConversationRequest())).conversation
    await completed(edge, "How many months of warranty does the Polaris Laser Tracker AI-3001 have?", conversation.id)
    question = "And why does it fail with this log? " + "error line pressure sensor 4711 failed; " * (limit // 40)
    answered = await completed(edge, question[:limit].rstrip(), conversation.id)
    assert answered.answer.text
    asked = world.requests("Retrieve")[-1].query
    assert len(asked) <= MAX_QUERY
    assert "why does it fail" in asked


def test_a_limit_beyond_what_the_stages_take_is_cut_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_MAX_QUESTION_CHARACTERS", "20001")
    assert Settings().max_question_characters == 20_000
