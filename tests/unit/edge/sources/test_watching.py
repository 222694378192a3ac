"""Watches of sources: each is closed, and no change that one reports is forgotten."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from footnote.edge.v1.operations_pb2 import OPERATION_STATE_FAILED, OPERATION_STATE_SUCCEEDED
from footnote_edge.sources import watching as module
from footnote_edge.sources.stored import COMPLETE, LISTING
from footnote_edge.sources.watching import SourceWatches

PATIENCE = 10.0


@dataclass
class Opened:
    closed: bool = False

    def works(self) -> bool:
        return not self.closed

    def close(self) -> None:
        self.closed = True


@dataclass
class Slow:
    """A kind whose watch takes until it is let go."""

    begun: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)
    opened: list[Opened] = field(default_factory=list)

    def watch(self, opening: object, changed: Callable[[], None]) -> Opened:
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        self.opened.append(Opened())
        return self.opened[-1]


@dataclass
class Row:
    id: str = "s"
    etag: str = "e"
    paused: bool = False
    deleting: bool = False
    in_step_time: datetime | None = None
    run_id: str = "r"
    run_listed: int = LISTING


class Book:
    async def watchable(self, kinds: object, most: int) -> list[Row]:
        return [Row()]


class Openings:
    def __init__(self, kind: Slow) -> None:
        self.kinds = {"slow": kind}

    def of(self, row: Row) -> tuple[Slow, object]:
        return self.kinds["slow"], None


async def test_a_watch_whose_opening_was_cancelled_is_closed() -> None:
    kind = Slow()
    watching = SourceWatches(*cast(Any, (Book(), None, None, Openings(kind))), most=1)
    looking = asyncio.create_task(watching.begin_changed())
    assert await asyncio.to_thread(kind.begun.wait, PATIENCE)
    for _ in range(2):  # however often
        looking.cancel()
        await asyncio.sleep(0)
    kind.go_on.set()
    [ended] = await asyncio.gather(looking, return_exceptions=True)
    assert isinstance(ended, asyncio.CancelledError)
    await watching.close()
    [opened] = kind.opened
    assert opened.closed


@dataclass
class Runs:
    """One watched source, and the run of it that another replica or a caller has begun."""

    row: Row = field(default_factory=Row)
    run: Any = None
    begun: int = 0
    change: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.kinds = {"runs": self}

    def of(self, row: Row) -> tuple[Any, object]:
        return self, None

    def watch(self, opening: object, changed: Callable[[], None]) -> Opened:
        self.change = changed
        return Opened()

    async def watchable(self, kinds: object, most: int) -> list[Row]:
        return [self.row]

    async def read(self, name: str) -> Any:
        return self.row if name == "s" else self.run

    async def active(self, source_id: str) -> Any:
        return self.run

    async def follow(self, row: Row, active: object) -> None: ...

    async def begin(self, row: Row) -> Any:
        if self.run.end_time is None:
            return None
        self.begun += 1
        return SimpleNamespace(id="another")

    def other(self) -> None:
        self.run = SimpleNamespace(id="r", failed_only=False, create_time=datetime.now(UTC), end_time=None, state=0)

    def end(self, listed: int, state: int) -> None:
        self.row.run_listed, self.run.end_time, self.run.state = listed, datetime.now(UTC), state


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """A watched source; nothing waits for quiet."""
    monkeypatch.setattr(module, "_QUIET", 0.0)
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.0)
    return Runs()


@pytest.mark.parametrize(("state", "begun"), [(OPERATION_STATE_FAILED, 1), (OPERATION_STATE_SUCCEEDED, 0)])
async def test_a_change_waits_for_the_end_of_another_runs_listing(runs: Runs, state: int, begun: int) -> None:
    watching = SourceWatches(*cast(Any, (runs, runs, runs, runs)), most=1)
    await watching._refresh()  # the opening counts as a change
    runs.other()
    assert await watching.begin_changed() == 0
    runs.end(COMPLETE if begun == 0 else LISTING, state)
    assert await watching.begin_changed() == begun
    await watching.close()


async def test_a_change_counts_though_a_clock_was_ahead_at_the_last_run(runs: Runs) -> None:
    watching = SourceWatches(*cast(Any, (runs, runs, runs, runs)), most=1)
    await watching._refresh()
    runs.other()
    runs.end(COMPLETE, OPERATION_STATE_SUCCEEDED)
    runs.row.in_step_time = runs.run.create_time = datetime.now(UTC) + timedelta(days=7)
    assert await watching.begin_changed() == 1
    await watching.close()


async def test_a_change_after_another_runs_listing_does_not_go_with_an_earlier_one(runs: Runs) -> None:
    watching = SourceWatches(*cast(Any, (runs, runs, runs, runs)), most=1)
    await watching._refresh()
    runs.other()
    runs.end(COMPLETE, OPERATION_STATE_SUCCEEDED)
    runs.change()
    assert await watching.begin_changed() == 1
    await watching.close()
