"""Errors over HTTP: status codes, problem details (RFC 9457) as bodies, and the headers of every response."""

import json
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from footnote_kit.context import request_id
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

MEDIA_TYPE = "application/problem+json"

STATUS = {
    "INVALID_ARGUMENT": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "FAILED_PRECONDITION": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
_BY_REASON = {"FILE_TOO_LARGE": 413, "REQUEST_TOO_LARGE": 413, "FILE_UNSUPPORTED": 415, "REQUEST_TOO_SLOW": 408}
_OPENAI_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}

_log = get_logger(__name__)


def status_of(error: FootnoteError) -> int:
    """Return the HTTP status of an error."""
    return _BY_REASON.get(error.reason) or STATUS.get(error.code, 500)


def problem(error: FootnoteError) -> dict[str, Any]:
    """Return an error as problem details; `detail` is its message, verbatim."""
    status = status_of(error)
    body: dict[str, Any] = {
        "type": f"urn:footnote:error:{error.reason}",
        "title": error.reason.replace("_", " ").capitalize(),
        "status": status,
        "detail": error.message,
        "reason": error.reason,
        "request_id": request_id(),
    }
    if error.violations:
        body["errors"] = [{"field": one.field, "description": one.description} for one in error.violations]
    if error.metadata:
        body["metadata"] = error.metadata
    return body


def openai_error(error: FootnoteError) -> dict[str, Any]:
    """Return an error in OpenAI's format."""
    status = status_of(error)
    kind = _OPENAI_TYPES.get(status, "server_error" if status >= 500 else _OPENAI_TYPES[400])
    param = error.violations[0].field if error.violations else None
    return {"error": {"message": error.message, "type": kind, "param": param, "code": error.reason.lower()}}


def headers_of(error: FootnoteError) -> dict[str, str]:
    """Return the response headers of an error."""
    headers = {}
    if error.retry_after is not None:
        headers["retry-after"] = str(max(1, math.ceil(error.retry_after)))
    if error.code == "UNAUTHENTICATED":
        headers["www-authenticate"] = 'Bearer realm="footnote"'
    return headers


def raw(status: int, reason: str, detail: str) -> bytes:
    """Return a complete response with problem details that ends a connection without an application."""
    body = json.dumps(
        {
            "type": f"urn:footnote:error:{reason}",
            "title": reason.replace("_", " ").capitalize(),
            "status": status,
            "detail": detail,
            "reason": reason,
        }
    ).encode()
    phrase = HTTPStatus(status).phrase
    lines = f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n{LINES}connection: close\r\n\r\n"
    return f"HTTP/1.1 {status} {phrase}\r\n{lines}".encode() + body


async def on_footnote_error(_: Request, error: Exception) -> Response:
    """Respond to a FootnoteError."""
    assert isinstance(error, FootnoteError)
    return JSONResponse(problem(error), status_of(error), headers_of(error), media_type=MEDIA_TYPE)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """Respond to Starlette's own errors: an unknown path, a method that is not served."""
    assert isinstance(error, HTTPException)
    body = {"type": "about:blank", "title": error.detail, "status": error.status_code, "detail": error.detail}
    headers = {"allow": _allowed(request)} if error.status_code == 405 else error.headers
    return JSONResponse(body, error.status_code, headers, media_type=MEDIA_TYPE)


def _allowed(request: Request) -> str:
    """Return the methods of a path; Starlette reports those of one matching route only."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    matching = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    # "…/{id}:download" is a separate path, though an id might end like that.
    verbs = [route for route in matching if ":" in route.path.rsplit("/", 1)[-1]]
    return ", ".join(sorted({method for route in verbs or matching for method in route.methods or ()}))


async def on_disconnect(_: Request, __: Exception) -> Response:
    """Handle a disconnect during the request's body; the response reaches no client."""
    return Response(status_code=400)


async def on_fault(_: Request, error: Exception) -> Response:
    """Respond to an internal error, without details except the request id."""
    _log.error("http_failed", exc_info=error)
    body = {
        "type": "urn:footnote:error:INTERNAL",
        "title": "Internal",
        "status": 500,
        "detail": f"Internal error; request id {request_id()}",
        "reason": "INTERNAL",
        "request_id": request_id(),
    }
    return JSONResponse(body, 500, media_type=MEDIA_TYPE)


_OPENAI = ("/v1/chat/", "/v1/models")


async def refuse(error: FootnoteError, scope: Scope, receive: Receive, send: Send) -> None:
    """Respond to a request with an error."""
    headers = headers_of(error)
    if scope["path"].startswith(_OPENAI):
        response = JSONResponse(openai_error(error), status_of(error), headers)
    else:
        response = JSONResponse(problem(error), status_of(error), headers, media_type=MEDIA_TYPE)
    await response(scope, receive, send)


SAFE: Mapping[str, str] = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Headers that a response gets unless it sets them itself; pages have their own policy."""

LINES = "".join(f"{name}: {value}\r\n" for name, value in SAFE.items())
"""The same headers as lines of a head."""
