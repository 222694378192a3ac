"""Uploads that come during a call share the next one; each caller gets its own outcome."""

import asyncio
from collections.abc import Sequence
from contextvars import copy_context

import pytest
from footnote.edge.v1.documents_pb2 import UploadMetadata
from footnote.ingestion.v1.ingestion_service_pb2 import UploadDocumentResponse
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_edge.documents.many_uploads import Outcome, WholeFile
from footnote_edge.documents.upload_batches import UploadBatches
from footnote_kit.context import bind_deadline, current_scope, time_remaining
from footnote_kit.errors import InvalidArgument, Unavailable

SCOPE, OTHER = Scope(tenant_id="acme", user_id="ann"), Scope(tenant_id="other", user_id="bob")


class Many:
    """Notes each call, and ends it when the test says so."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[str]]] = []
        self.go_on = asyncio.Event()
        self.fails = False
        self.contexts: list[tuple[Scope | None, float | None]] = []

    async def upload(self, scope: Scope, files: Sequence[WholeFile]) -> list[Outcome]:
        names = [one.metadata.filename for one in files]
        self.calls.append((scope.tenant_id, names))
        self.contexts.append((current_scope(), time_remaining()))
        await self.go_on.wait()
        if self.fails:
            raise Unavailable("away")
        return [
            InvalidArgument("bad", reason="FILE_CORRUPT")
            if name == "bad"
            else UploadDocumentResponse(document=Document(id=name))
            for name in names
        ]


def file(name: str, size: int = 10, request_id: str = "") -> WholeFile:
    return WholeFile(UploadMetadata(collection="c", filename=name, request_id=request_id), b"x" * size)


async def begun(many: Many, calls: int = 1) -> None:
    for _ in range(1000):
        if len(many.calls) == calls:
            return
        await asyncio.sleep(0)
    raise AssertionError("it does not come to that")


async def test_what_comes_during_a_call_shares_the_next_one() -> None:
    many = Many()
    batches = UploadBatches(many)  # type: ignore[arg-type]
    first = asyncio.create_task(batches.upload(SCOPE, file("first")))
    await begun(many)
    names = [f"f{number}" for number in range(70)]
    more = [asyncio.create_task(batches.upload(SCOPE, file(name))) for name in names]
    other = asyncio.create_task(batches.upload(OTHER, file("other")))
    await begun(many, 2)
    many.go_on.set()
    assert [(await one).document.id for one in (first, *more, other)] == ["first", *names, "other"]
    assert many.calls == [
        ("acme", ["first"]), ("other", ["other"]), ("acme", names[:64]), ("acme", names[64:]),
    ]  # fmt: skip


async def test_calls_are_bounded_by_bytes_and_hold_each_request_once() -> None:
    many = Many()
    batches = UploadBatches(many)  # type: ignore[arg-type]
    many.go_on.set()
    await batches.upload(SCOPE, file("warm"))
    many.go_on.clear()
    files = [file("a", 2**21, "r1"), file("b", 2**21, "r2"), file("c", 10, "r3"), file("d", 10, "r3"), file("e", 10)]
    tasks = [asyncio.create_task(batches.upload(SCOPE, file("begins")))]
    await begun(many, 2)
    tasks += [asyncio.create_task(batches.upload(SCOPE, one)) for one in files]
    await asyncio.sleep(0)
    many.go_on.set()
    await asyncio.gather(*tasks)
    assert [names for _, names in many.calls[2:]] == [["a"], ["b", "c"], ["d", "e"]]


async def test_a_refused_file_fails_alone_and_a_failed_call_fails_all() -> None:
    many = Many()
    batches = UploadBatches(many)  # type: ignore[arg-type]
    tasks = [asyncio.create_task(batches.upload(SCOPE, file(name))) for name in ("good", "bad", "better")]
    many.go_on.set()
    good, bad, better = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(good, UploadDocumentResponse)
    assert isinstance(bad, InvalidArgument)
    assert isinstance(better, UploadDocumentResponse)
    many.fails = True
    with pytest.raises(Unavailable):
        await batches.upload(SCOPE, file("late"))
    many.fails = False
    assert (await batches.upload(SCOPE, file("after"))).document.id == "after"


async def test_a_caller_that_is_cancelled_leaves_the_others_alone() -> None:
    many = Many()
    batches = UploadBatches(many)  # type: ignore[arg-type]
    first, second = (asyncio.create_task(batches.upload(SCOPE, file(name))) for name in ("first", "second"))
    await begun(many)
    first.cancel()
    many.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert (await second).document.id == "second"


async def test_files_whose_callers_are_cancelled_before_their_call_are_not_uploaded() -> None:
    many = Many()
    batches = UploadBatches(many)  # type: ignore[arg-type]
    first = asyncio.create_task(batches.upload(SCOPE, file("first")))
    await begun(many)
    gone, kept = (asyncio.create_task(batches.upload(SCOPE, file(name))) for name in ("gone", "kept"))
    other = asyncio.create_task(batches.upload(OTHER, file("other")))
    await begun(many, 2)
    late = asyncio.create_task(batches.upload(OTHER, file("late")))
    await asyncio.sleep(0)
    gone.cancel()
    late.cancel()
    many.go_on.set()
    await asyncio.gather(first, gone, kept, other, late, return_exceptions=True)
    assert many.calls == [("acme", ["first"]), ("other", ["other"]), ("acme", ["kept"])]


async def test_a_shared_call_has_its_scope_and_no_deadline_of_the_caller_that_began_it() -> None:
    many = Many()
    many.go_on.set()
    batches = UploadBatches(many)  # type: ignore[arg-type]
    hurried = copy_context()
    hurried.run(bind_deadline, 0.0)
    await asyncio.create_task(batches.upload(SCOPE, file("a")), context=hurried)
    assert many.contexts == [(SCOPE, None)]
