import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from footnote_kit import context, errors, logs
from footnote_kit.app import App
from footnote_kit.errors import FootnoteError, Internal, InvalidArgument, NotFound, Unauthenticated
from footnote_kit.settings import KitSettings
from footnote_kit.status import from_rpc_error
from footnote_kit.testing import SCOPE, proof_of, serve_app
from support.doubles.services import SERVICE, Answer, Ask, SampleService, SampleStub

ASK = Ask(scope=SCOPE, trace_id="hello")


async def echo(request: Ask, _: Any) -> Answer:
    scope = context.current_scope()
    assert scope is not None
    return Answer(name=f"{request.trace_id} {scope.tenant_id}/{scope.user_id} {context.current_service()}")


async def two(request: Ask, _: Any) -> AsyncIterator[Answer]:
    yield Answer(name="1")
    yield Answer(name=request.trace_id)


async def join(requests: AsyncIterator[Ask], _: Any) -> Answer:
    return Answer(name=" ".join([request.trace_id async for request in requests]) + f" {context.request_id()}")


async def upper(requests: AsyncIterator[Ask], _: Any) -> AsyncIterator[Answer]:
    async for request in requests:
        assert context.current_scope() == SCOPE
        yield Answer(name=request.trace_id.upper())


async def asks(*texts: str, scope: Any = SCOPE) -> AsyncIterator[Ask]:
    for number, text in enumerate(texts):
        yield Ask(scope=scope if number == 0 else None, trace_id=text)


async def collect_names(call: Any, into: list[str]) -> None:
    async for answer in call:
        into.append(answer.name)


async def test_all_four_kinds_of_call() -> None:
    async with serve_app(SampleService(unary=echo, stream=two, collect=join, both=upper).app()) as served:
        stub = SampleStub(served.channel)
        assert (await stub.unary(ASK)).name == "hello t/u sample"
        assert [answer.name async for answer in stub.stream(ASK)] == ["1", "hello"]
        context.bind_request_id("r-1")
        assert (await stub.collect(asks("a", "b"))).name == "a b r-1"
        assert [answer.name async for answer in stub.both(asks("a", "b"))] == ["A", "B"]


async def test_streams_by_read_and_write() -> None:
    async with serve_app(SampleService(collect=join, both=upper).app()) as served:
        stub = SampleStub(served.channel)
        call = stub.both()
        await call.write(ASK)
        assert (await call.read()).name == "HELLO"
        await call.write(Ask(trace_id="again"))
        assert (await call.read()).name == "AGAIN"
        await call.done_writing()
        assert await call.read() is grpc.aio.EOF
        upload = stub.collect()
        await upload.write(ASK)
        await upload.done_writing()
        assert (await upload).name.startswith("hello")


@pytest.mark.parametrize(
    "raised",
    [
        InvalidArgument.field("trace_id", "must be shorter"),
        NotFound("No such document", reason="DOCUMENT_NOT_FOUND"),
        errors.ResourceExhausted("Slow down", reason="RATE_LIMITED", retry_after=2.5),
    ],
)
async def test_errors_arrive_as_they_were_raised_in_all_four_kinds(raised: FootnoteError) -> None:
    async def fail(_: Any, __: Any) -> Answer:
        raise raised

    async def fail_late(_: Any, __: Any) -> AsyncIterator[Answer]:
        yield Answer(name="first")
        raise raised

    async with serve_app(SampleService(unary=fail, stream=fail_late, collect=fail, both=fail_late).app()) as served:
        stub = SampleStub(served.channel)
        for call in (stub.unary(ASK), stub.collect(asks("a"))):
            with pytest.raises(type(raised)) as caught:
                await call
            assert vars(caught.value) == vars(raised)
        for call in (stub.stream(ASK), stub.both(asks("a"))):
            got: list[str] = []
            with pytest.raises(type(raised)) as caught:
                await collect_names(call, got)
            assert got == ["first"]
            assert vars(caught.value) == vars(raised)
        reader = stub.both(asks("a"))
        assert (await reader.read()).name == "first"
        with pytest.raises(type(raised)):
            await reader.read()


