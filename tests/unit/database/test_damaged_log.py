"""A damaged write-ahead log is refused before SQLite drops commits, and nothing else is taken for one.

SQLite itself is the judge: what it no longer finds after the damage must have been said before.
"""

import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from footnote_database import integrity, salvage
from footnote_database.damaged_log import lost_commits
from footnote_kit.errors import FailedPrecondition

WRITER = """
import os, shutil, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(f"PRAGMA page_size={sys.argv[2]}")
connection.execute("PRAGMA journal_mode=WAL")
connection.execute("CREATE TABLE facts (number INTEGER, text TEXT)")
for step in sys.argv[3].split():
    kind, _, count = step.partition(":")
    if kind == "commit":
        for number in range(int(count)):
            connection.execute("INSERT INTO facts VALUES (?, ?)", (number, f"Fact {number}. " * 100))
    elif kind == "together":
        connection.execute("BEGIN")
        for number in range(int(count)):
            connection.execute("INSERT INTO facts VALUES (?, ?)", (number, f"Fact {number}. " * 300))
        connection.execute("COMMIT")
    elif kind == "rollback":
        connection.execute("PRAGMA cache_size=5")
        connection.execute("BEGIN")
        for number in range(int(count)):
            connection.execute("INSERT INTO facts VALUES (?, ?)", (number, f"Draft {number}. " * 300))
        connection.execute("ROLLBACK")
    elif kind == "reader":
        reader = sqlite3.connect(sys.argv[1], isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM facts").fetchone()
    elif kind == "change":
        for number in range(int(count)):
            connection.execute("UPDATE facts SET text = ? WHERE number % 7 = 0", (f"Change {number}. " * 40,))
    elif kind == "index":
        shutil.copy(sys.argv[1] + "-shm", sys.argv[1] + "-before")
    elif kind == "checkpoint":
        connection.execute(f"PRAGMA wal_checkpoint({count})")
os.kill(os.getpid(), 9)
"""
FRAME = 24 + 4096


def killed(folder: Path, steps: str, page_size: int = 4096) -> Path:
    """Return a database whose writer was killed after these steps, its log beside it."""
    path = folder / "facts.db"
    subprocess.run([sys.executable, "-c", WRITER, str(path), str(page_size), steps], check=False)
    assert log_of(path).stat().st_size
    return path


def log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def flip(path: Path, *bits: int) -> None:
    content = bytearray(log_of(path).read_bytes())
    for bit in bits:
        content[bit // 8] ^= 1 << bit % 8
    log_of(path).write_bytes(content)


def found(path: Path, folder: Path) -> int:
    """Return how many facts SQLite finds, in a copy."""
    folder.mkdir()
    for one in (path, log_of(path)):
        shutil.copy(one, folder)
    with closing(sqlite3.connect(folder / path.name)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM facts").fetchone()[0])
        except sqlite3.OperationalError:
            return 0  # not even the table is left


@pytest.mark.parametrize("index", ["with its index", "after a power cut"])
@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(one, marks=pytest.mark.full) for one in range(3, 30))])
def test_what_sqlite_would_drop_is_said(tmp_path: Path, seed: int, index: str) -> None:
    path = killed(tmp_path, "commit:80")
    chance = random.Random(seed)
    # Without the index, damage in the last commit is the same as a commit that a power cut tore.
    end = log_of(path).stat().st_size - (0 if index == "with its index" else 8 * FRAME)
    if index != "with its index":
        path.with_name(path.name + "-shm").unlink()
    flip(path, *(chance.randrange(32 * 8, end * 8) for _ in range(chance.choice([1, 64]))))
    dropped = 80 - found(path, tmp_path / "copy")
    lost = lost_commits(path)
    assert dropped, "each flipped bit drops something"
    assert lost is not None
    assert dropped <= lost.count <= dropped + 1  # the table was made by a commit of its own
    assert lost_commits(path) == lost, "the check changes nothing"


def test_a_commit_that_the_killed_writer_had_not_yet_put_into_the_index_counts(tmp_path: Path) -> None:
    path = killed(tmp_path, "commit:20 index commit:1")
    path.with_name(path.name + "-before").replace(path.with_name(path.name + "-shm"))
    flip(path, (32 + 5 * FRAME + 100) * 8)
    dropped = 21 - found(path, tmp_path / "copy")
    lost = lost_commits(path)
    assert lost is not None
    assert lost.count == dropped


@pytest.mark.parametrize("index", ["with its index", "after a power cut"])
@pytest.mark.parametrize("byte", [2, 5, 13, 17, 22, 26])
def test_a_damaged_header_is_damage(tmp_path: Path, byte: int, index: str) -> None:
    path = killed(tmp_path, "commit:20")
    if index != "with its index":
        path.with_name(path.name + "-shm").unlink()
    flip(path, byte * 8)
    assert found(path, tmp_path / "copy") == 0
    assert lost_commits(path) is not None


