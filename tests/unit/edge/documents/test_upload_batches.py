"""Uploads that come during calls share the next one; each caller gets its own outcome."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextvars import ContextVar, copy_context

import pytest
from footnote.edge.v1.documents_pb2 import UploadMetadata
from footnote.ingestion.v1.ingestion_service_pb2 import UploadDocumentResponse
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_edge.documents.many_uploads import Outcome, WholeFile
from footnote_edge.documents.upload_batches import MOST_SHARED_BYTES as MOST
from footnote_edge.documents.upload_batches import UploadBatches
from footnote_kit import telemetry
from footnote_kit.context import bind_deadline, current_scope, time_remaining
from footnote_kit.errors import InvalidArgument, Unavailable

SCOPE, OTHER = Scope(tenant_id="acme", user_id="ann"), Scope(tenant_id="other", user_id="bob")

OF_THE_CALLER: ContextVar[str] = ContextVar("of_the_caller", default="")


class Many:
    """Notes each call, and ends it when the test says so."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[str]]] = []
        self.go_on = asyncio.Event()
        self.fails = False
        self.contexts: list[tuple[Scope | None, float | None]] = []
        self.callers: list[str] = []
        self.traces: list[str] = []
        self.origins: list[Mapping[str, str] | None] = []

    async def upload(self, scope: Scope, files: Sequence[WholeFile]) -> list[Outcome]:
        names = [one.metadata.filename for one in files]
        self.calls.append((scope.tenant_id, names))
        self.contexts.append((current_scope(), time_remaining()))
        self.callers.append(OF_THE_CALLER.get())
        self.traces.append(telemetry.current_trace_id())
        self.origins += [one.origin for one in files]
        await self.go_on.wait()
        if self.fails:
            raise Unavailable("away")
        return [
            InvalidArgument("bad", reason="FILE_CORRUPT")
            if name == "bad"
            else UploadDocumentResponse(document=Document(id=name))
            for name in names
        ]


