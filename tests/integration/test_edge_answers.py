"""Answers by their ids, on SQLite and on PostgreSQL: those of conversations, and those outside."""

import asyncio
import pkgutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1.answers_pb2 import (
    ANSWER_PART_CLAIMS,
    ANSWER_PART_SOURCES,
    RATING_UP,
    AnswerPart,
    AskCompleted,
    AskRequest,
    CreateFeedbackRequest,
    GetAnswerManifestRequest,
    GetAnswerRequest,
    ListFeedbackRequest,
    ReplayAnswerRequest,
)
from footnote.edge.v1.collections_pb2 import DeleteCollectionRequest
from footnote.edge.v1.conversations_pb2 import (
    CreateConversationRequest,
    DeleteConversationRequest,
    ListMessagesRequest,
    RegenerateMessageRequest,
)
from footnote_database.failures import not_reached
from footnote_edge.adapters.database import MIGRATIONS, Database
from footnote_edge.adapters.origins import OriginTable
from footnote_edge.app import build
from footnote_edge.asking import storing
from footnote_kit.degradations import word
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import InvalidArgument, NotFound
from footnote_kit.testing import serve_app
from sqlalchemy import Connection, text
from support import postgres
from support.answer_parts import EVERY_PART
from support.doubles.stages import World, serve_doubles
from support.edge_client import EdgeClient
from support.matrices import sqlite_alone
from support.operations import ended

OTHER = (("x-footnote-user", "other"),)


@pytest.fixture(params=["sqlite", "postgres"], autouse=True)
async def database_url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Where edge keeps its answers: SQLite, then PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'alone.db'}"
    url = await postgres.migrated_database(request.getfixturevalue("postgres_url"), "edge")
    monkeypatch.setenv("FOOTNOTE_EDGE_DATABASE_URL", url)
    monkeypatch.setenv("FOOTNOTE_EDGE_EXECUTOR_ID", "edge-0")
    return str(url)


@pytest.fixture
async def edge(world: World, database_url: str) -> AsyncIterator[EdgeStub]:
    """A stub of edge that holds one document."""
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        await EdgeClient(served.channel).put(b"Tea is brewed at 80 degrees.", "tea.txt")
        yield EdgeStub(served.channel)


async def ask(edge: EdgeStub, question: str = "tea ?", **more: Any) -> AskCompleted:
    more.setdefault("include", EVERY_PART)
    return [event async for event in edge.Ask(AskRequest(question=question, **more), timeout=20)][-1].completed


async def missing(call: Any) -> None:
    with pytest.raises(NotFound) as caught:
        await call
    assert caught.value.reason == "ANSWER_NOT_FOUND"


async def test_an_answer_outside_conversations_is_found_by_its_id_by_its_user_alone(edge: EdgeStub) -> None:
    done = await ask(edge)
    wanted = GetAnswerRequest(answer_id=done.answer.id)
    found = await edge.GetAnswer(wanted)
    assert found.question == "tea ?"
    assert found.answer.text == done.answer.text
    assert (found.conversation_id, found.trace_id) == ("", done.trace_id)
    kept_for = found.expire_time.ToDatetime() - found.create_time.ToDatetime()
    assert kept_for.days == 30
    assert not found.sources
    wanted.include.append(ANSWER_PART_SOURCES)
    assert list((await edge.GetAnswer(wanted)).sources) == list(done.sources)
    for part in set(EVERY_PART) - {ANSWER_PART_SOURCES, ANSWER_PART_CLAIMS}:
        with pytest.raises(InvalidArgument, match=AnswerPart.Name(part)):
            await edge.GetAnswer(GetAnswerRequest(answer_id=done.answer.id, include=[part]))
    manifest = (await edge.GetAnswerManifest(GetAnswerManifestRequest(answer_id=done.answer.id))).manifest
    assert manifest == done.manifest
    again = await edge.ReplayAnswer(ReplayAnswerRequest(answer_id=done.answer.id))
    assert again.identical, again.differences
    assert not again.completed.answer.id
    await missing(edge.GetAnswer(wanted, metadata=OTHER))
    await missing(edge.GetAnswerManifest(GetAnswerManifestRequest(answer_id=done.answer.id), metadata=OTHER))
    await missing(edge.ReplayAnswer(ReplayAnswerRequest(answer_id=done.answer.id), metadata=OTHER))
    await missing(
        edge.CreateFeedback(CreateFeedbackRequest(answer_id=done.answer.id, rating=RATING_UP), metadata=OTHER)
    )
    await missing(edge.GetAnswer(GetAnswerRequest(answer_id="none")))


