"""The caller's identity, storage, usage and limits."""

from footnote.edge.v1 import system_pb2 as pb
from footnote_kit.access import role_of
from footnote_kit.handler_context import Call
from footnote_kit.paging import Page

from footnote_edge.api.common import caller
from footnote_edge.api.services import Services
from footnote_edge.gateway import principals
from footnote_edge.gateway.ports import Allowance
from footnote_edge.gateway.principals import Proof
from footnote_edge.settings import Settings
from footnote_edge.system.usage import Counts, day_end

AUTHENTICATION = {
    Proof.NONE: pb.AUTHENTICATION_NONE,
    Proof.KEY: pb.AUTHENTICATION_KEY,
    Proof.TOKEN: pb.AUTHENTICATION_TOKEN,
}


class UsageApi:
    """RPCs about the caller."""

    services: Services

    async def WhoAmI(self, request: pb.WhoAmIRequest, context: Call) -> pb.WhoAmIResponse:
        """Return the caller's identity."""
        identity = principals.identity()
        scope = identity.scope
        response = pb.WhoAmIResponse(
            tenant_id=scope.tenant_id,
            user_id=scope.user_id,
            role=role_of(scope),
            groups=scope.groups,
            authentication=AUTHENTICATION[identity.proof],
            key_id=identity.key_id,
            key_label=identity.key_label,
            limits=await self._limits(scope.tenant_id),
        )
        if identity.expire_time is not None:
            response.expire_time.FromDatetime(identity.expire_time)
        return response

    async def GetUsage(self, request: pb.GetUsageRequest, context: Call) -> pb.GetUsageResponse:
        """Return stored amounts and usage."""
        scope = caller()
        use = await self.services.usage.of(scope)
        response = pb.GetUsageResponse(
            own=_shown(use.own),
            tenant=None if use.tenant is None else _shown(use.tenant),
            limits=await self._limits(scope.tenant_id),
        )
        response.day_end_time.FromDatetime(day_end())
        return response

    async def ListUserUsage(self, request: pb.ListUserUsageRequest, context: Call) -> pb.ListUserUsageResponse:
        """List stored amounts and usage by user."""
        scope = caller()
        found, token = await self.services.usage.page(scope, Page.of(scope, request))
        users = [pb.UserUsage(user_id=user, counts=_shown(counts)) for user, counts in found]
        return pb.ListUserUsageResponse(users=users, next_page_token=token)

    async def _limits(self, tenant: str) -> pb.TenantLimits:
        return limits_shown(await self.services.quotas.of(tenant), self.services.settings)


def limits_shown(allowed: Allowance, settings: Settings) -> pb.TenantLimits:
    """Return the effective limits; 0 means unlimited."""
    return pb.TenantLimits(
        documents=allowed.documents or None,
        bytes=allowed.bytes or None,
        collections=allowed.collections or None,
        tokens_per_day=allowed.tokens_per_day or None,
        cost_usd_per_day=allowed.cost_per_day or None,
        requests_per_minute=settings.requests_per_minute or None,
        uploads_per_minute=settings.uploads_per_minute or None,
        upload_bytes_per_minute=settings.upload_bytes_per_minute or None,
        tokens_per_minute=settings.tokens_per_minute or None,
        watches_per_user=settings.watches_per_user,
    )


def _shown(counts: Counts) -> pb.UsageCounts:
    return pb.UsageCounts(
        documents=counts.documents,
        bytes=counts.bytes,
        collections=counts.collections,
        tokens_today=max(0, counts.spent.tokens),
        cost_usd_today=max(0.0, counts.spent.cost_usd),
    )
