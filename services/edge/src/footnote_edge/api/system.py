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
from footnote_edge.api.services import Services
from footnote_edge.gateway import principals


class SystemApi:
    """RPCs about the deployment itself."""

    services: Services

    async def ListProviders(self, request: ListProvidersRequest, context: Call) -> ListProvidersResponse:
        """List all providers of all stages."""
        return ListProvidersResponse(providers=await self.services.providers.listed(caller(), request.kind))

    async def ValidateProvider(self, request: ValidateProviderRequest, context: Call) -> ValidateProviderResponse:
        """Check a provider's settings against its schema."""
        valid, problems = await self.services.providers.validate(caller(), request.kind, request.id, request.settings)
        return ValidateProviderResponse(valid=valid, problems=problems)

    async def CheckProvider(self, request: CheckProviderRequest, context: Call) -> CheckProviderResponse:
        """Call a provider and report its status."""
        settings = request.settings if request.HasField("settings") else None
        health = await self.services.providers.check(caller(), request.kind, request.id, settings)
        return CheckProviderResponse(health=health)

    async def GetHealth(self, request: GetHealthRequest, context: Call) -> GetHealthResponse:
        """Report the health of every stage and the vector store; an unauthenticated caller gets the overall state."""
        components = await self.services.health.components()
        healthy = not any(component.error for component in components)
        if not principals.is_admitted():
            return GetHealthResponse(healthy=healthy)
        operator = self.services.operators.includes(principals.identity())
        return GetHealthResponse(
            healthy=healthy,
            components=[
                ComponentHealth(
                    name=component.name,
                    healthy=not component.error,
                    error=component.error,
                    latency=duration(component.latency),
                    detail=component.detail,
                    event_loop_lag=duration(component.lag) if component.lag is not None else None,
                )
                for component in components
            ],
            version=self.services.version,
            indexing_work=self.services.backlog.work() if operator else None,
        )

    async def GetTrace(self, request: GetTraceRequest, context: Call) -> GetTraceResponse:
        """Return the spans of a recent trace from all stages."""
        spans, missing = await self.services.traces.get(caller(), request.trace_id)
        return GetTraceResponse(spans=spans, missing=missing)

    async def GetSystemInfo(self, request: GetSystemInfoRequest, context: Call) -> GetSystemInfoResponse:
        """Describe the deployment."""
        return self.services.about
