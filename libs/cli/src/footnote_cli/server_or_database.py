"""Where `footnote keys`, `limits` and `audit` work: at a server, or on a deployment's own database."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, TypeVar
from uuid import uuid4

import typer
from footnote.edge.v1.audit_pb2 import AuditEvent, ListAuditEventsRequest, ListAuditEventsResponse
from footnote.edge.v1.keys_pb2 import (
    CreateKeyRequest,
    CreateKeyResponse,
    Key,
    ListKeysRequest,
    RevokeKeyRequest,
)
from footnote.edge.v1.limits_pb2 import (
    GetTenantLimitsRequest,
    GetTenantLimitsResponse,
    ListTenantLimitsRequest,
    TenantAllowance,
    UpdateTenantLimitsRequest,
)
from footnote.types.v1.role_pb2 import Role
from footnote_kit import private
from footnote_kit.errors import FootnoteError
from google.protobuf.timestamp_pb2 import Timestamp

from footnote_cli.addresses import edge_address
from footnote_cli.credentials import key_of_file
from footnote_cli.errors import CommandError, explain_failure, usage_error
from footnote_cli.listing import read_all
from footnote_cli.session import Connection, Session, open_session
from footnote_cli.targets import OFFLINE, found

T = TypeVar("T")
Open = Callable[[typer.Context, Path, str | None, str, float | None], AbstractAsyncContextManager[T]]
"""Opens what a command works on, by its context, --data-dir, --address, --api-key and --timeout."""


def opener(name: str, served: Callable[[Session], T], offline: Callable[[Any], T]) -> Open[T]:
    """Return how `footnote <name>` opens what it works on.

    It uses the folder given in the call, else the server of a key or an address, else the usual folder. `offline` wraps
    the offline tool of that name. Opening raises CommandError.
    """

    @asynccontextmanager
    async def opened(
        context: typer.Context, data_dir: Path, address: str | None, api_key: str, timeout: float | None
    ) -> AsyncIterator[T]:
        connection = _connection(context, address, api_key, timeout)
        if connection is not None:
            async with open_session(connection, f"footnote {name} {context.info_name}") as session:
                yield served(session)
            return
        import sqlite3

        private.keep()  # this command may be the first to create the database
        try:
            database, tool = await found(OFFLINE, name)(data_dir)
            try:
                yield offline(tool)
            finally:
                await database.close()
        except FootnoteError as error:
            raise explain_failure(error) from error
        except sqlite3.Error as error:
            problem = f"The database in {data_dir} cannot be used: {error}."
            raise CommandError(problem, "Free some space, or make it writable for this user.") from error

    return opened


def _connection(context: typer.Context, address: str | None, api_key: str, timeout: float | None) -> Connection | None:
    """Return the server to work at; None for the deployment's own database."""
    source = context.get_parameter_source("data_dir")
    if source is not None and source.name == "COMMANDLINE":
        if address:
            raise usage_error("--data-dir and --address exclude each other.", "Give one of them.")
        return None
    secret = api_key or key_of_file()
    return Connection(edge_address(address), api_key=secret, timeout=timeout) if secret or address else None


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key to make; empty tenant and user mean the caller's own, or "default" and "local" without a server."""

    label: str
    tenant: str
    user: str
    role: Role.ValueType
    groups: list[str]
    lifetime: timedelta | None


class KeyStore(Protocol):
    """Makes, lists and revokes keys, shown as JSON-ready values."""

    async def create(self, new: NewKey) -> tuple[dict[str, Any], str]:
        """Make a key; return it and its text."""
        ...

    async def listed(self, *, ended: bool) -> list[dict[str, Any]]:
        """Return the keys, including ended ones if requested."""
        ...

    async def revoke(self, key_id: str, *, force: bool) -> None:
        """Revoke a key."""
        ...


class _ServedKeys:
    def __init__(self, session: Session) -> None:
        self._session = session

    async def create(self, new: NewKey) -> tuple[dict[str, Any], str]:
        if new.tenant:
            raise usage_error(
                "A server makes keys of your own tenant only.",
                "Leave out --tenant, or work on the deployment's database with --data-dir.",
            )
        request = CreateKeyRequest(
            label=new.label, user_id=new.user, role=new.role, groups=new.groups, request_id=uuid4().hex
        )
        if new.lifetime is not None:
            request.ttl.FromTimedelta(new.lifetime)
        made: CreateKeyResponse = await self._session.call(self._session.stub.CreateKey, request)
        return _key_of_message(made.key), made.secret

    async def listed(self, *, ended: bool) -> list[dict[str, Any]]:
        request = ListKeysRequest(include_ended=ended)
        return [
            _key_of_message(key) for key in await read_all(self._session, self._session.stub.ListKeys, request, "keys")
        ]

    async def revoke(self, key_id: str, *, force: bool) -> None:
        await self._session.call(self._session.stub.RevokeKey, RevokeKeyRequest(key_id=key_id, force=force))


