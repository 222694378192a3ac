"""Group commit: items that arrive during a commit share the next transaction.

A commit costs several thread switches and a disk wait, whatever its size. A lone item is written at once, without
waiting for more. When `add` returns, the item survives a crash.
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
"""Items per transaction: a long transaction holds up other writers."""


class GroupCommit(Generic[T]):
    """Batches the items of many callers for a function that writes all of them or none."""

    def __init__(self, write: Callable[[Sequence[T]], Awaitable[None]]) -> None:
        self._write = write
        self._waiting: deque[tuple[T, asyncio.Future[None]]] = deque()
        self._writing: asyncio.Task[None] | None = None

    async def add(self, item: T) -> None:
        """Write an item and return when it is stored; raises the write's error, or IntegrityError for this item alone.

        A caller cancelled before its batch begins writes nothing; cancelled later, its item may be written.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        if self._writing is None or self._writing.done():
            # An empty context: a batch must not run in the first caller's context.
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
                # One item is a duplicate: write each by itself so that the others do not fail with it.
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
            with suppress(asyncio.InvalidStateError):  # the caller was cancelled
                if error is None:
                    done.set_result(None)
                else:
                    done.set_exception(error)
