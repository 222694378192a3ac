import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.telemetry.v1.telemetry_service_pb2 import GetTraceRequest, TraceSpan
from footnote.telemetry.v1.telemetry_service_pb2_grpc import TelemetryServiceStub
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_SYSTEM, ROLE_WRITER
from footnote_kit import context, names, telemetry
from footnote_kit.app import App
from footnote_kit.errors import InvalidArgument, NotFound, PermissionDenied
from footnote_kit.testing import SCOPE, proof_of, serve_app
from footnote_kit.trace_buffer import MAX_SPANS, MAX_TENANTS, MAX_TRACE_BYTES, TraceBuffer
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext, TraceFlags
from support.doubles.services import SERVICE, Answer, Ask, SampleService, SampleStub

ASK = Ask(scope=SCOPE)


async def trace_of(served: Any, trace_id: str, scope: Scope = SCOPE) -> list[TraceSpan]:
    response = await TelemetryServiceStub(served.channel).GetTrace(GetTraceRequest(scope=scope, trace_id=trace_id))
    return list(response.spans)


def by(spans: list[TraceSpan], name: str, service: str) -> TraceSpan:
    (found,) = [span for span in spans if span.name == name and span.service == service]
    return found


async def test_one_trace_across_two_services_in_one_process() -> None:
    async def search(_: Any, __: Any) -> Answer:
        with telemetry.span("milvus search", {names.DB_SYSTEM: "milvus"}):
            await asyncio.sleep(0)
        return Answer(name=telemetry.current_trace_id())

    async with serve_app(SampleService(unary=search).app("retrieval")) as second:

        async def ask(request: Ask, _: Any) -> Answer:
            with telemetry.span("plan"):
                return await SampleStub(second.channel).unary(request)

        async with serve_app(SampleService(unary=ask).app("edge")) as first:
            trace_id = (await SampleStub(first.channel).unary(ASK)).name
            spans = await trace_of(first, trace_id)
    rpc = f"{SERVICE}/Unary"
    plan = by(spans, "plan", "footnote-edge")
    edge = [span for span in spans if span.name == rpc and span.service == "footnote-edge"]
    served, called = sorted(edge, key=lambda span: span.start_time.ToNanoseconds())
    retrieval = by(spans, rpc, "footnote-retrieval")
    milvus = by(spans, "milvus search", "footnote-retrieval")
    assert plan.parent_span_id == served.span_id
    assert called.parent_span_id == plan.span_id
    assert retrieval.parent_span_id == called.span_id
    assert milvus.parent_span_id == retrieval.span_id
    assert dict(milvus.attributes.items())[names.DB_SYSTEM] == "milvus"
    assert dict(retrieval.attributes.items())[names.RPC_METHOD] == rpc
    assert dict(retrieval.attributes.items())[names.RPC_STATUS_CODE] == "OK"
    assert {dict(span.attributes.items()).get(names.TENANT_ID) for span in spans if span.service != "footnote"} == {"t"}


async def test_concurrent_calls_do_not_share_their_traces() -> None:
    gate = asyncio.Barrier(5)

    async def wait(_: Any, __: Any) -> Answer:
        await gate.wait()
        with telemetry.span("inner"):
            return Answer(name=telemetry.current_trace_id())

    async with serve_app(SampleService(unary=wait).app()) as served:
        stub = SampleStub(served.channel)
        ids = {answer.name for answer in await asyncio.gather(*(stub.unary(ASK) for _ in range(5)))}
        assert len(ids) == 5
        for trace_id in ids:
            assert len([span for span in await trace_of(served, trace_id) if span.name == "inner"]) == 1


async def test_a_failed_call_is_marked_without_foreign_texts() -> None:
    trace_ids: list[str] = []

    async def fail(_: Any, __: Any) -> Answer:
        trace_ids.append(telemetry.current_trace_id())
        with telemetry.span("deep"):
            raise ValueError("hunter2")

    async with serve_app(SampleService(unary=fail).app()) as served:
        with pytest.raises(Exception, match="Internal error"):
            await SampleStub(served.channel).unary(ASK)
        spans = await trace_of(served, trace_ids[0])
    assert "hunter2" not in str(spans)
    assert by(spans, "deep", "footnote-sample").error == "ValueError"
    assert (
        dict(by(spans, f"{SERVICE}/Unary", "footnote-sample").attributes.items())[names.RPC_STATUS_CODE] == "INTERNAL"
    )


