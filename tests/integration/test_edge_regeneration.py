"""Regenerated answers and edited questions, on SQLite and PostgreSQL: each takes effect as a whole or not at all."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from footnote.edge.v1.answers_pb2 import (
    RATING_DOWN,
    AskCompleted,
    AskRequest,
    CreateFeedbackRequest,
    DeleteAnswerRequest,
    GetAnswerRequest,
    ListFeedbackRequest,
)
from footnote.edge.v1.conversations_pb2 import (
    Conversation,
    ConversationMessage,
    CreateConversationRequest,
    EditMessageRequest,
    GetConversationRequest,
    ListConversationsRequest,
    ListMessagesRequest,
    RegenerateMessageRequest,
    RestoreMessageRequest,
    SearchMemoryRequest,
    UpdateConversationRequest,
)
from footnote_edge.app import build
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import Aborted, FootnoteError, InvalidArgument, NotFound, Unavailable
from footnote_kit.testing import serve_app
from support import postgres
from support.answer_parts import EVERY_PART
from support.doubles.stages import World, serve_doubles
from support.edge_client import EdgeClient
from support.matrices import sqlite_alone

pytestmark = pytest.mark.full

OTHER = (("x-footnote-user", "other"),)
QUESTIONS = ["tea ?", "sugar ?", "milk ?"]

Call = Callable[..., Awaitable[AskCompleted]]


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


async def last(stream: Any) -> AskCompleted:
    return [event async for event in stream][-1].completed


async def ask(edge: EdgeStub, question: str, conversation: str, **more: Any) -> AskCompleted:
    request = AskRequest(question=question, conversation_id=conversation, include=EVERY_PART, **more)
    return await last(edge.Ask(request, timeout=20))


async def regenerate(edge: EdgeStub, message: str, metadata: Any = (), **more: Any) -> AskCompleted:
    request = RegenerateMessageRequest(message_id=message, include=EVERY_PART, **more)
    return await last(edge.RegenerateMessage(request, metadata=metadata, timeout=20))


async def edit(edge: EdgeStub, message: str, text: str = "coffee ?", metadata: Any = (), **more: Any) -> AskCompleted:
    request = EditMessageRequest(message_id=message, text=text, include=EVERY_PART, **more)
    return await last(edge.EditMessage(request, metadata=metadata, timeout=20))


async def conversation(edge: EdgeStub, questions: list[str] = QUESTIONS, **more: Any) -> str:
    made = str((await edge.CreateConversation(CreateConversationRequest(**more))).conversation.id)
    for question in questions:
        await ask(edge, question, made)
    return made


async def messages(edge: EdgeStub, of: str, **more: Any) -> list[ConversationMessage]:
    return list((await edge.ListMessages(ListMessagesRequest(conversation_id=of, include=EVERY_PART, **more))).messages)


async def remembered(edge: EdgeStub, world: World, made: str) -> None:
    """Wait until memory has a conversation's messages, and its title is written after that."""
    await world.until(lambda: len(world.messages) == 6)
    async with asyncio.timeout(240):
        while not (await edge.GetConversation(GetConversationRequest(conversation_id=made))).conversation.title:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def state(edge: EdgeStub, of: str) -> Any:
    """Return all that can be seen of a conversation."""
    shown = (await edge.GetConversation(GetConversationRequest(conversation_id=of))).conversation
    return shown, await messages(edge, of, include_superseded=True)


def histories(world: World) -> list[list[str]]:
    return [[one.text for one in request.history] for request in world.requests("BuildPrompt")]


