"""Long silent streams: a client that keeps its connection alive by pings is served, not sent away for them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from footnote_kit import server
from footnote_kit.testing import SCOPE, proof_of, serve_app
from support.doubles.services import Answer, Ask, SampleService, SampleStub

pytestmark = pytest.mark.slow

PING, GOAWAY, ACK = 6, 7, 1
PINGS = 5  # gRPC sends a client away at its third ping too many, and lets it ping once a second at most


class FrameCount:
    """Passes a connection on and counts what the server answers to pings."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._tasks: set[asyncio.Task[None]] = set()
        self.acknowledged = 0
        self.sent_away = False
        self.news = asyncio.Event()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        listener = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        async with listener:
            yield f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def pings(self, count: int) -> None:
        """Wait until the server has answered so many pings, or has had enough of them."""
        while self.acknowledged < count and not self.sent_away:
            self.news.clear()
            await self.news.wait()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        host, _, port = self._address.rpartition(":")
        peer_reader, peer_writer = await asyncio.open_connection(host, int(port))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._bytes(reader, peer_writer))
                group.create_task(self._frames(peer_reader, writer))
        finally:
            for end in (writer, peer_writer):
                end.close()

    async def _bytes(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()

    async def _frames(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.read(1):
            head += await reader.readexactly(8)
            writer.write(head + await reader.readexactly(int.from_bytes(head[:3])))
            await writer.drain()
            self.acknowledged += head[3] == PING and bool(head[4] & ACK)
            self.sent_away = self.sent_away or head[3] == GOAWAY
            self.news.set()


@asynccontextmanager
async def pinging(served_address: str) -> AsyncIterator[tuple[FrameCount, grpc.aio.Channel]]:
    """Yield a connection whose client pings as often as gRPC lets it, with and without a call."""
    frames = FrameCount(served_address)
    async with frames.listening() as address:
        options = [
            ("grpc.keepalive_time_ms", 100),
            ("grpc.keepalive_timeout_ms", 20_000),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.http2.bdp_probe", 0),  # pings of another purpose
        ]
        async with grpc.aio.insecure_channel(address, options) as channel:
            yield frames, channel


@pytest.mark.parametrize(("allowed_after", "sent_away"), [(0.005, False), (3600, True)])
async def test_pings_on_a_silent_stream_and_on_an_idle_connection(
    allowed_after: float, sent_away: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MIN_PING_SECONDS", allowed_after)
    speak = asyncio.Event()

    async def silent(_: Any, __: Any) -> AsyncIterator[Answer]:
        yield Answer(name="first")
        await speak.wait()
        yield Answer(name="last")

    async with serve_app(SampleService(stream=silent).app()) as served, pinging(served.address) as (frames, channel):
        call = SampleStub(channel).stream(Ask(scope=SCOPE), metadata=(proof_of("sample"),))
        assert (await call.read()).name == "first"
        await asyncio.wait_for(frames.pings(PINGS), 60)
        assert frames.sent_away is sent_away
        if sent_away:
            return
        speak.set()
        assert (await call.read()).name == "last"
        assert await call.read() is grpc.aio.EOF
        await asyncio.wait_for(frames.pings(frames.acknowledged + PINGS), 60)
        assert not frames.sent_away
