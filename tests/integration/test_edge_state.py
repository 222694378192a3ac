"""What the edge keeps, on SQLite and on PostgreSQL: conversations, feedback, keys, jobs."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1.answers_pb2 import (
    RATING_DOWN,
    RATING_UP,
    AskRequest,
    AskResponse,
    CreateFeedbackRequest,
    ListFeedbackRequest,
)
from footnote.edge.v1.conversations_pb2 import (
    CreateConversationRequest,
    DeleteConversationRequest,
    GetConversationRequest,
    ListConversationsRequest,
    ListMessagesRequest,
    UpdateConversationRequest,
)
from footnote.edge.v1.documents_pb2 import UploadDocumentRequest, UploadMetadata, WatchDocumentRequest
from footnote.stages.v1 import stored_document_pb2
from footnote.types.v1 import answer_pb2 as ans
from footnote.types.v1 import collection_pb2 as col
from footnote.types.v1 import document_pb2 as doc
from footnote.types.v1.reasons_pb2 import QUERY_STRATEGY_FOLLOW_UP
from footnote.types.v1.role_pb2 import ROLE_WRITER
from footnote_edge.app import build
from footnote_edge.offline import keys as offline
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import InvalidArgument, NotFound, Unauthenticated, Unavailable
from footnote_kit.testing import serve_app
from support import postgres
from support.answer_parts import EVERY_PART
from support.doubles.stages import World, serve_doubles
from support.edge_client import EdgeClient

pytestmark = pytest.mark.full


@pytest.fixture(params=["sqlite", "postgres"], autouse=True)
async def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Edge keeps its state in SQLite, then in PostgreSQL."""
    monkeypatch.setenv("FOOTNOTE_EDGE_RETRY_CEILING_SECONDS", "0.3")
    monkeypatch.setenv("FOOTNOTE_EDGE_WATCH_POLL_SECONDS", "0.1")
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


def upload(text: bytes) -> Iterator[Any]:
    yield UploadDocumentRequest(metadata=UploadMetadata(collection="default", filename="tea.txt"))
    yield UploadDocumentRequest(data=text)


async def ask(edge: EdgeStub, question: str = "tea ?", **more: Any) -> list[AskResponse]:
    more.setdefault("include", EVERY_PART)
    return [event async for event in edge.Ask(AskRequest(question=question, **more), timeout=20)]


async def test_a_conversation_keeps_messages_topic_title_and_memory(edge: EdgeStub, world: World) -> None:
    created = await edge.CreateConversation(CreateConversationRequest(collections=["default"]))
    conversation_id = created.conversation.id
    first = (await ask(edge, "what about tea", conversation_id=conversation_id))[-1].completed
    assert first.conversation_id == conversation_id
    second = (await ask(edge, "and it", conversation_id=conversation_id))[-1].completed
    assert second.manifest.query == "what about tea and it"
    assert second.manifest.query_strategy == QUERY_STRATEGY_FOLLOW_UP
    history = world.requests("BuildPrompt")[-1].history
    assert [message.role for message in history] == [ans.MESSAGE_ROLE_USER, ans.MESSAGE_ROLE_ASSISTANT]
    listed = await edge.ListMessages(ListMessagesRequest(conversation_id=conversation_id, include=EVERY_PART))
    assert [message.text for message in listed.messages][0::2] == ["what about tea", "and it"]
    assert listed.messages[1].id == first.answer.id
    assert listed.messages[1].answer == first.answer
    assert listed.messages[1].manifest.prompt_hash == "h"
    await world.until(lambda: len(world.messages) == 4)
    get = GetConversationRequest(conversation_id=conversation_id)
    async with asyncio.timeout(240):
        while not (conversation := (await edge.GetConversation(get)).conversation).title:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert conversation.title == "About tea"
    assert conversation.message_count == 4
    await edge.DeleteConversation(DeleteConversationRequest(conversation_id=conversation_id))
    await world.until(lambda: not world.messages)
    with pytest.raises(NotFound):
        await edge.ListMessages(ListMessagesRequest(conversation_id=conversation_id))


async def test_a_conversation_is_its_users_alone(edge: EdgeStub) -> None:
    created = await edge.CreateConversation(CreateConversationRequest(title="private"))
    other = (("x-footnote-user", "other"),)
    with pytest.raises(NotFound):
        await edge.GetConversation(GetConversationRequest(conversation_id=created.conversation.id), metadata=other)
    assert not (await edge.ListConversations(ListConversationsRequest(), metadata=other)).conversations
    renamed = await edge.UpdateConversation(
        UpdateConversationRequest(conversation_id=created.conversation.id, resource={"title": "  new   name "})
    )
    assert renamed.conversation.title == "new name"


