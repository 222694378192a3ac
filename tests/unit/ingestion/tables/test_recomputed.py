"""The second computation: over the document's own rows, by another engine; where it differs nothing is confirmed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import openpyxl
import pytest
from footnote.types.v1.table_pb2 import TableDescription
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.tables.collected import CellData, RowData
from footnote_ingestion.tables.computing import Computing
from footnote_ingestion.tables.engine import Engine
from footnote_ingestion.tables.jobs import OwnRows
from footnote_ingestion.tables.kept import KeptTables
from footnote_ingestion.tables.opened import Archive
from footnote_ingestion.tables.recomputed import same
from footnote_ingestion.tables.session import Session
from footnote_ingestion.tables.written_queries import WrittenQuery

ROWS = "Item;Town;Units\n" + "".join(f"I-{n};{'Lyon' if n % 2 else 'Nice'};{n}\n" for n in range(1, 31))
QUERY = 'SELECT SUM("Units") FROM {view} WHERE "Town" = \'Lyon\''


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[tuple[Engine, Path]]:
    """The engine that computes over a document's own rows, and the file they are from."""
    session = Session(tmp_path / "session", 256 << 20)
    file, archive = tmp_path / "stock.csv", tmp_path / "stock.zip"
    file.write_text(ROWS)
    with KeptTables(session) as kept:
        parser_for("csv").parse(file, BlockWriter(kept.before(lambda block: None), Limits()), Limits())
        assert kept.finish()
        archive.write_bytes(b"".join(part for _, part in kept.parts()))
    with Engine([Archive(archive, "abcdefabcdef", "stock.csv")], session, 30.0) as opened:
        yield opened, file


def changed(rows: Iterable[RowData]) -> list[RowData]:
    """The rows with another number in the first one of Lyon."""
    found = list(rows)
    found[0].cells[3] = CellData("2", "number", 2.0)
    return found


def test_it_agrees_over_the_document_itself(engine: tuple[Engine, Path]) -> None:
    opened, file = engine
    own = OwnRows({"abcdefabcdef": ("csv", str(file))})
    written = WrittenQuery(opened, own.of, Computing(opened, own.of).subject)
    found = written.answer("Total Units in Lyon", QUERY.format(view=opened.tables[0].view), "en")
    assert found.confirmed
    assert not found.doubts
    assert "225" in found.text


def test_cells_that_say_otherwise_confirm_nothing(engine: tuple[Engine, Path]) -> None:
    opened, file = engine

    def again(table: TableDescription) -> list[RowData]:
        return changed(OwnRows({"abcdefabcdef": ("csv", str(file))}).of(table))

    written = WrittenQuery(opened, again, Computing(opened, again).subject)
    assert not written.answer("Total Units in Lyon", QUERY.format(view=opened.tables[0].view), "en").confirmed
    found = Computing(opened, again).answer("Total Units in Lyon", "en")
    assert found is not None
    assert not found.confirmed


def test_a_header_or_text_is_never_code_of_the_second_engine(tmp_path: Path) -> None:
    session = Session(tmp_path / "session", 256 << 20)
    file, archive = tmp_path / "odd.csv", tmp_path / "odd.zip"
    header = 'a"] or __import__("os").abort() or scope["x'
    file.write_text('"{}";Units\n'.format(header.replace('"', '""')) + "".join(f"it's {n};{n}\n" for n in range(1, 9)))
    with KeptTables(session) as kept:
        parser_for("csv").parse(file, BlockWriter(kept.before(lambda block: None), Limits()), Limits())
        kept.finish()
        archive.write_bytes(b"".join(part for _, part in kept.parts()))
    own = OwnRows({"abcdefabcdef": ("csv", str(file))})
    with Engine([Archive(archive, "abcdefabcdef", "odd.csv")], session, 30.0) as opened:
        table = opened.tables[0]
        name = table.columns[0].name.replace('"', '""')
        written = WrittenQuery(opened, own.of, Computing(opened, own.of).subject)
        query = f'SELECT "{name}", "Units" FROM {table.view} WHERE "{name}" = \'it\'\'s 3\''
        found = written.answer("Units of it's 3", query, "en")
    assert found.confirmed
    assert "it's 3: 3" in found.text


@pytest.mark.parametrize(
    ("one", "two", "alike"),
    [
        ([(1, "a")], [(1.0, "a")], True),
        ([(0.1 + 0.2,)], [(0.3,)], True),
        ([("b",), ("a",)], [("a",), ("b",)], True),
        ([(1.0,)], [(1.1,)], False),
        ([(None,)], [(0.0,)], False),
        ([("1",)], [(1.0,)], False),
        ([(1.0,)], [(1.0,), (1.0,)], False),
        ([("2025-03-01",)], [("2025-03-01T00:00:00",)], True),
        ([(True,)], [(1.0,)], False),
    ],
)
def test_results_are_compared_by_value(one: list[tuple[object]], two: list[tuple[object]], alike: bool) -> None:
    assert same(one, two) is alike


def test_cells_have_the_names_of_their_sheet(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (("Item", "Town", "Units"), *((f"I-{n}", "Lyon" if n % 2 else "Nice", n) for n in range(1, 9))):
        book.active.append([None, None, None, *row])
    file, archive, session = tmp_path / "a.xlsx", tmp_path / "a.zip", Session(tmp_path / "session", 256 << 20)
    book.save(file)
    with KeptTables(session) as kept:
        parser_for("xlsx").parse(file, BlockWriter(kept.before(lambda block: None), Limits()), Limits())
        assert kept.finish()
        archive.write_bytes(b"".join(part for _, part in kept.parts()))
    with Engine([Archive(archive, "abcdefabcdef", "a.xlsx")], session, 30.0) as engine:
        own = OwnRows({"abcdefabcdef": ("xlsx", str(file))})
        computing = Computing(engine, own.of)
        found = computing.answer("Total Units in Nice", "en")
        assert found is not None
        assert found.confirmed
        assert list(found.cells[0].ranges) == ["F3", "F5", "F7", "F9"]
        query = QUERY.format(view=engine.tables[0].view)
        written = WrittenQuery(engine, own.of, computing.subject).answer("Total Units in Lyon", query, "en")
        assert list(written.cells[0].ranges) == ["F2", "F4", "F6", "F8"]
