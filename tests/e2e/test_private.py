"""A private collection on a real deployment: made, shared, used, withdrawn and deleted, by people of one tenant."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from footnote.edge.v1.answers_pb2 import AskCompleted, AskRequest, SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, DeleteCollectionRequest, UpdateCollectionRequest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, ListMessagesRequest
from footnote.edge.v1.documents_pb2 import (
    DeleteDocumentRequest,
    Document,
    DownloadDocumentRequest,
    GetDocumentRequest,
    ListDocumentsRequest,
    QueryChunksRequest,
    UploadDocumentRequest,
    UploadMetadata,
    WatchDocumentRequest,
)
from footnote.edge.v1.operations_pb2 import WatchOperationRequest
from footnote.types.v1.collection_pb2 import ACCESS_WRITE, VISIBILITY_PRIVATE, Collection, Grant
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_kit.degradations import word
from footnote_kit.errors import NotFound, PermissionDenied
from google.protobuf.field_mask_pb2 import FieldMask
from support.edge_client import EdgeClient

SECRET = "The moonbase opens on the first of May 2031. Its commander is Ada Brunner."
QUESTION = "When does the moonbase open?"


class Person:
    """A user of the test's tenant."""

    def __init__(self, edge: EdgeClient, tenant: str, user: str, role: str, groups: str = "") -> None:
        self._stub = edge.stub
        named = {"tenant": tenant, "user": user, "role": role, "groups": groups}
        self._metadata = tuple((f"x-footnote-{name}", value) for name, value in named.items())

    async def __call__(self, name: str, request: Any) -> Any:
        made = getattr(self._stub, name)(request, metadata=self._metadata, timeout=60)
        return [event async for event in made] if hasattr(made, "__aiter__") else await made

    async def put(self, text: str, collection: str) -> Document:
        head = UploadMetadata(collection=collection, filename="moon.txt")
        parts = [UploadDocumentRequest(metadata=head), UploadDocumentRequest(data=text.encode())]
        document = (await self("UploadDocument", iter(parts))).document
        return (await self("WatchDocument", WatchDocumentRequest(document_id=document.id)))[-1].document

    async def share(self, collection_id: str, *grants: Grant) -> None:
        change = Collection(grants=grants)
        mask = FieldMask(paths=["grants"])
        await self(
            "UpdateCollection", UpdateCollectionRequest(collection=collection_id, resource=change, update_mask=mask)
        )

    async def ask(self, **more: Any) -> AskCompleted:
        return (await self("Ask", AskRequest(question=QUESTION, **more)))[-1].completed

    async def sees(self, document: Document) -> set[str]:
        """Return in which ways this person gets at a document, or at its words."""
        ways: dict[str, Callable[[], Any]] = {
            "get": lambda: self("GetDocument", GetDocumentRequest(document_id=document.id)),
            "download": lambda: self("DownloadDocument", DownloadDocumentRequest(document_id=document.id)),
            "watch": lambda: self("WatchDocument", WatchDocumentRequest(document_id=document.id)),
            "list": lambda: self("ListDocuments", ListDocumentsRequest()),
            "list in it": lambda: self("ListDocuments", ListDocumentsRequest(collection=document.collection_id)),
            "search": lambda: self("Search", SearchRequest(query=QUESTION)),
            "query": lambda: self("QueryChunks", QueryChunksRequest(collection=document.collection_id)),
            "ask": self.ask,
        }
        found = set()
        for way, does in ways.items():
            try:
                said = str(await does())
            except NotFound:
                continue
            if document.id in said or "Brunner" in said:
                found.add(way)
        return found


EVERY = {"get", "download", "watch", "list", "list in it", "search", "query", "ask"}


async def until(person: Person, document: Document, ways: set[str]) -> None:
    """Wait for what stages remember for a second to be forgotten."""
    end = time.monotonic() + 30
    while (seen := await person.sees(document)) != ways:
        assert time.monotonic() < end, seen


async def test_a_private_collection_is_for_those_it_is_shared_with(edge: EdgeClient) -> None:
    tenant = uuid4().hex
    ann, bob, eve = (Person(edge, tenant, user, "writer") for user in ("ann", "bob", "eve"))
    gus, adm = Person(edge, tenant, "gus", "reader", "office"), Person(edge, tenant, "adm", "admin")
    stranger = Person(edge, uuid4().hex, "ann", "admin")
    wanted = Collection(name="moon", visibility=VISIBILITY_PRIVATE)
    moon = (await ann("CreateCollection", CreateCollectionRequest(collection=wanted))).collection
    document = await ann.put(SECRET, "moon")
    assert document.state == DOCUMENT_STATE_INDEXED
    for person, ways in ((ann, EVERY), (adm, EVERY), (bob, set()), (eve, set()), (gus, set()), (stranger, set())):
        assert await person.sees(document) == ways

    await ann.share(moon.id, Grant(user_id="bob", access=ACCESS_WRITE), Grant(group="office"))
    for person in (bob, gus):
        await until(person, document, EVERY)
    assert await eve.sees(document) == set()
    conversation = (await bob("CreateConversation", CreateConversationRequest(collections=["moon"]))).conversation.id
    told = await bob.ask(conversation_id=conversation)
    assert "May" in told.answer.text
    own = await bob.put("The moonbase has a bakery.", "moon")

    delete = DeleteDocumentRequest(document_id=document.id)
    for person, error in ((eve, NotFound), (gus, PermissionDenied), (stranger, NotFound)):
        with pytest.raises(error):
            await person("DeleteDocument", delete)
    with pytest.raises(PermissionDenied):
        await bob("DeleteCollection", DeleteCollectionRequest(collection="moon"))
    assert await ann.sees(document) == EVERY

    await ann.share(moon.id)
    await until(bob, document, set())
    await until(gus, document, set())
    kept = (await bob("ListMessages", ListMessagesRequest(conversation_id=conversation))).messages
    assert kept[0].text == QUESTION
    assert [word(one) for one in kept[1].degradations] == ["SOURCES_WITHHELD"]
    assert "Brunner" not in str(kept)
    assert document.id not in str(kept)
    for gone in (document, own):
        with pytest.raises(NotFound):
            await bob("DeleteDocument", DeleteDocumentRequest(document_id=gone.id))
    assert await ann.sees(document) == EVERY

    begun = await ann("DeleteCollection", DeleteCollectionRequest(collection="moon"))
    for person in (ann, adm):
        assert await person.sees(document) == set()
    last = (await ann("WatchOperation", WatchOperationRequest(operation_id=begun.operation.id)))[-1].operation
    assert (last.done, last.total) == (2, 2)
    for person in (ann, adm):
        assert await person.sees(document) == set()
