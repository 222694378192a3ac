"""SQLite connections whose statements are seen to their end, whoever is cancelled while one of them runs.

A statement runs on a thread of its connection, and goes on there when its caller is gone. Two things would hold the
file's lock then, for as long as nobody collects garbage: a transaction begun for nobody, and a connection closed while
a cursor of it is open, which SQLite keeps in secret, its transaction included, until the cursor is gone.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import aiosqlite
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

R = TypeVar("R")

_ROWS_AT_ONCE = 64


async def outcome(future: "asyncio.Future[R]") -> R:
    """Return what a future comes to; who is cancelled meanwhile is so only when it is done, however often."""
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError as error:
            cancelled = error
        except BaseException:
            break
    if cancelled is None:
        return future.result()
    if not future.cancelled():
        future.exception()  # looked at, so that nobody is told that it was not
    try:
        raise cancelled
    finally:
        del cancelled  # which holds this frame, and so would hold what the future came to


class Connection(aiosqlite.Connection):
    """A connection that knows at every moment what it has done."""

    async def _execute(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a function on the connection's thread to its end."""
        if not self._running or self._connection is None:
            raise ValueError("Connection closed")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._tx.put_nowait((future, partial(fn, *args, **kwargs)))
        try:
            return await outcome(future)
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self._let_go(future.result())
            raise

    async def close(self) -> None:
        """Close it, with nothing left of its transaction."""
        self._undo()
        await super().close()

    def stop(self) -> "asyncio.Future[Any] | None":
        """Close it without waiting, with nothing left of its transaction."""
        self._undo()
        return super().stop()

    def _undo(self) -> None:
        if (connection := self._connection) is not None:
            self._tx.put_nowait((None, connection.rollback))

    def _let_go(self, result: Any) -> None:
        if isinstance(result, sqlite3.Cursor):
            self._tx.put_nowait((None, result.close))


def use(engine: AsyncEngine) -> None:
    """Have an engine of SQLite open such connections."""

    def choose(_dialect: Any, _record: Any, _arguments: Any, options: dict[str, Any]) -> None:
        options["async_creator_fn"] = _opening

    event.listen(engine.sync_engine, "do_connect", choose)


def _opening(database: str, **options: Any) -> Connection:
    connection = Connection(lambda: sqlite3.connect(database, **options), _ROWS_AT_ONCE)
    connection._thread.daemon = True  # as SQLAlchemy does with those that it opens itself
    return connection
