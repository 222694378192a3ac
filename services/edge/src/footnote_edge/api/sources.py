"""Sources that feed a collection."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from footnote.edge.v1 import sources_pb2 as pb
from footnote_kit.context import Call

from footnote_edge.api.services import Services, caller


class SourcesApi:
    """RPCs about sources."""

    services: Services

    async def CreateSource(self, request: pb.CreateSourceRequest, context: Call) -> pb.CreateSourceResponse:
        """Create a source and begin to synchronise it."""
        return pb.CreateSourceResponse(source=await self.services.sources.create(caller(), request))

    async def GetSource(self, request: pb.GetSourceRequest, context: Call) -> pb.GetSourceResponse:
        """Return one source."""
        return pb.GetSourceResponse(source=await self.services.sources.get(caller(), request.source_id))

    async def ListSources(self, request: pb.ListSourcesRequest, context: Call) -> pb.ListSourcesResponse:
        """List sources, newest first."""
        return await self.services.sources.page(caller(), request)

    async def ListSourceKinds(self, request: pb.ListSourceKindsRequest, context: Call) -> pb.ListSourceKindsResponse:
        """List the kinds of sources."""
        return self.services.sources.kinds()

    async def UpdateSource(self, request: pb.UpdateSourceRequest, context: Call) -> pb.UpdateSourceResponse:
        """Change a source."""
        return pb.UpdateSourceResponse(source=await self.services.sources.update(caller(), request))

    async def DeleteSource(self, request: pb.DeleteSourceRequest, context: Call) -> pb.DeleteSourceResponse:
        """Delete a source, on request together with its documents."""
        return pb.DeleteSourceResponse(operation=await self.services.sources.delete(caller(), request))

    async def SyncSource(self, request: pb.SyncSourceRequest, context: Call) -> pb.SyncSourceResponse:
        """Synchronise a source now."""
        return pb.SyncSourceResponse(operation=await self.services.sources.sync(caller(), request.source_id))

    async def ListSourceItems(self, request: pb.ListSourceItemsRequest, context: Call) -> pb.ListSourceItemsResponse:
        """List the items of a source."""
        return await self.services.sources.items(caller(), request)

    async def WatchSource(self, request: pb.WatchSourceRequest, context: Call) -> AsyncIterator[pb.WatchSourceResponse]:
        """Stream a source after each change."""
        async with aclosing(self.services.sources.watch(caller(), request.source_id)) as moves:
            async for source in moves:
                yield pb.WatchSourceResponse(source=source)
