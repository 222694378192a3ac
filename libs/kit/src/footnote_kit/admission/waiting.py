"""Waits in a queue until a place is granted."""

import asyncio
from collections.abc import Callable

Turn = asyncio.Future[None]
"""A place in a queue: a result grants it, an exception refuses it."""


def is_granted(turn: Turn) -> bool:
    """Return whether a place was granted."""
    return turn.done() and not turn.cancelled() and turn.exception() is None


async def granted(turn: Turn, seconds: float | None, give_back: Callable[[], None]) -> bool:
    """Wait until a place is granted; return False after the timeout, and raise a refusal's exception.

    A place granted at the same time as the timeout counts; one granted during a cancellation is returned.
    """
    try:
        async with asyncio.timeout(seconds):
            await turn
    except TimeoutError:
        if turn.done() and not turn.cancelled():
            turn.result()
            return True
        return False
    except asyncio.CancelledError:
        if is_granted(turn):
            give_back()
        raise
    return True