@pytest.mark.parametrize(
    ("database", "which", "by"),
    [*itertools.product(["sqlite"], range(3), ["answer", "question"]), ("postgres", 1, "answer")],
    indirect=["database"],
)
async def test_a_new_answer_stands_where_the_old_one_stood(edge: EdgeStub, world: World, which: int, by: str) -> None:
    made = await conversation(edge)
    before = await messages(edge, made)
    old = before[2 * which + 1]
    done = await regenerate(edge, old.id if by == "answer" else before[2 * which].id)
    assert done.answer.id != old.id
    assert (done.conversation_id, done.question_id) == (made, before[2 * which].id)
    after = await messages(edge, made)
    assert [one.id for one in after] == [done.answer.id if one.id == old.id else one.id for one in before]
    everything = await messages(edge, made, include_superseded=True)
    assert [one.id for one in everything][2 * which + 1 : 2 * which + 3] == [old.id, done.answer.id]
    assert {one.id: one.superseded_by for one in everything if one.superseded_by} == {old.id: done.answer.id}
    assert [one.question_id for one in after[1::2]] == [one.id for one in after[::2]]
    shown = (await edge.GetConversation(GetConversationRequest(conversation_id=made))).conversation
    assert shown.message_count == 6
    assert (await edge.GetAnswer(GetAnswerRequest(answer_id=old.id))).answer.text == old.text
    # Asked with what it was asked with: the history before it, the topic before it.
    first, again = histories(world)[which], histories(world)[-1]
    assert again == first == [one.text for one in before[: 2 * which]]
    plans = world.requests("PlanQuery")
    assert (plans[-1].topic, plans[-1].message) == (plans[which].topic, QUESTIONS[which])
    # And the next question continues the conversation.
    await ask(edge, "bread ?", made)
    assert histories(world)[-1] == [one.text for one in after]
    assert world.requests("PlanQuery")[-1].topic == "tea ? sugar ? milk ?"


@pytest.mark.parametrize(
    ("database", "which"), [*(("sqlite", which) for which in range(3)), ("postgres", 1)], indirect=["database"]
)
async def test_an_edited_question_is_asked_again_and_what_came_after_it_goes(
    edge: EdgeStub, world: World, which: int
) -> None:
    made = await conversation(edge)
    before = await messages(edge, made)
    await edge.CreateFeedback(CreateFeedbackRequest(answer_id=before[5].id, rating=RATING_DOWN))
    await world.until(lambda: len(world.messages) == 6)
    done = await edit(edge, before[2 * which].id)
    after = await messages(edge, made, include_superseded=True)
    assert [one.id for one in after] == [one.id for one in before[: 2 * which]] + [done.question_id, done.answer.id]
    assert [one.text for one in after[2 * which :]] == ["coffee ?", done.answer.text]
    assert histories(world)[-1] == [one.text for one in before[: 2 * which]]
    assert world.requests("PlanQuery")[-1].topic == world.requests("PlanQuery")[which].topic
    assert not (await edge.ListFeedback(ListFeedbackRequest())).feedback
    shown = (await edge.GetConversation(GetConversationRequest(conversation_id=made))).conversation
    assert shown.topic == " ".join([*QUESTIONS[:which], "coffee ?"])
    # Memory forgets what went, and learns what came.
    await world.until(lambda: {one.message_id for one in world.messages} == {one.id for one in after})
    with pytest.raises(NotFound) as caught:
        await edit(edge, before[2 * which].id)
    assert caught.value.reason == "MESSAGE_NOT_FOUND"


@sqlite_alone("database")
async def test_what_a_question_was_asked_with_stays_unless_it_is_said_otherwise(edge: EdgeStub, world: World) -> None:
    made = await conversation(edge, [])
    document = next(iter(world.documents))
    first = await ask(
        edge, "tea ?", made, document_ids=[document], filter={"json": '{"a": 1}'}, query_vector=[1, 0],
        collections=["default"],
        retrieval={"limit": 7, "min_score": 0.1}, generation={"temperature": 0.5, "max_tokens": 99},
    )  # fmt: skip
    again = await regenerate(edge, first.answer.id, retrieval={"limit": 3}, generation={"temperature": 0.9})
    one, two = world.requests("Retrieve")
    for same in ("query", "collections", "filter", "document_ids", "query_vector"):
        assert getattr(one, same) == getattr(two, same), same
    assert (two.settings.limit, two.settings.min_score) == (3, pytest.approx(0.1))
    model = world.requests("Generate")[-1].settings
    assert (model.temperature, model.max_tokens) == (pytest.approx(0.9), 99)
    assert list(again.manifest.query_vector) == [1, 0]
    edited = await edit(edge, first.question_id, "sugar ?", query_vector=[0, 1])
    assert list(world.requests("Retrieve")[-1].query_vector) == [0, 1]
    await edit(edge, edited.question_id, "tea ?")
    three = world.requests("Retrieve")[-1]
    assert not three.query_vector
    assert (three.filter.json, list(three.document_ids)) == ('{"a": 1}', [document])


async def stopped_regenerate(edge: EdgeStub, shown: list[ConversationMessage]) -> Any:
    return edge.RegenerateMessage(RegenerateMessageRequest(message_id=shown[3].id), timeout=20)


