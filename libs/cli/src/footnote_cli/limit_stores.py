"""Sources of `footnote limits`: a server, for its operators, or a deployment's database."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from footnote.edge.v1.limits_pb2 import (
    GetTenantLimitsRequest,
    GetTenantLimitsResponse,
    ListTenantLimitsRequest,
    TenantAllowance,
    UpdateTenantLimitsRequest,
)
from footnote_kit import private
from footnote_kit.errors import FootnoteError

from footnote_cli.errors import explain_failure
from footnote_cli.installed import OFFLINE, found
from footnote_cli.listing import read_all
from footnote_cli.session import Connection, Session, open_session

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


@asynccontextmanager
async def served(connection: Connection, name: str) -> AsyncIterator[LimitStore]:
    """Open the limits at a server. Raises CommandError."""
    async with open_session(connection, name) as session:
        yield _Served(session)


@asynccontextmanager
async def offline(data_dir: Path) -> AsyncIterator[LimitStore]:
    """Open the limits in a deployment's database. Raises CommandError."""
    private.keep()  # this command may be the first to create the database
    database, allowances = await found(OFFLINE, "limits")(data_dir)
    try:
        yield _Offline(allowances)
    except FootnoteError as error:
        raise explain_failure(error) from error
    finally:
        await database.close()


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
