"""Shared by the suites: texts of every kind, and helpers for concurrent and cancelled calls."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from footnote_kit.errors import FootnoteError

TEXTS = (
    "Employees receive 25 days of paid leave per year.",
    "The canteen serves lunch from noon.",
    "员工每年享有二十五天带薪年假。",
    "L'été, les congés sont de vingt-cinq jours.",
    "x",
    "🙂 emoji and e\u0301 combining",
    "line one\nline two\n\nline four",
)
ODD = ("", " ", "\n", "…!?", "\u200b")
"""Texts without a word; a provider may embed or refuse them, but must not break."""

LONG = "The warranty of the instrument lasts sixty months from the day of delivery. " * 3000
_SIDE_BY_SIDE = 8
_SECONDS = 240.0


async def side_by_side(call: Callable[[], Coroutine[Any, Any, Any]]) -> list[Any]:
    """Return the results of several concurrent calls."""
    async with asyncio.timeout(_SECONDS):
        return await asyncio.gather(*(call() for _ in range(_SIDE_BY_SIDE)))


async def broken_off(call: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """Start a call and cancel it; it must end soon, with the cancellation unless it has completed."""
    for wait in (0.0, 0.001):
        task = asyncio.create_task(call())
        await asyncio.sleep(wait)
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=_SECONDS)
        assert done, "a cancelled call does not end"
        if not task.cancelled():
            error = task.exception()
            assert error is None, f"a cancelled call ended with {type(error).__name__}: {error}"


async def answered_or_typed(call: Coroutine[Any, Any, Any]) -> Any:
    """Return the response, or None for an exception of footnote_kit.errors; any other exception fails the check."""
    try:
        async with asyncio.timeout(_SECONDS):
            return await call
    except FootnoteError:
        return None
    except Exception as error:
        raise AssertionError(
            f"an error that is none of footnote_kit.errors: {type(error).__name__}: {error}"
        ) from error
