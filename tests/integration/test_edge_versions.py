"""Versions of a question that an edit replaced: restored with all later messages, nested, deleted, forgotten."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from dbos import DBOS
from footnote.edge.v1.answers_pb2 import AskCompleted, AskRequest, CreateFeedbackRequest, ListFeedbackRequest
from footnote.edge.v1.conversations_pb2 import (
    Conversation,
    ConversationMessage,
    CreateConversationRequest,
    DeleteConversationRequest,
    EditMessageRequest,
    ListConversationsRequest,
    ListMessagesRequest,
    RegenerateMessageRequest,
    RestoreMessageRequest,
)
from footnote_edge.app import build
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import Aborted, NotFound
from footnote_kit.testing import serve_app
from support import postgres
from support.doubles.stages import World, serve_doubles
from support.edge_client import EdgeClient

pytestmark = pytest.mark.full

OTHER = (("x-footnote-user", "other"),)


@pytest.fixture(params=["sqlite", "postgres"], autouse=True)
async def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database of edge: SQLite, then a new one of PostgreSQL."""
    monkeypatch.setenv("FOOTNOTE_EDGE_BACKGROUND_CONCURRENCY", "4")  # some jobs wait here while others are to go on
    if request.param == "postgres":
        url = await postgres.migrated_database(request.getfixturevalue("postgres_url"), "edge")
        monkeypatch.setenv("FOOTNOTE_EDGE_DATABASE_URL", url)
        monkeypatch.setenv("FOOTNOTE_EDGE_EXECUTOR_ID", "edge-0")


@pytest.fixture
async def world() -> World:
    """What the doubles of the stages hold."""
    return World()


@pytest.fixture
async def edge(world: World, database: None) -> AsyncIterator[EdgeStub]:
    """Edge over doubles of the stages, with one document."""
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        await EdgeClient(served.channel).put(b"Tea is brewed at 80 degrees.", "tea.txt")
        yield EdgeStub(served.channel)


async def last(stream: Any) -> AskCompleted:
    return [event async for event in stream][-1].completed


async def ask(edge: EdgeStub, question: str, of: str) -> AskCompleted:
    return await last(edge.Ask(AskRequest(question=question, conversation_id=of), timeout=20))


async def edit(edge: EdgeStub, message: str, text: str, *, keep: bool = True) -> AskCompleted:
    return await last(
        edge.EditMessage(EditMessageRequest(message_id=message, text=text, keep_replaced=keep), timeout=20)
    )


async def restore(edge: EdgeStub, message: str, metadata: Any = ()) -> Conversation:
    return (await edge.RestoreMessage(RestoreMessageRequest(message_id=message), metadata=metadata)).conversation


async def conversation(edge: EdgeStub, *questions: str) -> str:
    made = str((await edge.CreateConversation(CreateConversationRequest())).conversation.id)
    for question in questions:
        await ask(edge, question, made)
    return made


async def messages(edge: EdgeStub, of: str, **more: Any) -> list[ConversationMessage]:
    return list((await edge.ListMessages(ListMessagesRequest(conversation_id=of, **more))).messages)


async def questions(edge: EdgeStub, of: str) -> dict[str, ConversationMessage]:
    return {one.text: one for one in await messages(edge, of) if not one.question_id}


