"""Work that is repeated as long as the service runs, whose failure only means that it is done the next time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from footnote_kit.logs import get_logger

_log = get_logger(__name__)


class Sweeping:
    """Does one thing at the start and every `seconds` after."""

    def __init__(self, what: str, work: Callable[[], Awaitable[Any]], seconds: float = 3600.0) -> None:
        self._what = what
        self._work = work
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._repeat())

    async def stop(self) -> None:
        """End."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _repeat(self) -> None:
        while True:
            try:
                await self._work()
            except Exception as error:
                _log.warning("not_swept", what=self._what, error=type(error).__name__)
            await asyncio.sleep(self._seconds)
