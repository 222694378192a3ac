"""The outermost layer of every HTTP request: origin check, request id, span, metrics."""

import re
import time

from footnote_kit.context import bind_deadline, bind_request_id, bind_service
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import tracer
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.semconv.attributes.http_attributes import (
    HTTP_REQUEST_METHOD,
    HTTP_RESPONSE_STATUS_CODE,
    HTTP_ROUTE,
)
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from footnote_edge.http.serving.origins import Origins
from footnote_edge.http.serving.problems import MEDIA_TYPE, SAFE

REQUEST_ID = "x-request-id"

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_propagator = TraceContextTextMapPropagator()
_log = get_logger(__name__)


def _safely(send: Send) -> Send:
    """Return a `send` that adds missing security headers to every response."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SAFE.items():
                headers.setdefault(name, value)
        await send(message)

    return sent


class OutermostLayer:
    """The outermost ASGI layer."""

    def __init__(self, app: ASGIApp, origins: Origins) -> None:
        self._app = app
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        send = _safely(send)
        bind_service("edge")
        bind_deadline(None)
        given = headers.get(REQUEST_ID, "")
        identifier = bind_request_id(given if _REQUEST_ID.fullmatch(given) else "")
        refusal = self._origins.refusal(scope["method"], headers)
        if refusal:
            body = {"type": "about:blank", "title": "Forbidden", "status": 403, "detail": refusal}
            await JSONResponse(body, 403, media_type=MEDIA_TYPE)(scope, receive, send)
            return
        await self._traced(scope, receive, send, headers, identifier)

    async def _traced(self, scope: Scope, receive: Receive, send: Send, headers: Headers, identifier: str) -> None:
        began = time.perf_counter()
        parent = _propagator.extract(dict(headers.items()), otel_context.Context())
        span = tracer("edge").start_span(
            f"HTTP {scope['method']}", parent, SpanKind.SERVER, {HTTP_REQUEST_METHOD: scope["method"]}
        )
        otel_context.attach(trace.set_span_in_context(span, parent))
        status = 500

        async def answered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = identifier
            await send(message)

        try:
            await self._app(scope, receive, answered)
        finally:
            route = getattr(scope.get("route"), "path", "")
            span.set_attributes({HTTP_RESPONSE_STATUS_CODE: status, HTTP_ROUTE: route})
            if route:
                span.update_name(f"{scope['method']} {route}")
            if status >= 500:
                span.set_status(Status(StatusCode.ERROR))
            span.end()
            elapsed = round((time.perf_counter() - began) * 1000, 2)
            _log.debug("http_served", method=scope["method"], route=route, status=status, ms=elapsed)