async def test_an_unforeseen_exception_tells_the_caller_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    async def leak(_: Any, __: Any) -> Answer:
        raise ValueError("password=hunter2 of /etc/secret")

    async def leak_late(_: Any, __: Any) -> AsyncIterator[Answer]:
        yield Answer()
        raise KeyError("password=hunter2")

    logs.configure(KitSettings(log_format="json"))
    async with serve_app(SampleService(unary=leak, stream=leak_late).app()) as served:
        stub = SampleStub(served.channel)
        with pytest.raises(Internal) as caught:
            await stub.unary(ASK)
        with pytest.raises(Internal) as late:
            async for _ in stub.stream(ASK):
                pass
        async with grpc.aio.insecure_channel(served.address) as plain:
            raw = plain.unary_unary(f"/{SERVICE}/Unary", Ask.SerializeToString, Answer.FromString)
            with pytest.raises(grpc.aio.AioRpcError) as wire:
                await raw(ASK, metadata=(proof_of("sample"),))
    for shown in (caught.value.message, late.value.message, str(vars(caught.value)), str(wire.value)):
        assert "hunter2" not in shown
    trailing = b"".join(
        value if isinstance(value, bytes) else value.encode() for _, value in wire.value.trailing_metadata()
    )
    assert b"hunter2" not in trailing
    assert b"Traceback" not in trailing
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    (line,) = [line for line in lines if line.get("request_id") == caught.value.metadata["request_id"]]
    assert line["event"] == "rpc_failed"
    assert line["tenant_id"] == "t"
    assert line["service"] == "sample"
    assert len(line["trace_id"]) == 32
    assert "ValueError" in line["exception"]


async def cancelled() -> None:
    gone = asyncio.get_running_loop().create_future()
    gone.cancel()
    await gone


async def test_what_is_cancelled_inside_a_handler_ends_its_call(capfd: pytest.CaptureFixture[str]) -> None:
    """grpc.aio takes any cancellation for the caller's, and sends no status: the caller would wait for good."""

    async def interrupted(_: Any, __: Any) -> Answer:
        await cancelled()
        raise AssertionError

    async def interrupted_late(_: Any, __: Any) -> AsyncIterator[Answer]:
        yield Answer(name="first")
        await cancelled()

    async def admit(method: str, _: Any) -> None:
        if method.endswith("Watch"):
            await cancelled()

    logs.configure(KitSettings(log_format="json"))
    service = SampleService(
        unary=interrupted, stream=interrupted_late, collect=interrupted, both=interrupted_late, watch=interrupted_late
    )
    async with serve_app(service.app(admit=admit)) as served, asyncio.timeout(10):
        stub = SampleStub(served.channel)
        for call in (stub.unary(ASK), stub.collect(asks("a"))):
            with pytest.raises(Internal):
                await call
        for stream, expected in (
            (stub.stream(ASK), ["first"]),
            (stub.both(asks("a")), ["first"]),
            (stub.watch(ASK), []),
        ):
            got: list[str] = []
            with pytest.raises(Internal):
                await collect_names(stream, got)
            assert got == expected
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    logged = [line["exception"] for line in lines if line["event"] == "rpc_failed"]
    assert len(logged) == 5
    assert all("in cancelled" in one for one in logged), "the log shows what was cancelled"


async def test_a_call_without_scope_never_reaches_the_handler() -> None:
    async def reached(_: Any, __: Any) -> Answer:
        raise AssertionError("reached")

    async with serve_app(SampleService(unary=reached, collect=join).app()) as served:
        stub = SampleStub(served.channel)
        for call in (stub.unary(Ask()), stub.collect(asks("a", scope=None))):
            with pytest.raises(Unauthenticated) as caught:
                await call
            assert caught.value.reason == "SCOPE_MISSING"


async def test_a_stream_that_says_nothing_is_refused() -> None:
    async def silence() -> AsyncIterator[Ask]:
        return
        yield

    async with serve_app(SampleService(collect=join, both=upper).app()) as served:
        stub = SampleStub(served.channel)
        with pytest.raises(Unauthenticated, match="ended before"):
            await stub.collect(silence())
        with pytest.raises(Unauthenticated):
            await stub.both(silence()).read()


async def test_a_handler_that_reads_its_stream_in_another_task_knows_the_scope() -> None:
    async def split(requests: AsyncIterator[Ask], ctx: Any) -> Answer:
        reader = asyncio.create_task(join(requests, ctx))
        await reader
        scope = context.current_scope()
        return Answer(name=scope.tenant_id if scope else "nobody")

    async with serve_app(SampleService(collect=split).app()) as served:
        assert (await SampleStub(served.channel).collect(asks("a", "b"))).name == "t"


async def test_request_ids_are_kept_when_sane_and_made_otherwise() -> None:
    async def say(_: Any, __: Any) -> Answer:
        return Answer(name=context.request_id())

    async with serve_app(SampleService(unary=say).app()) as served, grpc.aio.insecure_channel(served.address) as plain:
        stub, proof = SampleStub(plain), proof_of("sample")
        assert (await stub.unary(ASK, metadata=(("x-request-id", "abc-1"), proof))).name == "abc-1"
        call = stub.unary(ASK, metadata=(("x-request-id", "evil id {}"), proof))
        made = (await call).name
        assert len(made) == 32
        assert ("x-request-id", made) in tuple(await call.trailing_metadata())


