"""The HTTP application: all its routes in one place."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from footnote_kit.edge import EdgeStub
from footnote_kit.errors import FootnoteError
from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.routing import compile_path
from starlette.types import ASGIApp

from footnote_edge.door.identity import Authenticator
from footnote_edge.door.shares import Shares
from footnote_edge.http.dialects import mcp_tools
from footnote_edge.http.dialects.openai import OpenAiApi
from footnote_edge.http.dialects.wrapper import Wrapper
from footnote_edge.http.door.bodies import Bodies, LimitOf
from footnote_edge.http.door.caller import Caller, credentials
from footnote_edge.http.door.entrance import Entrance
from footnote_edge.http.door.gate import Gate
from footnote_edge.http.door.origins import Origins
from footnote_edge.http.door.problems import on_disconnect, on_fault, on_footnote_error, on_http_exception
from footnote_edge.http.openapi import document as openapi
from footnote_edge.http.transcoding import exports, transcoder, uploads
from footnote_edge.http.transcoding.rules import rules
from footnote_edge.settings import Settings


def site(channel: Any, settings: Settings, authenticator: Authenticator, shares: Shares, version: str) -> ASGIApp:
    """Return the ASGI application that serves the public API of the edge behind `channel` over HTTP."""
    caller = Caller(channel, settings)
    # Who may call is decided at the entrance, for all paths alike.
    mcp = mcp_tools.server(EdgeStub(channel), _metadata_of, version)
    open_to_all = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    mcp_app = mcp.streamable_http_app(stateless_http=True, json_response=True, transport_security=open_to_all)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with mcp.session_manager.run():
            yield

    middleware = []
    if settings.cors_origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(settings.cors_origins),
                allow_methods=["*"],
                allow_headers=["*"],
                expose_headers=["x-request-id", "retry-after", "location"],
            )
        )
    # Who calls, and only then how much it sends.
    middleware += [
        Middleware(Gate, authenticator=authenticator, shares=shares),
        Middleware(
            Bodies, limit_of=_limits(settings), patience=settings.body_seconds, rate=settings.body_bytes_per_second
        ),
    ]
    application = Starlette(
        routes=[
            *OpenAiApi(caller).routes(),
            *uploads.routes(caller),
            *exports.routes(caller),
            *Wrapper(caller).routes(),
            *transcoder.routes(caller),
            *openapi.routes(version),
            *mcp_app.routes,
        ],
        lifespan=lifespan,
        middleware=middleware,
        exception_handlers={
            FootnoteError: on_footnote_error,
            HTTPException: on_http_exception,
            ClientDisconnect: on_disconnect,
            Exception: on_fault,
        },
    )
    origins = Origins(settings.cors_origins, keyless=not settings.auth, hosts=settings.allowed_hosts)
    return Entrance(application, origins)


def _limits(settings: Settings) -> LimitOf:
    """Return how long the body of a request may be: files have limits of their own, vectors are numbers as text."""
    files = [compile_path(path)[0] for path in ("/v1/documents", "/v1/documents/{document_id}:replace")]
    vectors = [rule.path for rule in rules() if rule.method.name == "AddVectors"]
    large = [compile_path(path)[0] for path in (*vectors, "/collections/{name}/documents")]

    def limit_of(method: str, path: str) -> int | None:
        if method != "POST":
            return settings.body_bytes
        if any(pattern.match(path) for pattern in files):
            return None
        return settings.vectors_body_bytes if any(pattern.match(path) for pattern in large) else settings.body_bytes

    return limit_of


def _metadata_of(context: Context) -> mcp_tools.Metadata:
    request = context.request_context.request
    return credentials(request) if isinstance(request, Request) else ()