async def stopped_edit(edge: EdgeStub, shown: list[ConversationMessage]) -> Any:
    return edge.EditMessage(EditMessageRequest(message_id=shown[2].id, text="coffee ?"), timeout=20)


@pytest.mark.parametrize("begin", [stopped_regenerate, stopped_edit])
@pytest.mark.parametrize(
    ("database", "how"),
    [("sqlite", "PlanQuery"), ("sqlite", "Generate"), ("sqlite", "cancelled"), ("postgres", "cancelled")],
    indirect=["database"],
)
async def test_what_fails_or_is_cancelled_leaves_all_as_it_was(
    edge: EdgeStub, world: World, begin: Any, how: str
) -> None:
    made = await conversation(edge)
    await remembered(edge, world, made)
    before = await state(edge, made)
    call = None
    if how == "cancelled":
        world.gates["Generate"] = asyncio.Event()
        call = await begin(edge, before[1])
        async for event in call:
            if event.text_delta:
                break
        call.cancel()
        await world.until(lambda: bool(world.cancelled))
        world.gates.clear()
    else:
        world.failures[how] = InvalidArgument("no")
        with pytest.raises(FootnoteError):
            await last(await begin(edge, before[1]))
        world.failures.clear()
    assert await state(edge, made) == before
    assert len(world.messages) == 6
    # And it can be done again.
    done = await last(await begin(edge, before[1]))
    assert done.answer.text
    assert await state(edge, made) != before


async def both(world: World, one: Awaitable[Any], other: Awaitable[Any]) -> tuple[list[Any], list[Any]]:
    """Begin two calls, let them end together, and return results and failures."""
    begun = len(world.requests("Generate"))
    gate = world.gates["Generate"] = asyncio.Event()
    tasks = [asyncio.ensure_future(one), asyncio.ensure_future(other)]
    await world.until(lambda: len(world.requests("Generate")) == begun + 2)
    gate.set()
    world.gates.clear()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    return [one for one in ended if not isinstance(one, BaseException)], [
        one for one in ended if isinstance(one, BaseException)
    ]


PAIRS: dict[str, tuple[Callable[[EdgeStub, Any], Awaitable[Any]], Callable[[EdgeStub, Any], Awaitable[Any]]]] = {
    "regenerated twice": (lambda e, m: regenerate(e, m[3].id), lambda e, m: regenerate(e, m[3].id)),
    "edited twice": (lambda e, m: edit(e, m[2].id), lambda e, m: edit(e, m[2].id, "bread ?")),
    "an earlier one edited": (lambda e, m: edit(e, m[0].id), lambda e, m: edit(e, m[4].id, "bread ?")),
    "edited and regenerated": (lambda e, m: edit(e, m[2].id), lambda e, m: regenerate(e, m[5].id)),
}


@pytest.mark.parametrize("pair", list(PAIRS))
async def test_of_two_at_once_one_counts(edge: EdgeStub, world: World, pair: str) -> None:
    made = await conversation(edge)
    shown = await messages(edge, made)
    first, second = PAIRS[pair]
    done, failed = await both(world, first(edge, shown), second(edge, shown))
    assert len(done) == len(failed) == 1
    assert isinstance(failed[0], Aborted)
    assert failed[0].reason == "CONFLICT"
    after = await messages(edge, made)
    assert done[0].answer.id in {one.id for one in after}
    assert [one.role for one in after] == [shown[index % 2].role for index in range(len(after))]


async def test_what_is_asked_meanwhile_is_not_deleted_unseen(edge: EdgeStub, world: World) -> None:
    made = await conversation(edge)
    shown = await messages(edge, made)
    begun = len(world.requests("Generate"))
    gate = world.gates["Generate"] = asyncio.Event()
    editing = asyncio.create_task(edit(edge, shown[4].id))
    await world.until(lambda: len(world.requests("Generate")) > begun)
    world.gates.clear()
    asked = await ask(edge, "bread ?", made)
    gate.set()
    with pytest.raises(Aborted):
        await editing
    assert [one.id for one in await messages(edge, made)][:6] == [one.id for one in shown]
    assert asked.answer.id in {one.id for one in await messages(edge, made)}


