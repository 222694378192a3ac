"""What `footnote limits` works on: the limits at a server, for its operators, or those in a deployment's database."""

from collections.abc import Mapping
from typing import Any, Protocol

from footnote.edge.v1.limits_pb2 import (
    GetTenantLimitsRequest,
    GetTenantLimitsResponse,
    ListTenantLimitsRequest,
    TenantAllowance,
    UpdateTenantLimitsRequest,
)

from footnote_cli.listing import read_all
from footnote_cli.server_or_database import Open, opener
from footnote_cli.session import Session

Limits = Mapping[str, float]
_FIELDS = {
    "documents": "documents",
    "bytes": "bytes",
    "collections": "collections",
    "tokens_per_day": "tokens_per_day",
    "cost_per_day": "cost_usd_per_day",
}
"""The command's and the contract's names of the limits."""


class LimitStore(Protocol):
    """Reads and changes tenants' own limits, under the command's names."""

    async def own(self, tenant: str) -> Limits:
        """Return a tenant's own limits; "" for the caller's tenant at a server."""
        ...

    async def listed(self) -> dict[str, Limits]:
        """Return all tenants with limits of their own."""
        ...

    async def set(self, tenant: str, changes: Limits) -> Limits:
        """Set some limits and return all."""
        ...

    async def clear(self, tenant: str) -> bool:
        """Restore the deployment's limits; False if the tenant had none of its own."""
        ...


class _Served:
    def __init__(self, session: Session) -> None:
        self._session = session

    async def own(self, tenant: str) -> Limits:
        request = GetTenantLimitsRequest(tenant_id=tenant)
        response: GetTenantLimitsResponse = await self._session.call(self._session.stub.GetTenantLimits, request)
        return _of_message(response.allowance)

    async def listed(self) -> dict[str, Limits]:
        request = ListTenantLimitsRequest()
        found = await read_all(self._session, self._session.stub.ListTenantLimits, request, "allowances")
        return {one.tenant_id: _of_message(one) for one in found}

    async def set(self, tenant: str, changes: Limits) -> Limits:
        request = UpdateTenantLimitsRequest(tenant_id=tenant)
        for name, value in changes.items():
            setattr(request.resource, _FIELDS[name], value)
        return await self._update(request)

    async def clear(self, tenant: str) -> bool:
        there = bool(await self.own(tenant))
        request = UpdateTenantLimitsRequest(tenant_id=tenant, resource=TenantAllowance())
        request.update_mask.paths.extend(_FIELDS.values())
        await self._update(request)
        return there

    async def _update(self, request: UpdateTenantLimitsRequest) -> Limits:
        response = await self._session.call(self._session.stub.UpdateTenantLimits, request)
        return _of_message(response.allowance)


class _Offline:
    def __init__(self, allowances: Any) -> None:
        self._allowances = allowances

    async def own(self, tenant: str) -> Limits:
        found: Limits = (await self._allowances.own(tenant)).limits
        return found

    async def listed(self) -> dict[str, Limits]:
        return dict(await self._allowances.listed())

    async def set(self, tenant: str, changes: Limits) -> Limits:
        found: Limits = (await self._allowances.set(tenant, changes)).limits
        return found

    async def clear(self, tenant: str) -> bool:
        return bool(await self._allowances.clear(tenant))


def _of_message(allowance: TenantAllowance) -> Limits:
    known = {known: field for known, field in _FIELDS.items() if allowance.HasField(field)}  # type: ignore[arg-type]
    return {name: getattr(allowance, field) for name, field in known.items()}


open_limits: Open[LimitStore] = opener("limits", _Served, _Offline)