async def test_an_answer_of_a_conversation_goes_with_it(edge: EdgeStub) -> None:
    conversation = (await edge.CreateConversation(CreateConversationRequest())).conversation.id
    done = await ask(edge, conversation_id=conversation)
    found = await edge.GetAnswer(GetAnswerRequest(answer_id=done.answer.id))
    assert found.conversation_id == conversation
    assert not found.HasField("expire_time")
    listed = await edge.ListMessages(ListMessagesRequest(conversation_id=conversation))
    assert listed.messages[1].id == done.answer.id == listed.messages[1].answer.id
    await missing(edge.GetAnswer(GetAnswerRequest(answer_id=listed.messages[0].id)))  # the question is no answer
    await edge.DeleteConversation(DeleteConversationRequest(conversation_id=conversation))
    await missing(edge.GetAnswer(GetAnswerRequest(answer_id=done.answer.id)))


async def test_feedback_names_an_answer_wherever_it_is(edge: EdgeStub) -> None:
    done = await ask(edge)
    await edge.CreateFeedback(CreateFeedbackRequest(answer_id=done.answer.id, citation=1, rating=RATING_UP))
    (feedback,) = (await edge.ListFeedback(ListFeedbackRequest())).feedback
    assert (feedback.answer_id, feedback.citation) == (done.answer.id, 1)


async def test_an_answer_outside_conversations_goes_with_its_collection(edge: EdgeStub) -> None:
    done, greeting = await ask(edge), await ask(edge, "hello")
    await edge.CreateFeedback(CreateFeedbackRequest(answer_id=done.answer.id, rating=RATING_UP))
    assert done.sources[0].collection_id
    gone = await edge.DeleteCollection(DeleteCollectionRequest(collection="default"))
    await ended(edge, gone.operation)
    await missing(edge.GetAnswer(GetAnswerRequest(answer_id=done.answer.id)))
    assert not (await edge.ListFeedback(ListFeedbackRequest())).feedback
    assert (await edge.GetAnswer(GetAnswerRequest(answer_id=greeting.answer.id))).answer.text == greeting.answer.text


@pytest.mark.parametrize("days", ["0", "0.00002"])
async def test_an_answer_outside_conversations_is_kept_as_long_as_is_set(
    world: World, monkeypatch: pytest.MonkeyPatch, days: str
) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_ANSWER_DAYS", days)
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        edge = EdgeStub(served.channel)
        conversation = (await edge.CreateConversation(CreateConversationRequest())).conversation.id
        kept = await ask(edge, "hello", conversation_id=conversation)
        done = await ask(edge, "hello")
        assert done.answer.id
        await asyncio.sleep(86_400 * float(days))
        await missing(edge.GetAnswer(GetAnswerRequest(answer_id=done.answer.id)))
        assert (await edge.GetAnswer(GetAnswerRequest(answer_id=kept.answer.id))).answer.text


