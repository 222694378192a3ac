"""Providers, health and traces."""

from typing import Any

from footnote.edge.v1 import edge_service_pb2 as pb

from footnote_edge.answering import duration
from footnote_edge.api.common import caller
from footnote_edge.parts import Parts


class SystemApi:
    """RPCs about the deployment itself."""

    parts: Parts

    async def ListProviders(self, request: pb.ListProvidersRequest, context: Any) -> pb.ListProvidersResponse:
        """List all providers of all stages."""
        return pb.ListProvidersResponse(providers=await self.parts.providers.listed(caller(), request.kind))

    async def ValidateProvider(self, request: pb.ValidateProviderRequest, context: Any) -> pb.ValidateProviderResponse:
        """Check a provider's settings against its schema."""
        valid, problems = await self.parts.providers.validate(caller(), request.kind, request.id, request.settings)
        return pb.ValidateProviderResponse(valid=valid, problems=problems)

    async def CheckProvider(self, request: pb.CheckProviderRequest, context: Any) -> pb.CheckProviderResponse:
        """Call a provider and say how it is."""
        settings = request.settings if request.HasField("settings") else None
        health = await self.parts.providers.check(caller(), request.kind, request.id, settings)
        return pb.CheckProviderResponse(health=health)

    async def GetHealth(self, request: pb.GetHealthRequest, context: Any) -> pb.GetHealthResponse:
        """Say how every stage and the vector store are."""
        parts = await self.parts.health.parts()
        return pb.GetHealthResponse(
            healthy=not any(part.error for part in parts),
            components=[
                pb.ComponentHealth(
                    name=part.name,
                    healthy=not part.error,
                    error=part.error,
                    latency=duration(part.latency),
                    detail=part.detail,
                )
                for part in parts
            ],
            version=self.parts.version,
        )

    async def GetTrace(self, request: pb.GetTraceRequest, context: Any) -> pb.GetTraceResponse:
        """Return the spans of a recent trace from all stages."""
        spans, missing = await self.parts.traces.get(caller(), request.trace_id)
        return pb.GetTraceResponse(spans=spans, missing=missing)
