"""The door before edge's gRPC port: hostile HTTP/2 over raw sockets, and clients in good faith that feel none of it."""

import asyncio
import os
import socket
import ssl
import stat
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from footnote.edge.v1.answers_pb2 import AskRequest, AskResponse
from footnote.edge.v1.documents_pb2 import (
    DownloadDocumentRequest,
    DownloadDocumentResponse,
    UploadDocumentRequest,
    UploadDocumentResponse,
)
from footnote.edge.v1.system_pb2 import GetHealthRequest, GetHealthResponse
from footnote_kit import logs
from footnote_kit.app import App
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import Unauthenticated
from footnote_kit.front.frames import CONTINUATION, GOAWAY, HEADERS, PING, PREFACE, SETTINGS, frame
from footnote_kit.front.limits import FrontLimits
from footnote_kit.settings import KitSettings
from footnote_kit.testing import Served, serve_app
from grpc_health.v1 import health_pb2, health_pb2_grpc
from support.certificates import Authority
from support.doubles.partial_edge import PartialEdge, servicers
from support.http2 import END_STREAM, GREETING, opened, rapid_reset, reset

pytestmark = pytest.mark.full

TESTS = Path(__file__).resolve().parents[1]
KEY = (("x-key", "good"),)
MEBIBYTE = 1024 * 1024
FAR = "127.0.0.66"


