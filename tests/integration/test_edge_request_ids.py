"""A question asked again under its request id, on SQLite and on PostgreSQL: one question, one answer."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from footnote.edge.v1.answers_pb2 import AskCompleted, AskRequest, AskResponse
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, ListMessagesRequest
from footnote_edge.app import build
from footnote_edge.gateway import request_ids
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import InvalidArgument, Unavailable
from footnote_kit.testing import serve_app
from support import postgres
from support.answer_parts import EVERY_PART
from support.doubles.stages import World, serve_doubles
from support.edge_client import EdgeClient

pytestmark = pytest.mark.full

OTHER = (("x-footnote-user", "other"),)


@pytest.fixture(params=["sqlite", "postgres"], autouse=True)
async def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Edge keeps its state in SQLite, then in PostgreSQL."""
    if request.param == "postgres":
        url = await postgres.migrated_database(request.getfixturevalue("postgres_url"), "edge")
        monkeypatch.setenv("FOOTNOTE_EDGE_DATABASE_URL", url)
        monkeypatch.setenv("FOOTNOTE_EDGE_EXECUTOR_ID", "edge-0")


@pytest.fixture
async def edge(world: World, database: None) -> AsyncIterator[EdgeStub]:
    """A stub of edge that holds one document."""
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        await EdgeClient(served.channel).put(b"Tea is brewed at 80 degrees.", "tea.txt")
        yield EdgeStub(served.channel)


async def events(edge: EdgeStub, question: str = "tea ?", metadata: Any = (), **more: Any) -> list[AskResponse]:
    request = AskRequest(question=question, **{"request_id": "r-1", "include": EVERY_PART, **more})
    return [event async for event in edge.Ask(request, metadata=metadata, timeout=20)]


async def ask(edge: EdgeStub, *arguments: Any, **more: Any) -> AskCompleted:
    return (await events(edge, *arguments, **more))[-1].completed


async def conversation(edge: EdgeStub) -> str:
    return str((await edge.CreateConversation(CreateConversationRequest())).conversation.id)


async def said(edge: EdgeStub, conversation_id: str) -> list[str]:
    listed = await edge.ListMessages(ListMessagesRequest(conversation_id=conversation_id))
    return [message.text for message in listed.messages]


@pytest.mark.parametrize("inside", [True, False])
async def test_the_same_request_gets_the_first_answer(edge: EdgeStub, world: World, inside: bool) -> None:
    where = {"conversation_id": await conversation(edge)} if inside else {}
    first = await ask(edge, **where)
    again = await events(edge, **where)
    assert again[-1].completed.answer == first.answer
    assert again[-1].completed.sources == first.sources
    assert again[-1].completed.manifest == first.manifest
    assert again[-1].completed.conversation_id == first.conversation_id
    assert "".join(event.text_delta for event in again) == first.answer.text
    assert {event.WhichOneof("event") for event in again} == {"sources", "text_delta", "citation", "completed"}
    assert {event.WhichOneof("event") for event in await events(edge, include=[], **where)} == {
        "text_delta", "completed"
    }  # fmt: skip
    assert len(world.requests("BuildPrompt")) == 1
    if inside:
        assert len(await said(edge, where["conversation_id"])) == 2


async def test_another_request_under_the_id_is_refused(edge: EdgeStub) -> None:
    await ask(edge)
    for more in ({"question": "sugar ?"}, {"collections": ["default"]}, {"conversation_id": await conversation(edge)}):
        with pytest.raises(InvalidArgument) as caught:
            await ask(edge, **more)
        assert caught.value.reason == "REQUEST_ID_REUSED"
        assert [one.field for one in caught.value.violations] == ["request_id"]
    for bad in ("x" * 65, "é", "a\nb"):
        with pytest.raises(InvalidArgument) as caught:
            await ask(edge, request_id=bad)
        assert caught.value.reason == "INVALID_FIELD"


async def test_an_id_is_its_users_own(edge: EdgeStub) -> None:
    first = await ask(edge)
    other = await ask(edge, "sugar ?", OTHER)
    assert other.answer.id != first.answer.id


async def test_a_cancelled_question_is_stored_once_and_answered_when_asked_again(edge: EdgeStub, world: World) -> None:
    where = {"conversation_id": await conversation(edge)}
    await ask(edge, "what about tea", request_id="r-0", **where)
    world.gates["Generate"] = asyncio.Event()
    call = edge.Ask(AskRequest(question="tea ?", request_id="r-1", **where), timeout=20)
    async for event in call:
        if event.text_delta:
            break
    call.cancel()
    await world.until(lambda: bool(world.cancelled))
    async with asyncio.timeout(240):  # the text before the caller left is kept
        while (await said(edge, where["conversation_id"]))[2:] != ["tea ?", "Tea"]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    world.gates.clear()
    done = await ask(edge, **where)
    assert (await said(edge, where["conversation_id"]))[2:] == ["tea ?", done.answer.text]
    first, again = world.requests("BuildPrompt")[-2:]
    assert [one.text for one in again.history] == [one.text for one in first.history]
    assert len(again.history) == 2


async def test_a_question_that_failed_is_answered_when_asked_again(edge: EdgeStub, world: World) -> None:
    where = {"conversation_id": await conversation(edge)}
    world.failures["Generate"] = Unavailable("the model died", reason="PROVIDER_FAILED")
    for _ in range(2):
        with pytest.raises(Unavailable):
            await ask(edge, **where)
    world.failures.clear()
    done = await ask(edge, **where)
    assert await said(edge, where["conversation_id"]) == ["tea ?", done.answer.text]


async def test_the_same_request_twice_at_once_has_one_answer(edge: EdgeStub, world: World) -> None:
    where = {"conversation_id": await conversation(edge)}
    gate = world.gates["Generate"] = asyncio.Event()
    both = [asyncio.create_task(ask(edge, **where)) for _ in range(2)]
    await world.until(lambda: len(world.requests("Generate")) == 2)
    gate.set()
    one, other = await asyncio.gather(*both)
    assert one.answer == other.answer
    assert await said(edge, where["conversation_id"]) == ["tea ?", one.answer.text]


async def test_after_a_day_an_id_is_forgotten(edge: EdgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await ask(edge)
    monkeypatch.setattr(request_ids, "KEPT", timedelta(0))
    assert (await ask(edge, "sugar ?")).answer.id != first.answer.id
