"""Waiting for what another process does: a condition that is looked at until it holds."""

import asyncio
from collections.abc import Awaitable, Callable


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = 120.0) -> None:
    """Return once the condition holds; TimeoutError after so many seconds."""
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110 - this process gets no event for it
            await asyncio.sleep(0.05)