class Small(PartialEdge):
    """An edge that answers health, takes files, streams what it is asked for, and notes who left."""

    def __init__(self) -> None:
        self.left = asyncio.Queue[str]()
        self.peers: list[str] = []

    async def GetHealth(self, request: Any, context: Any) -> Any:
        return GetHealthResponse(version="small")

    async def UploadDocument(self, requests: Any, context: Any) -> Any:
        size = 0
        async for request in requests:
            size += len(request.data)
        return UploadDocumentResponse(document={"id": str(size)})

    async def DownloadDocument(self, request: Any, context: Any) -> AsyncIterator[Any]:
        for _ in range(int(request.document_id)):
            yield DownloadDocumentResponse(data=bytes(256 * 1024))

    async def Ask(self, request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            yield AskResponse(text_delta="now")
            await asyncio.sleep(float(request.question))
            yield AskResponse(text_delta="then")
        except asyncio.CancelledError:
            self.left.put_nowait(request.question)
            raise


async def admit(method: str, headers: Mapping[str, str]) -> None:
    if headers.get("x-key") != "good":
        raise Unauthenticated("No key")


@asynccontextmanager
async def serve(settings: KitSettings | None = None, **limits: Any) -> AsyncIterator[tuple[Served, Small]]:
    small = Small()
    app = App(
        "edge",
        servicers(small),
        public=True,
        admit=admit,
        front=FrontLimits(**limits),
    )
    async with serve_app(app, settings=settings) as served:
        yield served, small


@asynccontextmanager
async def plain(address: str, *options: tuple[str, Any]) -> AsyncIterator[Any]:
    alone = ("grpc.use_local_subchannel_pool", 1)
    async with grpc.aio.insecure_channel(address, options=[alone, *options]) as channel:
        yield EdgeStub(channel)


async def health(stub: Any) -> float:
    """Return the milliseconds that a call takes."""
    began = time.perf_counter()
    assert (await stub.GetHealth(GetHealthRequest(), metadata=KEY, timeout=60)).version == "small"
    return (time.perf_counter() - began) * 1000


async def latencies(stub: Any, seconds: float) -> list[float]:
    end, took = time.monotonic() + seconds, []
    while time.monotonic() < end:
        took.append(await health(stub))
        await asyncio.sleep(0.02)
    return took


def p95(took: list[float]) -> float:
    return sorted(took)[int(0.95 * (len(took) - 1))]


class Raw:
    """A connection on which a test says what it likes."""

    def __init__(self, served: Served, source: str = "") -> None:
        host, _, port = served.address.rpartition(":")
        self._place = (host, int(port))
        self._source = (source, 0) if source else None

    async def __aenter__(self) -> "Raw":
        self.reader, self.writer = await asyncio.open_connection(*self._place, local_addr=self._source)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    async def end(self, limit: float = 30) -> bytes:
        """Return what comes until the other side hangs up."""
        received = b""
        async with asyncio.timeout(limit):
            try:
                while data := await self.reader.read(65536):
                    received += data
            except ConnectionError:
                pass
        return received

    async def farewell(self, limit: float = 30) -> str:
        """Return the reason of the GOAWAY that ends the connection; all before it must be whole frames."""
        received, found = await self.end(limit), ""
        while received:
            length = int.from_bytes(received[:3])
            assert len(received) >= 9 + length, "a frame was cut"
            if received[3] == GOAWAY:
                found = received[17 : 9 + length].decode()
            received = received[9 + length :]
        return found


async def attackers(served: Served, count: int, connections: int, attack: str, seconds: float) -> list[Any]:
    host, _, port = served.address.rpartition(":")
    order = (host, port, str(seconds), str(connections), attack)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    # With little priority: what hurts must be what the server does, not what the attack costs on the same processors.
    return [
        await asyncio.create_subprocess_exec(
            "nice", "-n", "19", sys.executable, "-m", "support.http2", *order,
            cwd=TESTS, stdout=asyncio.subprocess.PIPE, env=environment,
        )
        for _ in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("attack", "count", "connections"),
    [("reset", 2, 1), ("reset", 4, 2), ("open", 2, 2), ("ping", 2, 1), ("settings", 2, 1), ("continuation", 2, 1)],
)
async def test_a_good_caller_does_not_feel_who_floods(attack: str, count: int, connections: int) -> None:
    async with serve() as (served, _), plain(served.address) as stub:
        await health(stub)
        for attempt in range(3):
            quiet = p95(await latencies(stub, 1.5))
            running = await attackers(served, count, connections, attack, 4)
            await _until(lambda: served.host.connections > 1, 30)
            used, began = time.process_time(), time.monotonic()
            under = p95(await latencies(stub, 3))
            share = (time.process_time() - used) / (time.monotonic() - began)
            said = [list(map(int, (await one.communicate())[0].split())) for one in running]
            print(f"{attack}: quiet p95 {quiet:.1f} ms, under p95 {under:.1f} ms, cpu {share:.2f}, attackers {said}")
            assert sum(streams for streams, _, _ in said) > 1000, "it was no attack"
            if under < max(150, 3 * quiet):
                return
            assert attempt < 2, (under, quiet)


async def test_newcomers_of_the_same_address_come_in_while_one_floods() -> None:
    async with serve() as (served, _):
        running = await attackers(served, 2, 2, "reset", 4)
        await asyncio.sleep(1)
        for _ in range(5):
            async with plain(served.address) as stub:
                assert await health(stub) < 20_000
        for one in running:
            await one.communicate()


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (rapid_reset(1, 5000), "too_many_resets"),
        (frame(PING, bytes(8)) * 5000, "too_many_pings"),
        (frame(SETTINGS) * 1000, "too_many_settings"),
        (opened(1) + frame(0, b"", 0, 1) * 2000, "too_many_empties"),
        (frame(HEADERS, b"", 0, 1) + frame(CONTINUATION, b"", 0, 1) * 1000, "headers_too_long"),
        (frame(SETTINGS, bytes(60_000)), "frame_too_long"),
    ],
)
async def test_who_floods_is_told_why_and_ended(sent: bytes, reason: str) -> None:
    async with serve(calls_per_second=100_000) as (served, _), Raw(served) as raw:
        raw.writer.write(GREETING + sent)
        # Of pings gRPC's own server has enough even earlier, and hangs up at times before its last word is out.
        assert await raw.farewell() in ({reason, ""} if reason == "too_many_pings" else {reason})


async def test_streams_are_slowed_down_not_ended() -> None:
    async with serve(calls_per_second=40) as (served, _), plain(served.address) as stub:
        began = time.monotonic()
        await asyncio.gather(*(health(stub) for _ in range(500)))
        # Some at once, then sixty a second: those that come back, with the connection's own part. Unslowed, one.
        assert time.monotonic() - began > 6
        assert await health(stub) < 10_000


