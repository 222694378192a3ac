"""What is known about the call being served: on whose behalf, under which id, and how long it may still take.

Context variables: they follow `await`, tasks started by the handler and `asyncio.to_thread`.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from uuid import uuid4

from footnote.types.v1.scope_pb2 import ROLE_SYSTEM, Scope
from opentelemetry import context as otel_context
from opentelemetry import trace

from footnote_kit.names import TENANT_ID, USER_ID

_scope: ContextVar[Scope | None] = ContextVar("footnote_scope", default=None)
_request_id: ContextVar[str] = ContextVar("footnote_request_id", default="")
_deadline: ContextVar[float | None] = ContextVar("footnote_deadline", default=None)
_service: ContextVar[str] = ContextVar("footnote_service", default="")
_serving: ContextVar[bool] = ContextVar("footnote_serving", default=False)


def current_scope() -> Scope | None:
    """Return the scope of the call being served, None outside of one and before edge has authenticated."""
    return _scope.get()


def bind_scope(scope: Scope) -> None:
    """Make `scope` the current one: for edge after authentication, and for background jobs."""
    _scope.set(scope)
    trace.get_current_span().set_attributes({TENANT_ID: scope.tenant_id, USER_ID: scope.user_id})


def bind_call() -> None:
    """Note that what follows is done for a caller, until `detached` work begins."""
    _serving.set(True)


def may_act_as_system() -> bool:
    """Return whether a service's own scope (ROLE_SYSTEM) may be sent: never on behalf of a caller that has none."""
    scope = _scope.get()
    return not _serving.get() or (scope is not None and ROLE_SYSTEM in scope.roles)


def request_id() -> str:
    """Return the id of the request being served; the same in every stage that it reaches; empty outside of one."""
    return _request_id.get()


def bind_request_id(value: str = "") -> str:
    """Make `value`, or a new id, the current request id and return it."""
    value = value or uuid4().hex
    _request_id.set(value)
    return value


def current_service() -> str:
    """Return the name of the service whose code is running, as in "retrieval"; empty outside of one."""
    return _service.get()


def bind_service(name: str) -> None:
    """Make `name` the current service, for spans and logs."""
    _service.set(name)


def time_remaining() -> float | None:
    """Return the seconds left to the call being served, never below 0; None when it has no deadline."""
    deadline = _deadline.get()
    return None if deadline is None else max(0.0, deadline - time.monotonic())


def bind_deadline(seconds: float | None) -> None:
    """Give the current call `seconds` from now; None for no limit."""
    _deadline.set(None if seconds is None else time.monotonic() + seconds)


@contextmanager
def detached(service: str, scope: Scope | None = None) -> Iterator[None]:
    """Run background work of a service: own request id, own trace, and no deadline of what started it."""
    token = otel_context.attach(otel_context.Context())
    before = _service.get(), _scope.get(), _deadline.get(), _request_id.get(), _serving.get()
    _service.set(service)
    _serving.set(False)
    _scope.set(scope)
    _deadline.set(None)
    _request_id.set(uuid4().hex)
    try:
        yield
    finally:
        otel_context.detach(token)
        _service.set(before[0])
        _scope.set(before[1])
        _deadline.set(before[2])
        _request_id.set(before[3])
        _serving.set(before[4])