async def test_a_trace_is_shown_to_its_tenant_only() -> None:
    async def say(_: Any, __: Any) -> Answer:
        return Answer(name=telemetry.current_trace_id())

    stranger = Scope(tenant_id="other", user_id="u", roles=[ROLE_READER])
    async with serve_app(SampleService(unary=say).app()) as served:
        stub = SampleStub(served.channel)
        trace_id = (await stub.unary(ASK)).name
        assert await trace_of(served, trace_id)
        with pytest.raises(NotFound) as caught:
            await trace_of(served, trace_id, stranger)
        assert caught.value.reason == "TRACE_NOT_FOUND"
        # A stranger who joins the trace by its id sees its own spans, and takes nothing from the other.
        parent = f"00-{trace_id}-00f067aa0ba902b7-01"
        async with grpc.aio.insecure_channel(served.address) as plain:
            metadata = (("traceparent", parent), proof_of("sample", scope=stranger))
            await SampleStub(plain).unary(Ask(scope=stranger), metadata=metadata)
        for scope in (SCOPE, stranger):
            tenants = {
                dict(span.attributes.items()).get(names.TENANT_ID) for span in await trace_of(served, trace_id, scope)
            }
            assert tenants == {scope.tenant_id}


@pytest.mark.parametrize("trace_id", ["", "0" * 32, "xyz", "g" * 32, "a" * 31])
async def test_a_trace_id_must_be_one(trace_id: str) -> None:
    async with serve_app(App("empty", [])) as served:
        with pytest.raises(InvalidArgument):
            await trace_of(served, trace_id)


async def test_a_trace_is_shown_to_the_user_who_made_it_and_to_admins() -> None:
    async def say(_: Any, __: Any) -> Answer:
        with telemetry.span("inner"):
            return Answer(name=telemetry.current_trace_id())

    def user(name: str, role: Any = ROLE_READER) -> Scope:
        return Scope(tenant_id="t", user_id=name, roles=[role])

    ann, ben, chief, foreign = user("ann"), user("ben"), user("c", ROLE_ADMIN), Scope(tenant_id="x", user_id="ann")
    async with serve_app(SampleService(unary=say).app()) as served:
        trace_id = (await SampleStub(served.channel).unary(Ask(scope=ann))).name
        for scope in (ann, chief, user("s", ROLE_SYSTEM)):
            # Its inner span, and those of the call at both ends: this test's own is of nobody.
            assert len(await trace_of(served, trace_id, scope)) == 3
        for scope in (ben, user("ben", ROLE_WRITER), foreign):
            with pytest.raises(NotFound):
                await trace_of(served, trace_id, scope)
        # Who joins the trace by its id sees its own spans alone.
        metadata = (("traceparent", f"00-{trace_id}-00f067aa0ba902b7-01"),)
        await SampleStub(served.channel).unary(Ask(scope=ben), metadata=metadata)
        for scope in (ann, ben):
            spans = await trace_of(served, trace_id, scope)
            assert [dict(span.attributes.items()).get(names.USER_ID) for span in spans] == [scope.user_id] * 2
        assert len(await trace_of(served, trace_id, chief)) == 5


def test_the_spans_of_a_job_belong_to_the_user_whose_work_it_is() -> None:
    ann = Scope(tenant_id="t", user_id="ann")
    with context.detached("edge", ann), telemetry.span("process document", {names.TENANT_ID: "t"}):
        trace_id = int(telemetry.current_trace_id(), 16)
    assert telemetry.ring.spans(trace_id, "t", "ann")
    assert not telemetry.ring.spans(trace_id, "t", "ben")


def span_of(trace_id: int, tenant: str | None = "t", text: str = "") -> ReadableSpan:
    attributes = {"text": text} if tenant is None else {names.TENANT_ID: tenant, "text": text}
    return ReadableSpan(
        "s", context=SpanContext(trace_id, 1, False, TraceFlags(1)), attributes=attributes, start_time=1
    )