async def test_a_good_client_that_breaks_off_many_asks_goes_on() -> None:
    async with serve() as (served, small), plain(served.address) as stub:
        for _ in range(2):
            asks = [stub.Ask(AskRequest(question="600"), metadata=KEY) for _ in range(200)]
            assert {(await one.read()).text_delta for one in asks} == {"now"}
            for one in asks:
                one.cancel()
            for _ in asks:
                assert await asyncio.wait_for(small.left.get(), 60) == "600"
        await health(stub)


async def test_a_client_that_was_sent_away_comes_back_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    # Where the pace of calls is limited as usual, the connection is slowed down before it has sent so many resets.
    async with serve(calls_per_second=100_000) as (served, _), plain(served.address) as stub:
        await health(stub)
        # More resets than a normal client sends: the connection ends with an error that gRPC's client understands.
        for _ in range(20):
            calls = [stub.Ask(AskRequest(question="600"), metadata=KEY) for _ in range(100)]
            await asyncio.sleep(0.02)
            for one in calls:
                one.cancel()
        ended = []
        for _ in range(50):
            try:
                await health(stub)
                break
            except grpc.aio.AioRpcError as error:
                ended.append(error.code())
                await asyncio.sleep(0.2)
        await health(stub)
        assert set(ended) <= {grpc.StatusCode.UNAVAILABLE}
    assert '"too_many_resets": ' in "".join(capsys.readouterr()), "it was not sent away"


# How many, and how slow


async def test_connections_are_counted_by_address_and_in_all() -> None:
    async with (
        serve(connections=4, connections_per_peer=2) as (served, _),
        Raw(served),
        Raw(served) as second,
        Raw(served) as third,
    ):
        assert await third.farewell() == "too_many_connections"
        async with Raw(served, FAR) as far, Raw(served, FAR), Raw(served, "127.0.0.67") as last:
            assert await last.farewell() == "too_many_connections"
            far.writer.write(GREETING)
            assert await far.reader.read(9)
        second.writer.close()
        await _until(lambda: served.host.connections == 1, 20)
        async with plain(served.address) as stub:
            await health(stub)


@pytest.mark.parametrize("sent", [b"", PREFACE[:10], PREFACE[:-1]])
async def test_who_does_not_greet_is_cut_off(sent: bytes) -> None:
    async with serve(greeting_seconds=0.5) as (served, _), Raw(served) as raw:
        raw.writer.write(sent)
        began = time.monotonic()
        assert await raw.end() == b""
        assert time.monotonic() - began < 20
        await _until(lambda: served.host.connections == 0, 20)