async def test_the_deadline_of_the_caller_is_known_to_the_handler_and_carried_on() -> None:
    seen: list[float | None] = []

    async def inner(_: Any, ctx: Any) -> Answer:
        seen.append(context.time_remaining())
        return Answer()

    async with serve_app(SampleService(unary=inner).app(), call_timeout=200) as second:

        async def outer(request: Ask, _: Any) -> Answer:
            return await SampleStub(second.channel).unary(request)

        async with serve_app(SampleService(unary=outer).app()) as first:
            stub = SampleStub(first.channel)
            await stub.unary(ASK, timeout=100)
            await stub.unary(ASK, timeout=5000)
    assert seen[0] is not None
    assert 50 < seen[0] < 101  # gRPC rounds what it sends up
    assert seen[1] is not None
    assert 150 < seen[1] < 201


async def test_a_call_is_not_even_made_when_no_time_is_left() -> None:
    async with serve_app(SampleService(unary=echo).app()) as served:
        context.bind_deadline(0)
        with pytest.raises(errors.DeadlineExceeded):
            await SampleStub(served.channel).unary(ASK)


async def test_expiry_and_cancellation_reach_the_handler_through_two_hops() -> None:
    started, ended = asyncio.Event(), asyncio.Queue[str]()

    async def wait(_: Any, __: Any) -> Answer:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.put_nowait("unary")
            raise
        raise AssertionError

    async def drip(_: Any, __: Any) -> AsyncIterator[Answer]:
        try:
            while True:
                yield Answer(name="drop")
                await asyncio.sleep(0.01)
        finally:
            ended.put_nowait("stream")

    async with serve_app(SampleService(unary=wait, stream=drip).app()) as second:
        inner = SampleStub(second.channel)

        async def pass_on(request: Ask, _: Any) -> Answer:
            return await inner.unary(request)

        async def pass_on_stream(request: Ask, _: Any) -> AsyncIterator[Answer]:
            async for answer in inner.stream(request):
                yield answer

        async with serve_app(SampleService(unary=pass_on, stream=pass_on_stream).app()) as first:
            stub = SampleStub(first.channel)
            task = asyncio.ensure_future(stub.unary(ASK))
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.wait_for(ended.get(), 60) == "unary"

            async for answer in stub.stream(ASK):
                assert answer.name == "drop"
                break  # leaving the loop is enough
            assert await asyncio.wait_for(ended.get(), 60) == "stream"

            call = stub.stream(ASK)
            await anext(aiter(call))
            call.cancel()
            assert await asyncio.wait_for(ended.get(), 60) == "stream"

            # Last, when all is connected, so that the call gets there before its time is over.
            with pytest.raises(errors.DeadlineExceeded):
                await stub.unary(ASK, timeout=1)
            assert await asyncio.wait_for(ended.get(), 60) == "unary"


async def test_the_exception_of_a_request_iterator_comes_out_as_itself() -> None:
    async def broken() -> AsyncIterator[Ask]:
        yield ASK
        raise FileNotFoundError("gone.pdf")

    async with serve_app(SampleService(collect=join, both=upper).app()) as served:
        stub = SampleStub(served.channel)
        with pytest.raises(FileNotFoundError, match=r"gone\.pdf"):
            await stub.collect(broken())
        with pytest.raises(FileNotFoundError):
            async for _ in stub.both(broken()):
                pass


async def test_writing_to_a_call_that_has_failed_says_why() -> None:
    async def refuse(requests: AsyncIterator[Ask], _: Any) -> Answer:
        raise errors.InvalidArgument("Too large", reason="FILE_TOO_LARGE")

    async with serve_app(SampleService(collect=refuse).app()) as served:
        call = SampleStub(served.channel).collect()

        async def write_on() -> None:
            for _ in range(10_000):
                await call.write(ASK)

        with pytest.raises(InvalidArgument) as caught:
            await write_on()
        assert caught.value.reason == "FILE_TOO_LARGE"

        async def endless() -> AsyncIterator[Ask]:
            while True:
                yield ASK

        with pytest.raises(InvalidArgument) as caught:
            await SampleStub(served.channel).collect(endless())
        assert caught.value.reason == "FILE_TOO_LARGE"


async def test_a_streaming_handler_must_be_an_async_generator() -> None:
    async def writes(_: Any, ctx: Any) -> None:
        await ctx.write(Answer())

    async with serve_app(SampleService(stream=writes).app()) as served:
        with pytest.raises(FootnoteError):
            async for _ in SampleStub(served.channel).stream(ASK):
                pass


