"""Shared conversations: who reads what of them, up to when, and no longer than its user wants."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from footnote.edge.v1.answers_pb2 import (
    AskCompleted,
    AskRequest,
    CreateFeedbackRequest,
    DeleteAnswerRequest,
    GetAnswerRequest,
)
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, UpdateCollectionRequest
from footnote.edge.v1.conversations_pb2 import (
    CreateConversationRequest,
    DeleteConversationRequest,
    EditMessageRequest,
    GetConversationRequest,
    GetSharedConversationRequest,
    GetSharedConversationResponse,
    ListMessagesRequest,
    RegenerateMessageRequest,
    RestoreMessageRequest,
    ShareConversationRequest,
    SharedConversation,
    UnshareConversationRequest,
)
from footnote.edge.v1.documents_pb2 import DeleteDocumentRequest
from footnote.types.v1.answer_pb2 import DEGRADATION_REASON_DOCUMENT_DELETED
from footnote.types.v1.collection_pb2 import VISIBILITY_PRIVATE, Collection
from footnote_edge.adapters import shares as shares_table
from footnote_edge.app import build
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import FailedPrecondition, InvalidArgument, NotFound, Unavailable
from footnote_kit.testing import serve_app
from support import postgres
from support.answer_parts import EVERY_PART
from support.doubles.stages import World, serve_doubles
from support.edge_client import EdgeClient
from support.matrices import sqlite_alone

pytestmark = pytest.mark.full

READER = (("x-footnote-user", "rita"), ("x-footnote-role", "reader"))
ELSEWHERE = (("x-footnote-tenant", "rival"),)


@pytest.fixture(params=["sqlite", "postgres"], autouse=True)
async def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database of edge: SQLite, then a new one of PostgreSQL."""
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


async def ask(edge: EdgeStub, question: str, of: str) -> AskCompleted:
    return [event async for event in edge.Ask(AskRequest(question=question, conversation_id=of), timeout=20)][
        -1
    ].completed


async def conversation(edge: EdgeStub, *questions: str, **more: Any) -> str:
    made = str((await edge.CreateConversation(CreateConversationRequest(**more))).conversation.id)
    for question in questions:
        await ask(edge, question, made)
    return made


async def share(edge: EdgeStub, of: str, metadata: Any = (), **more: str) -> SharedConversation:
    request = ShareConversationRequest(conversation_id=of, **more)
    return (await edge.ShareConversation(request, metadata=metadata)).shared


async def unshare(edge: EdgeStub, of: str, **more: str) -> None:
    await edge.UnshareConversation(UnshareConversationRequest(conversation_id=of, **more))


async def read(edge: EdgeStub, share_id: str, metadata: Any = READER, **more: Any) -> GetSharedConversationResponse:
    request = GetSharedConversationRequest(share_id=share_id, include=EVERY_PART, **more)
    return await edge.GetSharedConversation(request, metadata=metadata)


async def texts(edge: EdgeStub, share_id: str) -> list[str]:
    return [one.text for one in (await read(edge, share_id)).messages if not one.question_id]


async def hide(edge: EdgeStub) -> None:
    change = UpdateCollectionRequest(collection="default", resource=Collection(visibility=VISIBILITY_PRIVATE))
    change.update_mask.paths.append("visibility")
    await edge.UpdateCollection(change)