async def test_what_is_no_http2_is_refused_at_once() -> None:
    async with serve() as (served, _), Raw(served) as raw:
        raw.writer.write(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        assert await raw.farewell() == "no_http2"


async def test_a_caller_that_does_not_read_is_given_up() -> None:
    async with serve(write_seconds=0.5) as (served, _), plain(served.address) as stub:
        # Without a window of its own no client would be sent more than it takes; this one opens it and reads nothing.
        wide = frame(SETTINGS, b"\0\x04\x7f\xff\xff\xff") + frame(8, (2**31 - 65536).to_bytes(4))
        host, _, port = served.address.rpartition(":")
        with socket.socket() as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.connect((host, int(port)))
            raw.sendall(PREFACE + wide + _download(200))
            await _until(lambda: served.host.connections == 1, 20)
            await _until(lambda: served.host.connections == 0, 60)
        await health(stub)


def _download(parts: int) -> bytes:
    path = b"/footnote.edge.v1.DocumentsService/DownloadDocument"
    block = b"\x83\x86\x44" + bytes([len(path)]) + path + b"\x41\x01a"
    for name, value in ((b"content-type", b"application/grpc"), (b"te", b"trailers"), (b"x-key", b"good")):
        block += b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value
    message = DownloadDocumentRequest(document_id=str(parts)).SerializeToString()
    data = b"\0" + len(message).to_bytes(4) + message
    return frame(HEADERS, block, 4, 1) + frame(0, data, END_STREAM, 1)


async def _until(said: Any, seconds: float) -> None:
    async with asyncio.timeout(seconds):
        while not said():  # noqa: ASYNC110 (what is waited for has no event)
            await asyncio.sleep(0.05)


# What must not change


async def test_long_transfers_and_streams_pass_unharmed() -> None:
    keepalive = (("grpc.keepalive_time_ms", 5_000), ("grpc.http2.max_pings_without_data", 0))
    async with serve(calls_per_second=50) as (served, _), plain(served.address, *keepalive) as stub:
        silent = stub.Ask(AskRequest(question="12"), metadata=KEY)
        assert (await silent.read()).text_delta == "now"

        async def parts() -> AsyncIterator[Any]:
            for _ in range(40):
                yield UploadDocumentRequest(data=bytes(256 * 1024))

        made = await stub.UploadDocument(parts(), metadata=KEY, timeout=120)
        assert made.document.id == str(10 * MEBIBYTE)
        received = 0
        async for part in stub.DownloadDocument(DownloadDocumentRequest(document_id="40"), metadata=KEY):
            received += len(part.data)
        assert received == 10 * MEBIBYTE
        assert (await silent.read()).text_delta == "then"


async def test_a_call_that_is_broken_off_ends_at_the_server() -> None:
    async with serve() as (served, small):
        async with plain(served.address) as stub:
            ask = stub.Ask(AskRequest(question="600"), metadata=KEY)
            await ask.read()
            ask.cancel()
            assert await asyncio.wait_for(small.left.get(), 30) == "600"
            ask = stub.Ask(AskRequest(question="700"), metadata=KEY)
            await ask.read()
        # The whole connection went.
        assert await asyncio.wait_for(small.left.get(), 30) == "700"


async def test_a_reset_by_hand_reaches_the_server() -> None:
    async with serve() as (served, _), Raw(served) as raw:
        raw.writer.write(GREETING + opened(1) + reset(1) + frame(PING, b"question"))
        received = b""
        async with asyncio.timeout(240):
            while b"question" not in received:
                received += await raw.reader.read(1000)


async def test_health_and_reflection_pass_and_an_end_is_announced() -> None:
    async with serve() as (served, _), grpc.aio.insecure_channel(served.address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        watch = stub.Watch(health_pb2.HealthCheckRequest())
        statuses = [(await watch.read()).status]
        while statuses[-1] != health_pb2.HealthCheckResponse.SERVING:
            statuses.append((await watch.read()).status)
        ask = EdgeStub(channel).Ask(AskRequest(question="1"), metadata=KEY)
        await ask.read()
        await served.host.drain()
        while statuses[-1] == health_pb2.HealthCheckResponse.SERVING:
            statuses.append((await watch.read()).status)
        stopping = asyncio.create_task(served.host.stop(600))
        with pytest.raises(grpc.aio.AioRpcError, match="UNAVAILABLE"):  # or it would hold up the end for as long
            await watch.read()
        assert (await ask.read()).text_delta == "then", "calls in flight may finish"
        await stopping
        with pytest.raises(OSError):  # noqa: PT011 (whatever the system says)
            await asyncio.open_connection(*served.address.split(":"))


def mode(path: Path) -> int:
    return path.stat().st_mode


async def test_gRPCs_own_server_is_reached_by_this_user_only() -> None:
    async with serve() as (served, _):
        path = Path(served.host.inner_address.removeprefix("unix:"))
        assert stat.S_ISSOCK(mode(path))
        assert stat.S_IMODE(mode(path.parent)) == 0o700
    with pytest.raises(FileNotFoundError):
        mode(path)


async def test_edge_calls_itself_past_the_door() -> None:
    async with serve(connections=1, connections_per_peer=1) as (served, _):
        stub: Any = EdgeStub(served.runtime.channel("edge"))
        await health(stub)
        assert served.host.connections == 0


async def test_without_a_socket_there_is_loopback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("a" * 120)))
    async with serve() as (served, _), plain(served.address) as stub:
        assert served.host.inner_address.startswith("127.0.0.1:")
        await health(stub)