@pytest.mark.parametrize("index", ["with its index", "after a power cut"])
@pytest.mark.parametrize(
    "steps",
    [
        "commit:1",
        "commit:40",
        "commit:40 rollback:400 commit:1",
        "commit:40 rollback:400",
        "commit:200 checkpoint:RESTART commit:5",
        "commit:200 checkpoint:RESTART commit:20 rollback:900 commit:3",
        "commit:30 checkpoint:PASSIVE commit:30",
        pytest.param("commit:3000", marks=pytest.mark.slow),
    ],
)
def test_a_sound_log_is_sound(tmp_path: Path, steps: str, index: str) -> None:
    path = killed(tmp_path, steps)
    if index != "with its index":
        path.with_name(path.name + "-shm").unlink()
    assert lost_commits(path) is None


@pytest.mark.parametrize("page_size", [512, 1024, 65536])
def test_pages_of_any_size_are_summed(tmp_path: Path, page_size: int) -> None:
    path = killed(tmp_path, "commit:30", page_size)
    assert lost_commits(path) is None
    flip(path, 8 * (log_of(path).stat().st_size - page_size // 2))
    assert lost_commits(path) is not None


def test_a_torn_end_is_no_damage(tmp_path: Path) -> None:
    path = killed(tmp_path, "commit:30")
    path.with_name(path.name + "-shm").unlink()
    content = log_of(path).read_bytes()
    for cut in (1, 100, 4095, 4097, FRAME, 2 * FRAME - 1):
        log_of(path).write_bytes(content[:-cut])
        assert lost_commits(path) is None, cut
    log_of(path).write_bytes(content[:-4000] + bytes(4000))
    assert lost_commits(path) is None


def test_a_hole_in_the_last_transaction_is_a_torn_end(tmp_path: Path) -> None:
    path = killed(tmp_path, "commit:30 together:40")
    path.with_name(path.name + "-shm").unlink()
    flip(path, 8 * (log_of(path).stat().st_size - 3 * FRAME - 1000))
    assert lost_commits(path) is None, "a power cut may leave the end of a transaction without its middle"


def states(path: Path, folder: Path) -> list[list[tuple[int, str]]]:
    """Return what SQLite finds after each commit of a sound log, in copies whose log ends there."""
    content = log_of(path).read_bytes()
    ends = [at + FRAME for at in range(32, len(content) - FRAME + 1, FRAME) if content[at + 4 : at + 8] != bytes(4)]
    found = []
    for end in ends:
        copy = folder / str(end)
        copy.mkdir(parents=True)
        log_of(Path(shutil.copy(path, copy))).write_bytes(content[:end])
        found.append(facts(copy / path.name))
    return found


def facts(path: Path) -> list[tuple[int, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT number, text FROM facts ORDER BY rowid").fetchall()


@pytest.mark.parametrize(("more", "left"), [("", 0), (" change:6", 6)])
@pytest.mark.parametrize("place", [5, 32 + 2 * FRAME + 300, 32 + 9 * FRAME + 2])
def test_a_log_behind_its_file_is_not_read_over_it(tmp_path: Path, place: int, more: str, left: int) -> None:
    path = killed(tmp_path, f"commit:20 checkpoint:TRUNCATE change:12 reader change:0 checkpoint:PASSIVE{more}")
    [*_, newest] = whole = states(path, tmp_path / "states")
    flip(path, 8 * place)
    lost = lost_commits(path)
    assert lost is not None
    assert lost.ahead
    assert lost.count == (None if left and place < 32 else left)
    if left:
        with pytest.raises(FailedPrecondition, match="start with --accept facts"):
            integrity.check_file(path, "facts")
    with pytest.raises(FailedPrecondition):
        integrity.check_file(path, "facts", accepted=True)
    assert lost_commits(path) == lost, "the doctor changes nothing"
    integrity.check_file(path, "facts", discards=True, accepted=bool(left))
    assert facts(path) == (whole[-1 - left] if left else newest)
    assert lost_commits(path) is None


def test_a_file_amid_a_checkpoint_is_damaged_with_its_log(tmp_path: Path) -> None:
    path = killed(tmp_path, "commit:20 checkpoint:TRUNCATE change:12")
    index = path.with_name(path.name + "-shm")
    content = bytearray(index.read_bytes())
    content[128:132] = content[16:20]  # a checkpoint was about to copy all frames
    index.write_bytes(content)
    flip(path, 8 * (32 + 2 * FRAME + 300))
    with pytest.raises(FailedPrecondition, match="put back a copy"):
        integrity.check_file(path, "facts", discards=True, accepted=True)


NAMED = {"facts": "SELECT 'f' || number FROM facts", "none": "SELECT number FROM missing"}


@pytest.mark.parametrize("place", [32 + 3 * FRAME + 300, 32 + 3 * FRAME + 20])
def test_what_the_lost_commits_held_is_named(tmp_path: Path, place: int) -> None:
    path = killed(tmp_path, "commit:12 checkpoint:TRUNCATE commit:30")
    before = {number for number, _ in facts(Path(shutil.copy(path, tmp_path / "alone.db")))}
    assert before == set(range(12))
    flip(path, 8 * place)
    lost = lost_commits(path)
    assert lost is not None
    held = salvage.names(path, lost, NAMED)
    left = 30 - (lost.count or 0)
    assert {f"f{number}" for number in range(left + 1, 30) if number > 12} <= set(held["facts"])
    assert not {f"f{number}" for number in range(12)} & set(held["facts"])
    assert "none" not in held
    assert lost_commits(path) == lost, "nothing was changed"
    with pytest.raises(
        FailedPrecondition, match=r"Still legible of what they changed: facts f\d+, .* and \d+ more|f29"
    ):
        integrity.check_file(path, "facts", named=NAMED)
    integrity.check_file(path, "facts", discards=True, accepted=True, named=NAMED)
    assert not {f"f{number}" for number, _ in facts(path)} & set(held["facts"])


def test_what_is_too_large_for_memory_is_not_read(tmp_path: Path) -> None:
    path = killed(tmp_path, "commit:12 checkpoint:TRUNCATE commit:30")
    flip(path, 8 * (32 + 3 * FRAME + 300))
    lost = lost_commits(path)
    assert lost is not None
    with path.open("r+b") as file:
        file.truncate(65 * 2**20)
    assert salvage.names(path, lost, NAMED) == {}


def test_of_an_unreadable_log_nothing_is_named(tmp_path: Path) -> None:
    path = killed(tmp_path, "commit:12 checkpoint:TRUNCATE commit:30")
    flip(path, 8 * 5)
    lost = lost_commits(path)
    assert lost is not None
    assert salvage.names(path, lost, NAMED) == {}
    assert salvage.sentence({}) == ""


def test_reading_for_the_doctor_leaves_the_evidence(tmp_path: Path) -> None:
    path = killed(tmp_path, "commit:50")
    flip(path, 8 * (32 + 10 * FRAME + 200))
    with pytest.raises(sqlite3.OperationalError, match="log is damaged"), integrity.read_only(path):
        pass
    assert lost_commits(path) is not None
    with pytest.raises(FailedPrecondition, match="start with --accept facts"):
        integrity.check_log(path, "facts")


def test_a_header_that_was_half_written_while_it_was_read_is_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = killed(tmp_path, "commit:50")
    half = bytearray(log_of(path).read_bytes())
    half[17] ^= 1
    monkeypatch.setattr(Path, "read_bytes", lambda _: bytes(half))
    assert lost_commits(path) is None


def test_no_log_and_what_is_none_are_sound(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    assert lost_commits(path) is None
    for content in (b"", b"x", bytes(5000), b"\x37\x7f\x06\x82" + bytes(40)):
        log_of(path).write_bytes(content)
        assert lost_commits(path) is None


def test_a_start_refuses_until_the_loss_is_accepted(tmp_path: Path) -> None:
    path = killed(tmp_path, "commit:50")
    flip(path, 8 * (32 + 10 * FRAME + 200))
    for _ in range(2):
        with pytest.raises(FailedPrecondition, match=r"newest \d\d commits, until \d{4}-.* start with --accept facts"):
            integrity.check_file(path, "facts")
    integrity.check_file(path, "facts", discards=True, accepted=True)
    integrity.check_file(path, "facts")
    with closing(sqlite3.connect(path)) as connection:
        assert 0 < connection.execute("SELECT count(*) FROM facts").fetchone()[0] < 50


AHEAD = "commit:20 checkpoint:TRUNCATE change:12 reader change:0 checkpoint:PASSIVE change:6"


@pytest.mark.parametrize(("steps", "frame"), [("commit:50", 10), (AHEAD, 2)])
def test_what_is_said_to_be_accepted_is_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: str, frame: int
) -> None:
    """A kill right after the line leaves nothing that the next start refuses, and one before it leaves all."""
    path = killed(tmp_path, steps)
    flip(path, 8 * (32 + frame * FRAME + 200))
    lost = lost_commits(path)
    assert lost is not None
    said: list[str] = []

    def says(_: object, event: str, **__: object) -> None:
        said.append(event)
        left = tmp_path / event
        left.mkdir()
        for one in tmp_path.glob("facts.db*"):
            shutil.copy(one, left)
        (left / "facts.db-shm").unlink(missing_ok=True)  # which a power cut may cost
        assert (lost_commits(left / path.name) is None) == (event == "damaged_log_accepted")

    monkeypatch.setattr(integrity, "_log", type("Log", (), {"error": says})())
    integrity.check_file(path, "facts", discards=True, accepted=True)
    assert said == ["damaged_log_dropped", "damaged_log_accepted"]


@pytest.mark.slow
def test_a_log_in_use_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE facts (number INTEGER)")
        for number in range(300):
            connection.execute("INSERT INTO facts VALUES (?)", (number,))
            if number % 50 == 0:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            assert lost_commits(path) is None