@pytest.mark.slow
def test_the_ring_keeps_the_last_traces_and_bounds_each() -> None:
    ring = TraceBuffer(keep=2)
    for trace_id in (1, 2, 3):
        ring.on_end(span_of(trace_id))
    assert [len(ring.spans(trace_id, "t")) for trace_id in (1, 2, 3)] == [0, 1, 1]
    for _ in range(MAX_SPANS + 5):
        ring.on_end(span_of(3))
    assert len(ring.spans(3, "t")) == MAX_SPANS
    for _ in range(MAX_SPANS):
        ring.on_end(span_of(4, text="x" * 100_000))
    assert len(ring.spans(4, "t")) * 100_000 <= MAX_TRACE_BYTES
    off = TraceBuffer(keep=0)
    off.on_end(span_of(1))
    assert off.spans(1, "t") == []


def test_one_tenants_load_does_not_push_out_anothers_traces() -> None:
    ring = TraceBuffer(keep=3)
    ring.on_end(span_of(1, "quiet"))
    for trace_id in range(2, 500):
        ring.on_end(span_of(trace_id, "loud"))
        ring.on_end(span_of(trace_id + 1000, None))  # strangers, refused before anybody knew them
    assert len(ring.spans(1, "quiet")) == 1
    assert [trace_id for trace_id in range(2, 500) if ring.spans(trace_id, "loud")] == [497, 498, 499]


def test_where_memory_gets_short_whoever_takes_most_of_it_loses_the_oldest() -> None:
    ring = TraceBuffer(keep=1000, max_bytes=100_000)
    ring.on_end(span_of(1, "quiet", "x" * 5000))
    for trace_id in range(2, 300):
        ring.on_end(span_of(trace_id, "loud", "x" * 5000))
    assert ring.spans(1, "quiet")
    kept = [trace_id for trace_id in range(2, 300) if ring.spans(trace_id, "loud")]
    assert kept == list(range(300 - len(kept), 300))
    assert 10 < len(kept) < 20


@pytest.mark.slow
def test_of_many_tenants_the_idle_ones_go() -> None:
    ring = TraceBuffer()
    for number in range(MAX_TENANTS + 10):
        ring.on_end(span_of(1, f"t{number}"))
        ring.on_end(span_of(1, "t0"))
    assert ring.spans(1, "t0")
    assert not ring.spans(1, "t1")
    assert ring.spans(1, f"t{MAX_TENANTS + 9}")


def test_spans_of_nobody_go_to_the_only_tenant() -> None:
    ring = TraceBuffer()
    ring.on_end(span_of(1, None))
    assert ring.spans(1, "t") == []
    ring.on_end(span_of(1, "t"))
    assert len(ring.spans(1, "t")) == 2
    ring.on_end(span_of(1, "x"))
    assert len(ring.spans(1, "t")) == len(ring.spans(1, "x")) == 1


def test_a_job_links_to_the_upload_that_caused_it() -> None:
    with telemetry.span("upload"):
        kept = telemetry.current_traceparent()
        upload = telemetry.current_trace_id()
    origin = telemetry.remote_context(kept)
    assert origin is not None
    with context.detached("edge", SCOPE), telemetry.span("job", links=(origin,)) as job:
        trace_id = telemetry.current_trace_id()
        assert job.get_span_context().trace_id != origin.trace_id
    assert trace_id != upload
    (found,) = telemetry.ring.spans(int(trace_id, 16), "t")
    assert [link.context.trace_id for link in found.links] == [int(upload, 16)]
    assert telemetry.remote_context("nonsense") is None
    assert telemetry.current_traceparent() == ""


def test_detached_work_begins_its_own_trace_inside_another() -> None:
    with telemetry.span("request"):
        request = telemetry.current_trace_id()
        with context.detached("edge", SCOPE):
            assert telemetry.current_trace_id() == ""
            assert context.current_service() == "edge"
            assert context.time_remaining() is None
            with telemetry.span("job"):
                assert telemetry.current_trace_id() not in ("", request)
        assert telemetry.current_trace_id() == request
        assert context.current_scope() is None


