"""HTTP connection limits that uvicorn leaves to a proxy: number of connections, size and duration of heads.

The parser gets a request's head once it is complete, and the body piece by piece as the application asks for it. So an
unauthenticated request costs no more than its head.
"""

import asyncio
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import h11
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol

from footnote_edge.http.serving.problems import raw

MAX_HEAD_BYTES = 32 * 1024
MAX_HEADERS = 100
PIECE = 4096
"""Bytes of a chunked body parsed at once; they may hold a thousand chunks."""
LONG_PIECE = 64 * 1024
"""Bytes parsed at once of a body with a known length."""
LINGER_SECONDS = 2.0
LINGER_BYTES = 32 * 1024 * 1024
"""Bytes of an unwanted body that are read and dropped; a caller cut off earlier would miss the response."""
SPARE = 16
"""Connections beyond the maximum while idle ones close for them."""

_HEAD_END = re.compile(rb"\n\r?\n")


@dataclass(slots=True)
class Connections:
    """A server's limits and its open connections, in total and by peer. Times in seconds."""

    most: int
    most_per_peer: int
    head_seconds: float
    write_seconds: float
    open: Counter[str] = field(default_factory=Counter)
    idle: "dict[Connection, None]" = field(default_factory=dict)
    """Connections between two requests, those that wait longest first."""

    def enter(self, peer: str) -> bool:
        """Count a peer's connection; False if there are too many. Where there are many, the longest idle one closes.

        Where the peer has as many as it may, that is one of its own.
        """
        total, own = self.open.total(), self.open[peer]
        if total >= self.most + SPARE or own >= self.most_per_peer + SPARE:
            return False
        if total >= self.most or own >= self.most_per_peer:
            idle = (one for one in self.idle if one.peer == peer or own < self.most_per_peer)
            if (one := next(idle, None)) is None:
                return False
            del self.idle[one]
            one.make_room()
        self.open[peer] += 1
        return True

    def leave(self, peer: str) -> None:
        """Forget a connection."""
        self.open[peer] -= 1
        if self.open[peer] <= 0:
            del self.open[peer]


class _Flow(FlowControl):
    """Flow control that reports when the application wants more of a body."""

    def __init__(self, transport: asyncio.Transport, protocol: "Connection") -> None:
        super().__init__(transport)
        self._protocol = protocol

    def resume_reading(self) -> None:
        """Resume reading; uvicorn calls this whenever the application waits for the body, and after each response."""
        super().resume_reading()
        self._protocol.wanted()


