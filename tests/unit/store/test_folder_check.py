"""A damaged or foreign engine folder is reported in a sentence; all others are accepted."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from footnote_kit.errors import FailedPrecondition
from footnote_store import folder_check


def made(place: Path, rows: int = 200) -> Path:
    """Make a data folder with a store in it that has a file, and return the store."""
    store = place / "store"
    store.mkdir(parents=True)
    with closing(sqlite3.connect(store / "vectors.db")) as connection, connection:
        connection.execute("CREATE TABLE rows (value BLOB)")
        connection.executemany("INSERT INTO rows VALUES (?)", [(bytes(2000),)] * rows)
    return store


def check(store: Path) -> None:
    folder_check.check(store, store / "vectors.db")


def test_a_store_stays_with_its_data_folder(tmp_path: Path) -> None:
    store = made(tmp_path / "a")
    for _ in range(3):
        check(store)
    assert (store / "installation").read_text() == (store.parent / "installation").read_text()
    moved = tmp_path / "moved"
    store.parent.rename(moved)
    check(moved / "store")


def test_a_store_of_another_installation_is_refused(tmp_path: Path) -> None:
    ours, theirs = made(tmp_path / "ours"), made(tmp_path / "theirs")
    check(ours)
    check(theirs)
    ours.rename(tmp_path / "aside")
    theirs.rename(ours)
    with pytest.raises(FailedPrecondition, match="is of another installation: put back the one") as caught:
        check(ours)
    assert "doctor --repair" in caught.value.message
    ours.rename(tmp_path / "put-aside")
    ours.mkdir()
    check(ours)  # a new one


@pytest.mark.parametrize("how", ["none here", "none there", "new"])
def test_a_folder_without_a_name_gets_one(tmp_path: Path, how: str) -> None:
    store = made(tmp_path / "a")
    if how != "new":
        check(store)
        ((store if how == "none here" else store.parent) / "installation").unlink()
    check(store)
    assert folder_check.is_of(store)
    assert (store / "installation").read_text() == (store.parent / "installation").read_text()


@pytest.mark.parametrize("how", ["cut in half", "cut by a page", "cut by a byte", "overwritten", "empty pages"])
def test_a_damaged_file_is_refused(tmp_path: Path, how: str) -> None:
    store = made(tmp_path / "a")
    check(store)
    file = store / "vectors.db"
    whole = file.read_bytes()
    file.write_bytes(
        {
            "cut in half": whole[: len(whole) // 2],
            "cut by a page": whole[:-4096],
            "cut by a byte": whole[:-1],
            "overwritten": b"\xff" * 4096 + whole[4096:],
            "empty pages": whole[:4096] + bytes(8192) + whole[12288:],
        }[how]
    )
    with pytest.raises(FailedPrecondition, match="is damaged: put back a copy of it, or") as caught:
        check(store)
    assert str(file) in caught.value.message


def test_a_file_that_is_not_there_is_made_later(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    check(tmp_path / "store")
