"""Changes that add a row which another adds at the same moment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from sqlalchemy.exc import IntegrityError

P = ParamSpec("P")
R = TypeVar("R")


def again_on_conflict(change: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    """Return a change, a whole transaction, that is made once more when a row it adds is there by then.

    Between looking and adding, another may have added it (PostgreSQL; SQLite has one writer): the second look sees it.
    """

    @wraps(change)
    async def made(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await change(*args, **kwargs)
        except IntegrityError:
            return await change(*args, **kwargs)

    return made
