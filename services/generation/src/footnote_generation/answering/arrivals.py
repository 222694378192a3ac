"""Batches a model's stream as it arrives: words in quick succession become one event."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, suppress
from typing import TypeAlias

from footnote_generation.ports import ModelEvent, Thought, Words

_TOGETHER = 0.01
"""Seconds that words wait for the next ones, unless they are the first or the last."""
_HELD = 512
"""Events buffered ahead of the consumer."""

_Source: TypeAlias = AsyncGenerator[ModelEvent, None]


class Arrivals:
    """Reads a model's stream in its own task: `async with` it, and `take`. Leaving it closes the stream."""

    def __init__(self, source: _Source) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._held: list[ModelEvent] = []
        self._room = asyncio.Event()
        self._waiter: asyncio.Future[bool] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0.0

    async def __aenter__(self) -> Arrivals:
        self._reading = asyncio.create_task(self._read())
        self._reading.add_done_callback(lambda _: self._wake(True))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._reading.cancel()
        with suppress(asyncio.CancelledError, Exception):  # the consumer gets the error
            await self._reading

    async def take(self, limit: float) -> list[ModelEvent]:
        """Return the events since the last call, at least one; [] at the end.

        Raises TimeoutError if no event arrives within `limit` seconds. Raises the stream's error after all earlier
        events are taken.
        """
        if not self._reading.done() and (not self._held or self._next > self._loop.time()):
            await self._arrival(limit)
        taken, self._held = self._held, []
        self._room.set()
        self._next = self._loop.time() + _TOGETHER
        if not taken:
            self._reading.result()
        return joined(taken)

    async def _arrival(self, limit: float) -> None:
        self._waiter = self._loop.create_future()
        late = self._loop.call_later(limit, self._wake, False)
        if self._held:
            self._arrived()
        try:
            if not await self._waiter:
                raise TimeoutError
        finally:
            self._waiter = None
            late.cancel()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    async def _read(self) -> None:
        async with aclosing(self._source):
            async for event in self._source:
                self._held.append(event)
                self._arrived()
                if len(self._held) >= _HELD:
                    self._room.clear()
                    await self._room.wait()

    def _arrived(self) -> None:
        if self._waiter is None or self._timer is not None:
            return
        early = self._next - self._loop.time()
        if early <= 0:
            self._wake(True)
        else:
            self._timer = self._loop.call_later(early, self._wake, True)

    def _wake(self, there: bool) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(there)


def joined(events: Iterable[ModelEvent]) -> list[ModelEvent]:
    """Return events with adjacent words, and adjacent thoughts, merged."""
    found: list[ModelEvent] = []
    for event in events:
        last = found[-1] if found else None
        if isinstance(event, Words) and isinstance(last, Words):
            found[-1] = Words(last.text + event.text)
        elif isinstance(event, Thought) and isinstance(last, Thought):
            found[-1] = Thought(last.text + event.text)
        else:
            found.append(event)
    return found
