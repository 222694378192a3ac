"""Writing the audit log: what is in it when a caller hears of success, and what happens while it cannot be written."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from footnote_edge.adapters.audit import AuditTable
from footnote_edge.audit import recorder as module
from footnote_edge.audit.attempts import AttemptLimiter
from footnote_edge.audit.events import CallOrigin, Event, Principal
from footnote_edge.audit.recorder import Recorder
from footnote_kit.errors import Unavailable


class Book(AuditTable):
    """A log in memory that fails or hangs on demand."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.writes = 0
        self.fails = False
        self.gate: asyncio.Event | None = None

    async def append(self, events: Sequence[Event]) -> None:
        self.writes += 1
        if self.gate is not None:
            await self.gate.wait()
        if self.fails:
            raise ConnectionError("the database is away")
        self.written += [event.action for event in events]


@pytest.fixture
def book() -> Book:
    """The double of the audit table, which can fail."""
    return Book()


@pytest.fixture
def recorder(book: Book) -> Recorder:
    """A recorder that writes into it."""
    return Recorder(book, AttemptLimiter())


def event(action: str = "DeleteDocument", **more: Any) -> Event:
    return Event(Principal("acme", "ann"), CallOrigin(), action, **more)


async def test_a_success_is_written_before_its_caller_hears_of_it(recorder: Recorder, book: Book) -> None:
    await recorder.record(event())
    assert book.written == ["DeleteDocument"]


async def test_those_that_wait_are_written_together(recorder: Recorder, book: Book) -> None:
    book.gate = asyncio.Event()
    tasks = [asyncio.ensure_future(recorder.record(event(f"A{number}"))) for number in range(20)]
    while not book.writes:  # noqa: ASYNC110 - the first write begins
        await asyncio.sleep(0)
    book.gate.set()
    await asyncio.gather(*tasks)
    assert sorted(book.written) == sorted(f"A{number}" for number in range(20))
    assert book.writes <= 2


async def test_while_the_log_cannot_be_written_new_work_is_refused_and_nothing_is_lost(
    recorder: Recorder, book: Book
) -> None:
    recorder.ready()
    book.fails = True
    await recorder.record(event("First"))  # it was done: its caller gets the true answer
    with pytest.raises(Unavailable) as caught:
        recorder.ready()
    assert caught.value.reason == "AUDIT_UNAVAILABLE"
    assert caught.value.retry_after
    book.fails = False
    await recorder.flush()  # as the background does
    assert book.written == ["First"]
    recorder.ready()
    await recorder.record(event("Second"))
    assert book.written == ["First", "Second"]


async def test_a_log_that_hangs_counts_as_one_that_fails(
    recorder: Recorder, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WRITE_SECONDS", 0.01)
    book.gate = asyncio.Event()
    await recorder.record(event("Hangs"))
    with pytest.raises(Unavailable):
        recorder.ready()
    book.gate.set()
    await recorder.flush()
    assert book.written == ["Hangs"]


async def test_a_caller_that_leaves_meanwhile_takes_no_event_along(recorder: Recorder, book: Book) -> None:
    book.gate = asyncio.Event()
    task = asyncio.ensure_future(recorder.record(event("Left")))
    while not book.writes:  # noqa: ASYNC110 - the write begins
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    book.gate.set()
    await recorder.flush()
    await recorder.close()
    assert book.written == ["Left"]


async def test_the_counts_of_a_flood_are_written_at_the_end(recorder: Recorder, book: Book) -> None:
    for _ in range(1000):
        recorder.attempt(event("Refused", status="PERMISSION_DENIED"))
    assert book.writes == 0, "no attempt waits for the disk"
    await recorder.close()
    assert len(book.written) == 11
    assert book.writes == 1


async def test_what_waits_for_the_database_is_bounded(
    recorder: Recorder, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 3)
    book.fails = True
    for number in range(5):
        await recorder.record(event(f"A{number}"))
    book.fails = False
    await recorder.close()
    assert book.written == ["A0", "A1", "A2"]
