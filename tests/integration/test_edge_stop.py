"""A stop of the service refuses no request that it has accepted, over HTTP as over gRPC."""

import asyncio
from pathlib import Path

import pytest
from footnote.edge.v1.answers_pb2 import AskRequest, AskResponse
from footnote_edge.app import build
from footnote_kit.clients import open_channel
from footnote_kit.edge import EdgeStub
from footnote_kit.testing import serve_app
from support.doubles.stages import World, serve_doubles

REQUEST = b"GET /v1/collections HTTP/1.1\r\nHost: localhost\r\n\r\n"
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def answered(connection: Connection) -> bytes:
    """Return the head of the response to a request on a connection."""
    reader, writer = connection
    writer.write(REQUEST)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    await reader.readexactly(int(length.partition(b":")[2]))
    return head.lower()


async def test_http_sends_callers_away_before_grpc_refuses_their_calls(world: World, tmp_path: Path) -> None:
    world.gates["Generate"] = asyncio.Event()
    async with serve_doubles(world) as addresses:
        async with serve_app(build, addresses=addresses, data_dir=tmp_path, grace_seconds=20.0) as served:
            host, _, port = served.runtime.announced["http"].rpartition(":")
            used, idle = [await asyncio.open_connection(host, int(port)) for _ in range(2)]
            for connection in (used, idle):
                assert b"connection: close" not in await answered(connection)
            channel = open_channel(served.address, peer="edge", settings=served.runtime.settings)
            call = EdgeStub(channel).Ask(AskRequest(question="tea ?"))
            events = aiter(call)
            while not (await anext(events)).text_delta:
                pass
            await served.host.drain()
            head = await answered(used)
            assert head.startswith(b"http/1.1 200 "), head
            assert b"connection: close" in head
            assert await used[0].read() == b""

            async def rest() -> list[AskResponse]:
                """Wait until HTTP is away, and only then let the question in flight end."""
                assert await idle[0].read() == b""
                with pytest.raises(ConnectionRefusedError):
                    await asyncio.open_connection(host, int(port))
                world.gates["Generate"].set()
                return [event async for event in events]

            asked = asyncio.create_task(rest())
        assert (await asked)[-1].completed.answer.text
        for _, writer in (used, idle):
            writer.close()
        await channel.close()