async def test_what_an_edit_kept_comes_back_and_goes_aside_again(edge: EdgeStub, world: World) -> None:
    made = await conversation(edge, "tea ?", "sugar ?", "milk ?")
    before = await messages(edge, made)
    assert not any(one.versions for one in before)
    done = await edit(edge, before[2].id, "coffee ?")
    edited = await messages(edge, made)
    assert [one.id for one in edited] == [before[0].id, before[1].id, done.question_id, done.answer.id]
    versions = [before[2].id, done.question_id]
    assert [list(one.versions) for one in edited] == [[], [], versions, []]
    assert await messages(edge, made, include_superseded=True) == edited, "what is put aside is no replaced answer"
    back = await restore(edge, before[2].id)
    assert back.message_count == 6
    now = await messages(edge, made)
    assert [one.id for one in now] == [one.id for one in before]
    assert list(now[2].versions) == versions
    # A new question continues the current version.
    await ask(edge, "bread ?", made)
    assert [one.text for one in world.requests("BuildPrompt")[-1].history] == [one.text for one in before]
    assert (await restore(edge, done.question_id)).message_count == 4
    assert await messages(edge, made) == edited
    await restore(edge, before[2].id)
    assert list(await questions(edge, made)) == ["tea ?", "sugar ?", "milk ?", "bread ?"]
    assert (await restore(edge, before[2].id)).message_count == 8, "one that is there stays"


async def test_versions_within_versions_come_and_go_with_them(edge: EdgeStub) -> None:
    made = await conversation(edge, "tea ?", "sugar ?")
    first = await questions(edge, made)
    inner = await edit(edge, first["sugar ?"].id, "honey ?")
    outer = await edit(edge, first["tea ?"].id, "coffee ?")
    assert list(await questions(edge, made)) == ["coffee ?"]
    for wrong in (first["sugar ?"].id, inner.question_id):
        with pytest.raises(Aborted) as caught:
            await restore(edge, wrong)
        assert caught.value.reason == "CONFLICT"
    with pytest.raises(Aborted):
        await edit(edge, inner.question_id, "jam ?")
    with pytest.raises(Aborted):
        await last(edge.RegenerateMessage(RegenerateMessageRequest(message_id=inner.answer.id), timeout=20))
    await restore(edge, first["tea ?"].id)
    assert list(await questions(edge, made)) == ["tea ?", "honey ?"]
    await restore(edge, first["sugar ?"].id)
    shown = await questions(edge, made)
    assert list(shown) == ["tea ?", "sugar ?"]
    assert list(shown["tea ?"].versions) == [first["tea ?"].id, outer.question_id]
    third = await edit(edge, first["sugar ?"].id, "jam ?")
    assert list((await questions(edge, made))["jam ?"].versions) == [
        first["sugar ?"].id, inner.question_id, third.question_id
    ]  # fmt: skip


async def test_an_edit_that_keeps_nothing_deletes_the_versions_after_it(edge: EdgeStub) -> None:
    made = await conversation(edge, "tea ?", "sugar ?")
    first = await questions(edge, made)
    inner = await edit(edge, first["sugar ?"].id, "honey ?")
    deeper = await questions(edge, made)
    outer = await edit(edge, first["tea ?"].id, "coffee ?")
    await restore(edge, first["tea ?"].id)
    done = await edit(edge, first["tea ?"].id, "water ?", keep=False)
    for gone in (first["tea ?"].id, first["sugar ?"].id, inner.question_id, deeper["tea ?"].id):
        with pytest.raises(NotFound):
            await restore(edge, gone)
    assert list((await questions(edge, made))["water ?"].versions) == [outer.question_id, done.question_id]
    await restore(edge, outer.question_id)
    assert list(await questions(edge, made)) == ["coffee ?"]
    await edge.DeleteConversation(DeleteConversationRequest(conversation_id=made))
    with pytest.raises(NotFound):
        await restore(edge, done.question_id)


async def test_memory_and_search_hold_the_version_that_stands_there(edge: EdgeStub, world: World) -> None:
    made = await conversation(edge, "tea ?", "sugar ?")
    first = await messages(edge, made)
    await world.until(lambda: {one.message_id for one in world.messages} == {one.id for one in first})
    done = await edit(edge, first[2].id, "coffee ?")
    there = {first[0].id, first[1].id, done.question_id, done.answer.id}
    await world.until(lambda: {one.message_id for one in world.messages} == there)

    async def found(text: str) -> int:
        return len((await edge.ListConversations(ListConversationsRequest(query=text))).conversations)

    assert (await found("coffee"), await found("sugar")) == (1, 0)
    await restore(edge, first[2].id)
    await world.until(lambda: {one.message_id for one in world.messages} == {one.id for one in first})
    assert (await found("coffee"), await found("sugar")) == (0, 1)


