"""How many HTTP connections there are, and which of them make room for others."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from footnote_edge.http.serving.connections import Connections
from footnote_edge.http.serving.server import HttpServer
from starlette.types import Receive, Scope, Send

LINES = b"HTTP/1.1\r\nhost: a\r\n\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Open = Callable[[], Awaitable[Streams]]


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        for stage in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{stage}.complete"})
        return
    if scope["path"] == "/long":
        await asyncio.sleep(3600)
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.fixture(params=[(3, 3 + 1), (9, 3)], ids=["in all", "of one address"])
async def opened(request: pytest.FixtureRequest) -> AsyncIterator[Open]:
    """Opens connections to a server that takes three."""
    most, most_per_peer = request.param
    limits = Connections(most=most, most_per_peer=most_per_peer, head_seconds=60, write_seconds=60)
    server = HttpServer(application, "127.0.0.1", 0, limits, keep_alive_seconds=75)
    host, _, port = (await server.start()).rpartition(":")
    there: list[Streams] = []

    async def one() -> Streams:
        there.append(await asyncio.open_connection(host, int(port)))
        return there[-1]

    yield one
    for _, writer in there:
        writer.close()
    await server.stop()


async def ask(streams: Streams) -> bytes:
    """Return the status of a short request, b"" if the connection is closed."""
    try:
        streams[1].write(b"GET / " + LINES)
        async with asyncio.timeout(30):
            return (await streams[0].readuntil(b"\r\n\r\n"))[9:12]
    except (ConnectionError, asyncio.IncompleteReadError):
        return b""


async def use(streams: Streams) -> None:
    """Send a request that is not answered."""
    streams[1].write(b"GET /long " + LINES)
    await asyncio.sleep(0.1)


async def test_the_connection_that_is_idle_longest_makes_room_and_none_in_use(opened: Open) -> None:
    """Browsers keep connections that they do not use, and everybody else was refused."""
    idle, used, busy = [await opened() for _ in range(3)]
    assert [await ask(one) for one in (used, idle, used)] == [b"204"] * 3
    await use(busy)
    await use(await opened())
    assert [await ask(one) for one in (idle, used)] == [b"", b"204"]
    await use(await opened())
    assert await ask(used) == b""
    assert await ask(await opened()) == b"503", "all are in use"
