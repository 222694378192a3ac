"""Our SQLite files overwrite deleted content, whichever connection deleted it."""

import asyncio
import contextlib
import sqlite3
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from footnote_database import sqlite
from footnote_database.sqlite import FORGET, ForgettingConnection, Synchronous, file_of, open_file, pragmas, write_ahead
from footnote_database.transactions import now_ms, utc

SECRET = "the words of a deleted document"


def remains(path: Path) -> bool:
    """Whether the secret is in the file or in its log."""
    return any(SECRET.encode() in file.read_bytes() for file in path.parent.glob(f"{path.name}*"))


@pytest.mark.parametrize("forgetting", [True, False])
def test_what_is_deleted_is_in_neither_file_nor_log(tmp_path: Path, forgetting: bool) -> None:
    path = tmp_path / "test.db"
    factory = ForgettingConnection if forgetting else sqlite3.Connection
    write_ahead(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, factory=factory)) as connection:
        if not forgetting:
            connection.execute("PRAGMA secure_delete=OFF")  # what the build's own default may be
        connection.execute("CREATE TABLE t (words TEXT)")
        connection.execute("INSERT INTO t VALUES (?)", (SECRET,))
        connection.execute("DELETE FROM t")
        assert remains(path)  # in the log, at least
        sqlite.empty_logs([path, tmp_path / "not there.db"])
        assert remains(path) is not forgetting


def test_a_log_that_a_reader_holds_on_to_is_left_for_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_BUSY", 0.05)
    path = tmp_path / "test.db"
    with (
        contextlib.closing(open_file(path, "NORMAL", 0.1)) as writer,
        contextlib.closing(open_file(path, "NORMAL", 0.1)) as reader,
    ):
        writer.execute("CREATE TABLE t (words TEXT)")
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM t").fetchall()
        writer.execute("INSERT INTO t VALUES (?)", (SECRET,))
        writer.execute("DELETE FROM t")
        sqlite.empty_logs([path])
        assert remains(path)
        reader.execute("COMMIT")
        sqlite.empty_logs([path])
        assert not remains(path)


async def test_the_keeper_empties_logs_in_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "EVERY", 0.01)
    path = tmp_path / "test.db"
    keeper = sqlite.log_keeper(tmp_path / "not there.db", path)
    with contextlib.closing(open_file(path, "NORMAL", 0.1)) as connection:
        connection.execute("CREATE TABLE t (words TEXT)")
        connection.execute("INSERT INTO t VALUES (?)", (SECRET,))
        connection.execute("DELETE FROM t")
        await keeper.start()
        async with asyncio.timeout(20):
            while remains(path):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await keeper.stop()


@pytest.mark.parametrize(("synchronous", "number"), [("FULL", 2), ("NORMAL", 1), ("OFF", 0)])
def test_a_file_opened_without_sqlalchemy_has_the_same_pragmas(
    tmp_path: Path, synchronous: Synchronous, number: int
) -> None:
    with contextlib.closing(open_file(tmp_path / "test.db", synchronous, 2.0)) as connection:
        names = ("journal_mode", "synchronous", "busy_timeout", FORGET.partition("=")[0])
        seen = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]
    assert seen == ["wal", number, 2000, 1]
    assert FORGET in pragmas(synchronous)  # some builds of SQLite forget anyhow, and hide that they are not told to


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:///a/b.db", "a/b.db"),
        ("sqlite:////a/b.db", "/a/b.db"),
        ("sqlite+aiosqlite:////a/b.db?mode=ro", "/a/b.db"),
        ("sqlite://", None),
        ("sqlite:///", None),
        ("postgresql://h/d", None),
        ("postgresql:///d", None),
        ("", None),
    ],
)
def test_the_file_that_a_url_names(url: str, file: str | None) -> None:
    assert file_of(url) == (file and Path(file))


def test_times_are_milliseconds_or_moments_in_utc() -> None:
    before = datetime.now(UTC)
    assert abs(now_ms() - before.timestamp() * 1000) < 60_000
    assert utc(datetime(2026, 1, 2, 3)) == datetime(2026, 1, 2, 3, tzinfo=UTC)
    zoned = datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))
    assert utc(zoned) is zoned
