"""Pages of every list: tokens belong to caller and request, and lists stay consistent while others write."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest
from footnote.edge.v1.answers_pb2 import RATING_UP, AskRequest, CreateFeedbackRequest, ListFeedbackRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, ListCollectionsRequest
from footnote.edge.v1.conversations_pb2 import (
    CreateConversationRequest,
    ListConversationsRequest,
    ListMessagesRequest,
)
from footnote.edge.v1.documents_pb2 import (
    ListDocumentsRequest,
    UploadDocumentRequest,
    UploadMetadata,
    WatchDocumentsRequest,
)
from footnote.types.v1.collection_pb2 import Collection
from footnote_kit.errors import InvalidArgument
from support.edge_client import EdgeClient

pytestmark = pytest.mark.full

Calls = Callable[..., Awaitable[Any]]
MANY = 5


class Lister:
    """A user with five elements in a list, the way to get a page of it, and to add one more."""

    def __init__(self, edge: EdgeClient, rpc: str, request: Any, field: str, add: Calls) -> None:
        self.edge, self.rpc, self.request, self.field, self.add = edge, rpc, request, field, add

    async def page(self, user: str, **more: Any) -> tuple[list[str], str]:
        request = type(self.request)()
        request.CopyFrom(self.request)
        request.MergeFrom(type(self.request)(**more))
        found = await getattr(self.edge.stub, self.rpc)(request, metadata=who(user))
        return [one.id for one in getattr(found, self.field)], found.next_page_token


def who(user: str) -> tuple[tuple[str, str], ...]:
    return (("x-footnote-tenant", f"pages-{user}"), ("x-footnote-user", user))


async def ask(edge: EdgeClient, user: str, **more: Any) -> Any:
    request = AskRequest(question="What is the warranty?", **more)
    return [event async for event in edge.stub.Ask(request, metadata=who(user))][-1].completed


async def collections(edge: EdgeClient, user: str) -> Lister:
    async def add() -> None:
        wanted = CreateCollectionRequest(collection=Collection(name=f"c-{uuid4().hex}"))
        await edge.stub.CreateCollection(wanted, metadata=who(user))

    return Lister(edge, "ListCollections", ListCollectionsRequest(), "collections", add)


async def documents(edge: EdgeClient, user: str) -> Lister:
    async def add() -> None:
        head = UploadMetadata(filename="a.txt")
        parts = [UploadDocumentRequest(metadata=head), UploadDocumentRequest(data=uuid4().hex.encode())]
        await edge.stub.UploadDocument(iter(parts), metadata=who(user))

    return Lister(edge, "ListDocuments", ListDocumentsRequest(), "documents", add)


async def conversations(edge: EdgeClient, user: str) -> Lister:
    async def add() -> None:
        await edge.stub.CreateConversation(CreateConversationRequest(title="t"), metadata=who(user))

    return Lister(edge, "ListConversations", ListConversationsRequest(), "conversations", add)


async def messages(edge: EdgeClient, user: str) -> Lister:
    created = await edge.stub.CreateConversation(CreateConversationRequest(title="t"), metadata=who(user))

    async def add() -> None:
        await ask(edge, user, conversation_id=created.conversation.id)

    request = ListMessagesRequest(conversation_id=created.conversation.id)
    return Lister(edge, "ListMessages", request, "messages", add)


async def feedback(edge: EdgeClient, user: str) -> Lister:
    async def add() -> None:
        wanted = CreateFeedbackRequest(answer_id=(await ask(edge, user)).answer.id, rating=RATING_UP)
        await edge.stub.CreateFeedback(wanted, metadata=who(user))

    return Lister(edge, "ListFeedback", ListFeedbackRequest(), "feedback", add)


@pytest.mark.parametrize("make", [collections, documents, conversations, messages, feedback])
async def test_a_list_is_read_in_pages(edge: EdgeClient, make: Callable[..., Awaitable[Lister]]) -> None:
    user = uuid4().hex
    lister = await make(edge, user)
    for _ in range(MANY):
        await lister.add()
    whole, token = await lister.page(user)
    assert len(whole) >= MANY
    assert token == ""
    # Page by page it is the same in the same order, although one is added after the first.
    found, token = await lister.page(user, page_size=2)
    first = token
    await lister.add()
    while token:
        more, token = await lister.page(user, page_size=3, page_token=token)  # the size may change on the way
        assert 1 <= len(more) <= 3
        found += more
    assert len(found) == len(set(found))
    assert [one for one in found if one in whole] == whole
    # The token belongs to this caller and this request.
    for other, words in (
        ({"page_token": first[:-2]}, "page_token"),
        ({"page_token": "MQ=="}, "page_token"),
        ({"page_token": "é" * 10}, "page_token"),
        ({"page_size": -1}, "page_size"),
    ):
        with pytest.raises(InvalidArgument, match=words):
            await lister.page(user, **other)
    if lister.rpc != "ListMessages":  # another user's conversation is not found, before its pages are read
        with pytest.raises(InvalidArgument, match="another request"):
            await lister.page(uuid4().hex, page_token=first)
    assert (await lister.page(user, page_size=100_000))[1] == ""


async def test_a_token_goes_with_its_filter(edge: EdgeClient) -> None:
    user = uuid4().hex
    lister = await documents(edge, user)
    for _ in range(3):
        await lister.add()
    _, token = await lister.page(user, page_size=1, filename_contains="a")
    with pytest.raises(InvalidArgument, match="another request"):
        await lister.page(user, page_size=1, filename_contains="txt", page_token=token)


ORDERS = [f"{name}{way}" for name in ("create_time", "filename", "size_bytes", "update_time") for way in ("", " desc")]


@pytest.mark.parametrize("order", ORDERS)
async def test_every_order_of_documents_is_read_in_pages_while_one_is_added(edge: EdgeClient, order: str) -> None:
    user = uuid4().hex
    lister = await documents(edge, user)
    for number in range(MANY):
        head = UploadMetadata(filename=f"{'bab'[number % 3]}.txt", tags=["stable"])
        parts = [
            UploadDocumentRequest(metadata=head),
            UploadDocumentRequest(data=b"x" * (1 + number % 2) + b"%d" % number),
        ]
        await edge.stub.UploadDocument(iter(parts), metadata=who(user))
    async for _ in edge.stub.WatchDocuments(
        WatchDocumentsRequest(collection="default", until_idle=True), metadata=who(user), timeout=120
    ):
        pass  # what is still processed changes, and moves in the order of changes
    whole, _ = await lister.page(user, order_by=order)
    found, token = await lister.page(user, page_size=2, order_by=order)
    await lister.add()
    while token:
        more, token = await lister.page(user, page_size=2, order_by=order, page_token=token)
        found += more
    assert [one for one in found if one in whole] == whole
    assert len(found) == len(set(found))
    tagged, _ = await lister.page(user, order_by=order, tags=["stable"], document_types=["TXT"])
    assert tagged == whole