async def test_conversations_come_in_pages(edge: EdgeStub) -> None:
    for number in range(5):
        await edge.CreateConversation(CreateConversationRequest(title=f"c{number}"))
    titles, token = [], ""
    while True:
        page = await edge.ListConversations(ListConversationsRequest(page_size=2, page_token=token))
        assert page.total_size == 5
        titles += [one.title for one in page.conversations]
        token = page.next_page_token
        if not token:
            break
    assert titles == ["c4", "c3", "c2", "c1", "c0"]
    for bad in ({"page_size": -1}, {"page_token": "!"}):
        with pytest.raises(InvalidArgument):
            await edge.ListConversations(ListConversationsRequest(**bad))


async def test_feedback_on_answers_and_citations(edge: EdgeStub) -> None:
    created = await edge.CreateConversation(CreateConversationRequest())
    done = (await ask(edge, conversation_id=created.conversation.id))[-1].completed
    up = CreateFeedbackRequest(answer_id=done.answer.id, rating=RATING_UP)
    down = CreateFeedbackRequest(answer_id=done.answer.id, citation=1, rating=RATING_DOWN, comment="wrong page")
    await edge.CreateFeedback(up)
    await edge.CreateFeedback(down)
    await edge.CreateFeedback(down)
    listed = await edge.ListFeedback(ListFeedbackRequest())
    assert [(one.citation, one.rating) for one in listed.feedback] == [(1, RATING_DOWN), (0, RATING_UP)]
    negative = await edge.ListFeedback(ListFeedbackRequest(rating=RATING_DOWN))
    assert [one.comment for one in negative.feedback] == ["wrong page"]
    with pytest.raises(InvalidArgument):
        await edge.CreateFeedback(CreateFeedbackRequest(answer_id=done.answer.id))
    with pytest.raises(InvalidArgument):
        await edge.CreateFeedback(CreateFeedbackRequest(answer_id=done.answer.id, citation=2, rating=RATING_UP))
    with pytest.raises(NotFound):
        await edge.CreateFeedback(CreateFeedbackRequest(answer_id="none", rating=RATING_UP))


async def test_a_restart_takes_up_what_was_waiting(world: World, tmp_path: Path) -> None:
    world.failures["IndexDocument"] = Unavailable("down", reason="STORE_UNAVAILABLE")
    async with serve_doubles(world) as addresses:
        async with serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
            accepted = await EdgeStub(served.channel).UploadDocument(upload(b"survivor"))
            await world.until(lambda: bool(world.requests("IndexDocument")))
        assert world.documents[accepted.document.id].state == doc.DOCUMENT_STATE_PROCESSING
        del world.failures["IndexDocument"]
        async with serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
            document = await EdgeClient(served.channel).settle(accepted.document.id)
    assert document.state == doc.DOCUMENT_STATE_INDEXED


async def test_a_document_accepted_without_a_job_is_found_at_the_start(world: World) -> None:
    stray = stored_document_pb2.Document(
        id="stray", tenant_id="t9", owner_id="u", collection_id="c", state=doc.DOCUMENT_STATE_UPLOADED, revision=1
    )
    world.documents["stray"] = stray
    world.blobs["stray"] = b"found"
    world.collections["c"] = col.Collection(id="c", name="c", tenant_id="t9")
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        edge = EdgeStub(served.channel)
        metadata = (("x-footnote-tenant", "t9"),)
        watch = edge.WatchDocument(WatchDocumentRequest(document_id="stray"), metadata=metadata, timeout=20)
        states = [event.document.state async for event in watch]
    assert states[-1] == doc.DOCUMENT_STATE_INDEXED


async def test_keys_are_kept_as_hashes_and_end_when_revoked(tmp_path: Path) -> None:
    database, keys = await offline(tmp_path)
    try:
        key, text = await keys.create("ci", "acme", "robot", ROLE_WRITER)
        assert (await keys.identify(text)).scope.tenant_id == "acme"
        assert [one.label for one in await keys.listed("acme")] == ["ci"]
        assert not await keys.listed("other")
        secret = text.split("_", 2)[2]
        async with database.engine.connect() as connection:
            rows = (await connection.exec_driver_sql("select * from api_keys")).all()
        assert secret not in str(rows)
        await keys.revoke(key.id)
        with pytest.raises(Unauthenticated):
            await keys.identify(text)
        with pytest.raises(NotFound):
            await keys.revoke("nothing")
        with pytest.raises(InvalidArgument):
            await keys.create("bad", "no tenant", "robot", ROLE_WRITER)
    finally:
        await database.close()


async def test_first_uploads_come_side_by_side(world: World) -> None:
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        client = EdgeClient(served.channel)
        documents = await asyncio.gather(*(client.put(f"text {number}".encode()) for number in range(8)))
    assert len({document.id for document in documents}) == 8
    assert len(world.collections) == 1
