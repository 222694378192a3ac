"""One connection through the front door: the caller's end, gRPC's end, and the bytes between them as they are."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import cast

from footnote_kit.front.frames import ENHANCE_YOUR_CALM, SETTINGS, Boundary, ClientFrames, Violation, frame, goaway
from footnote_kit.front.limits import FrameRate, FrontLimits, Habits, Peer

READ_BYTES = 16 * 1024
"""Read of a caller at a time: of nothing but heads that is two thousand frames, a millisecond of work."""
CAREFUL_BYTES = 1024
"""The same of one who was too fast a moment ago, or is new: a hundred calls at once would be felt by all others."""
ANSWER_BYTES = 64 * 1024
LINGER_SECONDS = 1.0
LINGER_BYTES = 256 * 1024
"""Still read, unseen, of who is sent away: a connection that is cut off would not hear why."""
_GREETING, _PACE, _SERVER = "greeting", "pace", "server"

Connect = Callable[[Callable[[], asyncio.BaseProtocol]], "asyncio.Future[object]"]


class Caller(asyncio.BufferedProtocol):
    """The end of the one who calls."""

    def __init__(
        self,
        peer: Peer,
        limits: FrontLimits,
        connect: Connect,
        ended: Callable[[Violation], None],
        left: Callable[["Caller"], None],
    ) -> None:
        """Take the peer that is counted for, and what is called: `ended` at a violation, `left` once at the end."""
        self._loop = asyncio.get_running_loop()
        now = self._loop.time()
        self._peer, self._limits = peer, limits
        self._connect, self._ended, self._left = connect, ended, left
        self._frames, self._habits, self._pace = ClientFrames(), Habits(now), FrameRate(peer, now)
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
        """Take the connection, after TLS where there is any."""
        self._transport = transport
        transport.set_write_buffer_limits(high=ANSWER_BYTES)
        early, self._early = self._early, b""
        if self._over:
            transport.abort()
        elif early:
            self._take(early)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where the next bytes go."""
        return self._buffer[: self._read_bytes]

    def buffer_updated(self, nbytes: int) -> None:
        """Take bytes in."""
        data = bytes(self._buffer[:nbytes])
        if self._transport is None:  # asyncio delivers before it says that TLS is established
            self._early += data
        elif self._discarding:
            self._discarded += nbytes
            if self._discarded > LINGER_BYTES:
                self._transport.pause_reading()
        else:
            self._take(data)

    def pause_writing(self) -> None:
        """Have the server wait for a caller that does not read, but not for ever."""
        if self._server is not None:
            self._server.wait()
        self._timers["write"] = self._later(self._limits.write_seconds, self.abort)

    def resume_writing(self) -> None:
        """Go on: it reads."""
        self._cancel("write")
        if self._server is not None:
            self._server.go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the other side too: calls that are being served are broken off there."""
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
        """Pass on what the server says."""
        if self._transport is not None and not self._discarding:
            self._habits.received(messages)
            self._transport.write(data)

    def hung_up(self) -> None:
        """End, because the server has: what it said before still goes out."""
        if self._transport is not None and not self._discarding:
            self._transport.close()
            if "close" not in self._timers:
                self._timers["close"] = self._later(self._limits.write_seconds, self.abort)

    def hold(self, reason: str) -> None:
        """Read no more until the same reason is released."""
        self._holds.add(reason)
        if self._transport is not None:
            self._transport.pause_reading()

    def release(self, reason: str) -> None:
        """Read on, unless there is another reason not to."""
        self._holds.discard(reason)
        if not self._holds and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def abort(self) -> None:
        """Cut the connection off."""
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
        """Give the server what may go, once there is a server: nobody bothers it without a preface."""
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
        """Say a last word where one can be said, between two frames, and hang up a moment later."""
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
        """Whether the server has said anything."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where the next bytes go."""
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
        """Have the caller wait."""
        self._caller.hold("backlog")

    def resume_writing(self) -> None:
        """Let the caller go on."""
        self._caller.release("backlog")

    def wait(self) -> None:
        """Read no more of what the server says."""
        if self._transport is not None:
            self._transport.pause_reading()

    def go_on(self) -> None:
        """Read on."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        """Hang up; what was passed on before still arrives."""
        if self._transport is not None:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the caller's end."""
        self._caller.hung_up()


def end_writing(transport: asyncio.Transport) -> None:
    """Say that nothing more comes, unless nobody is there any more."""
    with contextlib.suppress(OSError):
        transport.write_eof()


def refusal() -> bytes:
    """Return what a connection too many is told."""
    return frame(SETTINGS) + goaway(0, ENHANCE_YOUR_CALM, "too_many_connections")
