"""What `footnote keys` works on: the keys at a server, or those in a deployment's database."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import uuid4

from footnote.edge.v1.keys_pb2 import (
    CreateKeyRequest,
    CreateKeyResponse,
    Key,
    ListKeysRequest,
    RevokeKeyRequest,
)
from footnote.types.v1.role_pb2 import Role
from google.protobuf.timestamp_pb2 import Timestamp

from footnote_cli.errors import usage_error
from footnote_cli.listing import read_all
from footnote_cli.server_or_database import Open, opener
from footnote_cli.session import Session


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


class _Served:
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
        return _of_message(made.key), made.secret

    async def listed(self, *, ended: bool) -> list[dict[str, Any]]:
        request = ListKeysRequest(include_ended=ended)
        return [_of_message(key) for key in await read_all(self._session, self._session.stub.ListKeys, request, "keys")]

    async def revoke(self, key_id: str, *, force: bool) -> None:
        await self._session.call(self._session.stub.RevokeKey, RevokeKeyRequest(key_id=key_id, force=force))


class _Offline:
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


def _of_message(key: Key) -> dict[str, Any]:
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


open_keys: Open[KeyStore] = opener("keys", _Served, _Offline)
