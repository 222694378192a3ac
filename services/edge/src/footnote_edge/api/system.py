"""Providers, health and traces."""

from footnote.edge.v1.providers_pb2 import (
    CheckProviderRequest,
    CheckProviderResponse,
    ListProvidersRequest,
    ListProvidersResponse,
    ValidateProviderRequest,
    ValidateProviderResponse,
)
from footnote.edge.v1.system_pb2 import (
    ComponentHealth,
    GetHealthRequest,
    GetHealthResponse,
    GetSystemInfoRequest,
    GetSystemInfoResponse,
    GetTraceRequest,
    GetTraceResponse,
)
from footnote_kit.handler_context import Call
from footnote_kit.timings import duration

from footnote_edge.api.common import caller
from footnote_edge.api.parts import Parts
from footnote_edge.gateway import principals


class SystemApi:
    """RPCs about the deployment itself."""

    parts: Parts

    async def ListProviders(self, request: ListProvidersRequest, context: Call) -> ListProvidersResponse:
        """List all providers of all stages."""
        return ListProvidersResponse(providers=await self.parts.providers.listed(caller(), request.kind))

    async def ValidateProvider(self, request: ValidateProviderRequest, context: Call) -> ValidateProviderResponse:
        """Check a provider's settings against its schema."""
        valid, problems = await self.parts.providers.validate(caller(), request.kind, request.id, request.settings)
        return ValidateProviderResponse(valid=valid, problems=problems)

    async def CheckProvider(self, request: CheckProviderRequest, context: Call) -> CheckProviderResponse:
        """Call a provider and report its status."""
        settings = request.settings if request.HasField("settings") else None
        health = await self.parts.providers.check(caller(), request.kind, request.id, settings)
        return CheckProviderResponse(health=health)

    async def GetHealth(self, request: GetHealthRequest, context: Call) -> GetHealthResponse:
        """Report the health of every stage and the vector store; an unauthenticated caller gets the overall state."""
        parts = await self.parts.health.parts()
        healthy = not any(part.error for part in parts)
        if not principals.is_admitted():
            return GetHealthResponse(healthy=healthy)
        return GetHealthResponse(
            healthy=healthy,
            components=[
                ComponentHealth(
                    name=part.name,
                    healthy=not part.error,
                    error=part.error,
                    latency=duration(part.latency),
                    detail=part.detail,
                    event_loop_lag=duration(part.lag) if part.lag is not None else None,
                )
                for part in parts
            ],
            version=self.parts.version,
        )

    async def GetTrace(self, request: GetTraceRequest, context: Call) -> GetTraceResponse:
        """Return the spans of a recent trace from all stages."""
        spans, missing = await self.parts.traces.get(caller(), request.trace_id)
        return GetTraceResponse(spans=spans, missing=missing)

    async def GetSystemInfo(self, request: GetSystemInfoRequest, context: Call) -> GetSystemInfoResponse:
        """Describe the deployment."""
        return self.parts.about
