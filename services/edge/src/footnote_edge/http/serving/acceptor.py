"""Accepts HTTP connections: counts and paces them by address before building anything for them."""

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Callable

from footnote_kit.admission.token_bucket import TokenBucket
from footnote_kit.logs import get_logger
from footnote_kit.net import peer_named

from footnote_edge.http.serving.connections import Connection, Connections
from footnote_edge.http.serving.problems import raw

ACCEPTED_AT_ONCE = 16
"""Connections accepted per event loop iteration."""
BEGIN_PART = 4.0
"""An address may open a quarter of its maximum number of connections per second, and all at once after a pause."""
_BACKLOG = 512
_MOST_KNOWN = 4096
_NO_MORE = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE_SECONDS = 1.0
_SUMMARY_SECONDS = 10.0
_REFUSAL = raw(503, "RATE_LIMITED", "There are too many connections; close some and try again.")
_log = get_logger(__name__)


class Acceptor:
    """Gives each connection of a listening socket its protocol, when its address has its turn."""

    def __init__(
        self,
        listener: socket.socket,
        limits: Connections,
        protocol: Callable[[], Connection],
        tls: Callable[[], ssl.SSLContext] | None,
    ) -> None:
        self._listener, self._limits, self._protocol, self._tls = listener, limits, protocol, tls
        self._loop = asyncio.get_running_loop()
        self._begins: dict[str, TokenBucket] = {}
        self._beginning: set[asyncio.Task[None]] = set()
        self._refused = 0
        self._summary: asyncio.TimerHandle | None = None
        self._paused: asyncio.TimerHandle | None = None
        listener.setblocking(False)
        listener.listen(_BACKLOG)
        self._loop.add_reader(listener, self._ready)

    async def close(self) -> None:
        """Stop accepting, and close waiting connections."""
        if self._paused is not None:
            self._paused.cancel()
        self._loop.remove_reader(self._listener)
        self._listener.close()
        for task in list(self._beginning):
            task.cancel()
        await asyncio.gather(*self._beginning, return_exceptions=True)
        if self._summary is not None:
            self._summary.cancel()
            self._say()

    def _ready(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                connection, address = self._listener.accept()
            except OSError as error:  # no connection waits, or the client has left
                if error.errno in _NO_MORE:
                    self._pause()
                return
            connection.setblocking(False)
            peer = peer_named(address)
            if self._limits.enter(peer):
                task = self._loop.create_task(self._begin(connection, peer))
                self._beginning.add(task)
                task.add_done_callback(self._beginning.discard)
            else:
                self._refuse(connection)

    def _pause(self) -> None:
        """Pause accepting: until then, new connections wait in the system's queue."""
        self._loop.remove_reader(self._listener)
        self._paused = self._loop.call_later(_PAUSE_SECONDS, self._loop.add_reader, self._listener, self._ready)

    async def _begin(self, connection: socket.socket, peer: str) -> None:
        protocol: Connection | None = None

        def made() -> Connection:
            nonlocal protocol
            protocol = self._protocol()
            protocol.peer = peer
            return protocol

        try:
            if wait := self._wait(peer):
                await asyncio.sleep(wait)
            await self._loop.connect_accepted_socket(made, connection, ssl=self._tls() if self._tls else None)
        except OSError:  # the client does not speak TLS, or has left
            pass
        finally:
            if protocol is None or not protocol.counted:
                self._limits.leave(peer)
            if protocol is None:
                connection.close()

    def _wait(self, peer: str) -> float:
        """Return the seconds until a connection of this address is served."""
        now = self._loop.time()
        bucket = self._begins.get(peer)
        if bucket is None:
            if len(self._begins) >= _MOST_KNOWN:
                self._forget(now)
            most = float(self._limits.most_per_peer)
            bucket = self._begins[peer] = TokenBucket(max(most / BEGIN_PART, 4.0), max(most, 16.0), now)
        bucket.take(1, now)
        return max(0.0, -bucket.level / bucket.rate)

    def _forget(self, now: float) -> None:
        """Forget addresses without recent connections."""
        for peer, bucket in list(self._begins.items()):
            bucket.refill(now)
            if bucket.level >= bucket.burst:
                del self._begins[peer]

    def _refuse(self, connection: socket.socket) -> None:
        """Refuse an excess connection with a message, if no TLS handshake is needed."""
        if self._tls is None:
            with contextlib.suppress(OSError):
                connection.send(_REFUSAL)
        connection.close()
        self._refused += 1
        if self._summary is None:
            self._summary = self._loop.call_later(_SUMMARY_SECONDS, self._say)

    def _say(self) -> None:
        self._summary = None
        refused, self._refused = self._refused, 0
        _log.warning("http_connections_refused", too_many=refused)