class Documents:
    """Notes what is received and what is streamed."""

    def __init__(self) -> None:
        self.charged = 0
        self.streamed: list[tuple[str, list[int], Mapping[str, str] | None]] = []

    async def metered(self, scope: Scope, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for part in parts:
            self.charged += len(part)
            yield part

    async def upload(
        self, scope: Scope, metadata: UploadMetadata, parts: AsyncIterator[bytes], origin: Mapping[str, str] | None
    ) -> UploadDocumentResponse:
        self.streamed.append((metadata.filename, [len(part) async for part in parts], origin))
        return UploadDocumentResponse(document=Document(id=metadata.filename))


async def parts_of(*sizes: int) -> AsyncIterator[bytes]:
    for size in sizes:
        yield b"x" * size


def batching(many: Many) -> UploadBatches:
    return UploadBatches(Documents(), many)  # type: ignore[arg-type]


async def full(batches: UploadBatches, many: Many) -> list[asyncio.Task[UploadDocumentResponse]]:
    """Begin as many calls as may be under way at once."""
    before = len(many.calls)
    tasks = [asyncio.create_task(batches.upload(SCOPE, file(name))) for name in ("first", "second")]
    await begun(many, before + 2)
    return tasks


def file(name: str, size: int = 10, request_id: str = "") -> WholeFile:
    return WholeFile(UploadMetadata(collection="c", filename=name, request_id=request_id), b"x" * size)


async def begun(many: Many, calls: int = 1) -> None:
    for _ in range(1000):
        if len(many.calls) == calls:
            return
        await asyncio.sleep(0)
    raise AssertionError("it does not come to that")


async def test_what_comes_during_two_calls_shares_the_next_one() -> None:
    many = Many()
    batches = batching(many)
    alone = await full(batches, many)
    names = [f"f{number}" for number in range(100)]
    more = [asyncio.create_task(batches.upload(SCOPE, file(name))) for name in names]
    other = asyncio.create_task(batches.upload(OTHER, file("other")))
    await begun(many, 3)
    many.go_on.set()
    ids = ["first", "second", *names, "other"]
    assert [(await one).document.id for one in (*alone, *more, other)] == ids
    assert many.calls == [
        ("acme", ["first"]), ("acme", ["second"]), ("other", ["other"]), ("acme", names[:64]), ("acme", names[64:]),
    ]  # fmt: skip


async def test_a_slow_file_does_not_hold_up_the_others() -> None:
    many = Many()
    batches = batching(many)
    slow = asyncio.create_task(batches.upload(SCOPE, file("slow")))
    await begun(many)
    held, many.go_on = many.go_on, asyncio.Event()
    many.go_on.set()
    outcomes = await asyncio.gather(*(batches.upload(SCOPE, file(f"f{number}")) for number in range(5)))
    assert [one.document.id for one in outcomes] == [f"f{number}" for number in range(5)]
    assert not slow.done()
    held.set()
    assert (await slow).document.id == "slow"


async def test_calls_are_bounded_by_bytes_and_hold_each_request_once() -> None:
    many = Many()
    batches = batching(many)
    tasks = await full(batches, many)
    files = [file("a", 2**21, "r1"), file("b", 2**21, "r2"), file("c", 10, "r3"), file("d", 10, "r3"), file("e", 10)]
    tasks += [asyncio.create_task(batches.upload(SCOPE, one)) for one in files]
    await asyncio.sleep(0)
    many.go_on.set()
    await asyncio.gather(*tasks)
    assert [names for _, names in many.calls[2:]] == [["a"], ["b", "c"], ["d", "e"]]


async def test_a_refused_file_fails_alone_and_a_failed_call_fails_all() -> None:
    many = Many()
    batches = batching(many)
    tasks = await full(batches, many)
    tasks += [asyncio.create_task(batches.upload(SCOPE, file(name))) for name in ("good", "bad", "better")]
    await asyncio.sleep(0)
    many.go_on.set()
    *_, good, bad, better = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(good, UploadDocumentResponse)
    assert isinstance(bad, InvalidArgument)
    assert isinstance(better, UploadDocumentResponse)
    with pytest.raises(InvalidArgument):
        await batches.upload(SCOPE, file("bad"))
    many.go_on.clear()
    tasks = await full(batches, many)
    tasks += [asyncio.create_task(batches.upload(SCOPE, file(name))) for name in ("third", "fourth")]
    await asyncio.sleep(0)
    many.fails = True
    many.go_on.set()
    assert all(isinstance(one, Unavailable) for one in await asyncio.gather(*tasks, return_exceptions=True))
    many.fails = False
    assert (await batches.upload(SCOPE, file("after"))).document.id == "after"
    assert not batches._running
    assert not batches._waiting


async def test_a_caller_that_is_cancelled_leaves_the_others_alone() -> None:
    many = Many()
    batches = batching(many)
    alone = await full(batches, many)
    third, fourth = (asyncio.create_task(batches.upload(SCOPE, file(name))) for name in ("third", "fourth"))
    await asyncio.sleep(0)
    alone[0].cancel()
    await begun(many, 3)
    third.cancel()
    many.go_on.set()
    for gone in (alone[0], third):
        with pytest.raises(asyncio.CancelledError):
            await gone
    assert (await alone[1]).document.id == "second"
    assert (await fourth).document.id == "fourth"
    assert many.calls[2] == ("acme", ["third", "fourth"])


async def test_files_whose_callers_are_cancelled_before_their_call_are_not_uploaded() -> None:
    many = Many()
    batches = batching(many)
    alone = await full(batches, many)
    gone, kept = (asyncio.create_task(batches.upload(SCOPE, file(name))) for name in ("gone", "kept"))
    await asyncio.sleep(0)
    gone.cancel()
    many.go_on.set()
    await asyncio.gather(*alone, gone, kept, return_exceptions=True)
    assert many.calls == [("acme", ["first"]), ("acme", ["second"]), ("acme", ["kept"])]


async def test_the_end_of_the_process_ends_those_that_wait() -> None:
    many = Many()
    batches = batching(many)
    alone = await full(batches, many)
    tasks = [asyncio.create_task(batches.upload(SCOPE, file(str(number)))) for number in range(70)]
    await asyncio.sleep(0)
    alone[0].cancel()
    await begun(many, 3)
    (shared,) = batches._tasks
    shared.cancel()
    ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
    assert all(isinstance(one, asyncio.CancelledError) for one in ended)
    many.go_on.set()
    assert (await alone[1]).document.id == "second"


async def test_a_shared_call_has_its_scope_and_nothing_of_its_callers_contexts() -> None:
    """A call of its own has its caller's context."""
    many = Many()
    batches = batching(many)
    hurried = copy_context()
    hurried.run(bind_deadline, 0.0)
    hurried.run(OF_THE_CALLER.set, "ann's call")
    tasks = [asyncio.create_task(batches.upload(SCOPE, file(name)), context=hurried) for name in "abc"]
    await begun(many, 2)
    many.go_on.set()
    await asyncio.gather(*tasks)
    assert [deadline is None for _, deadline in many.contexts] == [False, False, True]
    assert many.contexts[2][0] == SCOPE
    assert many.callers == ["ann's call", "ann's call", ""]


async def test_a_shared_call_links_to_its_callers_and_a_call_of_its_own_is_in_their_trace() -> None:
    many = Many()
    batches = batching(many)
    traces = []

    async def traced(name: str) -> None:
        with telemetry.span("upload"):
            traces.append(telemetry.current_trace_id())
            await batches.upload(SCOPE, file(name))

    tasks = [asyncio.create_task(traced(name)) for name in "abcd"]
    await begun(many, 2)
    many.go_on.set()
    await asyncio.gather(*tasks)
    assert many.traces[:2] == traces[:2]
    (shared,) = telemetry.ring.spans(int(many.traces[2], 16), SCOPE.tenant_id)
    assert [link.context.trace_id for link in shared.links] == [int(trace, 16) for trace in traces[2:]]


@pytest.mark.parametrize("declared", [None, 5, MOST + 1])
@pytest.mark.parametrize(
    ("sizes", "streams"),
    [
        ((), False),
        ((5,), False),
        ((MOST - 1, 1), False),
        ((MOST, 1), True),
        ((9, MOST, 7), True),
    ],
)
async def test_a_small_file_is_sent_whole_and_a_large_one_streamed(
    sizes: tuple[int, ...], streams: bool, declared: int | None
) -> None:
    many, documents = Many(), Documents()
    many.go_on.set()
    batches = UploadBatches(documents, many)  # type: ignore[arg-type]
    metadata = UploadMetadata(filename="f", size_bytes=declared)
    origin = {"item": "i"}
    assert (await batches.receive(SCOPE, metadata, parts_of(*sizes), origin)).document.id == "f"
    assert documents.charged == sum(sizes)
    if streams or (declared or 0) > MOST:
        assert (documents.streamed, many.calls) == ([("f", list(sizes), origin)], [])
    else:
        assert (documents.streamed, many.calls, many.origins) == ([], [("acme", ["f"])], [origin])


async def test_a_file_in_parts_of_a_byte_takes_time_in_proportion() -> None:
    """Time that grows by the square would be ten minutes here, and the runner ends a test after five."""
    many, documents = Many(), Documents()
    many.go_on.set()
    batches = UploadBatches(documents, many)  # type: ignore[arg-type]
    await batches.receive(SCOPE, UploadMetadata(filename="f"), parts_of(*[1] * MOST))
    assert documents.charged == MOST


async def test_a_file_without_a_name_is_refused_before_its_bytes() -> None:
    many, documents = Many(), Documents()
    batches = UploadBatches(documents, many)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="filename"):
        await batches.receive(SCOPE, UploadMetadata(), parts_of(5))
    assert (documents.charged, many.calls) == (0, [])
