"""Providers, health, traces, the audit log, and what the deployment can do."""

from footnote.edge.v1 import system_pb2 as pb
from footnote.edge.v1.audit_pb2 import ListAuditEventsRequest, ListAuditEventsResponse
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
from footnote_kit.context import Call
from footnote_kit.edge import SERVICES
from footnote_kit.paging import LARGEST_SIZE, PAGE_BYTES, Page, long_sequence
from footnote_kit.settings import KitSettings
from footnote_kit.timings import duration

from footnote_edge.api.services import Services, caller
from footnote_edge.audit.events import filters, message
from footnote_edge.gateway import principals
from footnote_edge.gateway.sizes import CHARACTERS
from footnote_edge.settings import Settings


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


_WAYS = {"keys": pb.AUTHENTICATION_KEY, "jwt": pb.AUTHENTICATION_TOKEN}


def about(settings: Settings, kit: KitSettings, version: str) -> pb.GetSystemInfoResponse:
    """Return the public facts that a client needs to configure itself; nothing in it is secret."""
    doors = [pb.ACCESS_DOOR_GRPC]
    if settings.http:
        doors += [pb.ACCESS_DOOR_HTTP, pb.ACCESS_DOOR_OPENAI, pb.ACCESS_DOOR_MCP]
    return pb.GetSystemInfoResponse(
        version=version,
        contract=pb.DESCRIPTOR.package,
        services=sorted(service.full_name for service in SERVICES),
        authentication=[_WAYS[way] for way in settings.auth] or [pb.AUTHENTICATION_NONE],
        token_issuer=settings.jwt_issuer if "jwt" in settings.auth else "",
        doors=doors,
        sizes=pb.SizeLimits(
            message_bytes=kit.max_message_bytes,
            json_body_bytes=settings.body_bytes,
            vectors_body_bytes=settings.vectors_body_bytes,
            page_bytes=PAGE_BYTES,
            page_size=LARGEST_SIZE,
            question_characters=settings.max_question_characters,
            filter_characters=CHARACTERS["json"],
        ),
        deadlines=pb.DefaultDeadlines(
            ask=duration(settings.ask_timeout_seconds),
            call=duration(settings.call_timeout_seconds),
            transfer=duration(settings.job_timeout_seconds),
            watch=duration(settings.watch_lifetime_seconds),
        ),
        answer_lifetime=duration(settings.answer_days * 86_400),
    )


class AuditApi:
    """RPCs about the audit log."""

    services: Services

    async def ListAuditEvents(self, request: ListAuditEventsRequest, context: Call) -> ListAuditEventsResponse:
        """List events."""
        identity = principals.identity()
        tenant = self.services.operators.tenant(identity, request.tenant_id)
        found, token = await self.services.audit.page(
            filters(request, tenant), Page.of(identity.scope, request, kinds=(long_sequence,))
        )
        return ListAuditEventsResponse(events=map(message, found), next_page_token=token)