async def test_a_sharing_that_another_call_ends_at_once_is_answered(
    edge: EdgeStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ended(*_: object) -> list[SharedConversation]:
        return []

    made = await conversation(edge, "tea ?", title="Tea")
    monkeypatch.setattr(shares_table.ShareTable, "of_conversation", ended)
    shared = await share(edge, made)
    assert (bool(shared.share_id), shared.title, shared.HasField("share_time")) == (True, "Tea", True)


async def test_another_user_reads_what_was_said_and_nothing_of_how(edge: EdgeStub) -> None:
    made = await conversation(edge, "tea ?", title="Tea")
    shared = await share(edge, made)
    found = await read(edge, shared.share_id)
    assert (found.shared.title, found.total_size) == ("Tea", 2)
    assert found.shared.user_id
    question, answer = found.messages
    own = (await edge.ListMessages(ListMessagesRequest(conversation_id=made, include=EVERY_PART))).messages[1]
    assert question.text == "tea ?"
    assert (own.answer.provider, own.answer.model) == ("double", "echo")
    own.answer.ClearField("provider")
    own.answer.ClearField("model")
    own.answer.ClearField("usage")
    assert answer.answer == own.answer
    assert list(answer.sources) == list(own.sources)
    assert own.HasField("manifest")
    assert not answer.HasField("manifest")
    assert not answer.trace_id
    assert not answer.conversation_id
    # Its user sees that it is shared; others reach it by no other way.
    seen = (await edge.GetConversation(GetConversationRequest(conversation_id=made))).conversation
    assert seen.shared == shared
    for call, request in (
        (edge.GetConversation, GetConversationRequest(conversation_id=made)),
        (edge.ListMessages, ListMessagesRequest(conversation_id=made)),
        (edge.GetAnswer, GetAnswerRequest(answer_id=own.id)),
        (edge.CreateFeedback, CreateFeedbackRequest(answer_id=own.id, rating="RATING_UP")),
        (edge.ShareConversation, ShareConversationRequest(conversation_id=made)),
        (edge.UnshareConversation, UnshareConversationRequest(conversation_id=made)),
    ):
        with pytest.raises(NotFound):
            await call(request, metadata=READER)


async def test_it_ends_where_it_was_shared_until_it_is_shared_again(edge: EdgeStub) -> None:
    made = await conversation(edge, "tea ?", "sugar ?")
    first = await share(edge, made)
    await ask(edge, "milk ?", made)
    assert await texts(edge, first.share_id) == ["tea ?", "sugar ?"]
    again = await share(edge, made)
    assert again.share_id == first.share_id
    assert await texts(edge, first.share_id) == ["tea ?", "sugar ?", "milk ?"]
    # What left the conversation is not read any more, and what took its place only once it is shared.
    messages = (await edge.ListMessages(ListMessagesRequest(conversation_id=made))).messages
    edit = EditMessageRequest(message_id=messages[2].id, text="coffee ?", keep_replaced=True)
    assert [event async for event in edge.EditMessage(edit, timeout=20)]
    assert await texts(edge, first.share_id) == ["tea ?"]
    await share(edge, made)
    assert await texts(edge, first.share_id) == ["tea ?", "coffee ?"]
    assert not any(one.versions for one in (await read(edge, first.share_id)).messages)
    # What comes back to the conversation, shared before or not, is not read until it is shared again.
    await edge.RestoreMessage(RestoreMessageRequest(message_id=messages[2].id))
    assert await texts(edge, first.share_id) == ["tea ?"]
    assert (await read(edge, first.share_id)).total_size == 2
    await share(edge, made)
    assert await texts(edge, first.share_id) == ["tea ?", "sugar ?", "milk ?"]
    page = await read(edge, first.share_id, page_size=1)
    assert (len(page.messages), page.total_size) == (1, 6)
    assert (await read(edge, first.share_id, page_size=1, page_token=page.next_page_token)).messages[0].question_id


async def test_words_said_later_never_take_the_place_of_shared_ones(edge: EdgeStub) -> None:
    edited, answered = await conversation(edge, "tea ?", "sugar ?"), await conversation(edge, "tea ?")
    shares = [await share(edge, one) for one in (edited, answered)]
    # SQLite gives new messages the sequences of the last ones, once those are deleted.
    answer = (await edge.ListMessages(ListMessagesRequest(conversation_id=answered))).messages[1]
    await edge.DeleteAnswer(DeleteAnswerRequest(answer_id=answer.id))
    await ask(edge, "secret ?", answered)
    assert await texts(edge, shares[1].share_id) == ["tea ?"]
    await edge.DeleteConversation(DeleteConversationRequest(conversation_id=answered))
    question = (await edge.ListMessages(ListMessagesRequest(conversation_id=edited))).messages[2]
    edit = EditMessageRequest(message_id=question.id, text="secret ?")
    assert [event async for event in edge.EditMessage(edit, timeout=20)]
    assert await texts(edge, shares[0].share_id) == ["tea ?"]
    assert (await read(edge, shares[0].share_id)).total_size == 2


async def test_a_version_that_comes_back_is_not_in_an_earlier_share(edge: EdgeStub) -> None:
    made = await conversation(edge, "tea ?", "secret ?")
    question = (await edge.ListMessages(ListMessagesRequest(conversation_id=made))).messages[2]
    edit = EditMessageRequest(message_id=question.id, text="sugar ?", keep_replaced=True)
    assert [event async for event in edge.EditMessage(edit, timeout=20)]
    shared = await share(edge, made)
    assert await texts(edge, shared.share_id) == ["tea ?", "sugar ?"]
    await edge.RestoreMessage(RestoreMessageRequest(message_id=question.id))
    assert await texts(edge, shared.share_id) == ["tea ?"]


@sqlite_alone("database")
async def test_of_what_did_not_work_only_missing_words_are_explained(edge: EdgeStub, world: World) -> None:
    world.failures["Retrieve"] = Unavailable("Away")
    made = await conversation(edge, "tea ?")
    world.failures.clear()
    await ask(edge, "sugar ?", made)
    own = (await edge.ListMessages(ListMessagesRequest(conversation_id=made))).messages
    assert own[1].degradations
    shared = await share(edge, made)
    [document] = world.documents
    await edge.DeleteDocument(DeleteDocumentRequest(document_id=document))
    read_now = (await read(edge, shared.share_id)).messages
    assert not read_now[3].text
    assert [one.reason for one in read_now[3].degradations] == [DEGRADATION_REASON_DOCUMENT_DELETED]
    assert not read_now[1].degradations


@sqlite_alone("database")
async def test_it_is_closed_while_indexing_cannot_say_who_reads(edge: EdgeStub, world: World) -> None:
    made = await conversation(edge, collections=["default"])
    shared = await share(edge, made)
    world.failures = dict.fromkeys(("GetCollection", "AuthorizeCollections"), Unavailable("Away"))
    with pytest.raises(Unavailable):
        await read(edge, shared.share_id)
    world.failures.clear()
    assert (await read(edge, shared.share_id)).shared == shared


@sqlite_alone("database")
async def test_a_collection_may_have_another_name_and_a_namesake(edge: EdgeStub) -> None:
    made = await conversation(edge, collections=["default"])
    shared = await share(edge, made)
    change = UpdateCollectionRequest(collection="default", resource=Collection(name="tea"))
    await edge.UpdateCollection(change)
    assert (await read(edge, shared.share_id)).shared == shared
    # A reader's own collection of that name opens nothing.
    collection = Collection(name="default", visibility=VISIBILITY_PRIVATE)
    writer = (READER[0], ("x-footnote-role", "writer"))
    await edge.CreateCollection(CreateCollectionRequest(collection=collection), metadata=writer)
    hidden = UpdateCollectionRequest(collection="tea", resource=Collection(visibility=VISIBILITY_PRIVATE))
    await edge.UpdateCollection(hidden)
    await _refused(edge, shared.share_id)


@sqlite_alone("database")
async def test_who_may_not_read_its_collections_learns_nothing(edge: EdgeStub) -> None:
    made = await conversation(edge, "tea ?")
    named = await conversation(edge, collections=["default"])
    shares = [await share(edge, one) for one in (made, named)]
    for one in shares:
        assert (await read(edge, one.share_id)).shared.share_id == one.share_id
    await hide(edge)
    absent = await _refused(edge, "none")
    for one in shares:
        assert (await _refused(edge, one.share_id)).replace(one.share_id, "none") == absent
        assert (await _refused(edge, one.share_id, ELSEWHERE)).replace(one.share_id, "none") == absent
        assert (await read(edge, one.share_id, metadata=())).shared.share_id == one.share_id, "its user may"


async def answers(edge: EdgeStub, of: str) -> list[str]:
    """Return the ids of a conversation's answers."""
    said = (await edge.ListMessages(ListMessagesRequest(conversation_id=of))).messages
    return [one.id for one in said if one.question_id]


async def shared_answers(edge: EdgeStub, of: str) -> list[SharedConversation]:
    found = await edge.GetConversation(GetConversationRequest(conversation_id=of))
    return list(found.conversation.shared_answers)


async def test_one_answer_is_shared_with_its_question_and_nothing_else(edge: EdgeStub) -> None:
    made = await conversation(edge, "tea ?", "sugar ?", "milk ?", title="Secret plans")
    _, second, third = await answers(edge, made)
    shared = await share(edge, made, answer_id=second)
    assert (shared.title, shared.answer_id) == ("", second), "the title may come of another question"
    found = await read(edge, shared.share_id)
    assert (found.shared, found.total_size) == (shared, 2)
    question, answer = found.messages
    assert (question.text, answer.id, answer.question_id) == ("sugar ?", second, question.id)
    assert answer.sources
    assert not answer.HasField("manifest")
    assert not answer.conversation_id
    page = await read(edge, shared.share_id, page_size=1)
    assert [one.id for one in page.messages] == [question.id]
    rest = await read(edge, shared.share_id, page_size=1, page_token=page.next_page_token)
    assert [one.id for one in rest.messages] == [second]
    # Shared again it keeps its id; other answers and the conversation have their own, and end apart.
    assert (await share(edge, made, answer_id=second)).share_id == shared.share_id
    other, whole = await share(edge, made, answer_id=third), await share(edge, made)
    assert len({shared.share_id, other.share_id, whole.share_id}) == 3
    assert {one.answer_id for one in await shared_answers(edge, made)} == {second, third}
    await unshare(edge, made, answer_id=second)
    await _refused(edge, shared.share_id)
    assert await texts(edge, other.share_id) == ["milk ?"]
    assert await texts(edge, whole.share_id) == ["tea ?", "sugar ?", "milk ?"]
    # To stop sharing the conversation ends everything.
    await unshare(edge, made)
    for one in (other, whole):
        await _refused(edge, one.share_id)
    assert await shared_answers(edge, made) == []


async def test_a_shared_answer_ends_when_it_leaves_its_conversation(edge: EdgeStub) -> None:
    made = await conversation(edge, "tea ?", "sugar ?")
    first, second = await answers(edge, made)
    shares = [await share(edge, made, answer_id=one) for one in (first, second)]
    assert [event async for event in edge.RegenerateMessage(RegenerateMessageRequest(message_id=second), timeout=20)]
    await _refused(edge, shares[1].share_id)
    assert [one.answer_id for one in await shared_answers(edge, made)] == [first]
    with pytest.raises(NotFound) as replaced:
        await share(edge, made, answer_id=second)
    assert replaced.value.reason == "MESSAGE_NOT_FOUND"
    # An edit puts it aside; what comes back is not shared.
    question = (await edge.ListMessages(ListMessagesRequest(conversation_id=made))).messages[0]
    edit = EditMessageRequest(message_id=question.id, text="coffee ?", keep_replaced=True)
    assert [event async for event in edge.EditMessage(edit, timeout=20)]
    await _refused(edge, shares[0].share_id)
    await edge.RestoreMessage(RestoreMessageRequest(message_id=question.id))
    await _refused(edge, shares[0].share_id)
    # A deleted answer takes its share along.
    again = await share(edge, made, answer_id=first)
    assert await texts(edge, again.share_id) == ["tea ?"]
    await edge.DeleteAnswer(DeleteAnswerRequest(answer_id=first))
    await _refused(edge, again.share_id)


async def test_a_shared_answer_has_the_same_readers_as_a_conversation(edge: EdgeStub, world: World) -> None:
    made = await conversation(edge, "tea ?")
    [answer] = await answers(edge, made)
    shared = await share(edge, made, answer_id=answer)
    assert await texts(edge, shared.share_id) == ["tea ?"]
    await _refused(edge, shared.share_id, ELSEWHERE)
    other = await conversation(edge, "sugar ?")
    for conversation_id, answer_id in ((other, answer), (made, "none")):
        with pytest.raises(NotFound):
            await share(edge, conversation_id, answer_id=answer_id)
    with pytest.raises(NotFound):
        await share(edge, made, READER, answer_id=answer)
    [document] = world.documents
    await edge.DeleteDocument(DeleteDocumentRequest(document_id=document))
    _, taken_out = (await read(edge, shared.share_id)).messages
    assert not taken_out.text
    assert [one.reason for one in taken_out.degradations] == [DEGRADATION_REASON_DOCUMENT_DELETED]
    await hide(edge)
    await _refused(edge, shared.share_id)


async def test_answers_of_one_conversation_are_shared_up_to_a_bound(
    edge: EdgeStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares_table, "MOST", 1)
    made = await conversation(edge, "tea ?", "sugar ?")
    first, second = await answers(edge, made)
    for _ in range(2):
        await share(edge, made, answer_id=first)
    with pytest.raises(FailedPrecondition) as full:
        await share(edge, made, answer_id=second)
    assert full.value.reason == "QUOTA_EXCEEDED"
    assert full.value.metadata == {"quota": "shared_answers", "limit": "1", "used": "1"}
    await unshare(edge, made, answer_id=first)
    await share(edge, made, answer_id=second)


async def _refused(edge: EdgeStub, share_id: str, metadata: Any = READER) -> str:
    with pytest.raises(NotFound) as caught:
        await read(edge, share_id, metadata)
    assert caught.value.reason == "CONVERSATION_NOT_FOUND"
    return str(caught.value)


async def test_it_ends_with_its_sharing_and_with_its_conversation(edge: EdgeStub) -> None:
    made = await conversation(edge, "tea ?")
    first = await share(edge, made)
    for _ in range(2):
        await edge.UnshareConversation(UnshareConversationRequest(conversation_id=made))
    await _refused(edge, first.share_id)
    assert not (await edge.GetConversation(GetConversationRequest(conversation_id=made))).conversation.HasField(
        "shared"
    )
    second = await share(edge, made)
    assert second.share_id != first.share_id, "a link that was ended stays so"
    await edge.DeleteConversation(DeleteConversationRequest(conversation_id=made))
    await _refused(edge, second.share_id)
    for call in (lambda: share(edge, ""), lambda: read(edge, "")):
        with pytest.raises(InvalidArgument):
            await call()