# TLS


@pytest.mark.parametrize("mutual", [False, True])
async def test_tls_ends_at_the_door(tmp_path: Path, mutual: bool) -> None:
    ours, theirs = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    settings = KitSettings(tls_ca_file=ours.file, tls_client_auth=mutual, grace_seconds=1, **ours.issue("server"))
    async with serve(settings, greeting_seconds=2) as (served, _):

        async def ask(authority: Authority, issuer: Authority | None) -> None:
            pair = issuer.issue("caller") if issuer else None
            credentials = grpc.ssl_channel_credentials(
                authority.file.read_bytes(),
                pair["tls_key_file"].read_bytes() if pair else None,
                pair["tls_cert_file"].read_bytes() if pair else None,
            )
            options = [("grpc.use_local_subchannel_pool", 1)]
            async with grpc.aio.secure_channel(served.address, credentials, options=options) as channel:
                stub: Any = EdgeStub(channel)
                await stub.GetHealth(GetHealthRequest(), metadata=KEY, timeout=20)

                async def parts() -> AsyncIterator[Any]:
                    for _ in range(20):
                        yield UploadDocumentRequest(data=bytes(256 * 1024))

                made = await stub.UploadDocument(parts(), metadata=KEY, timeout=60)
                assert made.document.id == str(5 * MEBIBYTE)

        await ask(ours, ours)
        for authority, issuer in [(theirs, ours), *([(ours, None), (ours, theirs)] if mutual else [])]:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await ask(authority, issuer)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        if not mutual:
            await ask(ours, None)
        async with Raw(served) as silent, Raw(served) as clear:
            clear.writer.write(GREETING)
            await clear.end()
            assert await silent.end() == b"", "who does not begin TLS is cut off"
        await _until(lambda: served.host.connections == 0, 30)


async def test_rapid_resets_over_tls_are_ended(tmp_path: Path) -> None:
    ours = Authority(tmp_path, "ours")
    settings = KitSettings(tls_ca_file=ours.file, grace_seconds=1, **ours.issue("server"))
    async with serve(settings, calls_per_second=100_000) as (served, _):
        context = ssl.create_default_context(cafile=str(ours.file))
        context.set_alpn_protocols(["h2"])
        host, _, port = served.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "h2"
        writer.write(GREETING + rapid_reset(1, 5000))
        received = b""
        try:
            async with asyncio.timeout(240):
                while data := await reader.read(65536):
                    received += data
        except ConnectionError:
            pass
        writer.close()
        assert b"too_many_resets" in received


# What everybody may ask


async def test_requests_to_health_and_reflection_are_short() -> None:
    async with serve() as (served, _), grpc.aio.insecure_channel(served.address) as channel:
        methods = [
            channel.unary_unary("/grpc.health.v1.Health/Check"),
            channel.unary_stream("/grpc.health.v1.Health/Watch"),
            channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"),
        ]
        for number, method in enumerate(methods):
            for sent in (b"\x0a\xff\xff\x03" + bytes(65_535), b"\xff" * 10):
                given: Any = iter([sent]) if number == 2 else sent
                call = method(given, timeout=20)
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await (call if number == 0 else call.read())
                assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_strangers_leave_a_summary_not_a_line_each(capfd: pytest.CaptureFixture[str]) -> None:
    logs.configure(KitSettings(log_format="json"))
    async with serve() as (served, _), plain(served.address) as stub:
        for _ in range(30):
            with pytest.raises(grpc.aio.AioRpcError, match="No key"):
                await stub.GetHealth(GetHealthRequest(), timeout=20)
    said = capfd.readouterr()
    lines = [line for line in (said.out + said.err).splitlines() if "refused" in line]
    assert len(lines) == 1
    assert "strangers_refused" in lines[0]
    assert ": 30" in lines[0]
