"""The context of the call being served: its scope, request id, service and deadline.

The values are context variables: they follow `await`, tasks that the handler starts, and `asyncio.to_thread`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias
from uuid import uuid4

import grpc
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_SYSTEM
from opentelemetry import context as otel_context
from opentelemetry import trace

from footnote_kit.names import TENANT_ID, USER_ID

_scope: ContextVar[Scope | None] = ContextVar("footnote_scope", default=None)
_request_id: ContextVar[str] = ContextVar("footnote_request_id", default="")
_deadline: ContextVar[float | None] = ContextVar("footnote_deadline", default=None)
_service: ContextVar[str] = ContextVar("footnote_service", default="")
_serving: ContextVar[bool] = ContextVar("footnote_serving", default=False)


def current_scope() -> Scope | None:
    """Return the scope of the call being served; None outside a call, and before edge has authenticated the caller."""
    return _scope.get()


def bind_scope(scope: Scope) -> None:
    """Make `scope` the current one; edge calls this after authentication, and background jobs call it."""
    _scope.set(scope)
    trace.get_current_span().set_attributes({TENANT_ID: scope.tenant_id, USER_ID: scope.user_id})


def bind_call() -> None:
    """Mark the following work as done for a caller, until `detached` work begins."""
    _serving.set(True)


def may_act_as_system() -> bool:
    """Return whether a call may send a scope with ROLE_SYSTEM: not while serving a caller without that role."""
    scope = _scope.get()
    return not _serving.get() or (scope is not None and ROLE_SYSTEM in scope.roles)


def request_id() -> str:
    """Return the id of the request being served, the same in every stage it reaches; empty outside a request."""
    return _request_id.get()


def bind_request_id(value: str = "") -> str:
    """Make `value`, or a new id if it is empty, the current request id and return it."""
    value = value or uuid4().hex
    _request_id.set(value)
    return value


def current_service() -> str:
    """Return the name of the service whose code is running, such as "retrieval"; empty outside a service."""
    return _service.get()


def bind_service(name: str) -> None:
    """Make `name` the current service, for spans and logs."""
    _service.set(name)


def time_remaining() -> float | None:
    """Return the seconds that the call being served has left, never below 0; None when it has no deadline."""
    deadline = _deadline.get()
    return None if deadline is None else max(0.0, deadline - time.monotonic())


def bind_deadline(seconds: float | None) -> None:
    """Set the current call's deadline to `seconds` from now; None removes it."""
    _deadline.set(None if seconds is None else time.monotonic() + seconds)


@contextmanager
def detached(service: str, scope: Scope | None = None) -> Iterator[None]:
    """Run background work of a service with its own request id and trace, and without the starter's deadline."""
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


Call: TypeAlias = grpc.aio.ServicerContext[Any, Any]
"""The gRPC context of a handler. Handlers do not read it: they take scope, deadline and trace from this module."""
