"""Audits calls of the public API: the caller, the resource and the outcome."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from footnote.edge.v1.system_pb2 import AUTHENTICATION_KEY, AUTHENTICATION_NONE, AUTHENTICATION_TOKEN
from footnote_kit import context as call_context
from footnote_kit import status
from footnote_kit.errors import PermissionDenied, Unauthenticated
from footnote_kit.refused_calls import REQUEST_ID, REQUEST_ID_KEY
from google.protobuf.message import Message
from opentelemetry import trace

from footnote_edge.audit import resources
from footnote_edge.audit.coverage import AUDITED
from footnote_edge.audit.events import CallOrigin, CallOrigins, Event, Principal
from footnote_edge.audit.recorder import Recorder
from footnote_edge.gateway import principals
from footnote_edge.gateway.principals import Identity, Proof

AUTHENTICATE = "Authenticate"
"""The action of an HTTP request that was refused before its RPC was known."""
LIMITS = "UpdateTenantLimits"
_AUTHENTICATION = {
    Proof.NONE: AUTHENTICATION_NONE,
    Proof.KEY: AUTHENTICATION_KEY,
    Proof.TOKEN: AUTHENTICATION_TOKEN,
}
_TRACE_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


class Auditor:
    """Wraps handlers, and records calls that were refused before a handler."""

    def __init__(self, recorder: Recorder, call_origins: CallOrigins) -> None:
        self._recorder = recorder
        self.call_origins = call_origins

    def unary(self, name: str, handler: Any) -> Any:
        """Return a unary handler that is audited as `coverage` declares."""
        audited = name in AUDITED

        async def call(request: Any, context: Any) -> Any:
            call_origin = self._origin_of(context)
            if audited:
                self._recorder.ready()
            first = None if isinstance(request, Message) else _First(request)
            try:
                response = await handler(request if first is None else first, context)
            except BaseException as error:
                self._failed(name, call_origin, request if first is None else first.seen, error)
                raise
            if audited:
                seen = request if first is None else first.seen
                await self._recorder.record(*self._each_done(name, call_origin, seen, response))
            return response

        return call

    def stream(self, name: str, handler: Any) -> Any:
        """Return an audited streaming handler; a success is recorded at its first response."""
        audited = name in AUDITED

        async def call(request: Any, context: Any) -> AsyncIterator[Any]:
            call_origin = self._origin_of(context)
            if audited:
                self._recorder.ready()
            begun = False
            try:
                async with aclosing(handler(request, context)) as responses:
                    async for response in responses:
                        if audited and not begun:
                            await self._recorder.record(self._done(name, call_origin, request, response))
                        begun = True
                        yield response
            except GeneratorExit:
                raise
            except BaseException as error:
                if not (audited and begun):
                    self._failed(name, call_origin, request, error)
                raise

        return call

    def refused(self, method: str, error: Exception, headers: Mapping[str, str], peer: str) -> None:
        """Record a gRPC call that was refused by its headers; `method` is its full name."""
        self.refused_before_handler(
            method.rpartition("/")[2], error, headers, self.call_origins.of(headers, peer), principals.known()
        )

    def refused_before_handler(
        self,
        action: str,
        error: Exception,
        headers: Mapping[str, str],
        call_origin: CallOrigin,
        identity: Identity | None = None,
    ) -> None:
        """Record an attempt refused before its handler, if authentication or permission refused it."""
        if not isinstance(error, Unauthenticated | PermissionDenied):
            return
        principal = _principal(identity)
        if isinstance(error, principals.KeyRefused):
            principal = Principal(tenant_id=error.tenant_id, key_id=error.key_id)
        given = _TRACE_PARENT.fullmatch(headers.get("traceparent", ""))
        request_id = headers.get(REQUEST_ID_KEY, "")
        self._recorder.attempt(
            Event(
                principal,
                call_origin,
                action,
                status=error.code,
                reason=error.reason,
                trace_id=_trace_id() or (given[1] if given else ""),
                request_id=request_id if REQUEST_ID.fullmatch(request_id) else call_context.request_id(),
            )
        )

    def _origin_of(self, context: Any) -> CallOrigin:
        # Read at the beginning: gRPC no longer knows the peer's address after it has disconnected.
        headers = {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
        return self.call_origins.of(headers, context.peer())

    def _each_done(self, name: str, call_origin: CallOrigin, request: Any, response: Any) -> list[Event]:
        """Return the events of a call that succeeded; what it refused of several resources is an attempt."""
        declared = AUDITED[name]
        if not declared.each:
            return [self._done(name, call_origin, request, response)]
        done = []
        for one in getattr(response, declared.each):
            event = self._done(name, call_origin, None, one)
            if one.HasField("error"):
                code, reason = status.ending(status.from_proto(one.error))
                self._recorder.attempt(replace(event, status=code, reason=reason))
            else:
                done.append(event)
        return done

    def _done(self, name: str, call_origin: CallOrigin, request: Any, response: Any) -> Event:
        declared = AUDITED[name]
        event = Event(
            _principal(principals.known()),
            call_origin,
            name,
            resources.resource(declared, request, response),
            changed_fields=resources.changed_fields(declared, request),
            providers=resources.providers(declared, request),
            trace_id=_trace_id(),
            request_id=call_context.request_id(),
        )
        if name == LIMITS and event.resource != f"limits/{event.principal.tenant_id}":
            return event.of_tenant(event.resource.partition("/")[2])
        return event

    def _failed(self, name: str, call_origin: CallOrigin, request: Any, error: BaseException) -> None:
        code, reason = status.ending(error)
        declared = AUDITED.get(name)
        if declared is None and not isinstance(error, Unauthenticated | PermissionDenied):
            return
        message = request if isinstance(request, Message) else None
        self._recorder.attempt(
            Event(
                _principal(principals.known()),
                call_origin,
                name,
                resources.resource(declared, message, None) if declared is not None else "",
                status=code,
                reason=reason,
                changed_fields=resources.changed_fields(declared, message) if declared is not None else (),
                trace_id=_trace_id(),
                request_id=call_context.request_id(),
            )
        )


class _First:
    """A request stream that remembers its first message, which names the resource."""

    def __init__(self, requests: AsyncIterator[Any]) -> None:
        self._requests = requests
        self.seen: Any = None

    def __aiter__(self) -> "_First":
        return self

    async def __anext__(self) -> Any:
        request = await anext(self._requests)
        if self.seen is None:
            self.seen = request
        return request


def _principal(identity: Identity | None) -> Principal:
    if identity is None:
        return Principal()
    scope = identity.scope
    return Principal(scope.tenant_id, scope.user_id, _AUTHENTICATION[identity.proof], identity.key_id)


def _trace_id() -> str:
    found = trace.get_current_span().get_span_context().trace_id
    return trace.format_trace_id(found) if found else ""