async def test_an_answer_to_a_question_that_is_gone_is_not_added(edge: EdgeStub, world: World) -> None:
    made = await conversation(edge)
    shown = await messages(edge, made)
    begun = len(world.requests("Generate"))
    gate = world.gates["Generate"] = asyncio.Event()
    asking = asyncio.create_task(ask(edge, "bread ?", made))
    await world.until(lambda: len(world.requests("Generate")) > begun)
    world.gates.clear()
    done = await edit(edge, shown[4].id)
    gate.set()
    assert "not stored" in (await asking).degradations[-1].effect
    assert [one.id for one in await messages(edge, made)][-2:] == [done.question_id, done.answer.id]


@pytest.mark.parametrize("kind", ["regenerate", "edit"])
async def test_repeated_under_its_request_id_it_is_done_once(edge: EdgeStub, world: World, kind: str) -> None:
    made = await conversation(edge)
    shown = await messages(edge, made)

    async def call(**more: Any) -> AskCompleted:
        if kind == "edit":
            return await edit(edge, shown[2].id, request_id="r-1", **more)
        return await regenerate(edge, shown[3].id, request_id="r-1", **more)

    world.failures["Generate"] = Unavailable("the model died", reason="PROVIDER_FAILED")
    with pytest.raises(Unavailable):
        await call()
    world.failures.clear()
    first = await call()
    calls = len(world.requests("Generate"))
    again = await call()
    assert (again.answer.id, again.answer.text) == (first.answer.id, first.answer.text)
    assert again.question_id == first.question_id
    assert len(world.requests("Generate")) == calls
    with pytest.raises(InvalidArgument) as caught:
        await call(retrieval={"limit": 2})
    assert caught.value.reason == "REQUEST_ID_REUSED"


async def test_only_ones_own_messages_and_the_right_ones(edge: EdgeStub) -> None:
    made = await conversation(edge, ["tea ?"])
    question, answer = await messages(edge, made)
    outside = await last(edge.Ask(AskRequest(question="tea ?"), timeout=20))
    missing: list[Callable[[], Awaitable[Any]]] = [
        lambda: regenerate(edge, answer.id, metadata=OTHER),
        lambda: edit(edge, question.id, metadata=OTHER),
        lambda: regenerate(edge, "none"),
        lambda: edit(edge, "none"),
        lambda: regenerate(edge, outside.answer.id),
    ]
    for call in missing:
        with pytest.raises(NotFound) as caught:
            await call()
        assert caught.value.reason == "MESSAGE_NOT_FOUND"
    wrong: list[Callable[[], Awaitable[Any]]] = [
        lambda: edit(edge, answer.id),
        lambda: edit(edge, question.id, "  "),
        lambda: edit(edge, question.id, "x" * 8001),
        lambda: edit(edge, ""),
    ]
    for bad in wrong[:3]:
        with pytest.raises(InvalidArgument):
            await bad()
    done = await regenerate(edge, answer.id)
    with pytest.raises(Aborted) as conflict:
        await regenerate(edge, answer.id)
    assert done.answer.id in conflict.value.message


async def test_a_question_whose_answer_broke_off_is_answered_anew(edge: EdgeStub, world: World) -> None:
    made = await conversation(edge, ["tea ?"])
    world.failures["Generate"] = Unavailable("the model died", reason="PROVIDER_FAILED")
    with pytest.raises(Unavailable):
        await ask(edge, "sugar ?", made)
    world.failures.clear()
    await ask(edge, "milk ?", made)
    shown = await messages(edge, made)
    assert (shown[3].text, shown[3].question_id) == ("Tea", shown[2].id)  # the text until then is kept
    done = await regenerate(edge, shown[2].id)
    assert [one.id for one in await messages(edge, made)] == [
        *(one.id for one in shown[:3]), done.answer.id, *(one.id for one in shown[4:])
    ]  # fmt: skip


async def test_pages_go_through_replaced_answers_in_order(edge: EdgeStub) -> None:
    made = await conversation(edge)
    answer = (await messages(edge, made))[1]
    for _ in range(3):
        answer.id = (await regenerate(edge, answer.id)).answer.id
    for superseded, count in ((False, 6), (True, 9)):
        whole = [one.id for one in await messages(edge, made, include_superseded=superseded)]
        assert len(whole) == count
        found, token = [], ""
        while True:
            request = ListMessagesRequest(
                conversation_id=made, page_size=2, page_token=token, include_superseded=superseded
            )
            page = await edge.ListMessages(request)
            assert page.total_size == count
            found += [one.id for one in page.messages]
            token = page.next_page_token
            if not token:
                break
        assert found == whole


