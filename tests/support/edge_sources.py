"""Helpers of tests about sources: an edge with doubles behind it, and a look at what a source has made of them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from footnote.edge.v1 import operations_pb2 as ops
from footnote.edge.v1 import sources_pb2 as pb
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.documents_pb2 import Document
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_PROCESSING, DOCUMENT_STATE_UPLOADED
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import Unavailable
from google.protobuf.json_format import ParseDict

from support.doubles.stages import World
from support.edge_client import EdgeClient

LIMIT = 60.0


async def collection(edge: EdgeStub, name: str = "kept", **more: Any) -> Collection:
    made = await edge.CreateCollection(CreateCollectionRequest(collection=Collection(name=name)), **more)
    return made.collection


async def create(
    edge: EdgeStub, kind: str, settings: dict[str, Any], name: str = "one", collection: str = "kept",
    secrets: dict[str, Any] | None = None, call: dict[str, Any] | None = None, **more: Any,
) -> pb.Source:  # fmt: skip
    source = {"name": name, "collection": collection, "kind": kind, "settings": settings, **more}
    if secrets is not None:
        source["secrets"] = secrets
    request = ParseDict({"source": source}, pb.CreateSourceRequest())
    return (await edge.CreateSource(request, **(call or {}))).source


async def get(edge: EdgeStub, source: pb.Source | str) -> pb.Source:
    source_id = source if isinstance(source, str) else source.id
    return (await edge.GetSource(pb.GetSourceRequest(source_id=source_id))).source


async def ended(edge: EdgeStub, operation_id: str) -> ops.Operation:
    """Return an operation when it has ended."""
    async with asyncio.timeout(LIMIT):
        last = ops.Operation()
        while not last.HasField("end_time"):
            with suppress(Unavailable):  # a busy machine may miss the connection's pings
                async for update in edge.WatchOperation(ops.WatchOperationRequest(operation_id=operation_id)):
                    last = update.operation
        return last


async def settled(edge: EdgeStub, source: pb.Source | str) -> pb.Source:
    """Return a source when nothing is done with it any more."""
    async with asyncio.timeout(LIMIT):
        while (now := await get(edge, source)).operation_id:
            await ended(edge, now.operation_id)
    return now


async def at_rest(client: EdgeClient, collection: str, seconds: float = 120.0) -> list[Document]:
    """Return a collection's documents when none is in progress.

    A run waits for the documents that it touches. Those that a killed run uploaded may still be in progress after it.
    """
    async with asyncio.timeout(seconds):
        while True:
            documents = await client.documents(collection)
            if not any(one.state in (DOCUMENT_STATE_UPLOADED, DOCUMENT_STATE_PROCESSING) for one in documents):
                return documents
            await asyncio.sleep(0.2)


async def sync(edge: EdgeStub, source: pb.Source) -> ops.Operation:
    """Synchronise a source and return how that ended."""
    await settled(edge, source)
    begun = (await edge.SyncSource(pb.SyncSourceRequest(source_id=source.id))).operation
    return await ended(edge, begun.id)


async def items(edge: EdgeStub, source: pb.Source) -> dict[str, pb.SourceItem]:
    found: dict[str, pb.SourceItem] = {}
    request = pb.ListSourceItemsRequest(source_id=source.id, page_size=1000)
    while True:
        page = await edge.ListSourceItems(request)
        found |= {item.item: item for item in page.items}
        request.page_token = page.next_page_token
        if not page.next_page_token:
            return found


def contents(world: World) -> dict[str, bytes]:
    """Return what documents hold, by the item that their origin names."""
    found = {}
    for document in world.documents.values():
        origin = document.metadata.fields["footnote_source"].struct_value.fields
        found[origin["item"].string_value] = world.blobs[document.id]
    return found
