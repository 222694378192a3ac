"""The front proxy, in the process of the service: listens, limits connections, terminates TLS, starts relays.

gRPC sees only the proxy's end of each connection, so the proxy names that end, and callers' addresses are found by
the name. On Linux the kernel chooses the name of an unnamed socket; on TCP the port is the name. Elsewhere sockets
have no name, and callers have no address.
"""

import asyncio
import contextlib
import errno
import socket
import ssl
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, cast
from urllib.parse import unquote

from footnote_kit.front.frames import ENHANCE_YOUR_CALM, Violation
from footnote_kit.front.limits import FrontLimits, Peer, Peers
from footnote_kit.front.relay import LINGER_SECONDS, Caller, end_writing, refusal
from footnote_kit.logs import get_logger
from footnote_kit.net import peer_of, prepare

_addresses: dict[str, str] = {}


class Origin:
    """The address of one caller, registered under its connection's name until the connection ends."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._name = ""

    def name(self, connection: socket.socket) -> None:
        """Register the front proxy's end of a connection; on Linux this must happen before it connects."""
        if connection.family != socket.AF_UNIX:
            host, port = connection.getsockname()[:2]
            self._remember(f"ipv4:{host}:{port}")
        elif sys.platform == "linux":
            connection.bind("")
            bound = connection.getsockname()
            self._remember("unix-abstract:" + bytes(bound).lstrip(b"\0").decode("ascii", "replace"))

    def _remember(self, name: str) -> None:
        self._name = name
        _addresses[name] = self._address

    def end(self) -> None:
        """Remove the address."""
        _addresses.pop(self._name, None)


def address_of(peer: str) -> str:
    """Return the address of the caller behind a gRPC peer string; "" when it is unknown."""
    return _addresses.get(unquote(peer), "")


_BACKLOG = 512
_ACCEPTED_AT_ONCE = 16  # asyncio accepts as many connections as its backlog in one go, before it serves others
_LEAVING = 64  # excess connections that get an explanation; in a flood, most are simply closed
_SUMMARY_SECONDS = 10.0
_NO_SUCH_ADDRESS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
_log = get_logger("footnote.front")


