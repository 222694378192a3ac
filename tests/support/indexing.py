"""Driving a real indexing service from tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import grpc
from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.indexing.v1 import indexing_service_pb2_grpc as pb_grpc
from footnote.internal.indexing.v1alpha1 import layout_service_pb2 as layout
from footnote.internal.indexing.v1alpha1.layout_service_pb2_grpc import LayoutServiceStub
from footnote.internal.indexing.v1alpha1.upkeep_service_pb2_grpc import UpkeepServiceStub
from footnote.stages.v1 import parsing_pb2, scope_pb2, stored_document_pb2
from footnote.types.v1 import collection_pb2
from footnote_kit.epochs import Epochs, received
from footnote_kit.testing import SCOPE


class Client:
    """The service's RPCs with less to write."""

    def __init__(self, channel: grpc.aio.Channel, scope: scope_pb2.Scope = SCOPE) -> None:
        self.stub = pb_grpc.IndexingServiceStub(channel)
        self.upkeep = UpkeepServiceStub(channel)
        self.layout = LayoutServiceStub(channel)
        self.channel = channel
        self.scope = scope

    async def create(self, name: str, **settings: object) -> collection_pb2.Collection:
        """Make a collection."""
        wanted = collection_pb2.Collection(name=name, settings=collection_pb2.CollectionSettings(**settings))
        request = pb.CreateCollectionRequest(scope=self.scope, collection=wanted)
        return (await self.stub.CreateCollection(request)).collection

    async def get(self, name: str) -> collection_pb2.Collection:
        """Read a collection."""
        return (await self.stub.GetCollection(pb.GetCollectionRequest(scope=self.scope, collection=name))).collection

    async def resolve(self, *names: str) -> pb.ResolveCollectionsResponse:
        """Collections as a search of them finds them."""
        return await self.stub.ResolveCollections(pb.ResolveCollectionsRequest(scope=self.scope, collections=names))

    async def locate(self, *names: str) -> layout.LocateCollectionsResponse:
        """What a search must know."""
        return await self.layout.LocateCollections(layout.LocateCollectionsRequest(scope=self.scope, collections=names))

    async def epochs(self) -> Epochs:
        """The epochs in which an answer about every collection holds."""
        return (await received(self.stub.ResolveCollections(pb.ResolveCollectionsRequest(scope=self.scope))))[1]

    async def index(
        self,
        collection_id: str,
        document_id: str,
        blocks: Sequence[parsing_pb2.Block],
        revision: int = 1,
        timeout: float = 120,
        **more: object,
    ) -> pb.IndexResult:
        """Index one revision and return the result."""
        header = stored_document_pb2.Document(
            id=document_id, collection_id=collection_id, revision=revision, filename=f"{document_id}.md", **more
        )
        result = None
        async for event in self.stub.IndexDocument(requests(self.scope, header, blocks), timeout=timeout):
            if event.WhichOneof("event") == "result":
                result = event.result
        assert result is not None
        return result

    async def stats(self, name: str) -> tuple[pb.CollectionStats, pb.GetIndexStatsResponse]:
        """Counts of one collection, and of the whole service."""
        response = await self.stub.GetIndexStats(pb.GetIndexStatsRequest(scope=self.scope, collections=[name]))
        return response.collections[0], response


async def requests(
    scope: scope_pb2.Scope, header: stored_document_pb2.Document, blocks: Sequence[parsing_pb2.Block], batch: int = 50
) -> AsyncIterator[pb.IndexDocumentRequest]:
    """The messages that index a document."""
    yield pb.IndexDocumentRequest(scope=scope, header=pb.IndexDocumentHeader(document=header))
    for start in range(0, len(blocks), batch):
        yield pb.IndexDocumentRequest(blocks=pb.BlockBatch(blocks=blocks[start : start + batch]))
    yield pb.IndexDocumentRequest(metadata=parsing_pb2.ParsedMetadata(language="en", block_count=len(blocks)))
