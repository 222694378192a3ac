"""Writes that share a transaction: what comes while one is being committed goes into the next, all of it together.

A commit costs several changes of thread and a wait for the disk, whatever it holds. Nobody waits for company: who comes
alone is written at once, and whoever is told that it is written finds it after a crash.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from contextvars import Context
from typing import Generic, TypeVar

from sqlalchemy.exc import IntegrityError

T = TypeVar("T")

MOST = 100
"""Items of one transaction: what stands in it holds up whoever else writes."""


class Together(Generic[T]):
    """Takes items of many callers to a function that writes all of them or none."""

    def __init__(self, write: Callable[[Sequence[T]], Awaitable[None]]) -> None:
        self._write = write
        self._waiting: deque[tuple[T, asyncio.Future[None]]] = deque()
        self._writing: asyncio.Task[None] | None = None

    async def add(self, item: T) -> None:
        """Return when an item is written; raises what writing it failed with, IntegrityError for what is its own.

        Who is cancelled before its item's turn has come leaves nothing; who is so afterwards may have written it.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        if self._writing is None or self._writing.done():
            # In nobody's context: what is written is not the first caller's alone.
            self._writing = asyncio.get_running_loop().create_task(self._run(), context=Context())
        await done

    async def _run(self) -> None:
        while self._waiting:
            taken = [self._waiting.popleft() for _ in range(min(MOST, len(self._waiting)))]
            batch = [(item, done) for item, done in taken if not done.done()]
            if batch:
                await self._settle(batch)

    async def _settle(self, batch: list[tuple[T, asyncio.Future[None]]]) -> None:
        error: BaseException | None = None
        try:
            await self._write([item for item, _ in batch])
        except IntegrityError as refused:
            if len(batch) > 1:
                # One of them is there already: each by itself, so that the others do not fail with it.
                for one in batch:
                    await self._settle([one])
                return
            error = refused
        except Exception as failed:
            error = failed
        except BaseException:
            for _, done in [*batch, *self._waiting]:
                done.cancel()
            self._waiting.clear()
            raise
        for _, done in batch:
            with suppress(asyncio.InvalidStateError):  # its caller has left
                if error is None:
                    done.set_result(None)
                else:
                    done.set_exception(error)