@sqlite_alone("database_url")
async def test_an_answer_that_cannot_be_stored_is_given_and_says_so(edge: EdgeStub, monkeypatch: Any) -> None:
    async def broken(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("footnote_edge.conversations.answers.Answers.keep", broken)
    done = await ask(edge)
    assert done.answer.text == "Tea is brewed at 80 degrees. [1]"
    assert [word(one) for one in done.degradations] == ["ANSWER_NOT_STORED"]


_WRITES = {
    "by itself": "footnote_edge.conversations.answers.Answers.keep",
    "in its conversation": "footnote_edge.conversations.messages.Messages.add_answer",
    "anew": "footnote_edge.adapters.regeneration.RegenerationTable.replace",
}


async def answered(edge: EdgeStub, way: str, conversation: str, answer_id: str) -> AskCompleted:
    if way == "by itself":
        return await ask(edge)
    if way == "in its conversation":
        return await ask(edge, conversation_id=conversation)
    asked = RegenerateMessageRequest(message_id=answer_id, include=EVERY_PART)
    return [event async for event in edge.RegenerateMessage(asked, timeout=20)][-1].completed


@pytest.mark.parametrize("way", _WRITES)
@pytest.mark.parametrize("comes_back", [True, False], ids=["comes back", "stays away"])
async def test_a_database_that_is_away_for_a_moment_costs_no_answer(
    edge: EdgeStub, monkeypatch: Any, way: str, comes_back: bool
) -> None:
    conversation = (await edge.CreateConversation(CreateConversationRequest())).conversation.id
    first = await ask(edge, conversation_id=conversation)
    write, times = pkgutil.resolve_name(_WRITES[way].rpartition(".")[0]), 0
    name = _WRITES[way].rpartition(".")[2]
    as_before = getattr(write, name)

    async def away(*given: Any, **more: Any) -> Any:
        nonlocal times
        times += 1
        if comes_back and times == 2:  # its write took effect; only the response was lost
            await as_before(*given, **more)
        if times <= 2 or not comes_back:
            raise not_reached()
        return await as_before(*given, **more)

    monkeypatch.setattr(write, name, away)
    monkeypatch.setattr(storing, "STORE_WAIT_SECONDS", 10.0 if comes_back else 0.5)
    done = await answered(edge, way, conversation, first.answer.id)
    assert done.answer.text == first.answer.text
    assert [word(one) for one in done.degradations] == ([] if comes_back else ["ANSWER_NOT_STORED"])
    wanted = GetAnswerRequest(answer_id=done.answer.id)
    if not comes_back:
        assert times >= 2
        await missing(edge.GetAnswer(wanted))
        return
    assert times == 3
    assert (await edge.GetAnswer(wanted)).answer.text == done.answer.text


@sqlite_alone("database_url")
@pytest.mark.parametrize(
    ("failing", "said"),
    [({1}, []), ({2}, []), ({1, 2, 3}, ["ANSWER_NOT_STORED"]), ({2, 3, 4}, [])],
    ids=["before", "after", "before, and stays", "after, and stays"],
)
async def test_a_check_of_origins_that_fails_costs_no_answer(
    edge: EdgeStub, monkeypatch: Any, failing: set[int], said: list[str]
) -> None:
    times, gone = 0, OriginTable.gone

    async def away(*given: Any) -> Any:
        nonlocal times
        times += 1
        if times in failing:
            raise not_reached()
        return await gone(*given)

    monkeypatch.setattr(OriginTable, "gone", away)
    monkeypatch.setattr(storing, "STORE_WAIT_SECONDS", 10.0 if len(failing) == 1 else 0.1)
    done = await ask(edge)
    assert done.answer.text == "Tea is brewed at 80 degrees. [1]"
    assert [word(one) for one in done.degradations] == said
    wanted = GetAnswerRequest(answer_id=done.answer.id)
    if said:
        await missing(edge.GetAnswer(wanted))
    else:
        assert (await edge.GetAnswer(wanted)).answer.text == done.answer.text


async def test_messages_and_feedback_of_before_are_kept(request: pytest.FixtureRequest, database_url: str) -> None:
    if not database_url.startswith("sqlite"):
        database_url = await postgres.new_database(request.getfixturevalue("postgres_url"))
    database = Database(database_url)
    rows = (
        "INSERT INTO conversations (id, tenant_id, user_id, title, collections, topic, local_only, create_time, "
        "update_time) VALUES ('k', 't', 'u', '', '[]', '', false, '2026-01-01', '2026-01-01')",
        "INSERT INTO messages (id, conversation_id, tenant_id, user_id, role, text, payload, create_time) "
        "VALUES ('m', 'k', 't', 'u', 3, 'x', '', '2026-01-01')",
        "INSERT INTO feedback (id, tenant_id, user_id, message_id, citation, rating, comment, create_time) "
        "VALUES ('f', 't', 'u', 'm', 0, 1, '', '2026-01-01')",
    )

    def before(connection: Connection) -> None:
        MIGRATIONS.upgrade(connection, "0005")

    try:
        async with database.engine.begin() as connection:
            if not database.is_sqlite:
                await connection.execute(text("CREATE SCHEMA edge"))
            await connection.run_sync(before)
            for row in rows:
                await connection.execute(text(row))
        await database.migrate()
        async with database.engine.begin() as connection:
            kept = await connection.execute(
                text("SELECT m.id, f.answer_id, m.sequence FROM messages m JOIN feedback f ON f.answer_id = m.id")
            )
            assert kept.all() == [("m", "m", 1)]
            await connection.execute(text("DELETE FROM conversations"))
            for table in ("messages", "feedback"):
                assert not (await connection.execute(text(f"SELECT * FROM {table}"))).all()
    finally:
        await database.close()
