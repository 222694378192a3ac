import asyncio
import json
import socket
from typing import Any

import grpc
import pytest
from footnote.retrieval.v1.retrieval_service_pb2 import RetrieveRequest, RetrieveResponse
from footnote.retrieval.v1.retrieval_service_pb2_grpc import (
    RetrievalServiceServicer,
    RetrievalServiceStub,
    add_RetrievalServiceServicer_to_server,
)
from footnote_kit import clients, transient_errors
from footnote_kit.app import App, Runtime
from footnote_kit.errors import DeadlineExceeded, Unavailable
from footnote_kit.settings import STAGES, KitSettings
from footnote_kit.testing import SCOPE, serve_app, stage_channel
from support.doubles.services import Answer, Ask, SampleService, SampleStub


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class Flaky(RetrievalServiceServicer):  # type: ignore[misc]
    """Fails a number of times, after so many seconds, before it answers."""

    def __init__(self, failures: int, error: Exception, seconds: float = 0.0) -> None:
        self.left, self.error, self.seconds, self.calls = failures, error, seconds, 0

    async def Retrieve(self, request: Any, context: Any) -> RetrieveResponse:
        self.calls += 1
        if self.calls <= self.left:
            await asyncio.sleep(self.seconds)
            raise self.error
        return RetrieveResponse()

    QueryChunks = SearchMemory = Retrieve

    def app(self) -> App:
        name = "footnote.retrieval.v1.RetrievalService"
        return App("retrieval", [(add_RetrievalServiceServicer_to_server, self, name)])


async def test_a_safe_call_is_repeated_when_the_peer_is_unavailable() -> None:
    flaky = Flaky(2, Unavailable("Not now"))
    async with serve_app(flaky.app()) as served:
        await RetrievalServiceStub(served.channel).Retrieve(RetrieveRequest(scope=SCOPE))
    assert flaky.calls == 3


@pytest.mark.parametrize(("seconds", "calls"), [(0.0, 4), (1.2, 1)])
@pytest.mark.parametrize("waiting", ["DATABASE", "DISK"])
async def test_what_a_stage_waited_for_in_vain_is_not_waited_for_four_times(
    seconds: float, calls: int, waiting: str
) -> None:
    flaky = Flaky(99, transient_errors.unavailable("Not now", waiting), seconds)
    async with serve_app(flaky.app()) as served:
        with pytest.raises(Unavailable) as caught:
            await RetrievalServiceStub(served.channel).Retrieve(RetrieveRequest(scope=SCOPE))
    assert flaky.calls == calls
    assert transient_errors.waits_for(caught.value) == waiting


async def test_repeats_are_capped_and_the_last_error_is_shown() -> None:
    flaky = Flaky(99, Unavailable("Not now", reason="STORE_UNAVAILABLE"))
    async with serve_app(flaky.app()) as served:
        with pytest.raises(Unavailable) as caught:
            await RetrievalServiceStub(served.channel).Retrieve(RetrieveRequest(scope=SCOPE))
    assert flaky.calls == 4
    assert caught.value.reason == "STORE_UNAVAILABLE"


async def test_other_failures_and_unsafe_calls_are_not_repeated() -> None:
    calls = 0

    async def fail(_: Any, __: Any) -> Answer:
        nonlocal calls
        calls += 1
        raise Unavailable("Not now")

    flaky = Flaky(1, ValueError("fault"))
    async with serve_app(flaky.app()) as served:
        with pytest.raises(Exception, match="Internal error"):
            await RetrievalServiceStub(served.channel).Retrieve(RetrieveRequest(scope=SCOPE))
    async with serve_app(SampleService(unary=fail).app()) as served:
        with pytest.raises(Unavailable, match="Not now"):
            await SampleStub(served.channel).unary(Ask(scope=SCOPE))
    assert flaky.calls == calls == 1


@pytest.mark.parametrize("stage", STAGES)
def test_the_service_config_repeats_reads_only_and_has_no_timeout(stage: str) -> None:
    text = clients.service_config(stage)
    assert "timeout" not in text
    config = json.loads(text)
    assert config["loadBalancingConfig"] == [{"round_robin": {}}]
    methods = {name["method"] for one in config["methodConfig"] for name in one["name"]}
    assert methods
    unsafe = ("Create", "Update", "Delete", "Upload", "Replace", "Add", "Index", "Ask", "Generate")
    assert not [method for method in methods if method.startswith(unsafe)]


