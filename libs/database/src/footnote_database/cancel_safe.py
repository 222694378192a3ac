"""SQLite connections whose statements are seen to their end, whoever is cancelled while one of them runs.

A statement runs on a thread of its connection, and goes on there when its caller is gone. Two things would hold the
file's lock then, for as long as nobody collects garbage: a transaction begun for nobody, and a connection closed while
a cursor of it is open, which SQLite keeps in secret, its transaction included, until the cursor is gone.

All of a statement is one job of that thread: its cursor, the transaction that it begins, its rows. Each job costs two
changes of thread, which is more than most statements do themselves.
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


class Cursor:
    """One statement at a time, with all of its rows; nothing is left open behind it."""

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
        """Return the next row, None after the last."""
        return self._rows.popleft() if self._rows else None

    async def fetchmany(self, size: int | None = None) -> Sequence[Any]:
        """Return the next rows, at most so many."""
        return [self._rows.popleft() for _ in range(min(size or self.arraysize, len(self._rows)))]

    async def fetchall(self) -> Sequence[Any]:
        """Return the rows that are left."""
        rows, self._rows = self._rows, deque()
        return rows

    async def close(self) -> None:
        """Forget the rows that are left."""
        self._rows = deque()

    async def _run(self, function: Callable[..., Any], statement: str, parameters: Any) -> "Cursor":
        done = await self._connection.run(function, statement, parameters)
        rows, self.description, self.rowcount, self.lastrowid = done
        self._rows = deque(rows)
        return self


class Connection(aiosqlite.Connection):
    """A connection that knows at every moment what it has done."""

    _due = ""
    """The statement that begins a transaction, until the first statement in it is there."""
    _reads = False
    """Whether the transaction, if there is one, writes nothing."""
    _stopping = False
    _stopped: "asyncio.Future[Any] | None" = None

    def begin(self, *, writes: bool) -> None:
        """Begin a transaction together with its first statement; who writes takes the file then."""
        self._due, self._reads = ("BEGIN IMMEDIATE" if writes else "BEGIN"), not writes

    def cursor(self) -> Cursor:  # type: ignore[override]
        """Return a cursor; nothing is made on the thread for it."""
        return Cursor(self)

    async def run(self, function: Callable[..., Any], statement: str, parameters: Any) -> tuple[Any, ...]:
        """Run a statement on the thread; return its rows, their description, the count of rows and the last row's id.

        What is due is begun before it.
        """
        return tuple(await self._execute(self._statement, function, statement, parameters))

    def _statement(self, function: Callable[..., Any], statement: str, parameters: Any) -> tuple[Any, ...]:
        cursor = self._conn.cursor()
        try:
            if self._due:
                cursor.execute(self._due)
                self._due = ""  # not before: who goes on after a refusal would write outside of a transaction
            function(cursor, statement, parameters)
            rows = cursor.fetchall() if cursor.description else ()
            return rows, cursor.description, cursor.rowcount, cursor.lastrowid
        finally:
            cursor.close()

    async def commit(self) -> None:
        """Commit what was begun, if anything was."""
        self._due = ""
        if self._conn.in_transaction:
            await super().commit()

    async def rollback(self) -> None:
        """Undo what was begun, if anything was; the end of what only reads is not waited for."""
        self._due = ""
        if not self._conn.in_transaction:
            return
        if self._reads:
            self._undo()
        else:
            await super().rollback()

    async def _execute(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a function on the connection's thread to its end."""
        if not self._running or self._connection is None:
            raise ValueError("Connection closed")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._tx.put_nowait((future, partial(fn, *args, **kwargs)))
        return await outcome(future)

    async def close(self) -> None:
        """Close it, with nothing left of its transaction."""
        self._undo()
        await super().close()

    def stop(self) -> "asyncio.Future[Any] | None":
        """Close it without waiting, with nothing left of its transaction; who asks again waits for the same end.

        The thread ends with the first word to do so, and would never come to a second.
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
    """Have an engine of SQLite open such connections."""

    def choose(_dialect: Any, _record: Any, _arguments: Any, options: dict[str, Any]) -> None:
        options["async_creator_fn"] = _opening

    event.listen(engine.sync_engine, "do_connect", choose)


def _opening(database: str, **options: Any) -> Connection:
    connection = Connection(lambda: sqlite3.connect(database, **options), _ROWS_AT_ONCE)
    connection._thread.daemon = True  # as SQLAlchemy does with those that it opens itself
    return connection