class _OfflineKeys:
    def __init__(self, keys: Any) -> None:
        self._keys = keys

    async def create(self, new: NewKey) -> tuple[dict[str, Any], str]:
        tenant, user = new.tenant or "default", new.user or "local"
        key, text = await self._keys.create(new.label, tenant, user, new.role, new.lifetime, new.groups)
        return _of_row(key), text

    async def listed(self, *, ended: bool) -> list[dict[str, Any]]:
        return [_of_row(key) for key in await self._keys.listed(ended=ended)]

    async def revoke(self, key_id: str, *, force: bool) -> None:
        await self._keys.revoke(key_id, force=force)


def _key_of_message(key: Key) -> dict[str, Any]:
    def when(name: str) -> datetime | None:
        moment: Timestamp = getattr(key, name)
        return moment.ToDatetime() if key.HasField(name) else None  # type: ignore[arg-type]

    return {
        "id": key.id,
        "label": key.label,
        "user_id": key.user_id,
        "role": _word(key.role),
        "groups": list(key.groups),
        "create_time": _text(when("create_time")),
        "expire_time": _text(when("expire_time")),
        "revoke_time": _text(when("revoke_time")),
    }


def _of_row(key: Any) -> dict[str, Any]:
    return {
        "id": key.id,
        "label": key.label,
        "tenant_id": key.tenant_id,
        "user_id": key.user_id,
        "role": _word(key.role),
        "groups": list(key.groups),
        "create_time": _text(key.create_time),
        "expire_time": _text(key.expire_time),
        "revoke_time": _text(key.revoke_time),
    }


def _word(role: Role.ValueType) -> str:
    return Role.Name(role).removeprefix("ROLE_").lower()


def _text(moment: datetime | None) -> str:
    """Return a time in UTC as 2026-11-22T08:00:00Z, "" for none."""
    return "" if moment is None else moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


open_keys: Open[KeyStore] = opener("keys", _ServedKeys, _OfflineKeys)


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


class _ServedLimits:
    def __init__(self, session: Session) -> None:
        self._session = session

    async def own(self, tenant: str) -> Limits:
        request = GetTenantLimitsRequest(tenant_id=tenant)
        response: GetTenantLimitsResponse = await self._session.call(self._session.stub.GetTenantLimits, request)
        return _limit_of_message(response.allowance)

    async def listed(self) -> dict[str, Limits]:
        request = ListTenantLimitsRequest()
        found = await read_all(self._session, self._session.stub.ListTenantLimits, request, "allowances")
        return {one.tenant_id: _limit_of_message(one) for one in found}

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
        return _limit_of_message(response.allowance)


class _OfflineLimits:
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


def _limit_of_message(allowance: TenantAllowance) -> Limits:
    known = {known: field for known, field in _FIELDS.items() if allowance.HasField(field)}  # type: ignore[arg-type]
    return {name: getattr(allowance, field) for name, field in known.items()}


open_limits: Open[LimitStore] = opener("limits", _ServedLimits, _OfflineLimits)


Read = Callable[[ListAuditEventsRequest], Awaitable[ListAuditEventsResponse]]
"""Returns a page of events."""
_PAGE = 1000


def _served_events(session: Session) -> Read:
    async def read(request: ListAuditEventsRequest) -> ListAuditEventsResponse:
        response: ListAuditEventsResponse = await session.call(session.stub.ListAuditEvents, request)
        return response

    return read


def _stored_events(log: Any) -> Read:
    read: Read = log.read
    return read


open_log: Open[Read] = opener("audit", _served_events, _stored_events)


async def events(read: Read, request: ListAuditEventsRequest, most: int = 0) -> AsyncIterator[AuditEvent]:
    """Yield the events that a request matches, newest first, up to a limit; 0 for all. It changes `request`."""
    count = 0
    request.page_size = min(most or _PAGE, _PAGE)
    while True:
        page = await read(request)
        for event in page.events:
            yield event
            count += 1
            if count == most:
                return
        if not page.next_page_token:
            return
        request.page_token = page.next_page_token
