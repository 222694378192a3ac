"""The path `/mcp`, whose library is loaded at the first request.

The library takes as long to load as all the rest of edge, and most deployments never serve an agent.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from footnote_kit.errors import Unavailable
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from footnote_edge.http.serving.disconnects import CancelOnDisconnect
from footnote_edge.http.serving.grpc_calls import GrpcCalls

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context, MCPServer

PATH = "/mcp"


class McpRoute:
    """An ASGI application that starts the MCP server at its first request, within `serving`."""

    def __init__(self, calls: GrpcCalls, version: str) -> None:
        self._calls, self._version = calls, version
        self._wanted = asyncio.Event()
        self._ready: asyncio.Future[ASGIApp] | None = None

    def route(self) -> Route:
        """Return its route."""
        return Route(PATH, CancelOnDisconnect(self))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request once the server runs; raises Unavailable if it cannot start."""
        if self._ready is None:
            raise Unavailable("The HTTP server is not running yet", reason="STAGE_UNAVAILABLE")
        self._wanted.set()
        application = await asyncio.shield(self._ready)
        await application(scope, receive, send)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve during the block; one task starts and stops the server's own tasks, as the library requires."""
        self._ready = asyncio.get_running_loop().create_future()
        running = asyncio.create_task(self._run(self._ready))
        try:
            yield
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
            if not self._ready.done():
                self._ready.cancel()

    async def _run(self, ready: asyncio.Future[ASGIApp]) -> None:
        await self._wanted.wait()
        try:
            server, application = await asyncio.to_thread(self._make)
            async with server.session_manager.run():
                ready.set_result(application)
                await asyncio.Event().wait()
        except Exception as error:  # waiting and later requests all get this error
            if ready.done():
                raise
            problem = f"MCP cannot be served: {type(error).__name__}"
            ready.set_exception(Unavailable(problem, reason="STAGE_UNAVAILABLE"))

    def _make(self) -> tuple[MCPServer, ASGIApp]:
        from mcp.server.transport_security import TransportSecuritySettings

        from footnote_edge.http.dialects import mcp_tools

        server = mcp_tools.server(self._calls.stub, self._options_of, self._version)
        # The entrance authenticates callers, for all paths alike.
        open_to_all = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        found = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=open_to_all)
        return server, next(one.app for one in found.routes if isinstance(one, Route) and one.path == PATH)

    def _options_of(self, context: Context, name: str) -> dict[str, Any]:
        request = context.request_context.request
        return self._calls.options(name, request) if isinstance(request, Request) else {}