async def test_a_peer_that_is_down_is_named_without_its_address() -> None:
    port = free_port()
    async with clients.open_channel(f"127.0.0.1:{port}", "indexing", KitSettings()) as channel:
        with pytest.raises(Unavailable) as caught:
            await SampleStub(channel).unary(Ask(scope=SCOPE))
        assert caught.value.message == "The indexing service does not answer"
        assert caught.value.metadata == {"stage": "indexing"}
        assert str(port) not in repr(vars(caught.value))
        with pytest.raises(Unavailable):
            await SampleStub(channel).stream(Ask(scope=SCOPE)).read()
        assert await clients.check_health(channel, "indexing") == "The indexing service does not answer"


async def test_a_channel_finds_a_peer_that_comes_up_later() -> None:
    async def fine(_: Any, __: Any) -> Answer:
        return Answer(name="fine")

    port = free_port()
    async with clients.open_channel(f"127.0.0.1:{port}", "sample", KitSettings()) as channel:
        stub = SampleStub(channel)
        with pytest.raises(Unavailable):
            await stub.unary(Ask(scope=SCOPE))
        server = grpc.aio.server()
        server.add_insecure_port(f"127.0.0.1:{port}")
        SampleService(unary=fine)._add(None, server)
        await server.start()
        try:
            answer = await asyncio.wait_for(stub.unary(Ask(scope=SCOPE), wait_for_ready=True), 60)
            assert answer.name == "fine"
        finally:
            await server.stop(0)


async def test_a_web_proxy_does_not_stand_between_two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    for name in ("no_proxy", "no_grpc_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    async with serve_app(Flaky(0, ValueError()).app()) as served:
        await RetrievalServiceStub(served.channel).Retrieve(RetrieveRequest(scope=SCOPE))


async def test_every_call_has_a_deadline() -> None:
    async def hang(_: Any, __: Any) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    async with serve_app(SampleService(unary=hang).app(), call_timeout=0.2) as served:
        with pytest.raises(DeadlineExceeded, match="The sample service did not answer in time"):
            await SampleStub(served.channel).unary(Ask(scope=SCOPE))


async def test_runtime_knows_addresses_and_ports() -> None:
    settings = KitSettings(retrieval_address="retrieval:7103")
    async with serve_app(App("x", [])) as served:
        runtime = Runtime(settings=settings, data_dir=served.runtime.data_dir, addresses={"indexing": "10.0.0.1:1"})
        assert runtime.address("retrieval") == "retrieval:7103"
        assert runtime.address("indexing") == "10.0.0.1:1"
        with pytest.raises(KeyError):
            runtime.address("nonsense")
        assert runtime.channel("indexing") is runtime.channel("indexing")
        await runtime.close()
        assert [runtime.port(7100), runtime.port(7119)] == [7100, 7119]
        runtime.port_base = 9000
        assert [runtime.port(7100), runtime.port(7119), runtime.port(0)] == [9000, 9019, 0]
        runtime.port_base = 0
        assert runtime.port(7119) == 0


async def test_a_peer_that_takes_its_time_to_accept_is_waited_for() -> None:
    """A connection may take longer than the pause between two attempts: on a busy machine, or across an ocean."""

    async def fine(_: Any, __: Any) -> Answer:
        return Answer(name="fine")

    async with serve_app(SampleService(unary=fine).app()) as served:
        host, _, port = served.address.rpartition(":")

        async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(1)
            peer_reader, peer_writer = await asyncio.open_connection(host, int(port))

            async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
                while data := await source.read(65536):
                    sink.write(data)
                sink.close()

            await asyncio.gather(pump(reader, peer_writer), pump(peer_reader, writer))

        async with await asyncio.start_server(slowly, "127.0.0.1", 0) as server:
            address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with stage_channel(address, "sample") as channel:
                assert (await SampleStub(channel).unary(Ask(scope=SCOPE))).name == "fine"