async def test_memory_does_not_bring_what_left_its_conversation(edge: EdgeStub, world: World) -> None:
    made = await conversation(edge)
    await world.until(lambda: len(world.messages) == 6)
    world.recalled = list(world.messages)  # an index that has not forgotten yet
    before = await messages(edge, made)
    done = await edit(edge, before[2].id)
    again = await regenerate(edge, before[1].id)
    found = await edge.SearchMemory(SearchMemoryRequest(query="tea"))
    assert [one.message_id for one in found.source_messages] == [before[0].id]
    assert found.context == "[user] tea ?"
    assert {done.answer.id, again.answer.id}.isdisjoint({before[1].id, before[3].id})


async def test_a_deleted_answer_leaves_its_question(edge: EdgeStub, world: World) -> None:
    made = await conversation(edge)
    shown = await messages(edge, made)
    await edge.CreateFeedback(CreateFeedbackRequest(answer_id=shown[3].id, rating=RATING_DOWN))
    done = await regenerate(edge, shown[3].id)
    third = await regenerate(edge, done.answer.id)
    await world.until(lambda: {one.message_id for one in world.messages} >= {third.answer.id, shown[5].id})
    with pytest.raises(NotFound):
        await edge.DeleteAnswer(DeleteAnswerRequest(answer_id=third.answer.id), metadata=OTHER)
    # One that was replaced goes alone.
    await edge.DeleteAnswer(DeleteAnswerRequest(answer_id=done.answer.id))
    kept = await messages(edge, made, include_superseded=True)
    assert {one.id: one.superseded_by for one in kept if one.superseded_by} == {shown[3].id: third.answer.id}
    # The current one takes along those that it has replaced, and the feedback on them.
    await edge.DeleteAnswer(DeleteAnswerRequest(answer_id=third.answer.id))
    left = [*shown[:3], *shown[4:]]
    assert [one.id for one in await messages(edge, made, include_superseded=True)] == [one.id for one in left]
    assert not (await edge.ListFeedback(ListFeedbackRequest())).feedback
    await world.until(lambda: {one.message_id for one in world.messages} == {one.id for one in left})
    for gone in (shown[3].id, done.answer.id, third.answer.id):
        with pytest.raises(NotFound):
            await edge.GetAnswer(GetAnswerRequest(answer_id=gone))
        with pytest.raises(NotFound) as caught:
            await edge.DeleteAnswer(DeleteAnswerRequest(answer_id=gone))
        assert caught.value.reason == "ANSWER_NOT_FOUND"
        await edge.DeleteAnswer(DeleteAnswerRequest(answer_id=gone, allow_missing=True))
    await ask(edge, "bread ?", made)
    assert histories(world)[-1] == [one.text for one in left]
    again = await regenerate(edge, shown[2].id)
    assert [one.id for one in await messages(edge, made)][3] == again.answer.id


async def test_an_answer_outside_conversations_is_deleted(edge: EdgeStub) -> None:
    done = await last(edge.Ask(AskRequest(question="tea ?"), timeout=20))
    await edge.DeleteAnswer(DeleteAnswerRequest(answer_id=done.answer.id))
    with pytest.raises(NotFound):
        await edge.GetAnswer(GetAnswerRequest(answer_id=done.answer.id))
    assert not (await edge.ListConversations(ListConversationsRequest())).conversations


async def test_a_title_goes_with_the_question_that_it_was_made_of(edge: EdgeStub) -> None:
    async def title(wanted: str) -> None:
        async with asyncio.timeout(60):
            while (found := (await edge.GetConversation(looked_at)).conversation.title) != wanted:
                assert found in ("", wanted)
                await asyncio.sleep(0.05)

    conversation = (await edge.CreateConversation(CreateConversationRequest())).conversation.id
    looked_at = GetConversationRequest(conversation_id=conversation)
    first = (await ask(edge, "of moonbrew", conversation)).question_id
    await title("About moonbrew")
    second = (await edit(edge, first, "of tea", keep_replaced=True)).question_id
    await title("About tea")
    await edge.RestoreMessage(RestoreMessageRequest(message_id=first))
    await title("About moonbrew")
    await edge.RestoreMessage(RestoreMessageRequest(message_id=second))
    named = Conversation(title="My own")
    await edge.UpdateConversation(UpdateConversationRequest(conversation_id=conversation, resource=named))
    await edit(edge, second, "of coffee")
    await title("My own")
