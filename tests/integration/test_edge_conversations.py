"""Conversations changed, found, deleted and made once, on SQLite and on PostgreSQL."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from footnote.edge.v1.answers_pb2 import (
    RATING_UP,
    AskCompleted,
    AskRequest,
    CreateFeedbackRequest,
    DeleteAnswerRequest,
    GetAnswerManifestRequest,
    GetAnswerRequest,
    ReplayAnswerRequest,
)
from footnote.edge.v1.collections_pb2 import (
    CreateCollectionRequest,
    DeleteCollectionRequest,
    UpdateCollectionRequest,
)
from footnote.edge.v1.conversations_pb2 import (
    Conversation,
    CreateConversationRequest,
    DeleteConversationRequest,
    EditMessageRequest,
    GetConversationRequest,
    ListConversationsRequest,
    ListMessagesRequest,
    RegenerateMessageRequest,
    ShareConversationRequest,
    UpdateConversationRequest,
)
from footnote.edge.v1.vectors_pb2 import AddVectorsRequest
from footnote.types.v1.collection_pb2 import VISIBILITY_PRIVATE, Collection
from footnote_edge.app import build
from footnote_edge.conversations import search as conversation_search
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import Aborted, AlreadyExists, InvalidArgument, NotFound, Unavailable
from footnote_kit.testing import serve_app
from support import postgres
from support.answer_parts import EVERY_PART
from support.doubles.stages import World, serve_doubles
from support.edge_client import EdgeClient
from support.matrices import sqlite_alone

OTHER = (("x-footnote-user", "other"),)
READER = (("x-footnote-user", "rita"), ("x-footnote-role", "reader"))


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


async def ask(edge: EdgeStub, question: str, conversation: str = "", metadata: Any = (), **more: Any) -> AskCompleted:
    request = AskRequest(question=question, conversation_id=conversation, include=EVERY_PART, **more)
    return [event async for event in edge.Ask(request, metadata=metadata, timeout=20)][-1].completed


async def create(edge: EdgeStub, metadata: Any = (), **more: Any) -> Conversation:
    return (await edge.CreateConversation(CreateConversationRequest(**more), metadata=metadata)).conversation


async def update(edge: EdgeStub, of: str, paths: str = "", metadata: Any = (), **values: Any) -> Conversation:
    request = UpdateConversationRequest(conversation_id=of, resource=values)
    if paths:
        request.update_mask.paths.extend(paths.split(","))
    return (await edge.UpdateConversation(request, metadata=metadata)).conversation


async def found(edge: EdgeStub, query: str, metadata: Any = (), size: int = 1000) -> list[str]:
    titles: list[str] = []
    token = ""
    while True:
        request = ListConversationsRequest(query=query, page_size=size, page_token=token)
        page = await edge.ListConversations(request, metadata=metadata)
        assert len(page.conversations) <= size
        titles += [one.title for one in page.conversations]
        token = page.next_page_token
        if not token:
            return titles


@pytest.mark.parametrize("masked", [True, False])
async def test_title_and_collections_are_changed_each_alone(edge: EdgeStub, world: World, masked: bool) -> None:
    await edge.CreateCollection(CreateCollectionRequest(collection=Collection(name="more")))
    made = await create(edge, title="t", collections=["default"])
    renamed = await update(edge, made.id, "title" if masked else "", title="  new  name ")
    assert (renamed.title, list(renamed.collections)) == ("new name", ["default"])
    moved = await update(edge, made.id, "collections" if masked else "", collections=["more"])
    assert (moved.title, list(moved.collections)) == ("new name", ["more"])
    await ask(edge, "tea ?", made.id)
    (searched,) = world.requests("Retrieve")[-1].collections
    assert world.collections[searched].name == "more"
    cleared = await update(edge, made.id, "title,collections", etag=moved.etag)
    assert (cleared.title, list(cleared.collections)) == ("", [])
    await ask(edge, "milk ?", made.id)
    assert not world.requests("Retrieve")[-1].collections
    assert world.requests("BuildPrompt")[-1].history[0].text == "tea ?"


async def test_a_conversation_keeps_its_collections_under_their_new_names(edge: EdgeStub, world: World) -> None:
    async def rename(before: str, after: str) -> None:
        change = UpdateCollectionRequest(collection=before, resource=Collection(name=after))
        await edge.UpdateCollection(change)

    async def shown(conversation_id: str) -> list[str]:
        one = (await edge.GetConversation(GetConversationRequest(conversation_id=conversation_id))).conversation
        listed = (await edge.ListConversations(ListConversationsRequest())).conversations
        assert one.collections == next(other for other in listed if other.id == conversation_id).collections
        return list(one.collections)

    (before,) = [one for one, collection in world.collections.items() if collection.name == "default"]
    made = await create(edge, collections=["default"])
    await rename("default", "drinks")
    assert not (await ask(edge, "tea ?", made.id)).degradations
    await edge.CreateCollection(CreateCollectionRequest(collection=Collection(name="default")))
    assert not (await ask(edge, "milk ?", made.id)).degradations
    assert [one.collections for one in world.requests("Retrieve")] == [[before], [before]]
    assert await shown(made.id) == ["drinks"]
    await edge.ShareConversation(ShareConversationRequest(conversation_id=made.id))
    world.failures["AuthorizeCollections"] = Unavailable("down")
    assert await shown(made.id) == ["default"]
    world.failures.clear()
    given_by_id = await create(edge, collections=[before])
    assert await shown(given_by_id.id) == [before]


async def test_changes_that_are_refused(edge: EdgeStub) -> None:
    made = await create(edge, title="t")
    for paths, values in (
        ("", {}), ("*", {"title": "x"}), ("topic", {"title": "x"}), ("title", {"title": "x" * 201}),
    ):  # fmt: skip
        with pytest.raises(InvalidArgument):
            await update(edge, made.id, paths, **values)
    with pytest.raises(NotFound) as caught:
        await update(edge, made.id, collections=["none"])
    assert caught.value.reason == "COLLECTION_NOT_FOUND"
    with pytest.raises(NotFound):
        await update(edge, made.id, metadata=OTHER, title="x")
    with pytest.raises(Aborted):
        await update(edge, made.id, title="x", etag="another")
    assert (await edge.GetConversation(GetConversationRequest(conversation_id=made.id))).conversation == made


async def _answered(call: Any) -> Any:
    return [one async for one in call] if hasattr(call, "__aiter__") else await call


@sqlite_alone("database")
async def test_an_id_that_is_not_given_is_an_invalid_field(edge: EdgeStub) -> None:
    field = {"Conversation": "conversation_id", "Messages": "conversation_id", "Message": "message_id"}
    for call, request in (
        (edge.GetConversation, GetConversationRequest()),
        (edge.UpdateConversation, UpdateConversationRequest(resource={"title": "x"})),
        (edge.DeleteConversation, DeleteConversationRequest(allow_missing=True)),
        (edge.ListMessages, ListMessagesRequest()),
        (edge.RegenerateMessage, RegenerateMessageRequest()),
        (edge.EditMessage, EditMessageRequest(text="x")),
        (edge.GetAnswer, GetAnswerRequest()),
        (edge.GetAnswerManifest, GetAnswerManifestRequest()),
        (edge.DeleteAnswer, DeleteAnswerRequest(allow_missing=True)),
        (edge.ReplayAnswer, ReplayAnswerRequest()),
        (edge.CreateFeedback, CreateFeedbackRequest(rating=RATING_UP)),
    ):
        with pytest.raises(InvalidArgument) as caught:
            await _answered(call(request))
        named = type(request).__name__.removesuffix("Request")
        wanted = next((name for noun, name in field.items() if named.endswith(noun)), "answer_id")
        assert [name for name, _ in caught.value.violations] == [wanted], named


async def test_a_zero_byte_is_no_fault_of_ours(edge: EdgeStub) -> None:
    text = "a\0b"
    made = await create(edge, title=text + "x")
    assert "\0" not in made.title
    assert "\0" not in (await update(edge, made.id, title=text + "y")).title
    answered = await ask(edge, f"tea {text}?", made.id)
    await edge.CreateFeedback(CreateFeedbackRequest(answer_id=answered.answer.id, rating=RATING_UP, comment=text))
    with pytest.raises(NotFound):
        await edge.GetConversation(GetConversationRequest(conversation_id=text))


async def test_deleting_by_etag_and_what_is_not_there(edge: EdgeStub) -> None:
    made = await create(edge, title="t")
    with pytest.raises(Aborted):
        await edge.DeleteConversation(DeleteConversationRequest(conversation_id=made.id, etag="another"))
    theirs = DeleteConversationRequest(conversation_id=made.id, allow_missing=True)
    await edge.DeleteConversation(theirs, metadata=OTHER)
    await edge.DeleteConversation(DeleteConversationRequest(conversation_id=made.id, etag=made.etag))
    with pytest.raises(NotFound):
        await edge.DeleteConversation(DeleteConversationRequest(conversation_id=made.id))
    await edge.DeleteConversation(DeleteConversationRequest(conversation_id=made.id, allow_missing=True))


TEXTS = {
    "Plain": ("hello Straße", ["strasse", "STRASSE", "hello", "plain", "straße"], ["hullo"]),
    "Prozent 100%": ("hello 50%_a\\b/c", ["%", "%_A", "\\B/", "0%", "hello"], ["5_%", "a%b"]),
    "Кириллица": ("hello ЧАЙ", ["чай", "кИРИЛЛ", "HELLO"], ["чаю"]),
}


async def test_conversations_are_found_by_title_and_by_what_was_said(edge: EdgeStub) -> None:
    for title, (text, _, _) in TEXTS.items():
        await ask(edge, text, (await create(edge, title=title)).id)
        await ask(edge, text, (await create(edge, title=title, metadata=OTHER)).id, OTHER)
    for title, (_, fits, misses) in TEXTS.items():
        for query in fits:
            assert title in await found(edge, query), query
            assert len(await found(edge, query, READER)) == 0
        for query in misses:
            assert title not in await found(edge, query), query
    assert await found(edge, "%") == ["Prozent 100%"]
    assert sorted(await found(edge, "hello")) == sorted(TEXTS)
    assert await found(edge, "hello", size=1) == await found(edge, "hello")
    for bad in ("a\0b", "x" * 257):
        with pytest.raises(InvalidArgument):
            await found(edge, bad)


async def test_only_what_is_said_now_is_found(edge: EdgeStub) -> None:
    made = await create(edge, title="t")
    await ask(edge, "hello zebra", made.id)
    question = (await edge.ListMessages(ListMessagesRequest(conversation_id=made.id))).messages[0]
    assert await found(edge, "zebra") == ["t"]
    async for _ in edge.EditMessage(EditMessageRequest(message_id=question.id, text="hello lion")):
        pass
    assert await found(edge, "zebra") == []
    assert await found(edge, "lion") == ["t"]


async def test_a_search_goes_through_windows_and_ends(edge: EdgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation_search, "WINDOW", 2)
    monkeypatch.setattr(conversation_search, "MOST_LOOKED_THROUGH", 4)
    for number in range(11):
        await create(edge, title=f"{'odd' if number % 5 else 'sought'} {number}")
    assert await found(edge, "sought") == ["sought 10", "sought 5", "sought 0"]
    assert await found(edge, "sought", size=1) == ["sought 10", "sought 5", "sought 0"]
    first = await edge.ListConversations(ListConversationsRequest(query="sought 0"))
    assert not first.conversations
    assert first.next_page_token
    with pytest.raises(InvalidArgument):
        await edge.ListConversations(ListConversationsRequest(query="odd", page_token=first.next_page_token))


@sqlite_alone("database")
async def test_a_search_does_not_tell_what_is_withheld(edge: EdgeStub) -> None:
    made = await create(edge, title="t", metadata=READER)
    await ask(edge, "tea ?", made.id, READER)
    assert await found(edge, "brewed", READER) == ["t"]
    hidden = Collection(visibility=VISIBILITY_PRIVATE)
    change = UpdateCollectionRequest(collection="default", resource=hidden)
    change.update_mask.paths.append("visibility")
    await edge.UpdateCollection(change)
    assert await found(edge, "brewed", READER) == []
    assert await found(edge, "tea ?", READER) == ["t"]


async def test_a_conversation_is_made_once_under_its_request_id(edge: EdgeStub) -> None:
    made = await create(edge, title="t", request_id="r")
    await update(edge, made.id, title="u")
    again = await create(edge, title="t", request_id="r")
    assert (again.id, again.title) == (made.id, "u")
    assert (await create(edge, title="t", request_id="r", metadata=OTHER)).id != made.id
    with pytest.raises(InvalidArgument) as caught:
        await create(edge, title="x", request_id="r")
    assert caught.value.reason == "REQUEST_ID_REUSED"
    await edge.DeleteConversation(DeleteConversationRequest(conversation_id=made.id))
    another = await create(edge, title="t", request_id="r")
    assert another.id != made.id
    assert (await create(edge, title="t", request_id="r")).id == another.id


async def collection(edge: EdgeStub, name: str = "c", request_id: str = "r") -> Collection:
    request = CreateCollectionRequest(collection=Collection(name=name), request_id=request_id)
    return (await edge.CreateCollection(request)).collection


async def test_a_collection_is_made_once_under_its_request_id(edge: EdgeStub) -> None:
    made = await collection(edge)
    assert (await collection(edge)).id == made.id
    with pytest.raises(AlreadyExists):
        await collection(edge, request_id="another")
    with pytest.raises(InvalidArgument) as caught:
        await collection(edge, "d")
    assert caught.value.reason == "REQUEST_ID_REUSED"
    await edge.DeleteCollection(DeleteCollectionRequest(collection="c"))
    another = await collection(edge)
    assert another.id != made.id
    assert (await collection(edge)).id == another.id


async def test_a_crash_after_the_making_leaves_no_double(edge: EdgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    async def crash(*_: Any) -> None:
        raise Unavailable("died")

    with monkeypatch.context() as patched:
        patched.setattr("footnote_edge.adapters.request_ids.RequestTable.note_made", crash)
        with pytest.raises(Unavailable):
            await collection(edge)
        with pytest.raises(Unavailable):
            await create(edge, title="t", request_id="k")
    assert (await collection(edge)).name == "c"
    made = await create(edge, title="t", request_id="k")
    assert [one.id for one in (await edge.ListConversations(ListConversationsRequest())).conversations] == [made.id]


async def test_rows_without_ids_get_the_same_ones_again(edge: EdgeStub, world: World) -> None:
    rows = [{"text": "a", "vector": [1.0]}, {"id": "mine", "text": "b", "vector": [2.0]}]
    for _ in range(2):
        await edge.AddVectors(AddVectorsRequest(collection="default", rows=rows, request_id="r"))
    first, again = ([one.id for one in request.rows] for request in world.requests("AddVectors"))
    assert first == again
    assert first[0]
    assert first[1] == "mine"
    with pytest.raises(InvalidArgument) as caught:
        await edge.AddVectors(AddVectorsRequest(collection="default", rows=rows[:1], request_id="r"))
    assert caught.value.reason == "REQUEST_ID_REUSED"


@sqlite_alone("database")
async def test_a_replay_searches_by_the_vector_that_the_question_came_with(edge: EdgeStub, world: World) -> None:
    done = await ask(edge, "hello tea", query_vector=[0.5, 1])
    assert list(done.manifest.query_vector) == [0.5, 1]
    again = await edge.ReplayAnswer(ReplayAnswerRequest(answer_id=done.answer.id))
    assert again.identical, again.differences
    first, second = world.requests("Retrieve")
    assert list(second.query_vector) == list(first.query_vector) == [0.5, 1]
