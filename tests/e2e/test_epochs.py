"""What a search may see changes at once for everybody, although searches remember it: in one process and in several.

Each change is made after everybody's searches were answered from memory, and looked for in the very next search.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

import pytest
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, DeleteCollectionRequest, UpdateCollectionRequest
from footnote.edge.v1.documents_pb2 import (
    DeleteDocumentRequest,
    Document,
    ReplaceDocumentRequest,
    ReplaceMetadata,
    UploadDocumentRequest,
    UploadMetadata,
    WatchDocumentRequest,
)
from footnote.types.v1.collection_pb2 import VISIBILITY_PRIVATE, VISIBILITY_SHARED, Collection, Grant
from footnote_kit.errors import NotFound
from google.protobuf.field_mask_pb2 import FieldMask
from support.edge_client import EdgeClient

pytestmark = pytest.mark.full

QUESTION = "When does the moonbase open?"
EVERYBODY = frozenset({"ann", "bob", "eve", "adm"})


class Town:
    """People of one tenant."""

    def __init__(self, edge: EdgeClient) -> None:
        self._stub = edge.stub
        self._tenant = uuid4().hex

    async def __call__(self, user: str, name: str, request: Any) -> Any:
        role = "admin" if user == "adm" else "writer"
        metadata = [("x-footnote-tenant", self._tenant), ("x-footnote-user", user), ("x-footnote-role", role)]
        made = getattr(self._stub, name)(request, metadata=metadata, timeout=60)
        return [event async for event in made] if hasattr(made, "__aiter__") else await made

    async def put(self, user: str, name: str, first: Any, part: type[Any], text: str) -> Document:
        made = await self(user, name, iter([part(metadata=first), part(data=text.encode())]))
        return (await self(user, "WatchDocument", WatchDocumentRequest(document_id=made.document.id)))[-1].document

    async def change(self, user: str, collection: str, change: Collection, *paths: str) -> None:
        mask = FieldMask(paths=paths)
        request = UpdateCollectionRequest(collection=collection, resource=change, update_mask=mask)
        await self(user, "UpdateCollection", request)

    async def finding(self, collection: str, words: str, users: Iterable[str] = EVERYBODY) -> set[str]:
        """Return who finds these words, whether it names the collection or none."""
        found = set()
        for user in users:
            seen = [await self(user, "Search", SearchRequest(query=QUESTION))]
            try:
                seen.append(await self(user, "Search", SearchRequest(query=QUESTION, collections=[collection])))
            except NotFound:
                seen.append(None)
            finds = [answer is not None and any(words in one.chunk.text for one in answer.chunks) for answer in seen]
            assert finds[0] == finds[1], (user, finds)
            if finds[0]:
                found.add(user)
        return found


async def test_every_change_is_seen_by_everybodys_next_search(edge: EdgeClient) -> None:
    town = Town(edge)
    private = Collection(name="moon", visibility=VISIBILITY_PRIVATE)
    moon = (await town("ann", "CreateCollection", CreateCollectionRequest(collection=private))).collection
    assert await town.finding("moon", "May") == set()

    head = UploadMetadata(collection="moon", filename="moon.txt")
    document = await town.put("ann", "UploadDocument", head, UploadDocumentRequest, "The moonbase opens on 1 May.")
    for _ in range(2):  # the second time from memory, as before every change below
        assert await town.finding("moon", "May") == {"ann", "adm"}

    await town.change("ann", moon.id, Collection(grants=[Grant(user_id="bob")]), "grants")
    for _ in range(2):
        assert await town.finding("moon", "May") == {"ann", "adm", "bob"}

    await town.change("ann", moon.id, Collection(), "grants")
    for _ in range(2):
        assert await town.finding("moon", "May") == {"ann", "adm"}

    await town.change("adm", moon.id, Collection(visibility=VISIBILITY_SHARED), "visibility")
    for _ in range(2):
        assert await town.finding("moon", "May") == EVERYBODY

    new = ReplaceMetadata(document_id=document.id)
    await town.put("ann", "ReplaceDocument", new, ReplaceDocumentRequest, "The moonbase opens on 2 June.")
    for _ in range(2):
        assert await town.finding("moon", "May") == set()
        assert await town.finding("moon", "June") == EVERYBODY

    await town.change("adm", moon.id, Collection(visibility=VISIBILITY_PRIVATE), "visibility")
    for _ in range(2):
        assert await town.finding("moon", "June") == {"ann", "adm"}

    await town("adm", "DeleteDocument", DeleteDocumentRequest(document_id=document.id))
    assert await town.finding("moon", "June") == set()
    await town("adm", "DeleteCollection", DeleteCollectionRequest(collection=moon.id))
    assert await town.finding("moon", "May") == set()
