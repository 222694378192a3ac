"""Callers who leave while they are answered, and verdicts on answers that are withdrawn."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1.answers_pb2 import (
    RATING_DOWN,
    RATING_UP,
    AskRequest,
    AskResponse,
    CreateFeedbackRequest,
    DeleteFeedbackRequest,
    ListFeedbackRequest,
)
from footnote.edge.v1.conversations_pb2 import (
    ConversationMessage,
    CreateConversationRequest,
    EditMessageRequest,
    ListMessagesRequest,
    RegenerateMessageRequest,
)
from footnote.edge.v1.documents_pb2 import UploadDocumentRequest, UploadMetadata, WatchDocumentRequest
from footnote.types.v1 import answer_pb2 as ans
from footnote_edge.app import build
from footnote_edge.conversations.messages import Messages
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import NotFound
from footnote_kit.testing import serve_app
from support.doubles.stages import World, serve_doubles

USER, ASSISTANT = ans.MESSAGE_ROLE_USER, ans.MESSAGE_ROLE_ASSISTANT


@pytest.fixture
async def edge(world: World) -> AsyncIterator[EdgeStub]:
    """A stub of edge that holds one document."""
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as running:
        stub = EdgeStub(running.channel)
        await upload(stub)
        yield stub


async def upload(stub: EdgeStub) -> None:
    """Upload a document, and wait until it is searchable."""
    file = [
        UploadDocumentRequest(metadata=UploadMetadata(collection="default", filename="tea.txt")),
        UploadDocumentRequest(data=b"Tea is brewed at 80 degrees."),
    ]
    document = (await stub.UploadDocument(iter(file))).document
    async for _ in stub.WatchDocument(WatchDocumentRequest(document_id=document.id), timeout=20):
        pass


async def conversation(edge: EdgeStub) -> str:
    return str((await edge.CreateConversation(CreateConversationRequest())).conversation.id)


async def messages(edge: EdgeStub, conversation_id: str, count: int = 0) -> list[ConversationMessage]:
    """Return the messages, once there are that many: what a caller left behind is stored after it has gone."""
    async with asyncio.timeout(240):
        while True:
            listed = await edge.ListMessages(ListMessagesRequest(conversation_id=conversation_id))
            if len(listed.messages) >= count:
                return list(listed.messages)
            await asyncio.sleep(0.01)


async def test_what_was_said_before_its_caller_left_is_kept_without_a_failure(edge: EdgeStub, world: World) -> None:
    chat = await conversation(edge)
    world.gates["Generate"] = asyncio.Event()
    async for event in edge.Ask(AskRequest(question="tea ?", conversation_id=chat), timeout=20):
        if event.text_delta:
            break
    kept = await messages(edge, chat, 2)
    assert [message.role for message in kept] == [USER, ASSISTANT]
    assert kept[1].text == "Tea"
    assert kept[1].answer.finish_reason == ans.FINISH_REASON_INTERRUPTED
    assert not kept[1].degradations, "nothing failed"
    await world.until(lambda: world.cancelled == ["Generate"])
    del world.gates["Generate"]
    again = edge.RegenerateMessage(RegenerateMessageRequest(message_id=kept[0].id), timeout=20)
    assert [event async for event in again][-1].completed.answer.text.startswith("Tea is brewed")
    kept = await messages(edge, chat)
    assert [message.answer.finish_reason for message in kept] == [0, ans.FINISH_REASON_ANSWERED]


async def test_an_answer_that_a_stop_of_the_service_cuts_is_kept(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = Messages.add_answer

    async def slowly(*given: Any) -> None:
        await asyncio.sleep(0.3)
        await add(*given)

    monkeypatch.setattr(Messages, "add_answer", slowly)
    async with serve_doubles(world) as addresses:
        async with serve_app(build, addresses=addresses, data_dir=tmp_path) as running:
            stub = EdgeStub(running.channel)
            await upload(stub)
            chat = await conversation(stub)
            world.gates["Generate"] = asyncio.Event()
            async for event in stub.Ask(AskRequest(question="tea ?", conversation_id=chat), timeout=20):
                if event.text_delta:
                    break
        async with serve_app(build, addresses=addresses, data_dir=tmp_path) as running:
            assert [message.text for message in await messages(EdgeStub(running.channel), chat)] == ["tea ?", "Tea"]


async def test_a_question_stays_whose_caller_left_before_the_first_word(edge: EdgeStub, world: World) -> None:
    chat = await conversation(edge)
    world.gates["ResolveCollections"] = world.gates["Retrieve"] = asyncio.Event()
    call = edge.Ask(AskRequest(question="tea ?", conversation_id=chat), timeout=20)
    reading = asyncio.ensure_future(anext(aiter(call)))
    await world.until(lambda: bool(world.requests("Retrieve")))
    call.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    world.gates["Retrieve"].set()
    assert [message.text for message in await messages(edge, chat, 1)] == ["tea ?"]


@pytest.mark.parametrize(
    ("seconds", "breaks_after", "kept", "reason"),
    [
        (20, 0, "Tea is brewed at 80 degrees. [1]", ans.FINISH_REASON_ANSWERED),
        (2, 0, "Tea is brewed at 80 degrees. [1]", ans.FINISH_REASON_ANSWERED),
        (20, 2, "Tea is", ans.FINISH_REASON_INTERRUPTED),
    ],
    ids=["cancelled", "deadline", "broken, and cancelled"],
)
async def test_an_answer_stays_whose_caller_left_while_it_was_stored(
    edge: EdgeStub, world: World, monkeypatch: Any, seconds: float, breaks_after: int, kept: str, reason: int
) -> None:
    chat, storing, gate, add = await conversation(edge), asyncio.Event(), asyncio.Event(), Messages.add_answer

    async def held(*given: Any) -> None:
        storing.set()
        await gate.wait()
        await add(*given)

    monkeypatch.setattr(Messages, "add_answer", held)
    world.breaks_after = breaks_after
    call = edge.Ask(AskRequest(question="tea ?", conversation_id=chat), timeout=seconds)

    async def read() -> list[AskResponse]:
        return [event async for event in call]

    reading = asyncio.ensure_future(read())
    async with asyncio.timeout(240):
        await storing.wait()
        if seconds > 2:
            call.cancel()
        await asyncio.wait({reading})
        await asyncio.sleep(0.5)  # nothing shows when edge has seen it
    gate.set()
    _, answer = await messages(edge, chat, 2)
    assert (answer.text, answer.answer.finish_reason) == (kept, reason)


async def test_an_edit_whose_caller_leaves_changes_nothing(edge: EdgeStub, world: World) -> None:
    chat = await conversation(edge)
    done = [event async for event in edge.Ask(AskRequest(question="tea ?", conversation_id=chat), timeout=20)]
    before = await messages(edge, chat)
    world.gates["Generate"] = asyncio.Event()
    edit = EditMessageRequest(message_id=done[-1].completed.question_id, text="coffee ?")
    async for event in edge.EditMessage(edit, timeout=20):
        if event.text_delta:
            break
    await world.until(lambda: world.cancelled == ["Generate"])
    assert await messages(edge, chat) == before


async def test_a_verdict_is_listed_with_its_conversation_and_withdrawn(edge: EdgeStub) -> None:
    chat, other = await conversation(edge), await conversation(edge)
    ids = []
    for one in (chat, other):
        events = [event async for event in edge.Ask(AskRequest(question="tea ?", conversation_id=one), timeout=20)]
        ids.append(events[-1].completed.answer.id)
    for answer, citation, rating in ((ids[0], 0, RATING_DOWN), (ids[0], 1, RATING_UP), (ids[1], 0, RATING_UP)):
        await edge.CreateFeedback(CreateFeedbackRequest(answer_id=answer, citation=citation, rating=rating))

    async def listed(conversation_id: str) -> list[tuple[str, int, int]]:
        found = await edge.ListFeedback(ListFeedbackRequest(conversation_id=conversation_id))
        assert found.total_size == len(found.feedback)
        return sorted((one.answer_id, one.citation, one.rating) for one in found.feedback)

    assert await listed(chat) == [(ids[0], 0, RATING_DOWN), (ids[0], 1, RATING_UP)]
    await edge.DeleteFeedback(DeleteFeedbackRequest(answer_id=ids[0]))
    assert await listed(chat) == [(ids[0], 1, RATING_UP)]
    await edge.DeleteFeedback(DeleteFeedbackRequest(answer_id=ids[0]))
    assert await listed(other) == [(ids[1], 0, RATING_UP)]
    with pytest.raises(NotFound):
        await edge.DeleteFeedback(DeleteFeedbackRequest(answer_id="nothing"))
    assert await listed("nothing") == []
    stranger = (("x-footnote-user", "another"), ("x-footnote-role", "reader"))
    with pytest.raises(NotFound):
        await edge.DeleteFeedback(DeleteFeedbackRequest(answer_id=ids[1]), metadata=stranger)
    assert await listed(other) == [(ids[1], 0, RATING_UP)]
    hidden = await edge.ListFeedback(ListFeedbackRequest(conversation_id=other), metadata=stranger)
    assert not hidden.feedback