@pytest.mark.parametrize(
    ("inner", "kind"),
    [
        ([NotFound("gone", reason="DOCUMENT_NOT_FOUND")], NotFound),
        ([NotFound("gone", reason="DOCUMENT_NOT_FOUND"), ValueError("hunter2")], Internal),
        ([ExceptionGroup("nested", [errors.Unavailable("later")])], errors.Unavailable),
    ],
)
async def test_a_group_of_errors_is_shown_as_the_worst_of_them(inner: list[Exception], kind: type[Exception]) -> None:
    async def fail(_: Any, __: Any) -> Answer:
        raise ExceptionGroup("tasks", inner)

    async with serve_app(SampleService(unary=fail).app()) as served:
        with pytest.raises(kind) as caught:
            await SampleStub(served.channel).unary(ASK)
        assert "hunter2" not in str(caught.value)


async def test_a_handler_may_abort_by_itself() -> None:
    async def abort(_: Any, ctx: Any) -> Answer:
        await ctx.abort(grpc.StatusCode.OUT_OF_RANGE, "past the end")
        raise AssertionError

    async with serve_app(SampleService(unary=abort).app()) as served:
        with pytest.raises(InvalidArgument, match="past the end"):
            await SampleStub(served.channel).unary(ASK)


async def test_a_handler_that_answers_nothing_is_our_fault() -> None:
    async def nothing(_: Any, __: Any) -> None:
        return None

    async with serve_app(SampleService(unary=nothing).app()) as served:
        with pytest.raises(Internal):
            await SampleStub(served.channel).unary(ASK)


async def test_a_response_can_be_awaited_again() -> None:
    async with serve_app(SampleService(unary=echo).app()) as served:
        call = SampleStub(served.channel).unary(ASK)
        assert await call == await call
        assert await call.code() is grpc.StatusCode.OK
        assert call.done()
        assert not call.cancelled()


@pytest.mark.slow
async def test_five_hundred_calls_at_once() -> None:
    async with serve_app(SampleService(unary=echo).app()) as served:
        stub = SampleStub(served.channel)
        answers = await asyncio.gather(*(stub.unary(ASK) for _ in range(500)))
    assert {answer.name for answer in answers} == {"hello t/u sample"}


def test_an_app_is_ready_by_default() -> None:
    assert asyncio.run(App("x", []).ready()) is None


async def test_a_slow_call_is_logged_a_quick_one_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(KitSettings(log_format="json"))
    for least in (1e-9, 3600):  # any call is slow by the first, none by the second
        async with serve_app(SampleService(unary=echo).app(), slow_call_seconds=least) as served:
            await SampleStub(served.channel).unary(ASK)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    assert [line["ms"] > 0 for line in lines if line["event"] == "rpc_slow"] == [True]


async def raw(served: Any, kind: str, *messages: bytes) -> FootnoteError:
    """Call with bytes that no stub would send; return how it fails."""

    async def stream() -> AsyncIterator[bytes]:
        for message in messages:
            yield message

    streams = kind in ("Collect", "Both")
    make = {"Unary": "unary_unary", "Stream": "unary_stream", "Collect": "stream_unary", "Both": "stream_stream"}[kind]
    options = [("grpc.max_send_message_length", -1)]
    async with grpc.aio.insecure_channel(served.address, options=options) as channel:
        call = getattr(channel, make)(f"/{SERVICE}/{kind}", lambda data: data, Answer.FromString)
        begun = call(stream() if streams else messages[0], metadata=(proof_of("sample"),), timeout=30)
        try:
            if kind in ("Stream", "Both"):
                async for _ in begun:
                    pass
            else:
                await begun
        except grpc.aio.AioRpcError as error:
            return from_rpc_error(error, "sample")
    raise AssertionError("it was answered")


@pytest.mark.parametrize("kind", ["Unary", "Stream", "Collect", "Both"])
async def test_messages_that_are_too_long_or_broken_are_refused_with_details(kind: str) -> None:
    app = SampleService(unary=echo, stream=two, collect=join, both=upper).app()
    fine = ASK.SerializeToString()
    async with serve_app(app, settings=KitSettings(max_message_bytes=1000)) as served:
        long = Ask(scope=SCOPE, trace_id="a" * 1500).SerializeToString()
        for first in ([], [fine]) if kind in ("Collect", "Both") else ([],):
            error = await raw(served, kind, *first, long)
            assert (type(error), error.reason) == (InvalidArgument, "REQUEST_TOO_LARGE")
            assert error.metadata == {"max_bytes": "1000"}
            broken = await raw(served, kind, *first, b"\xff\xff")
            assert (type(broken), broken.reason) == (InvalidArgument, "INVALID_FIELD")
