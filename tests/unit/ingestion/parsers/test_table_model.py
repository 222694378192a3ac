"""Every parser keeps what it knows of a table: cells with text, headers, values and places, once for all readers."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from footnote.stages.v1 import parsing_pb2, passage_pb2, stored_document_pb2
from footnote.types.v1 import collection_pb2
from footnote.types.v1.answer_pb2 import Source
from footnote_indexing.chunking.drafts import Drafter
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_text.tables import Cell, Row, rows
from support.ingestion_client import assert_spans_exact

HEAD = ("Part", "Stock", "Price (EUR)", "Checked")
BODY = (("Bolt; long", "1500", "0.75", "2024-03-31"), ("Nut: small", "80", "12.5", "2024-04-01"))


def parsed(path: Path) -> list[parsing_pb2.Block]:
    blocks: list[parsing_pb2.Block] = []
    parser = parser_for({"htm": "html"}.get(path.suffix[1:], path.suffix[1:]))
    parser.parse(path, BlockWriter(blocks.append, Limits()), Limits())
    assert_spans_exact(blocks)
    return blocks


def chunks(blocks: list[parsing_pb2.Block], size: int = 1000) -> list[passage_pb2.Chunk]:
    settings = collection_pb2.CollectionSettings()
    settings.chunking.strategy = collection_pb2.CHUNKING_STRATEGY_TABLE
    settings.chunking.size = size
    drafter = Drafter(stored_document_pb2.Document(id="d", revision=1), settings, lambda texts: [])  # type: ignore[arg-type,return-value]
    drafts = drafter.feed(blocks) + drafter.finish(parsing_pb2.ParsedMetadata())
    return [passage_pb2.Chunk.FromString(draft.chunk.SerializeToString()) for draft in drafts]


def kept(path: Path, size: int = 1000) -> list[Row]:
    """The rows of a file as they come out of its chunks."""
    found = []
    for chunk in chunks(parsed(path), size):
        for row in rows(chunk):
            assert all(chunk.text[cell.start : cell.end] == cell.text for cell in row.cells)
            found.append(row)
    return found


def _csv(path: Path) -> None:
    quoted = [",".join(f'"{cell}"' for cell in row) for row in (HEAD, *BODY)]
    path.write_text("\n".join(quoted))


def _html(path: Path) -> None:
    head = "".join(f"<th>{cell}</th>" for cell in HEAD)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in BODY)
    path.write_text(f"<html><body><table><tr>{head}</tr>{body}</table></body></html>")


def _md(path: Path) -> None:
    path.write_text("\n".join("|" + "|".join(row) + "|" for row in (HEAD, ("---",) * 4, *BODY)))


def _docx(path: Path) -> None:
    document = docx.Document()
    table = document.add_table(rows=0, cols=4)
    for row in (HEAD, *BODY):
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    document.save(str(path))


def _pptx(path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    table = slide.shapes.add_table(3, 4, 0, 0, 5_000_000, 2_000_000).table
    for at, row in enumerate((HEAD, *BODY)):
        for column, text in enumerate(row):
            table.cell(at, column).text = text
    deck.save(str(path))


def _xlsx(path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Stocks"
    sheet.append(HEAD)
    for name, stock, price, day in BODY:
        sheet.append((name, int(stock), float(price), datetime.date.fromisoformat(day)))
    book.save(path)


FORMATS: dict[str, Callable[[Path], None]] = {
    "csv": _csv, "html": _html, "md": _md, "docx": _docx, "pptx": _pptx, "xlsx": _xlsx,
}  # fmt: skip


def value(cell: Cell) -> object:
    which = cell.message.WhichOneof("value")
    return getattr(cell.message, which) if which else cell.text


@pytest.mark.parametrize("size", [1000, 100])
@pytest.mark.parametrize("form", FORMATS)
def test_cells_keep_text_headers_values_and_places_to_the_chunk(form: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / f"stock.{form}"
    FORMATS[form](path)
    found = kept(path, size)
    assert [[cell.text for cell in row.cells] for row in found] == [list(row) for row in BODY]
    for number, row in enumerate(found, 2):
        assert row.number == number
        assert [cell.headers for cell in row.cells] == [(header,) for header in HEAD]
        assert [cell.names_row for cell in row.cells] == [True, False, False, False]
        assert [cell.column for cell in row.cells] == [1, 2, 3, 4]
        assert row.headers == (row.cells[0].text,)
        assert row.cells[2].measure.currency == "EUR"
    assert [value(cell) for cell in found[0].cells] == ["Bolt; long", 1500, 0.75, "2024-03-31"]
    assert [value(cell) for cell in found[1].cells] == ["Nut: small", 80, 12.5, "2024-04-01"]
    if form in ("csv", "xlsx"):
        assert [cell.locator.sheet.range for cell in found[1].cells] == ["A3", "B3", "C3", "D3"]
    if form == "md":
        assert path.read_text().split("\n")[3].startswith("|Nut")


def test_an_old_chunk_without_tables_has_no_rows() -> None:
    assert rows(Source(text="Part: Bolt; Stock: 1500")) == []


def _merged_html(path: Path) -> None:
    rows = ("<td rowspan=2>2021<td>Lille<td rowspan=2>300", "<td>Metz", "<td>2022<td>Nice<td>500")
    path.write_text(f"<table><tr><th>Year<th>City<th>Budget{''.join(f'<tr>{row}' for row in rows)}</table>")


def _merged_docx(path: Path) -> None:
    document = docx.Document()
    table = document.add_table(4, 3)
    for row, texts in zip(table.rows, (("Year", "City", "Budget"), *_MERGED), strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    for column in (0, 2):
        table.cell(1, column).merge(table.cell(2, column))
        table.cell(1, column).text = _MERGED[0][column]
    document.save(str(path))


def _merged_xlsx(path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (("Year", "City", "Budget"), *_MERGED):
        sheet.append([int(text) if text.isdecimal() else text for text in row])
    sheet.merge_cells("A2:A3")
    sheet.merge_cells("C2:C3")
    book.save(path)


_MERGED = (("2021", "Lille", "300"), ("", "Metz", ""), ("2022", "Nice", "500"))


@pytest.mark.parametrize(("form", "make"), [
    ("html", _merged_html), ("docx", _merged_docx), ("xlsx", _merged_xlsx),
])  # fmt: skip
def test_a_merged_number_counts_once_and_names_every_row(
    form: str, make: Callable[[Path], None], tmp_path: Path
) -> None:
    make(path := tmp_path / f"merged.{form}")
    found = kept(path)
    assert [value(row.cells[2]) for row in found] == [300.0, "300", 500.0]
    assert [value(row.cells[0]) for row in found] == [2021.0, 2021.0, 2022.0]


@pytest.mark.parametrize(("form", "numbers"), [("docx", [3, 5]), ("html", [3, 5])])
def test_lines_drawn_with_signs_are_no_rows(form: str, numbers: list[int], tmp_path: Path) -> None:
    drawn = ("Costs", "2018", "2017"), ("-----", "---:", "---:"), ("Rent", "705", "414"), ("-----", "---", "---"), (
        "Wages", "-", "---",
    )  # fmt: skip
    path = tmp_path / f"drawn.{form}"
    if form == "docx":
        document = docx.Document()
        table = document.add_table(len(drawn), 3)
        for at, texts in enumerate(drawn):
            for column, text in enumerate(texts):
                table.cell(at, column).text = text
        document.save(str(path))
    else:
        lines = "".join(f"<tr>{''.join(f'<td>{text}</td>' for text in texts)}</tr>" for texts in drawn)
        path.write_text(f"<table>{lines}</table>")
    found = kept(path)
    assert [row.number for row in found] == numbers
    assert [cell.header for cell in found[0].cells] == ["Costs", "2018", "2017"]
    assert [cell.text for cell in found[1].cells] == ["Wages", "-", "---"]