async def test_memory_keeps_a_version_that_comes_back_while_it_is_forgotten(edge: EdgeStub, world: World) -> None:
    made = await conversation(edge, "tea ?", "sugar ?")
    first = await messages(edge, made)
    await world.until(lambda: {one.message_id for one in world.messages} == {one.id for one in first})
    gate = world.gates["DeleteMessages"] = asyncio.Event()
    begun, back = len(world.requests("IndexMessages")), {one.id for one in first[2:]}
    edited = await edit(edge, first[2].id, "coffee ?")
    await world.until(lambda: bool(world.requests("DeleteMessages")))
    # A job that embeds messages which are put aside meanwhile has memory forget them: it would wait at the gate too.
    new = {edited.question_id, edited.answer.id}
    await world.until(lambda: any(_held(one) >= new for one in world.requests("IndexMessages")))
    await _done("remember_messages")
    await restore(edge, first[2].id)
    await world.until(lambda: any(_held(one) >= back for one in world.requests("IndexMessages")[begun:]))
    await _done("remember_messages")
    world.gates.clear()
    gate.set()
    await _done("forget_messages")
    # The next answer embeds what memory lacks, unless the periodic repair has done so already.
    last_one = await ask(edge, "bread ?", made)
    there = {one.id for one in first} | {last_one.question_id, last_one.answer.id}
    await world.until(lambda: {one.message_id for one in world.messages} >= there)


def _held(request: Any) -> set[str]:
    return {one.message_id for one in request.messages}


async def _done(name: str) -> None:
    for job in await DBOS.list_workflows_async(name=name):
        await (await DBOS.retrieve_workflow_async(job.workflow_id)).get_result()


async def test_verdicts_on_answers_that_are_put_aside_are_not_listed(edge: EdgeStub) -> None:
    made = await conversation(edge, "tea ?")
    question, answer = await messages(edge, made)
    await edge.CreateFeedback(CreateFeedbackRequest(answer_id=answer.id, rating="RATING_UP"))
    listed = ListFeedbackRequest(conversation_id=made)
    assert (await edge.ListFeedback(listed)).total_size == 1
    await edit(edge, question.id, "coffee ?")
    assert (await edge.ListFeedback(listed)).total_size == 0
    await restore(edge, question.id)
    assert [one.answer_id for one in (await edge.ListFeedback(listed)).feedback] == [answer.id]


async def test_an_answer_stays_with_its_question_that_was_put_aside_meanwhile(edge: EdgeStub, world: World) -> None:
    made = await conversation(edge, "tea ?", "sugar ?")
    first = await messages(edge, made)
    done = await edit(edge, first[2].id, "coffee ?")
    begun = len(world.requests("Generate"))
    gate = world.gates["Generate"] = asyncio.Event()
    asking = asyncio.create_task(ask(edge, "bread ?", made))
    await world.until(lambda: len(world.requests("Generate")) > begun)
    world.gates.clear()
    await restore(edge, first[2].id)
    gate.set()
    late = await asking
    assert not late.degradations
    assert [one.id for one in await messages(edge, made)] == [one.id for one in first]
    await restore(edge, done.question_id)
    assert [one.id for one in await messages(edge, made)][-2:] == [late.question_id, late.answer.id]


async def test_only_its_user_restores_and_no_answer_is_a_version(edge: EdgeStub) -> None:
    made = await conversation(edge, "tea ?")
    question, answer = await messages(edge, made)
    await edit(edge, question.id, "coffee ?")
    with pytest.raises(NotFound):
        await restore(edge, question.id, OTHER)
    with pytest.raises(Aborted):
        await restore(edge, answer.id)