class Connection(H11Protocol):
    """One connection; all connections of a server share its `limits`."""

    def __init__(self, *arguments: Any, limits: Connections, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._limits = limits
        self.peer = ""
        """The connection's peer; already counted, and released at the end."""
        self.counted = False
        self._arrived = bytearray()
        self._searched = 0
        self._in_request = self._lingering = False
        self._body_left: int | None = None
        self._discarded = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._linger_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the connection."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self)
        self.counted = True
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the connection."""
        self._limits.idle.pop(self, None)
        for timer in (self._head_timer, self._write_timer, self._linger_timer):
            if timer is not None:
                timer.cancel()
        if self.counted:
            self._limits.leave(self.peer)
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take received bytes."""
        self._limits.idle.pop(self, None)
        if self.transport.is_closing():
            return
        if self._lingering:
            self._discard(data)
            return
        self._arrived += data
        if not self._in_request:
            self._read_head()
        elif self._body_expected():
            self._pass_body()
        elif len(self._arrived) > MAX_HEAD_BYTES:
            self.flow.pause_reading()  # pipelined requests wait for this response

    def wanted(self) -> None:
        """Pass on more of the body: the application waits for it."""
        if self._in_request and self._arrived and self._body_expected():
            self._pass_body()

    def on_response_complete(self) -> None:
        """Continue with the next request, or drop the rest of an unwanted body."""
        if self.transport.is_closing():
            super().on_response_complete()
        elif self._body_expected():
            self.server_state.total_requests += 1
            self._lingering = True
            self._linger_timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)
            rest, self._arrived = self._arrived, bytearray()
            self.flow.resume_reading()
            self._discard(rest)
        elif self.conn.trailing_data[0]:
            self.transport.close()  # a request behind a chunked body, with a head of unknown size
        else:
            super().on_response_complete()
            self._next_request()

    def make_room(self) -> None:
        """Close an idle connection, soon after what is left to send of its response."""
        self._linger_timer = self.loop.call_later(LINGER_SECONDS, self.transport.abort)
        self.transport.close()

    def pause_writing(self) -> None:
        """Limit the time for which a caller may stop reading its response."""
        super().pause_writing()
        self._write_timer = self.loop.call_later(self._limits.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Note that the caller reads again."""
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _next_request(self) -> None:
        self._in_request = False
        if self.transport.is_closing():
            return
        if self._arrived:
            self._read_head()
        else:
            self._limits.idle[self] = None

    def _discard(self, data: bytes | bytearray) -> None:
        """Drop the rest of a body, and keep the connection if its end comes soon."""
        self._discarded += len(data)
        if self._discarded > LINGER_BYTES:
            self.transport.close()
        elif self._body_left is not None:
            self._arrived += data
            while self._arrived and self._body_expected():
                self._feed()
            if not self._body_expected():
                self._lingering = False
                self._discarded = 0
                if self._linger_timer is not None:
                    self._linger_timer.cancel()
                self.timeout_keep_alive_task = self.loop.call_later(
                    self.timeout_keep_alive, self.timeout_keep_alive_handler
                )
                self._next_request()

    def _feed(self) -> None:
        """Give the parser a piece of the body, without bytes of a following request."""
        size = PIECE if self._body_left is None else min(LONG_PIECE, self._body_left)
        piece = bytes(self._arrived[:size])
        del self._arrived[:size]
        if self._body_left is not None:
            self._body_left -= len(piece)
        super().data_received(piece)

    def _read_head(self) -> None:
        self._unset_keepalive_if_required()
        end = _HEAD_END.search(self._arrived, max(0, self._searched - 3))
        self._searched = len(self._arrived)
        size = end.end() if end is not None else len(self._arrived)
        if size > MAX_HEAD_BYTES or self._arrived.count(b"\n", 0, size) > MAX_HEADERS + 2:
            self._refuse(
                431,
                "REQUEST_TOO_LARGE",
                f"The headers must have at most {MAX_HEAD_BYTES} bytes and be at most {MAX_HEADERS}; send fewer.",
            )
        elif end is None:
            self._expect_head()
        else:
            self._got_head()
            head = bytes(self._arrived[:size])
            del self._arrived[:size]
            self._searched = 0
            self._in_request = True
            super().data_received(head)
            if self._body_expected():
                self._body_left = next((int(value) for name, value in self.headers if name == b"content-length"), None)
                self.flow.pause_reading()

    def _pass_body(self) -> None:
        """Give the parser as much as the application has room for."""
        while self._arrived and self._body_expected() and not self.cycle.message_event.is_set():
            self._feed()
        if self._arrived:
            self.flow.pause_reading()

    def _body_expected(self) -> bool:
        return self.conn.their_state is h11.SEND_BODY

    def _expect_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self._limits.head_seconds, self._late)

    def _got_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _late(self) -> None:
        self._head_timer = None
        if not self._arrived:
            self.transport.close()
            return
        seconds = f"{self._limits.head_seconds:g}"
        self._refuse(408, "REQUEST_TOO_SLOW", f"The headers did not arrive within {seconds} seconds.")

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request; close the connection if a response has started."""
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.close()
            return
        self._refuse(400, "INVALID_FIELD", "This is not an HTTP/1.1 request; check the request line and the headers.")

    def _refuse(self, status: int, reason: str, detail: str) -> None:
        """Respond without the application, and close the connection."""
        self._got_head()
        self._arrived.clear()
        self._body_left = None
        self._lingering = True
        self._linger_timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)
        self.transport.write(raw(status, reason, detail))
        if self.transport.can_write_eof():
            self.transport.write_eof()
