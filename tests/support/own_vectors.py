"""Collections that bring their own vectors, for tests through the public API."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import numpy as np
from footnote.edge.v1 import collections_pb2, vectors_pb2
from footnote.edge.v1.answers_pb2 import SearchRequest, SearchResponse
from footnote.types.v1 import collection_pb2 as col
from footnote.types.v1.vector_pb2 import VectorRow
from google.protobuf.json_format import ParseDict

from support.edge_client import EdgeClient

TEXTS = ["Bolts are counted on Friday.", "Parental leave lasts sixteen weeks.", "Lyon opens at eight."]
AXES = np.eye(3, dtype=np.float32)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


async def create(edge: EdgeClient, provider: str = "none", dimensions: int = 3, **settings: Any) -> str:
    """Make a collection and return its name."""
    name = f"own-{uuid4().hex[:10]}"
    wanted = col.Collection(name=name)
    wanted.settings.embedding.provider, wanted.settings.embedding.dimensions = provider, dimensions
    ParseDict(settings, wanted.settings)
    await edge.stub.CreateCollection(collections_pb2.CreateCollectionRequest(collection=wanted))
    return name


async def clear(edge: EdgeClient) -> None:
    """Delete the collections that `create` made: a question of every collection says which are searched by words."""
    listed = await edge.stub.ListCollections(collections_pb2.ListCollectionsRequest(page_size=1000))
    for one in listed.collections:
        if one.name.startswith("own-"):
            request = collections_pb2.DeleteCollectionRequest(collection=one.id, allow_missing=True)
            await edge.stub.DeleteCollection(request)


async def add(edge: EdgeClient, name: str, rows: Sequence[VectorRow]) -> vectors_pb2.AddVectorsResponse:
    return await edge.stub.AddVectors(vectors_pb2.AddVectorsRequest(collection=name, rows=rows), timeout=120)


async def stocked(edge: EdgeClient, **more: Any) -> str:
    """Return a collection with a row for each of the axes."""
    name = await create(edge, **more)
    rows = [VectorRow(id=f"r{n}", text=text, vector=AXES[n], metadata={"n": n}) for n, text in enumerate(TEXTS)]
    await add(edge, name, rows)
    return name


async def search(edge: EdgeClient, *names: str, **more: Any) -> SearchResponse:
    return await edge.stub.Search(SearchRequest(collections=names, **more), timeout=60)


def ids_of(found: SearchResponse) -> list[str]:
    return [one.chunk.document_id for one in found.chunks]


async def pages(edge: EdgeClient, name: str, **more: Any) -> list[list[VectorRow]]:
    """Return all pages of a list."""
    found, token = [], ""
    while True:
        request = vectors_pb2.ListVectorsRequest(collection=name, page_token=token, **more)
        page = await edge.stub.ListVectors(request, timeout=120)
        assert page.ByteSize() < 4 * 1024 * 1024
        found.append(list(page.rows))
        token = page.next_page_token
        if not token:
            return found


def row_ids(found: Sequence[Sequence[VectorRow]]) -> list[str]:
    return [row.id for page in found for row in page]


async def get(edge: EdgeClient, name: str, identity: str, **more: Any) -> VectorRow:
    request = vectors_pb2.GetVectorRequest(collection=name, vector_id=identity, **more)
    return (await edge.stub.GetVector(request)).row


async def delete(edge: EdgeClient, name: str, *ids: str, **more: Any) -> int:
    return (await edge.stub.DeleteVectors(vectors_pb2.DeleteVectorsRequest(collection=name, ids=ids, **more))).deleted
