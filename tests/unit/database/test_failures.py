"""What a database that is away, full or busy is to callers, and what a fault of ours is."""

import errno
import socket
import sqlite3
from pathlib import Path

import pytest
from footnote_database import failures
from footnote_database.engine import server
from footnote_kit import transient_errors
from footnote_kit.errors import Unavailable
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import DBAPIError, OperationalError, TimeoutError
from sqlalchemy.pool import QueuePool


def raised(path: Path, statement: str, *before: str) -> Exception:
    """Return the failure of a statement on a file whose write lock another connection may hold."""
    engine = create_engine(f"sqlite:///{path}", connect_args={"timeout": 0.05})
    try:
        with engine.connect() as connection:
            for one in before:
                connection.exec_driver_sql(one)
            connection.execute(text(statement))
    except DBAPIError as error:
        return error
    finally:
        engine.dispose()
    raise AssertionError("nothing was raised")


def test_a_lock_and_a_full_disk_pass_and_a_fault_of_ours_does_not(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("CREATE TABLE t (x)")
    holder.execute("BEGIN IMMEDIATE")
    locked = failures.read(raised(path, "INSERT INTO t VALUES (1)"))
    holder.execute("ROLLBACK")
    holder.close()
    assert locked is not None
    assert transient_errors.waits_for(locked) == transient_errors.DATABASE
    full = failures.read(raised(path, "INSERT INTO t VALUES (zeroblob(100000))", "PRAGMA max_page_count=2"))
    assert full is not None
    assert transient_errors.waits_for(full) == transient_errors.DISK
    assert failures.read(raised(path, "SELECT * FROM nowhere")) is None


def test_a_pool_without_a_free_connection_is_waited_for(tmp_path: Path) -> None:
    engine = create_engine(
        f"sqlite:///{tmp_path / 'a.db'}", poolclass=QueuePool, pool_size=1, max_overflow=0, pool_timeout=0.05
    )
    with engine.connect(), pytest.raises(TimeoutError) as caught:
        engine.connect()
    engine.dispose()
    known = transient_errors.read(caught.value)
    assert known is not None
    assert transient_errors.waits_for(known) == transient_errors.DATABASE
    assert known.retry_after


@pytest.mark.parametrize(
    ("state", "waiting"),
    [("57P01", "DATABASE"), ("57P03", "DATABASE"), ("08006", "DATABASE"), ("53300", "DATABASE"), ("53100", "DISK"),
     ("42P01", None), ("23505", None)],
)  # fmt: skip
def test_a_server_of_postgresql_that_is_away_is_told_from_a_wrong_statement(state: str, waiting: str | None) -> None:
    driver = Exception("said the server")
    driver.sqlstate = state  # type: ignore[attr-defined]
    known = transient_errors.read(OperationalError("select", {}, driver))
    assert (None if known is None else transient_errors.waits_for(known)) == waiting


@pytest.mark.parametrize(
    ("number", "waiting"),
    [(errno.ENOSPC, "DISK"), (errno.EDQUOT, "DISK"), (errno.EMFILE, "LOAD"), (errno.ENFILE, "LOAD"), (errno.EIO, None)],
)
def test_what_the_system_has_none_left_of_is_waited_for(number: int, waiting: str | None) -> None:
    known = transient_errors.read(OSError(number, "none left"))
    assert (None if known is None else transient_errors.waits_for(known)) == waiting


async def test_a_server_of_postgresql_that_nobody_listens_for_is_waited_for() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        engine = server(make_url(f"postgresql://postgres@127.0.0.1:{taken.getsockname()[1]}/any"), {})
        try:
            with pytest.raises(Unavailable) as caught:
                async with engine.connect():
                    pass
        finally:
            await engine.dispose()
    assert transient_errors.waits_for(caught.value) == transient_errors.DATABASE
    assert caught.value.retry_after
