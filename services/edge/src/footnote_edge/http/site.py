"""The HTTP application: all its routes in one place."""

from typing import Any

from footnote_kit.errors import FootnoteError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from footnote_edge.http import openapi, transcoder, uploads
from footnote_edge.http.caller import Caller
from footnote_edge.http.entrance import Entrance
from footnote_edge.http.openai import OpenAiApi
from footnote_edge.http.problems import on_fault, on_footnote_error, on_http_exception
from footnote_edge.http.wrapper import Wrapper
from footnote_edge.settings import Settings


def site(channel: Any, settings: Settings, version: str, *, loopback_only: bool) -> ASGIApp:
    """Return the ASGI application that serves the public API of the edge behind `channel` over HTTP."""
    caller = Caller(channel, settings)
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
    application = Starlette(
        routes=[
            *OpenAiApi(caller).routes(),
            *uploads.routes(caller),
            *Wrapper(caller).routes(),
            *transcoder.routes(caller),
            *openapi.routes(version),
        ],
        middleware=middleware,
        exception_handlers={
            FootnoteError: on_footnote_error,
            HTTPException: on_http_exception,
            Exception: on_fault,
        },
    )
    return Entrance(application, origins=frozenset(settings.cors_origins), loopback_only=loopback_only)