async def test_a_caller_that_traces_by_itself_is_followed() -> None:
    async def say(_: Any, __: Any) -> Answer:
        return Answer(name=telemetry.current_trace_id())

    async with serve_app(SampleService(unary=say).app()) as served:
        metadata = (("traceparent", f"00-{'ab' * 16}-{'cd' * 8}-01"),)
        assert (await SampleStub(served.channel).unary(ASK, metadata=metadata)).name == "ab" * 16
        (only,) = await trace_of(served, "ab" * 16)
        assert only.parent_span_id == "cd" * 8


async def test_looking_at_traces_makes_none() -> None:
    async with serve_app(App("empty", [])) as served:
        before = telemetry.ring._size
        with pytest.raises(NotFound):
            await trace_of(served, "ab" * 15 + "00")
        assert telemetry.ring._size <= before  # old ones may leave meanwhile


async def test_a_stranger_leaves_no_span() -> None:
    async def fine(_: Any, __: Any) -> Answer:
        return Answer()

    async with serve_app(SampleService(unary=fine).app()) as served, grpc.aio.insecure_channel(served.address) as plain:
        before = telemetry.ring._size
        for kind in (SampleStub(plain).unary, TelemetryServiceStub(plain).GetTrace):
            with pytest.raises(grpc.aio.AioRpcError):
                await kind(GetTraceRequest(scope=SCOPE), metadata=(("traceparent", f"00-{'ab' * 16}-{'cd' * 8}-01"),))
        assert telemetry.ring._size == before


async def test_a_call_that_is_not_to_be_traced_leaves_no_span() -> None:
    async def fine(request: Ask, _: Any) -> Answer:
        return Answer(name=telemetry.current_trace_id())

    async with serve_app(SampleService(unary=fine).app()) as served:
        stub = SampleStub(served.channel)
        seen = await stub.unary(ASK)
        unseen = await stub.unary(ASK, metadata=telemetry.untraced())
    assert telemetry.ring.spans(int(seen.name, 16), SCOPE.tenant_id)
    assert not telemetry.ring.spans(int(unseen.name, 16), SCOPE.tenant_id)


def test_a_span_carries_the_reason_of_our_errors() -> None:
    context.bind_scope(SCOPE)
    seen: list[str] = []

    def refuse() -> None:
        with telemetry.span("x"):
            seen.append(telemetry.current_trace_id())
            raise PermissionDenied("Only writers may upload")

    with pytest.raises(PermissionDenied):
        refuse()
    (trace_id,) = seen
    (found,) = telemetry.ring.spans(int(trace_id, 16), "t")
    assert found.status.description == "PERMISSION_DENIED", "a message may quote a document"
    assert (found.attributes or {})[names.ERROR_REASON] == "PERMISSION_DENIED"
    assert found.events == ()


def test_contents_are_recorded_only_where_that_is_wanted() -> None:
    context.bind_scope(SCOPE)
    recorded = []
    for wanted in (False, True):
        telemetry.capture_content(wanted)
        try:
            with telemetry.span("chat"):
                trace_id = telemetry.current_trace_id()
                telemetry.record_content(names.GEN_AI_INPUT_MESSAGES, "x" * (telemetry.MAX_CONTENT + 1))
        finally:
            telemetry.capture_content(False)
        (found,) = telemetry.ring.spans(int(trace_id, 16), "t")
        recorded.append((found.attributes or {}).get(names.GEN_AI_INPUT_MESSAGES))
    assert recorded == [None, "x" * telemetry.MAX_CONTENT]


async def test_a_stream_that_is_left_ends_its_span_without_a_complaint(caplog: pytest.LogCaptureFixture) -> None:
    async def stream() -> AsyncIterator[str]:
        with telemetry.span("stream"):
            yield telemetry.current_trace_id()

    with context.detached("edge", SCOPE):
        left = stream()
        trace_id = await asyncio.create_task(anext(left))
        await asyncio.create_task(left.aclose())  # as the event loop does with what nobody reads any more
    assert [span.name for span in telemetry.ring.spans(int(trace_id, 16), SCOPE.tenant_id)] == ["stream"]
    assert not caplog.records


def test_metrics_are_registered_by_name() -> None:
    telemetry.counter("footnote.edge.asks").add(1)
    telemetry.histogram(names.RPC_SERVER_DURATION).record(0.1)
    with pytest.raises(KeyError):
        telemetry.counter("footnote.misspelt")
