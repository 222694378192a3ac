"""Has the store load its rows before the service says that it is ready.

An engine that has just started answers at once, but loads a space at its first use. That takes about 1 s for 20 000
rows, and searches fail or wait meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from footnote_kit.errors import FootnoteError, Unavailable
from footnote_kit.logs import get_logger

from footnote_store.compiler import quote
from footnote_store.ports import Store

_SECONDS = 120.0
_LOOK_SECONDS = 0.2

_log = get_logger(__name__)


class Preload:
    """Reads from every space that searches use, once after each start of the store."""

    def __init__(self, store: Store, spaces: Callable[[], Awaitable[set[tuple[int, int]]]]) -> None:
        """`spaces` returns dimensions and variant of what searches use; a space made later is loaded from the start."""
        self._store = store
        self._spaces = spaces
        self._progress = ""
        self._task: asyncio.Task[None] | None = None

    async def reason(self) -> str | None:
        """Return None when a search finds at once, else what it waits for; a health check of the store."""
        try:
            await self._store.health()
        except Unavailable as error:
            await self.close()  # the store may come back as another process, with nothing loaded
            return error.message
        if self._task is None or (self._task.done() and self._task.exception() is not None):
            self._task = asyncio.create_task(self._load())
        await asyncio.wait([self._task], timeout=_LOOK_SECONDS)
        if not self._task.done():
            return self._progress
        failure = self._task.exception()
        if failure is not None and not isinstance(failure, Unavailable):
            raise failure
        return None if failure is None else failure.message

    async def close(self) -> None:
        """Stop loading; the next check begins again."""
        task, self._task = self._task, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])

    async def _load(self) -> None:
        self._progress = "the vector store loads its rows"
        spaces = sorted(await self._spaces())
        for number, (dimensions, variant) in enumerate(spaces):
            self._progress = f"the vector store loads its rows ({number} of {len(spaces)} spaces are loaded)"
            try:
                space = await self._store.ensure_space(dimensions, variant)
                await self._store.ids(space, f"id == {quote('')}", 1, timeout=_SECONDS)
            except FootnoteError as error:
                await self._store.health()  # where the store is away, the next check begins again
                # Searches of this space say what is wrong with it; those of others need not wait.
                _log.warning("space_not_loaded", dimensions=dimensions, variant=variant, error=error.message)
