"""Archives that stay open between questions: read once, replaced when they change, bounded, apart from each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.tables import opened
from footnote_ingestion.tables.engine import Engine
from footnote_ingestion.tables.kept import KeptTables
from footnote_ingestion.tables.opened import Archive
from footnote_ingestion.tables.session import Session
from footnote_ingestion.tables.statements import RefusedStatement

Make = Callable[..., Archive]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """The engine of one process."""
    return Session(tmp_path / "session", 256 << 20)


@pytest.fixture
def make(session: Session, tmp_path: Path) -> Make:
    """Makes the archive of a table of units by its document's id; each lies at a new path, as in a worker."""

    def made(document_id: str, units: int = 1, filename: str = "a.csv") -> Archive:
        file = tmp_path / "a.csv"
        file.write_text("Item;Units\n" + "".join(f"I-{row};{row * units}\n" for row in range(1, 9)))
        with KeptTables(session) as kept:
            parser_for("csv").parse(file, BlockWriter(kept.before(lambda block: None), Limits()), Limits())
            assert kept.finish()
            path = tmp_path / f"archive-{len(list(tmp_path.iterdir()))}.zip"
            path.write_bytes(b"".join(part for _, part in kept.parts()))
        return Archive(path, document_id, filename)

    return made


def total(session: Session, *archives: Archive) -> list[float]:
    with Engine(archives, session, 30.0) as engine:
        return [engine.query(f'SELECT SUM("Units") FROM {one.view}').rows[0][0] for one in engine.tables]


def files(session: Session) -> set[str]:
    return {path.name for path in session.folder.glob("*.parquet")}


def test_the_same_archive_is_opened_once_wherever_it_lies(session: Session, make: Make) -> None:
    assert total(session, make("a")) == [36.0]
    there = files(session)
    assert len(there) == 1
    assert total(session, make("a")) == [36.0]
    assert files(session) == there


def test_a_document_that_was_read_again_or_renamed_is_opened_again(session: Session, make: Make) -> None:
    assert total(session, make("a")) == [36.0]
    assert total(session, make("a", units=2)) == [72.0]
    assert total(session, make("a")) == [36.0]
    with Engine([make("a", filename="b.csv")], session, 30.0) as engine:
        assert engine.tables[0].filename == "b.csv"


def test_only_the_tables_asked_can_be_named(session: Session, make: Make) -> None:
    one, two = make("a"), make("b")
    assert total(session, one, two) == [36.0, 36.0]
    with Engine([two], session, 30.0) as engine:
        for name in ("t_a_1", "raw_t_a_1"):
            with pytest.raises(RefusedStatement):
                engine.run(f"SELECT * FROM {name}")
        assert engine.run("SELECT COUNT(*) FROM t_b_1")[1] == [(8,)]


def test_texts_of_a_column_are_kept_with_their_archive(session: Session, make: Make) -> None:
    for units, last in ((1, "8"), (2, "16")):
        for _ in range(2):
            with Engine([make("a", units=units)], session, 30.0) as engine:
                assert max(engine.texts(engine.tables[0], 2, 80, 100), key=int) == last


@pytest.mark.parametrize(("limit", "most"), [("MOST_ARCHIVES", 3), ("MOST_BYTES", 0)])
def test_few_stay_open(session: Session, make: Make, monkeypatch: pytest.MonkeyPatch, limit: str, most: int) -> None:
    monkeypatch.setattr(opened, limit, most)
    archives = [make(f"d{number}") for number in range(6)]
    for one in archives:
        assert total(session, one) == [36.0]
        assert len(files(session)) <= max(most, 0)
    assert total(session, *archives) == [36.0] * 6
    assert len(files(session)) == most
    assert total(session, *reversed(archives)) == [36.0] * 6


def test_a_broken_archive_leaves_nothing_behind(session: Session, make: Make, tmp_path: Path) -> None:
    good, bad = make("a"), tmp_path / "bad.zip"
    data = bytearray(good.path.read_bytes())
    data[60:90] = bytes(30)
    bad.write_bytes(data)
    with pytest.raises(Exception, match=r".*"), Engine([Archive(bad, "b", "b.csv")], session, 30.0):
        pass
    assert files(session) == set()
    assert total(session, good) == [36.0]


def test_an_archive_is_closed_half_a_minute_after_its_last_question(
    session: Session, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("footnote_ingestion.tables.opened.time", SimpleNamespace(monotonic=lambda: now))
    total(session, make("a"))
    total(session, make("b"))
    there = files(session)
    now += 15
    total(session, make("b"))
    assert files(session) == there
    now += 15
    total(session, make("b"))
    assert len(files(session)) == 1
    assert files(session) < there
