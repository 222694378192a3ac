"""The door of the public API: every call is authenticated and its role checked here, before any handler runs."""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

from footnote.edge.v1 import edge_service_pb2 as pb
from footnote.types.v1.scope_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_WRITER, Role, Scope
from footnote_kit.access import role_of
from footnote_kit.context import bind_scope
from footnote_kit.errors import PermissionDenied

from footnote_edge.identity import Authenticator
from footnote_edge.limits import Limits

SERVICE = pb.DESCRIPTOR.services_by_name["EdgeService"]

PUBLIC = frozenset({"GetHealth"})
"""Calls that need no identity."""

_WRITER = frozenset(
    {
        *("UploadDocument", "ReplaceDocument", "DeleteDocument", "ReindexDocuments", "AddVectors"),
        # Of their own private collections; the rest is for the handler, which knows which collection it is.
        *("CreateCollection", "UpdateCollection", "DeleteCollection"),
    }
)
_ADMIN = frozenset({"CheckProvider"})

ROLES: dict[str, Role.ValueType] = {
    method.name: ROLE_WRITER if method.name in _WRITER else ROLE_ADMIN if method.name in _ADMIN else ROLE_READER
    for method in SERVICE.methods
    if method.name not in PUBLIC
}
"""The least role that each call needs."""

_OF_CALLERS = frozenset({ROLE_READER, ROLE_WRITER, ROLE_ADMIN})


def allows(scope: Scope, least: Role.ValueType) -> bool:
    """Tell whether a scope's roles include `least`, or one above it; no roles mean reader."""
    return role_of(scope) >= least


def guard(servicer: Any, authenticator: Authenticator, limits: Limits) -> Any:
    """Return an object with every RPC of EdgeService, each behind the door; raises AttributeError if one is missing."""
    guarded = type("GuardedEdge", (), {})()
    door = Door(authenticator, limits)
    for method in SERVICE.methods:
        handler = getattr(servicer, method.name)
        make = _stream if method.server_streaming else _unary
        setattr(guarded, method.name, make(method.name, handler, door))
    return guarded


class Door:
    """Lets a caller in, or not."""

    def __init__(self, authenticator: Authenticator, limits: Limits) -> None:
        self._authenticator = authenticator
        self._limits = limits

    async def enter(self, method: str, context: Any) -> None:
        """Find out who calls, whether it may, and whether it does so too often; bind its scope to the call."""
        if method in PUBLIC:
            return
        scope = await self._authenticator.authenticate(_texts(context.invocation_metadata()))
        if not _OF_CALLERS.issuperset(scope.roles):
            raise PermissionDenied("No caller has the role of a service.")
        if not allows(scope, ROLES[method]):
            least = Role.Name(ROLES[method]).removeprefix("ROLE_").lower()
            raise PermissionDenied(f"This needs the role {least}.")
        self._limits.enter(scope.tenant_id, method)
        bind_scope(scope)


def _unary(name: str, handler: Any, door: Door) -> Any:
    async def call(request: Any, context: Any) -> Any:
        await door.enter(name, context)
        return await handler(request, context)

    return call


def _stream(name: str, handler: Any, door: Door) -> Any:
    async def call(request: Any, context: Any) -> AsyncIterator[Any]:
        await door.enter(name, context)
        async with aclosing(handler(request, context)) as responses:
            async for response in responses:
                yield response

    return call


def _texts(metadata: Any) -> Mapping[str, str]:
    return {key: value for key, value in metadata or () if isinstance(value, str)}
