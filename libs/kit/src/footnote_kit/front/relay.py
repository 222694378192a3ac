"""One relayed connection: the caller's end, gRPC's end, and the unchanged bytes between them."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import cast

from footnote_kit.front.frames import ENHANCE_YOUR_CALM, SETTINGS, Boundary, ClientFrames, Violation, frame, goaway
from footnote_kit.front.limits import FrameBudget, FrameRate, FrontLimits, Peer

READ_BYTES = 16 * 1024
"""The most bytes of a read from a caller: if they are all frame headers, two thousand frames, a millisecond of work."""
CAREFUL_BYTES = 1024
"""The same for a caller that is new or was recently too fast: a hundred calls at once would delay all others."""
ANSWER_BYTES = 64 * 1024
LINGER_SECONDS = 1.0
LINGER_BYTES = 256 * 1024
"""The most bytes that are read and discarded from a rejected caller: cutting it off would lose the explanation."""
_GREETING, _PACE, _SERVER = "greeting", "pace", "server"

Connect = Callable[[Callable[[], asyncio.BaseProtocol]], "asyncio.Future[object]"]


class Caller(asyncio.BufferedProtocol):
    """The caller's end of a relayed connection."""

    def __init__(
        self,
        peer: Peer,
        limits: FrontLimits,
        connect: Connect,
        ended: Callable[[Violation], None],
        left: Callable[["Caller"], None],
    ) -> None:
        """Take the peer to charge, and the callbacks: `ended` on a violation, `left` once at the end."""
        self._loop = asyncio.get_running_loop()
        now = self._loop.time()
        self._peer, self._limits = peer, limits
        self._connect, self._ended, self._left = connect, ended, left
        self._frames, self._habits, self._pace = ClientFrames(), FrameBudget(now), FrameRate(peer, now)
        self._transport: asyncio.Transport | None = None
        self._early = b""
        self._held: list[bytes] = []
        self._holds: set[str] = set()
        self._server: _Server | None = None
        self._connecting: asyncio.Future[object] | None = None
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._read_bytes = CAREFUL_BYTES
        self._passed_stream = 0
        self._discarding, self._discarded = False, 0
        self._over = False
        self._timers: dict[str, asyncio.TimerHandle] = {_GREETING: self._later(limits.greeting_seconds, self._late)}

    def begin(self, transport: asyncio.Transport) -> None:
        """Take the connection, after its TLS handshake if there is one."""
        self._transport = transport
        transport.set_write_buffer_limits(high=ANSWER_BYTES)
        early, self._early = self._early, b""
        if self._over:
            transport.abort()
        elif early:
            self._take(early)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer for the next bytes."""
        return self._buffer[: self._read_bytes]

    def buffer_updated(self, nbytes: int) -> None:
        """Process received bytes."""
        data = bytes(self._buffer[:nbytes])
        if self._transport is None:  # asyncio delivers data before it reports that TLS is established
            self._early += data
        elif self._discarding:
            self._discarded += nbytes
            if self._discarded > LINGER_BYTES:
                self._transport.pause_reading()
        else:
            self._take(data)

    def pause_writing(self) -> None:
        """Make the server wait for a caller that does not read, for a limited time."""
        if self._server is not None:
            self._server.wait()
        self._timers["write"] = self._later(self._limits.write_seconds, self.abort)

    def resume_writing(self) -> None:
        """Let the server continue, because the caller reads."""
        self._cancel("write")
        if self._server is not None:
            self._server.go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the server's end too, which cancels the calls in progress there."""
        if self._over:
            return
        self._over = True
        for name in list(self._timers):
            self._cancel(name)
        if self._connecting is not None:
            self._connecting.cancel()
        if self._server is not None:
            self._server.close()
        self._held.clear()
        self._pace.leave()
        self._left(self)

    def answer(self, data: bytes, messages: int) -> None:
        """Pass on the server's bytes."""
        if self._transport is not None and not self._discarding:
            self._habits.received(messages)
            self._transport.write(data)

    def hung_up(self) -> None:
        """Close after the server has closed; what it sent before still goes out."""
        if self._transport is not None and not self._discarding:
            self._transport.close()
            if "close" not in self._timers:
                self._timers["close"] = self._later(self._limits.write_seconds, self.abort)

    def hold(self, reason: str) -> None:
        """Stop reading until the same reason is released."""
        self._holds.add(reason)
        if self._transport is not None:
            self._transport.pause_reading()

    def release(self, reason: str) -> None:
        """Resume reading, unless another reason holds it."""
        self._holds.discard(reason)
        if not self._holds and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def abort(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()
        else:
            self.connection_lost(None)

    def _take(self, data: bytes) -> None:
        now = self._loop.time()
        try:
            tally = self._frames.feed(data)
            self._habits.judge(tally, now)
            wait = self._pace.wait(tally, now)
        except Violation as violation:
            self._send_away(violation)
            return
        self._held.append(data)
        if self._frames.greeted:
            self._cancel(_GREETING)
        self._read_bytes = CAREFUL_BYTES if wait else min(2 * self._read_bytes, READ_BYTES)
        if wait:
            self.hold(_PACE)
            self._cancel(_PACE)
            self._timers[_PACE] = self._later(wait, self._paced)
        elif self._frames.greeted:
            self._pass_on()

    def _paced(self) -> None:
        self._cancel(_PACE)
        self._pass_on()
        self.release(_PACE)

    def _pass_on(self) -> None:
        """Pass the held bytes to the server; connect to it only after a valid preface."""
        if self._server is not None:
            self._passed_stream = self._frames.last_stream
            for data in self._held:
                self._server.write(data)
            self._held.clear()
        elif self._connecting is None:
            self.hold(_SERVER)
            self._connecting = self._connect(lambda: _Server(self))
            self._connecting.add_done_callback(self._connected)

    def _connected(self, connecting: "asyncio.Future[object]") -> None:
        if connecting.cancelled():
            return
        if connecting.exception() is not None:
            self.abort()
            return
        _, server = cast("tuple[object, _Server]", connecting.result())
        if self._over or self._discarding:
            server.close()
            return
        self._server = server
        if _PACE not in self._holds:
            self._pass_on()
        self.release(_SERVER)

    def _send_away(self, violation: Violation) -> None:
        self._ended(violation)
        self.part(goaway(self._passed_stream, violation.code, violation.reason))

    def part(self, farewell: bytes) -> None:
        """Send a final message, which is possible between two frames only, and close a moment later."""
        transport, server = self._transport, self._server
        assert transport is not None
        self._discarding = True
        for name in list(self._timers):
            self._cancel(name)
        if server is None:
            transport.write(frame(SETTINGS) + farewell)
        elif server.boundary.whole:
            transport.write(farewell if server.heard else frame(SETTINGS) + farewell)
        if server is not None:
            server.close()
        self._held.clear()
        self._timers["linger"] = self._later(LINGER_SECONDS, self.abort)
        if transport.can_write_eof():
            end_writing(transport)
            transport.resume_reading()
        else:
            transport.close()

    def _late(self) -> None:
        self._cancel(_GREETING)
        self.abort()

    def _later(self, seconds: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        return self._loop.call_later(seconds, call)

    def _cancel(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()


class _Server(asyncio.BufferedProtocol):
    """The end of gRPC's own server."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._transport: asyncio.Transport | None = None
        self._buffer = memoryview(bytearray(ANSWER_BYTES))
        self.boundary = Boundary()
        self.heard = False
        """Whether the server has sent any bytes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer for the next bytes."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Pass bytes on to the caller."""
        data = bytes(self._buffer[:nbytes])
        before = self.boundary.messages
        self.boundary.feed(data)
        self.heard = True
        self._caller.answer(data, self.boundary.messages - before)

    def write(self, data: bytes) -> None:
        """Pass bytes on to the server."""
        if self._transport is not None:
            self._transport.write(data)

    def pause_writing(self) -> None:
        """Make the caller wait."""
        self._caller.hold("backlog")

    def resume_writing(self) -> None:
        """Let the caller continue."""
        self._caller.release("backlog")

    def wait(self) -> None:
        """Stop reading from the server."""
        if self._transport is not None:
            self._transport.pause_reading()

    def go_on(self) -> None:
        """Resume reading from the server."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        """Close; bytes passed on before still arrive."""
        if self._transport is not None:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify the caller's end."""
        self._caller.hung_up()


def end_writing(transport: asyncio.Transport) -> None:
    """Close the write side, unless the peer has gone already."""
    with contextlib.suppress(OSError):
        transport.write_eof()


def refusal() -> bytes:
    """Return the bytes that refuse an excess connection."""
    return frame(SETTINGS) + goaway(0, ENHANCE_YOUR_CALM, "too_many_connections")
