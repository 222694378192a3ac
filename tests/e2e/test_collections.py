"""A collection is addressed by one field and named by another: changed, renamed and deleted over gRPC and HTTP."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.collections_pb2 import (
    CreateCollectionRequest,
    DeleteCollectionRequest,
    GetCollectionRequest,
    UpdateCollectionRequest,
)
from footnote.types.v1.collection_pb2 import Collection
from footnote_kit.errors import Aborted, AlreadyExists, InvalidArgument, NotFound
from google.protobuf.field_mask_pb2 import FieldMask
from support.deployment import Deployment
from support.edge_client import EdgeClient


@pytest.fixture
async def http(running: Deployment) -> AsyncIterator[httpx2.AsyncClient]:
    """An HTTP client of the deployment."""
    async with httpx2.AsyncClient(base_url=f"http://{running.address('http')}", timeout=60) as client:
        yield client


async def made(edge: EdgeClient, **more: Any) -> Collection:
    request = CreateCollectionRequest(collection=Collection(name=f"c-{uuid4().hex}", **more))
    return (await edge.stub.CreateCollection(request)).collection


async def update(edge: EdgeClient, collection: str, *paths: str, **resource: Any) -> Collection:
    request = UpdateCollectionRequest(
        collection=collection, resource=Collection(**resource), update_mask=FieldMask(paths=paths)
    )
    return (await edge.stub.UpdateCollection(request)).collection


async def test_a_new_name_is_given_by_name_or_id_and_the_documents_stay(edge: EdgeClient, tmp_path: Path) -> None:
    collection = await made(edge, description="kept")
    path = tmp_path / "a.txt"
    path.write_text("The canteen opens at noon.")
    document = await edge.settle((await edge.upload(path, collection=collection.name)).document.id)
    names = [f"n-{uuid4().hex}" for _ in range(3)]
    assert (await update(edge, collection.name, "name", name=names[0])).name == names[0]
    assert (await update(edge, collection.id, name=names[1])).name == names[1]  # no mask: every field that is set
    renamed = await update(edge, names[1], "name", "description", name=names[2])
    assert (renamed.id, renamed.name, renamed.description) == (collection.id, names[2], "")  # in the mask and absent
    for old in (collection.name, *names[:2]):
        with pytest.raises(NotFound):
            await edge.stub.GetCollection(GetCollectionRequest(collection=old))
    assert (await edge.settle(document.id)).collection_id == collection.id
    request = SearchRequest(query="When does the canteen open?", collections=[names[2]])
    assert (await edge.stub.Search(request)).chunks


async def test_http_renames(http: httpx2.AsyncClient, edge: EdgeClient) -> None:
    collection, new = await made(edge, description="kept"), f"n-{uuid4().hex}"
    url = f"/v1/collections/{collection.id}"
    answer = await http.patch(url, params={"update_mask": "name"}, json={"name": new})
    assert (answer.status_code, answer.json()["collection"]["name"]) == (200, new), answer.text
    assert answer.json()["collection"]["description"] == "kept"
    # What the path says is an address, never a name: without one nothing is renamed.
    answer = await http.patch(url, json={"description": "changed"})
    assert answer.json()["collection"]["name"] == new
    answer = await http.patch(f"/v1/collections/{new}", json={"name": collection.name})
    assert answer.json()["collection"]["name"] == collection.name


async def test_what_a_change_must_not_say(edge: EdgeClient) -> None:
    one, other = await made(edge), await made(edge)
    with pytest.raises(InvalidArgument, match=r"resource\.id"):
        await update(edge, one.id, "description", id=other.id, description="x")
    with pytest.raises(AlreadyExists):
        await update(edge, one.id, "name", name=other.name)
    with pytest.raises(Aborted):
        await update(edge, one.id, "description", etag="stale", description="x")
    for path in ("*", "nothing", "id", "document_count"):
        with pytest.raises(InvalidArgument, match="update_mask"):
            await update(edge, one.id, path, description="x")
    for name in ("", " x", "a/b"):
        with pytest.raises(InvalidArgument):
            await update(edge, one.id, "name", name=name)
    assert (await edge.stub.GetCollection(GetCollectionRequest(collection=one.id))).collection.name == one.name


async def test_a_deletion_says_what_it_expects(edge: EdgeClient, http: httpx2.AsyncClient) -> None:
    collection = await made(edge)
    with pytest.raises(Aborted):
        await edge.stub.DeleteCollection(DeleteCollectionRequest(collection=collection.name, etag="stale"))
    await edge.stub.DeleteCollection(DeleteCollectionRequest(collection=collection.name, etag=collection.etag))
    with pytest.raises(NotFound):
        await edge.stub.DeleteCollection(DeleteCollectionRequest(collection=collection.name))
    gone = await edge.stub.DeleteCollection(DeleteCollectionRequest(collection=collection.id, allow_missing=True))
    assert not gone.HasField("operation")
    url = f"/v1/collections/{collection.id}"
    assert (await http.delete(url)).status_code == 404
    assert (await http.delete(url, params={"allow_missing": "true"})).status_code == 200
