"""Parses the headers of HTTP/2 frames: where frames begin, their types and counts. Payloads are not inspected."""

import struct
from dataclasses import dataclass

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD_BYTES = 9
MAX_CONTROL_BYTES = 16 * 1024
"""The longest frame without message data or headers: RFC 9113's default, and ten times what clients send."""
MAX_HEADER_BLOCK_BYTES = 128 * 1024
"""The longest header block with its continuations. Above 16 KiB, gRPC's server fails the call and keeps the
connection. Above this limit, the connection is ended."""
MAX_CONTINUATIONS = 16

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
ENHANCE_YOUR_CALM = 0xB
_PROTOCOL_ERROR = 0x1
_ACK = _END_STREAM = 0x1
_END_HEADERS = 0x4
_BLOCK = (HEADERS, CONTINUATION)
_HEAD = struct.Struct(">HBBBI")
_STREAM_MASK = 0x7FFFFFFF


class Violation(Exception):
    """A client did what no well-behaved client does; `code` is HTTP/2's, the message one word for logs and the peer."""

    def __init__(self, reason: str, code: int = ENHANCE_YOUR_CALM) -> None:
        super().__init__(reason)
        self.reason, self.code = reason, code


@dataclass(slots=True)
class Tally:
    """Counts of the frames that began in a piece of the stream."""

    frames: int = 0
    """All frames."""
    streams: int = 0
    """Calls: HEADERS frames of new streams."""
    resets: int = 0
    pings: int = 0
    """Without acknowledgements."""
    settings: int = 0
    """Without acknowledgements."""
    empties: int = 0
    """DATA frames without data that do not end their stream."""


class Boundary:
    """Follows the frames of a well-behaved stream; `whole` is true between two frames."""

    __slots__ = ("_partial", "_skip", "messages")

    def __init__(self) -> None:
        self._partial = b""
        self._skip = 0
        self.messages = 0
        """DATA frames that have begun so far."""

    @property
    def whole(self) -> bool:
        """Return whether the last byte ended a frame."""
        return not self._skip and not self._partial

    def feed(self, data: bytes) -> None:
        """Process the next bytes."""
        if self._partial:
            data, self._partial = self._partial + data, b""
        position, size = self._skip, len(data)
        while position + HEAD_BYTES <= size:
            high, low, kind, _, _ = _HEAD.unpack_from(data, position)
            self.messages += kind == DATA
            position += HEAD_BYTES + (high << 8 | low)
        if position < size:
            self._partial, self._skip = data[position:], 0
        else:
            self._skip = position - size


class ClientFrames:
    """Counts a client's frames from the preface on; raises Violation for what is never allowed."""

    __slots__ = ("_block_bytes", "_continuations", "_in_block", "_partial", "_preface", "_skip", "last_stream")

    def __init__(self) -> None:
        self._preface = 0
        self._partial = b""
        self._skip = 0
        self._in_block = False
        self._block_bytes = self._continuations = 0
        self.last_stream = 0
        """The highest stream opened so far."""

    @property
    def greeted(self) -> bool:
        """Return whether the preface has arrived."""
        return self._preface == len(PREFACE)

    def feed(self, data: bytes) -> Tally:
        """Return the counts of frames that begin in the next bytes; raises Violation for what no HTTP/2 client sends.

        The bytes may be split at any point.
        """
        tally = Tally()
        if not self.greeted:
            data = self._greet(data)
        if self._partial:
            data, self._partial = self._partial + data, b""
        position, size = self._skip, len(data)
        while position + HEAD_BYTES <= size:
            high, low, kind, flags, stream = _HEAD.unpack_from(data, position)
            length = high << 8 | low
            tally.frames += 1
            if kind == DATA:
                tally.empties += not length and not flags & _END_STREAM
            else:
                self._control(tally, kind, length, flags, stream & _STREAM_MASK)
            position += HEAD_BYTES + length
        if position < size:
            self._partial, self._skip = data[position:], 0
        else:
            self._skip = position - size
        return tally

    def _greet(self, data: bytes) -> bytes:
        """Remove the preface from the first bytes."""
        wanted = PREFACE[self._preface : self._preface + len(data)]
        if not data.startswith(wanted):
            raise Violation("no_http2", _PROTOCOL_ERROR)
        self._preface += len(wanted)
        return data[len(wanted) :]

    def _control(self, tally: Tally, kind: int, length: int, flags: int, stream: int) -> None:
        if kind in _BLOCK:
            self._header(tally, kind, length, flags, stream)
        elif length > MAX_CONTROL_BYTES:
            raise Violation("frame_too_long")
        elif kind == RST_STREAM:
            tally.resets += 1
        elif kind == PING:
            tally.pings += not flags & _ACK
        elif kind == SETTINGS:
            tally.settings += not flags & _ACK
        elif kind == PUSH_PROMISE:
            raise Violation("push_promise", _PROTOCOL_ERROR)

    def _header(self, tally: Tally, kind: int, length: int, flags: int, stream: int) -> None:
        if kind == HEADERS:
            self._block_bytes = self._continuations = 0
            if stream > self.last_stream:
                self.last_stream = stream
                tally.streams += 1
        elif not self._in_block:
            raise Violation("continuation_of_nothing", _PROTOCOL_ERROR)
        else:
            self._continuations += 1
        self._block_bytes += length
        if self._block_bytes > MAX_HEADER_BLOCK_BYTES or self._continuations > MAX_CONTINUATIONS:
            raise Violation("headers_too_long")
        self._in_block = not flags & _END_HEADERS


def goaway(last_stream: int, code: int, reason: str) -> bytes:
    """Return the frame that ends a connection; calls after `last_stream` can be retried elsewhere."""
    text = reason.encode("ascii", "replace")
    return frame(GOAWAY, last_stream.to_bytes(4) + code.to_bytes(4) + text)


def frame(kind: int, payload: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    """Return one frame."""
    return _HEAD.pack(len(payload) >> 8, len(payload) & 0xFF, kind, flags, stream) + payload
