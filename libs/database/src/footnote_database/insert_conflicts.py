"""Retries changes that insert a row which a concurrent transaction inserts too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from sqlalchemy.exc import IntegrityError

P = ParamSpec("P")
R = TypeVar("R")


def again_on_conflict(change: Callable[P, Awaitable[R]]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a change, a whole transaction, that is retried once after a conflict on an inserted row.

    Between the read and the insert, a concurrent transaction may have inserted the row; the second read sees it. This
    happens in PostgreSQL; SQLite has one writer.
    """

    @wraps(change)
    async def made(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await change(*args, **kwargs)
        except IntegrityError:
            return await change(*args, **kwargs)

    return made
