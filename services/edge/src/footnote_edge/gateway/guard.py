"""Authenticates every call of the public API and checks its role, by its headers alone."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, aclosing, nullcontext
from typing import Any

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_WRITER, Role
from footnote_kit.admission.fair_shares import Hold, Shares
from footnote_kit.context import bind_scope
from footnote_kit.edge import METHODS, SERVICES
from footnote_kit.errors import PermissionDenied

from footnote_edge.gateway import principals
from footnote_edge.gateway.auditing import Auditor
from footnote_edge.gateway.identity import Authenticator
from footnote_edge.gateway.limits import Admission, RateLimits, Watches
from footnote_edge.gateway.principals import Identity

PUBLIC = frozenset({"GetHealth"})
"""Calls without authentication."""

_WRITER = frozenset(
    {
        *("UploadDocument", "UploadDocuments", "ReplaceDocument", "UpdateDocument", "DeleteDocument"),
        *("ReindexDocuments", "CancelDocument"),
        *("AddVectors", "DeleteVectors"),
        *("CreateEvaluationRun", "DeleteEvaluationRun"),
        # Writers may do this to their own private collections; the handler knows the collection and checks the rest.
        *("CreateCollection", "UpdateCollection", "DeleteCollection"),
        "CancelOperation",
        *("CreateSource", "GetSource", "ListSources", "UpdateSource", "DeleteSource", "SyncSource"),
        *("ListSourceItems", "WatchSource"),
    }
)
_ADMIN = frozenset({"CheckProvider", "CreateKey", "ListKeys", "RevokeKey", "ListUserUsage", "GetActivity"}) | {
    *("ListAuditEvents", "GetTenantLimits", "ListTenantLimits", "UpdateTenantLimits")
}

ROLES: dict[str, Role.ValueType] = {
    method.name: ROLE_WRITER if method.name in _WRITER else ROLE_ADMIN if method.name in _ADMIN else ROLE_READER
    for method in METHODS
    if method.name not in PUBLIC
}
"""The minimum role of each call."""

_SERVICES = frozenset(service.full_name for service in SERVICES)
_WATCH = "Watch"
_OF_CALLERS = frozenset({ROLE_READER, ROLE_WRITER, ROLE_ADMIN})


def allows(scope: Scope, least: Role.ValueType) -> bool:
    """Return whether a scope's roles include `least` or a higher one; without a known role nothing is allowed."""
    return any(role >= least for role in scope.roles if role in Role.values())


def guard(servicer: Any, call_guard: "CallGuard", auditor: Auditor) -> Any:
    """Return an object with every public RPC behind the guard; raises AttributeError if one is missing.

    `CallGuard.admit` has decided before the request was read; the handlers refuse calls that it has not admitted.
    """
    guarded = type("GuardedEdge", (), {})()
    for method in METHODS:
        handler = getattr(servicer, method.name)
        make = _unary
        if method.server_streaming:
            make = _watch if method.name.startswith(_WATCH) else _stream
        call = make(method.name, handler, call_guard)
        if method.name not in PUBLIC:
            call = (auditor.stream if method.server_streaming else auditor.unary)(method.name, call)
        setattr(guarded, method.name, call)
    return guarded


class CallGuard:
    """Admits calls or refuses them."""

    def __init__(
        self, authenticator: Authenticator, limits: RateLimits, watches: Watches, shares: Shares, admission: Admission
    ) -> None:
        self._authenticator = authenticator
        self._limits = limits
        self._watches = watches
        self._shares = shares
        self._admission = admission

    async def admit(self, method: str, headers: Mapping[str, str]) -> None:
        """Authenticate a call, check its role, rate and quotas; raises refusals.

        `method` is the full name, "/footnote.edge.v1.AnswersService/Ask"; `headers` have names in lower case.
        """
        service, _, name = method[1:].rpartition("/")
        if service not in _SERVICES or (name in PUBLIC and self._authenticator.anonymous(headers)):
            return
        identity = await self._authenticator.authenticate(headers)
        principals.recognise(identity)
        scope = identity.scope
        if not _OF_CALLERS.issuperset(scope.roles):
            raise PermissionDenied("Callers cannot have the role of a service.")
        if name in PUBLIC:
            principals.admit(identity)
            return
        if not allows(scope, ROLES[name]):
            least = Role.Name(ROLES[name]).removeprefix("ROLE_").lower()
            none = "" if scope.roles else "; the credentials name no role"
            raise PermissionDenied(f"This needs the role {least}{none}.")
        self._limits.enter(scope.tenant_id, name)
        self._shares.check(scope.tenant_id)
        if name.startswith(_WATCH):
            self._watches.check(scope.tenant_id, scope.user_id)
        else:
            self._admission.lane(name).check(scope.tenant_id)
        principals.admit(identity)

    def enter(self, method: str) -> Identity | None:
        """Bind the scope of an admitted call to it and return its caller; None for a public call."""
        if method in PUBLIC:
            return None
        identity = principals.identity()
        bind_scope(identity.scope)
        return identity

    async def check(self, identity: Identity) -> None:
        """Raise Unauthenticated if the key of a running call has ended in the meantime."""
        await self._authenticator.check(identity)

    def working(self, identity: Identity | None) -> AbstractAsyncContextManager[Hold | None]:
        """Wait for the caller's turn while the service is crowded, and account for its work."""
        if identity is None:
            return nullcontext()
        return self._shares.working(identity.scope.tenant_id, identity.scope.user_id)

    def placed(self, method: str, identity: Identity | None) -> AbstractAsyncContextManager[None]:
        """Wait for a place in the lane of the call's kind, and hold it."""
        if identity is None:
            return nullcontext()
        return self._admission.lane(method).working(identity.scope.tenant_id)

    def watching(self, identity: Identity) -> AbstractContextManager[None]:
        """Count a watch until its caller leaves."""
        return self._watches.one(identity.scope.tenant_id, identity.scope.user_id)


def _unary(name: str, handler: Any, call_guard: CallGuard) -> Any:
    async def call(request: Any, context: Any) -> Any:
        identity = call_guard.enter(name)
        async with call_guard.placed(name, identity), call_guard.working(identity):
            return await handler(request, context)

    return call


def _stream(name: str, handler: Any, call_guard: CallGuard) -> Any:
    async def call(request: Any, context: Any) -> AsyncIterator[Any]:
        identity = call_guard.enter(name)
        async with (
            call_guard.placed(name, identity),
            call_guard.working(identity),
            aclosing(handler(request, context)) as responses,
        ):
            async for response in responses:
                yield response

    return call


def _watch(name: str, handler: Any, call_guard: CallGuard) -> Any:
    async def call(request: Any, context: Any) -> AsyncIterator[Any]:
        identity = principals.identity()
        with call_guard.watching(identity):
            async with (
                call_guard.working(call_guard.enter(name)) as hold,
                aclosing(handler(request, context)) as responses,
            ):
                async for response in responses:
                    if hold is not None:
                        hold.end()  # from now on the stream only reacts to events
                    await call_guard.check(identity)
                    yield response

    return call