class FrontProxy:
    """Relays connections from listening sockets to an inner server; `inner` is its socket's path or its port.

    `tls` returns the TLS context, and is called for each connection.
    """

    def __init__(
        self, name: str, listeners: list[socket.socket], inner: str | int, tls: Callable[[], ssl.SSLContext] | None
    ) -> None:
        self._name, self._listeners, self._inner, self._tls = name, listeners, inner, tls
        self._limits = FrontLimits()
        self._peers = Peers(self._limits, lambda: 0.0)
        self._servers: list[asyncio.Server] = []
        self._callers: set[Caller] = set()
        self._leaving: set[asyncio.Transport] = set()
        self._beginning: set[asyncio.Task[None]] = set()
        self._refused: Counter[str] = Counter()
        self._summary: asyncio.TimerHandle | None = None

    @property
    def connections(self) -> int:
        """Return the number of connections, including those that still wait."""
        return self._peers.connections

    async def serve(self, limits: FrontLimits) -> None:
        """Start to accept connections."""
        loop = asyncio.get_running_loop()
        self._limits = limits
        self._peers = Peers(limits, loop.time)
        for listener in self._listeners:
            server = await loop.create_server(lambda: _Arrival(self), sock=listener, backlog=_ACCEPTED_AT_ONCE)
            listener.listen(_BACKLOG)
            self._servers.append(server)

    def refuse(self) -> None:
        """Stop accepting; existing connections stay."""
        for server in self._servers:
            server.close()
        for listener in self._listeners:
            listener.close()

    async def close(self) -> None:
        """Close all remaining connections."""
        self.refuse()
        for task in list(self._beginning):
            task.cancel()
        await asyncio.gather(*self._beginning, return_exceptions=True)
        for caller in list(self._callers):
            caller.abort()
        for transport in list(self._leaving):
            self._let_go(transport)
        await asyncio.sleep(0)  # transports report their end in the next iteration of the loop
        if self._summary is not None:
            self._summary.cancel()
            self._say()

    def arrived(self, transport: asyncio.Transport) -> None:
        """Start an accepted connection, or refuse it."""
        transport.pause_reading()
        name = peer_of(transport)
        peer = self._peers.enter(name)
        if peer is None:
            self._refuse(transport)
            return
        task = asyncio.get_running_loop().create_task(self._begin(transport, name, peer))
        self._beginning.add(task)
        task.add_done_callback(self._beginning.discard)

    def _refuse(self, transport: asyncio.Transport) -> None:
        """Refuse an excess connection, with an explanation unless too many get one already."""
        self.note("too_many_connections")
        if self._tls is not None or len(self._leaving) >= _LEAVING:
            transport.abort()
            return
        transport.write(refusal())
        end_writing(transport)
        self._leaving.add(transport)
        asyncio.get_running_loop().call_later(LINGER_SECONDS, self._let_go, transport)

    def _let_go(self, transport: asyncio.Transport) -> None:
        self._leaving.discard(transport)
        transport.abort()

    async def _begin(self, transport: asyncio.Transport, name: str, peer: Peer) -> None:
        """Start a connection's relay after its wait and TLS handshake."""
        loop = asyncio.get_running_loop()
        caller: Caller | None = None
        origin = Origin(_address(transport))

        def ended(violation: Violation) -> None:
            # a client that does not speak HTTP/2 may be a load balancer's probe
            if violation.code == ENHANCE_YOUR_CALM:
                peer.ended(loop.time())
            self.note(violation.reason)

        def left(who: Caller) -> None:
            self._callers.discard(who)
            self._peers.leave(name)
            origin.end()

        try:
            if wait := peer.begin(loop.time()):
                await asyncio.sleep(wait)
            caller = Caller(peer, self._limits, partial(self._connect, origin), ended, left)
            self._callers.add(caller)
            if self._tls is None:
                transport.set_protocol(caller)
                caller.begin(transport)
                if transport.is_closing():
                    caller.connection_lost(None)
                else:
                    transport.resume_reading()
                return
            # The relay limits the whole greeting; this only bounds a hanging handshake.
            secured = await loop.start_tls(
                transport,
                caller,
                self._tls(),
                server_side=True,
                ssl_handshake_timeout=self._limits.greeting_seconds,
                ssl_shutdown_timeout=LINGER_SECONDS,
            )
            if secured is None:
                raise ConnectionAbortedError
            caller.begin(secured)
        except BaseException as error:
            transport.abort()
            if caller is None:
                self._peers.leave(name)
            else:
                caller.connection_lost(None)
            if not isinstance(error, OSError):
                raise
            _log.debug("front_handshake_failed", error=type(error).__name__)

    def _connect(self, origin: Origin, factory: Any) -> "asyncio.Future[object]":
        connecting = asyncio.ensure_future(self._reach(origin, factory))
        connecting.add_done_callback(self._connected)
        return connecting

    async def _reach(self, origin: Origin, factory: Any) -> object:
        """Connect to the inner server by a socket that is registered as this caller's."""
        loop, inner = asyncio.get_running_loop(), self._inner
        if not isinstance(inner, str):
            transport, protocol = await loop.create_connection(factory, "127.0.0.1", inner)
            origin.name(transport.get_extra_info("socket"))
            return transport, protocol
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            origin.name(connection)
            await loop.sock_connect(connection, inner)
            return await loop.create_unix_connection(factory, sock=connection)
        except BaseException:
            connection.close()
            raise

    def _connected(self, connecting: "asyncio.Future[Any]") -> None:
        if not connecting.cancelled() and connecting.exception() is not None:
            self.note("server_does_not_answer")

    def note(self, reason: str) -> None:
        """Count a refused or ended connection; the log gets a summary every few seconds."""
        self._refused[reason] += 1
        if self._summary is None:
            self._summary = asyncio.get_running_loop().call_later(_SUMMARY_SECONDS, self._say)

    def _say(self) -> None:
        self._summary = None
        if self._refused:
            _log.warning("front_refused", stage=self._name, **self._refused)
            self._refused.clear()


class _Arrival(asyncio.Protocol):
    """A connection that was just accepted."""

    def __init__(self, proxy: FrontProxy) -> None:
        self._proxy = proxy

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Pass the connection to the proxy."""
        self._proxy.arrived(cast(asyncio.Transport, transport))


def _address(transport: asyncio.Transport) -> str:
    """Return the peer's address; "" when it has gone."""
    name = transport.get_extra_info("peername")
    return str(name[0]) if isinstance(name, tuple) and name else ""


def listen(host: str, port: int) -> list[socket.socket]:
    """Return listening sockets on all addresses of a host; OSError when the port is taken.

    Port 0 picks a free one. The wildcard of either family means both, as in gRPC.
    """
    if host in ("0.0.0.0", "::") and socket.has_dualstack_ipv6():
        try:
            return [_listener(socket.AF_INET6, "::", port, dual=True)]
        except OSError as error:
            if error.errno not in _NO_SUCH_ADDRESS:
                raise
    found = dict.fromkeys(
        (family, str(address[0]))
        for family, _, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    )
    listeners: list[socket.socket] = []
    missing: OSError | None = None
    with contextlib.ExitStack() as stack:
        for family, address in found:
            try:
                listener = stack.enter_context(_listener(family, address, port))
            except OSError as error:
                if error.errno not in _NO_SUCH_ADDRESS:
                    raise
                missing = error  # "localhost" may name an address of a family that this machine lacks
                continue
            port = port or listener.getsockname()[1]
            listeners.append(listener)
        if not listeners:
            raise missing or OSError(errno.EADDRNOTAVAIL, f"{host} has no address")
        stack.pop_all()
    return listeners


def _listener(family: int, host: str, port: int, dual: bool = False) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(not dual))
        prepare(listener)
        listener.setblocking(False)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener
