import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from footnote_kit import context
from footnote_kit.app import App
from footnote_kit.credential import ServiceCredential
from footnote_kit.errors import Internal, ResourceExhausted, Unavailable
from footnote_kit.net import is_loopback
from footnote_kit.server import ListenError, ServiceHost
from footnote_kit.settings import KitSettings
from footnote_kit.testing import CREDENTIAL, SCOPE, proof_of, serve_app
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from support.certificates import Authority
from support.doubles.services import STAGES, Answer, Ask, SampleService, SampleStub, contracts, empty_stage

ASK = Ask(scope=SCOPE)
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


async def fine(_: Any, __: Any) -> Answer:
    return Answer(name="fine")


async def next_status(watch: Any) -> int:
    return (await asyncio.wait_for(watch.read(), 60)).status  # type: ignore[no-any-return]


async def test_health_follows_the_dependencies_and_can_be_watched() -> None:
    problem: list[str | None] = ["the store is away"]

    async def ready() -> str | None:
        if problem[0] == "broken":
            raise RuntimeError("boom")
        return problem[0]

    async with serve_app(SampleService(unary=fine).app(ready=ready), ready_interval=0.02) as served:
        watch = health_pb2_grpc.HealthStub(served.channel).Watch(
            health_pb2.HealthCheckRequest(service="footnote.sample.v1.SampleService")
        )
        assert await next_status(watch) == NOT_SERVING
        assert await served.runtime.check("sample") == "The sample service is not ready"
        problem[0] = None
        assert await next_status(watch) == SERVING
        assert await served.runtime.check("sample") is None
        problem[0] = "broken"
        assert await next_status(watch) == NOT_SERVING
        problem[0] = None
        assert await next_status(watch) == SERVING
        await served.host.drain()
        assert await next_status(watch) == NOT_SERVING
        # While it drains it still answers.
        assert (await SampleStub(served.channel).unary(ASK)).name == "fine"


@pytest.mark.parametrize("stage", [*STAGES, "edge"])
async def test_reflection_tells_the_contract(stage: str) -> None:
    _, service = contracts(stage)[0]
    async with serve_app(empty_stage(stage, [])) as served:
        stub = reflection_pb2_grpc.ServerReflectionStub(served.channel)

        async def questions() -> AsyncIterator[Any]:
            yield reflection_pb2.ServerReflectionRequest(list_services="")
            yield reflection_pb2.ServerReflectionRequest(file_containing_symbol=service.full_name)

        listed, file = [answer async for answer in stub.ServerReflectionInfo(questions())]
    names = {one.name for one in listed.list_services_response.service}
    assert {service.full_name, "grpc.health.v1.Health"} <= names
    # Traces are for edge to collect; from outside they are read through its guard.
    assert ("footnote.telemetry.v1.TelemetryService" in names) == (stage != "edge")
    assert file.file_descriptor_response.file_descriptor_proto


async def test_a_taken_port_is_refused_not_shared() -> None:
    async with serve_app(App("first", [])) as served:
        port = int(served.address.rpartition(":")[2])
        with pytest.raises(ListenError, match=r"second cannot listen on 127\.0\.0\.1"):
            ServiceHost("second", KitSettings()).bind("127.0.0.1", port)


@pytest.mark.parametrize(("authenticates", "mutual"), [(False, False), (True, False), (False, True)])
async def test_a_public_one_listens_beyond_loopback_only_when_callers_are_known(
    tmp_path: Path, authenticates: bool, mutual: bool
) -> None:
    settings = KitSettings()
    if mutual:  # who has a certificate is not thereby known as a tenant's user
        authority = Authority(tmp_path, "ours")
        settings = KitSettings(tls_ca_file=authority.file, tls_client_auth=True, **authority.issue("edge"))
    host = ServiceHost("edge", settings)
    address = host.bind("0.0.0.0", 0)
    assert address.startswith("127.0.0.1:")
    app = App("edge", [], public=True, authenticates=authenticates)
    if authenticates:
        await host.serve(app, "0.0.0.0")
        await host.stop(0)
    else:
        with pytest.raises(ListenError, match="enable authentication"):
            await host.serve(app, "0.0.0.0")


@pytest.mark.parametrize(
    ("credential", "host", "allowed"),
    [
        (None, "127.0.0.1", False),
        (None, "0.0.0.0", False),
        (ServiceCredential.random(), "127.0.0.1", True),
        (ServiceCredential.random(), "0.0.0.0", False),
        (ServiceCredential("s" * 32), "0.0.0.0", True),
    ],
)
async def test_a_stage_listens_only_where_it_can_tell_services_from_anybody_else(
    credential: ServiceCredential | None, host: str, allowed: bool
) -> None:
    stage = ServiceHost("stage", KitSettings(), credential)
    stage.bind(host, 0)
    if allowed:
        await stage.serve(App("stage", []), host)
        await stage.stop(0)
    else:
        with pytest.raises(ListenError, match="FOOTNOTE_SERVICE_TOKEN"):
            await stage.serve(App("stage", []), host)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("[::1]", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("example.org", False)],
)  # fmt: skip
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


async def test_stopping_lets_calls_finish_then_closes_in_order() -> None:
    order: list[str] = []
    running, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: Any, __: Any) -> Answer:
        running.set()
        await go_on.wait()
        order.append("answered")
        return Answer(name="done")

    async def first() -> None:
        order.append(f"first {context.current_service()}")
        raise RuntimeError("the second must run nevertheless")

    async def second() -> None:
        order.append("second")

    async def started() -> None:
        order.append(f"started {context.current_service()}")

    app = SampleService(unary=slow).app(start=(started,), close=(first, second))
    async with serve_app(app) as served:
        stub = SampleStub(served.channel)
        call = asyncio.ensure_future(stub.unary(ASK))
        await running.wait()
        await served.host.drain()
        stopping = asyncio.create_task(served.host.stop(5))
        await asyncio.sleep(0)
        go_on.set()
        assert (await call).name == "done"
        await stopping
        with pytest.raises(Unavailable) as caught:
            await stub.unary(ASK)
        assert caught.value.message == "The sample service does not answer"
    assert order[:4] == ["started sample", "answered", "first sample", "second"]


async def test_a_look_at_dependencies_that_swallows_its_cancellation_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("footnote_kit.server._POLLER_SECONDS", 3600)
    looking, looks = asyncio.Event(), 0

    async def ready() -> str | None:
        nonlocal looks
        looks += 1
        looking.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return None  # as asyncio.wait_for did before Python 3.12 when its result came at the same moment
        raise AssertionError("unreachable")

    host = ServiceHost("stubborn", KitSettings(ready_interval=0.01), CREDENTIAL)
    host.bind("127.0.0.1", 0)
    await host.serve(App("stubborn", [], ready=ready), "127.0.0.1")
    await host.started()
    await looking.wait()
    async with asyncio.timeout(60):
        await host.drain()
    assert not host.ready.is_set(), "a look that ends in the drain does not make the service ready"
    await host.stop(0)
    assert looks == 1


async def test_a_look_at_dependencies_that_never_lets_go_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("footnote_kit.server._POLLER_SECONDS", 0.05)
    looking, let_go = asyncio.Event(), asyncio.Event()

    async def ready() -> str | None:
        looking.set()
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        return None

    host = ServiceHost("stubborn", KitSettings(), CREDENTIAL)
    host.bind("127.0.0.1", 0)
    await host.serve(App("stubborn", [], ready=ready), "127.0.0.1")
    await host.started()
    await looking.wait()
    async with asyncio.timeout(60):
        await host.drain()
    let_go.set()
    await host.stop(0)


async def test_watches_end_when_the_service_stops_and_say_so() -> None:
    cleaned = asyncio.Queue[str]()

    async def watch(request: Ask, __: Any) -> AsyncIterator[Answer]:
        try:
            yield Answer(name="now")
            await asyncio.Event().wait()
        finally:
            cleaned.put_nowait(request.trace_id)

    async def next_of(call: Any) -> str:
        name: str = (await anext(aiter(call))).name
        return name

    async with serve_app(SampleService(watch=watch).app(), grace_seconds=3600) as served:
        stub = SampleStub(served.channel)
        left, kept = stub.watch(Ask(scope=SCOPE, trace_id="left")), stub.watch(Ask(scope=SCOPE, trace_id="kept"))
        assert await next_of(left) == await next_of(kept) == "now"
        left.cancel()
        assert await asyncio.wait_for(cleaned.get(), 60) == "left"
        await served.host.drain()
        with pytest.raises(Unavailable) as caught:
            await next_of(kept)
        assert caught.value.reason == "SHUTTING_DOWN"
        assert await asyncio.wait_for(cleaned.get(), 60) == "kept"
        with pytest.raises(Unavailable) as late:
            await next_of(stub.watch(ASK))
        assert late.value.reason == "SHUTTING_DOWN"
        async with asyncio.timeout(60):
            await served.host.stop(3600)


