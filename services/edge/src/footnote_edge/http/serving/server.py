"""Serves the HTTP application on its own port, in the shared event loop."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any, cast

import uvicorn
from footnote_kit.net import prepare
from footnote_kit.server import ListenError
from starlette.types import ASGIApp

from footnote_edge.http.serving.acceptor import Acceptor
from footnote_edge.http.serving.connections import MAX_HEAD_BYTES, Connection, Connections

START_SECONDS = 10.0
_CLOSE = (b"connection", b"close")


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, as the launcher handles signals, and without waits at its end."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ends = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers."""
        yield

    def end(self) -> None:
        """Let `serve` return, after the requests in flight."""
        self.should_exit = True
        self._ends.set()

    async def main_loop(self) -> None:
        """Write the date of responses each second until the end, instead of looking for the end ten times."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._ends.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for requests in flight and end the application."""
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
        else:
            await self.lifespan.shutdown()


class HttpServer:
    """One listening HTTP server; `tls` returns the TLS context for each connection."""

    def __init__(
        self,
        app: ASGIApp,
        host: str,
        port: int,
        connections: Connections,
        *,
        keep_alive_seconds: float = 5.0,
        tls: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        self._host = host
        self._port = port
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            h11_max_incomplete_event_size=MAX_HEAD_BYTES,
            timeout_keep_alive=cast(Any, keep_alive_seconds),
            log_config=None,
            access_log=False,
            proxy_headers=False,  # any local process could forge an address for the audit log
            lifespan="on",
            server_header=False,
            timeout_graceful_shutdown=5,
        )
        self._config = config
        self._tls = tls
        self._connections = connections
        self._server = _Server(config)
        self._acceptor: Acceptor | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> str:
        """Listen and return the address; raises ListenError when the port is taken."""
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        prepare(listener)
        try:
            listener.bind((self._host, self._port))
        except OSError as error:
            listener.close()
            where = f"{self._host}:{self._port}"
            raise ListenError(f"edge cannot listen for HTTP on {where}: {error.strerror}") from error
        port = listener.getsockname()[1]
        self._task = asyncio.create_task(self._server.serve(sockets=[]), name="edge-http")
        async with asyncio.timeout(START_SECONDS):
            while not self._server.started:
                if self._task.done():
                    self._task.result()
                await asyncio.sleep(0.01)
        self._acceptor = Acceptor(listener, self._connections, self._protocol, self._tls)
        reachable = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self._host, self._host)
        return f"{reachable}:{port}"

    def drain(self) -> None:
        """Close each connection after its next response, so that callers open the next one elsewhere."""
        state = self._server.server_state
        self._config.encoded_headers.append(_CLOSE)
        state.default_headers = [*state.default_headers, _CLOSE]

    async def refuse(self) -> None:
        """Refuse new requests: accept no connections, and close those in use after their response."""
        acceptor, self._acceptor = self._acceptor, None
        if acceptor is not None:
            await acceptor.close()
        for connection in list(self._server.server_state.connections):
            connection.shutdown()

    async def stop(self) -> None:
        """Refuse new requests and give those in flight a moment."""
        if self._task is None:
            return
        await self.refuse()
        self._server.end()
        await asyncio.gather(self._task, return_exceptions=True)

    def _protocol(self) -> Connection:
        """Return the protocol of a connection, as uvicorn builds it."""
        return Connection(
            config=self._config,
            server_state=self._server.server_state,
            app_state=self._server.lifespan.state,
            limits=self._connections,
        )
