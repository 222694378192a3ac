"""Limits of individual tenants."""

from footnote.edge.v1.limits_pb2 import (
    GetTenantLimitsRequest,
    GetTenantLimitsResponse,
    ListTenantLimitsRequest,
    ListTenantLimitsResponse,
    TenantAllowance,
    UpdateTenantLimitsRequest,
    UpdateTenantLimitsResponse,
)
from footnote_kit.context import Call
from footnote_kit.errors import InvalidArgument
from footnote_kit.paging import Page
from footnote_kit.validation import checked_name

from footnote_edge.api.services import Services
from footnote_edge.api.usage import limits_shown
from footnote_edge.gateway import principals
from footnote_edge.gateway.ports import TenantOverrides

NAMES = {
    "documents": "documents",
    "bytes": "bytes",
    "collections": "collections",
    "tokens_per_day": "tokens_per_day",
    "cost_usd_per_day": "cost_per_day",
}
"""Names of TenantAllowance's fields in the database and on the command line."""


class LimitsApi:
    """RPCs about limits of tenants."""

    services: Services

    async def GetTenantLimits(self, request: GetTenantLimitsRequest, context: Call) -> GetTenantLimitsResponse:
        """Return a tenant's limits."""
        tenant = self.services.operators.tenant(principals.identity(), request.tenant_id)
        own = await self.services.quotas.allowances.own(checked_name("tenant_id", tenant))
        return GetTenantLimitsResponse(allowance=await self._whole(own))

    async def ListTenantLimits(self, request: ListTenantLimitsRequest, context: Call) -> ListTenantLimitsResponse:
        """List the tenants that have their own limits."""
        identity = principals.identity()
        self.services.operators.check(identity)
        found, token = await self.services.quotas.allowances.page(Page.of(identity.scope, request))
        return ListTenantLimitsResponse(allowances=map(_shown, found), next_page_token=token)

    async def UpdateTenantLimits(self, request: UpdateTenantLimitsRequest, context: Call) -> UpdateTenantLimitsResponse:
        """Change a tenant's own limits."""
        self.services.operators.check(principals.identity())
        own = await self.services.quotas.allowances.set(request.tenant_id, _changes(request))
        return UpdateTenantLimitsResponse(allowance=await self._whole(own))

    async def _whole(self, own: TenantOverrides) -> TenantAllowance:
        shown = _shown(own)
        allowed = await self.services.quotas.allowances.of(own.tenant_id)
        shown.effective.CopyFrom(limits_shown(allowed, self.services.settings))
        return shown


def _changes(request: UpdateTenantLimitsRequest) -> dict[str, float | None]:
    """Return the new values by database name; None where a limit is cleared."""
    given = request.resource
    paths = list(request.update_mask.paths) or [name for name in NAMES if given.HasField(name)]  # type: ignore[arg-type]
    for path in paths:
        if path not in NAMES:
            raise InvalidArgument.field("update_mask", f"names what is no limit: choose of {', '.join(NAMES)}")
    if not paths:
        raise InvalidArgument.field("resource", f"changes nothing: set one of {', '.join(NAMES)}")
    return {NAMES[path]: getattr(given, path) if given.HasField(path) else None for path in paths}  # type: ignore[arg-type]


def _shown(own: TenantOverrides) -> TenantAllowance:
    values = {name: own.limits[known] for name, known in NAMES.items() if known in own.limits}
    shown = TenantAllowance(tenant_id=own.tenant_id, **values)  # type: ignore[arg-type]
    if own.update_time is not None:
        shown.update_time.FromDatetime(own.update_time)
    return shown