async def test_too_many_calls_are_refused_not_queued_for_ever() -> None:
    gate, running = asyncio.Event(), asyncio.Event()

    async def hold(_: Any, __: Any) -> Answer:
        running.set()
        await gate.wait()
        return Answer()

    async with serve_app(SampleService(unary=hold).app(), max_concurrent_calls=1) as served:
        stub = SampleStub(served.channel)
        first = asyncio.ensure_future(stub.unary(ASK))
        await running.wait()
        with pytest.raises(ResourceExhausted) as caught:
            await stub.unary(ASK)
        assert caught.value.reason == "RATE_LIMITED"
        gate.set()
        await first


async def test_a_message_above_the_limit_is_refused() -> None:
    async with serve_app(SampleService(unary=fine).app(), max_message_bytes=1000) as served:
        with pytest.raises(Internal, match="too large"):
            await SampleStub(served.channel).unary(Ask(scope=SCOPE, trace_id="x" * 2000))


async def test_plain_clients_get_plain_grpc() -> None:
    async with serve_app(SampleService(unary=fine).app()) as served, grpc.aio.insecure_channel(served.address) as plain:
        metadata = (proof_of("sample"),)
        assert (await SampleStub(plain).unary(ASK, metadata=metadata)).name == "fine"
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await SampleStub(plain).stream(ASK, metadata=metadata).read()
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_who_connects_and_says_nothing_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("footnote_kit.server._GREETING_MS", 500)
    async with serve_app(App("shy", [])) as served:
        reader, writer = await asyncio.open_connection(*served.address.split(":"))
        async with asyncio.timeout(30):
            await reader.read()  # its greeting, and then the end
        writer.close()


@pytest.mark.slow
async def test_connections_and_calls_on_each_are_counted() -> None:
    async def watch(_: Ask, __: Any) -> AsyncIterator[Answer]:
        yield Answer(name="now")
        await asyncio.Event().wait()

    def alone(address: str) -> grpc.aio.Channel:
        return grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])

    proof = (proof_of("sample"),)
    app = SampleService(unary=fine, watch=watch).app()
    async with serve_app(app, max_connections=3, max_streams_per_connection=2) as served:
        channels = [alone(served.address) for _ in range(3)]
        for channel in channels:
            assert (await SampleStub(channel).unary(ASK, metadata=proof)).name == "fine"
        late = alone(served.address)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await SampleStub(late).unary(ASK, metadata=proof, timeout=1)
        assert caught.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
        watches = [SampleStub(channels[0]).watch(ASK, metadata=proof) for _ in range(3)]
        begun = [asyncio.ensure_future(one.read()) for one in watches]
        await asyncio.wait(begun, timeout=2)
        assert sum(one.done() for one in begun) == 2
        for one in watches:
            one.cancel()
        await asyncio.gather(*begun, return_exceptions=True)
        for channel in (*channels, late):
            await channel.close()


async def test_a_call_is_refused_before_its_messages_are_read() -> None:
    async def admit(method: str, headers: Any) -> None:
        if headers.get("x-may") != "yes":
            raise Unavailable(f"{method} is not for you")

    app = SampleService(unary=fine).app()
    app.admit = admit
    async with serve_app(app) as served:
        assert (await SampleStub(served.channel).unary(ASK, metadata=(("x-may", "yes"),))).name == "fine"
        # A message that cannot be read: whoever tried would say so.
        plain = grpc.aio.insecure_channel(served.address)
        call = plain.unary_unary("/footnote.sample.v1.SampleService/Unary", request_serializer=lambda text: text)
        with pytest.raises(grpc.aio.AioRpcError, match="is not for you"):
            await call(b"\xff" * 1000, timeout=20)
        await plain.close()


async def test_a_stream_outlives_the_age_of_its_connection_by_more_than_the_callers_default() -> None:
    async def slow(_: Any, __: Any) -> AsyncIterator[Answer]:
        for _ in range(4):
            yield Answer(name="fine")
            await asyncio.sleep(1)

    app = SampleService(stream=slow).app()
    async with serve_app(app, max_connection_age=1, stream_timeout=1) as served:
        answers = [one async for one in SampleStub(served.channel).stream(ASK, timeout=60)]
    assert len(answers) == 4
