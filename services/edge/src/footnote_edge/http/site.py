"""The HTTP application with all its routes."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from footnote_kit.admission.fair_shares import Shares
from footnote_kit.errors import FootnoteError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.routing import compile_path
from starlette.types import ASGIApp

from footnote_edge.gateway.auditing import Auditor
from footnote_edge.gateway.identity import Authenticator
from footnote_edge.http.console import pages
from footnote_edge.http.dialects.mcp_server import McpRoute
from footnote_edge.http.dialects.openai import OpenAiApi
from footnote_edge.http.dialects.wrapper import Wrapper
from footnote_edge.http.openapi import document as openapi
from footnote_edge.http.serving.authentication import PUBLIC, ActionOf, AuthenticationLayer
from footnote_edge.http.serving.bodies import Bodies, LimitOf
from footnote_edge.http.serving.grpc_calls import GrpcCalls
from footnote_edge.http.serving.origins import Origins
from footnote_edge.http.serving.outermost import OutermostLayer
from footnote_edge.http.serving.problems import on_disconnect, on_fault, on_footnote_error, on_http_exception
from footnote_edge.http.transcoding import streams, transcoder, uploads
from footnote_edge.http.transcoding.binding import rules
from footnote_edge.http.transcoding.forms import MAX_FIELDS_BYTES
from footnote_edge.jobs.group_processing import MOST_BYTES
from footnote_edge.settings import Settings


def site(
    channel: Any, settings: Settings, authenticator: Authenticator, shares: Shares, auditor: Auditor, version: str
) -> ASGIApp:
    """Return the ASGI application that serves edge's public API behind `channel` over HTTP."""
    calls = GrpcCalls(channel, settings)
    mcp = McpRoute(calls, version)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with mcp.serving():
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
    # Authentication first, and only then the size of the body.
    middleware += [
        Middleware(
            AuthenticationLayer,
            authenticator=authenticator,
            shares=shares,
            auditor=auditor,
            action_of=_actions(),
            public=PUBLIC | pages.paths(),
        ),
        Middleware(
            Bodies, limit_of=_limits(settings), grace_seconds=settings.body_seconds, rate=settings.body_bytes_per_second
        ),
    ]
    application = Starlette(
        routes=[
            *OpenAiApi(calls, settings.public_origin).routes(),
            *uploads.routes(calls),
            *streams.export_routes(calls),
            *Wrapper(calls).routes(),
            *transcoder.routes(calls),
            *openapi.routes(version),
            *pages.routes(settings),
            mcp.route(),
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
    return OutermostLayer(application, origins)


def _actions() -> ActionOf:
    """Return a function that finds a request's RPC by the contract's annotations."""
    known = [(rule.verb, compile_path(rule.path)[0], rule.method.name) for rule in rules()]

    def action_of(method: str, path: str) -> str:
        return next((name for verb, pattern, name in known if verb == method and pattern.match(path)), "")

    return action_of


def _limits(settings: Settings) -> LimitOf:
    """Return the maximum body size of requests: files have their own limits, vectors are numbers as text."""
    files = [compile_path(path)[0] for path in ("/v1/documents", "/v1/documents/{document_id}:replace")]
    vectors = [rule.path for rule in rules() if rule.method.name == "AddVectors"]
    large = [compile_path(path)[0] for path in (*vectors, "/collections/{name}/documents")]
    group = compile_path("/v1/documents:upload")[0]

    def limit_of(method: str, path: str) -> int | None:
        if method != "POST":
            return settings.body_bytes
        if any(pattern.match(path) for pattern in files):
            return None
        if group.match(path):
            return MOST_BYTES + MAX_FIELDS_BYTES
        return settings.vectors_body_bytes if any(pattern.match(path) for pattern in large) else settings.body_bytes

    return limit_of
