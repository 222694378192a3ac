"""Cancel-safe SQLite: statements run to completion even when the awaiting task is cancelled.

A statement runs on its connection's thread and continues there after a cancellation. Two things would then hold the
file's lock until the garbage collector runs. One is an abandoned transaction. The other is a connection closed with
an open cursor, because SQLite keeps it and its transaction until the cursor is gone.

Each statement is therefore one job of that thread: its cursor, the transaction that it begins, its rows. A job costs
two thread switches, which is more than most statements cost themselves.
"""

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import aiosqlite
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

R = TypeVar("R")

_ROWS_AT_ONCE = 64


async def outcome(future: "asyncio.Future[R]") -> R:
    """Return a future's result; re-raise a cancellation only after the future has finished."""
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
        future.exception()  # retrieved, so that asyncio does not log it as never retrieved
    try:
        raise cancelled
    finally:
        del cancelled  # it refers to this frame, and so would keep the future's result alive


class Cursor:
    """One statement at a time, with all of its rows; no SQLite cursor stays open."""

    arraysize = 1

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._rows: deque[Any] = deque()
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None

    async def __aenter__(self) -> "Cursor":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def execute(self, statement: str, parameters: Any = ()) -> "Cursor":
        """Run a statement with one set of parameters."""
        return await self._run(sqlite3.Cursor.execute, statement, parameters)

    async def executemany(self, statement: str, parameters: Any) -> "Cursor":
        """Run a statement once for each set of parameters."""
        return await self._run(sqlite3.Cursor.executemany, statement, parameters)

    async def fetchone(self) -> Any:
        """Return the next row; None after the last."""
        return self._rows.popleft() if self._rows else None

    async def fetchmany(self, size: int | None = None) -> Sequence[Any]:
        """Return the next rows, at most `size`."""
        return [self._rows.popleft() for _ in range(min(size or self.arraysize, len(self._rows)))]

    async def fetchall(self) -> Sequence[Any]:
        """Return the remaining rows."""
        rows, self._rows = self._rows, deque()
        return rows

    async def close(self) -> None:
        """Discard the remaining rows."""
        self._rows = deque()

    async def _run(self, function: Callable[..., Any], statement: str, parameters: Any) -> "Cursor":
        done = await self._connection.run(function, statement, parameters)
        rows, self.description, self.rowcount, self.lastrowid = done
        self._rows = deque(rows)
        return self


class Connection(aiosqlite.Connection):
    """A connection that tracks its transaction across cancellations."""

    _due = ""
    """The statement that begins a transaction; it runs together with the first statement."""
    _reads = False
    """Whether the current transaction only reads."""
    _stopping = False
    _stopped: "asyncio.Future[Any] | None" = None

    def begin(self, *, writes: bool) -> None:
        """Begin a transaction with its first statement; a writing one locks the file at that moment."""
        self._due, self._reads = ("BEGIN IMMEDIATE" if writes else "BEGIN"), not writes

    def cursor(self) -> Cursor:  # type: ignore[override]
        """Return a cursor without creating one on the thread."""
        return Cursor(self)

    async def run(self, function: Callable[..., Any], statement: str, parameters: Any) -> tuple[Any, ...]:
        """Run a statement on the thread; return its rows, description, row count and last row id.

        A pending transaction begins before it.
        """
        return tuple(await self._execute(self._statement, function, statement, parameters))

    def _statement(self, function: Callable[..., Any], statement: str, parameters: Any) -> tuple[Any, ...]:
        cursor = self._conn.cursor()
        try:
            if self._due:
                cursor.execute(self._due)
                self._due = ""  # not before: after a failed BEGIN, the next statement would run outside a transaction
            function(cursor, statement, parameters)
            rows = cursor.fetchall() if cursor.description else ()
            return rows, cursor.description, cursor.rowcount, cursor.lastrowid
        finally:
            cursor.close()

    async def commit(self) -> None:
        """Commit the transaction, if there is one."""
        self._due = ""
        if self._conn.in_transaction:
            await super().commit()

    async def rollback(self) -> None:
        """Roll back the transaction, if there is one; a read transaction's end is not awaited."""
        self._due = ""
        if not self._conn.in_transaction:
            return
        if self._reads:
            self._undo()
        else:
            await super().rollback()

    async def _execute(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a function on the connection's thread to completion."""
        if not self._running or self._connection is None:
            raise ValueError("Connection closed")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._tx.put_nowait((future, partial(fn, *args, **kwargs)))
        return await outcome(future)

    async def close(self) -> None:
        """Close the connection after a rollback of its transaction."""
        self._undo()
        await super().close()

    def stop(self) -> "asyncio.Future[Any] | None":
        """Close the connection without waiting, after a rollback; a second call returns the same future.

        The thread ends with the first stop request, and would never process a second.
        """
        if not self._stopping:
            self._stopping = True
            self._undo()
            self._stopped = super().stop()
        return self._stopped

    def _undo(self) -> None:
        if (connection := self._connection) is not None:
            self._tx.put_nowait((None, connection.rollback))


def use(engine: AsyncEngine) -> None:
    """Make an SQLite engine open connections of this kind."""

    def choose(_dialect: Any, _record: Any, _arguments: Any, options: dict[str, Any]) -> None:
        options["async_creator_fn"] = _opening

    event.listen(engine.sync_engine, "do_connect", choose)


def _opening(database: str, **options: Any) -> Connection:
    connection = Connection(lambda: sqlite3.connect(database, **options), _ROWS_AT_ONCE)
    connection._thread.daemon = True  # as SQLAlchemy does for connections that it opens itself
    return connection
