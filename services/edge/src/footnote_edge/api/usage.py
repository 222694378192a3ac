"""The caller's identity, storage, usage and limits; activity by hour, for a tenant's administrators."""

from collections.abc import Mapping
from datetime import UTC, datetime

from footnote.edge.v1 import system_pb2 as pb
from footnote_kit.access import role_of
from footnote_kit.context import Call
from footnote_kit.errors import InvalidArgument
from footnote_kit.paging import Page
from google.protobuf.duration_pb2 import Duration

from footnote_edge.api.services import Services, caller
from footnote_edge.gateway import principals
from footnote_edge.gateway.ports import Allowance
from footnote_edge.gateway.principals import Proof
from footnote_edge.settings import Settings
from footnote_edge.system.activity import BOUNDS_MS, KEPT_HOURS, last_hours, time_measure
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
        return limits_shown(await self.services.quotas.allowances.of(tenant), self.services.settings)


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


_USUAL_HOURS = 24
_MEASURES = (
    *("searches", "searches_without_passage", "answers", "ratings_up", "ratings_down"),
    *("claims_supported", "claims_not_confirmed", "claims_unsupported", "claims_uncited"),
)


class ActivityApi:
    """RPCs about activity."""

    services: Services

    async def GetActivity(self, request: pb.GetActivityRequest, context: Call) -> pb.GetActivityResponse:
        """Count activity by hour and usage by day."""
        if not 0 <= request.hours <= KEPT_HOURS:
            raise InvalidArgument.field("hours", f"must be between 0 and {KEPT_HOURS}")
        tenant = caller().tenant_id
        moments = last_hours(request.hours or _USUAL_HOURS)
        counts = await self.services.activity.hours(tenant, moments)
        days = sorted({moment.date() for moment in moments})
        used = await self.services.usage.days(tenant, days[0].isoformat())
        response = pb.GetActivityResponse(
            hours=[_hour(moment, found) for moment, found in zip(moments, counts, strict=True)],
            search_bounds=[Duration(nanos=ms % 1000 * 1_000_000, seconds=ms // 1000) for ms in BOUNDS_MS],
        )
        for day in days:
            spent = used.get(day.isoformat())
            shown = response.days.add()
            shown.start_time.FromDatetime(datetime(day.year, day.month, day.day, tzinfo=UTC))
            if spent is not None:
                shown.tokens, shown.cost_usd = max(0, spent.tokens), max(0.0, spent.cost_usd)
        return response


def _hour(moment: datetime, found: Mapping[str, int]) -> pb.ActivityHour:
    shown = pb.ActivityHour(
        searches_by_time=[found.get(time_measure(step), 0) for step in range(len(BOUNDS_MS) + 1)],
    )
    for name in _MEASURES:
        setattr(shown, name, found.get(name, 0))
    shown.start_time.FromDatetime(moment)
    return shown
