"""A watch whose opening is cancelled is closed with the others, because its thread still opens it."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

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
