"""The cell cited for a value is the cell that holds it."""

from __future__ import annotations

import csv
import datetime
import io
import re
import zipfile
from pathlib import Path

import openpyxl
import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers.base import HEADING, NOTE, PARAGRAPH, TABLE_ROW, BlockWriter, Limits
from footnote_ingestion.parsers.failures import ParseError
from footnote_ingestion.parsers.sheets.parser import CsvParser, WorkbookParser, delimiter
from footnote_text.a1 import cell_name
from openpyxl.comments import Comment
from support.ingestion_client import assert_spans_exact
from support.shared import NO_SHARED, shared_dir

SHARED = shared_dir()


def read(parser: WorkbookParser | CsvParser, path: Path, limits: Limits | None = None) -> list[Block]:
    blocks: list[Block] = []
    limits = limits or Limits()
    parser.inspect(path, limits)
    parser.parse(path, BlockWriter(blocks.append, limits), limits)
    assert_spans_exact(blocks)
    return blocks


def cells(blocks: list[Block]) -> dict[tuple[str, str], str]:
    """Every anchored value by (sheet, cell)."""
    found: dict[tuple[str, str], str] = {}
    for block in blocks:
        for anchor in block.anchors:
            place = anchor.locator.sheet
            assert (place.sheet, place.range) not in found
            found[place.sheet, place.range] = block.text[anchor.span.start : anchor.span.end]
    return found


def test_known_cells(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    stocks = book.active
    assert stocks is not None
    stocks.title = "Stocks"
    stocks["B2"] = "Stock of the workshop"
    for column, header in zip("BCDE", ("Part", "Quantity", "Price", "Checked"), strict=True):
        stocks[f"{column}4"] = header
    for row in range(5, 45):
        stocks[f"B{row}"] = f"Part {row}"
        stocks[f"C{row}"] = row * 10
        stocks[f"D{row}"] = row / 8
        stocks[f"E{row}"] = datetime.date(2024, 3, row % 28 + 1)
    other = book.create_sheet("Été '24")
    other["AA100"] = "Far"
    other["AB100"] = "Away"
    other["AA101"] = True
    other["AB101"] = 0.1 + 0.2
    path = tmp_path / "stock.xlsx"
    book.save(path)
    blocks = read(WorkbookParser(), path)
    assert [block.text for block in blocks if block.kind == HEADING] == ["Stocks", "Été '24"]
    title = blocks[1]
    assert (title.kind, title.text, title.locator.sheet.range) == (PARAGRAPH, "Stock of the workshop", "B2")
    rows = [block for block in blocks if block.kind == TABLE_ROW]
    assert rows[0].text == "Part: Part 5; Quantity: 50; Price: 0.625; Checked: 2024-03-06"
    assert rows[0].locator.sheet.range == "B5:E5"
    found = cells(blocks)
    for row in range(5, 45):
        assert found["Stocks", f"C{row}"] == str(row * 10)
        assert found["Stocks", f"B{row}"] == f"Part {row}"
    assert found["Été '24", "AA101"] == "TRUE"
    assert found["Été '24", "AB101"] == "0.3"
    assert len({block.table for block in rows}) == 2


def test_two_tables_on_a_sheet_keep_their_headers(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (
        ["City", "People"],
        ["Ghent", 260000],
        ["Bruges", 118000],
        [],
        ["Year", "Rain", "Sun"],
        [2023, 800, 1700],
    ):
        sheet.append(row)
    path = tmp_path / "two.xlsx"
    book.save(path)
    texts = [block.text for block in read(WorkbookParser(), path)]
    assert texts == ["City: Ghent; People: 260000", "City: Bruges; People: 118000", "Year: 2023; Rain: 800; Sun: 1700"]


def test_csv_cells_and_quotes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('name;note\n"Müller; Anna";"two\nlines"\n;only note\n\nBob;x\n', encoding="cp1252")
    blocks = read(CsvParser(), path)
    assert blocks[0].text == "name: Müller; Anna; note: two lines"
    assert cells(blocks)["", "A2"] == "Müller; Anna"
    assert cells(blocks)["", "B3"] == "only note"
    assert cells(blocks)["", "A5"] == "Bob"


def test_names_with_values_in_csv(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Name,Ann\nBorn,1990\nTown,Ghent\nChildren,3\n")
    texts = [block.text for block in read(CsvParser(), path)]
    assert texts == ["Name: Ann", "Born: 1990", "Town: Ghent", "Children: 3"]


@pytest.mark.parametrize(
    ("text", "expected"), [("a,b\n1,2\n", ","), ("a;b\n1,5;2\n", ";"), ("a\tb\n", "\t"), ("x", ",")]
)
def test_delimiter(text: str, expected: str) -> None:
    assert delimiter(text) == expected


def test_too_many_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n\n" * 100)
    with pytest.raises(ParseError) as caught:
        read(CsvParser(), path, Limits(rows=50))
    assert caught.value.reason == "TOO_LARGE"


def test_cell_names() -> None:
    assert [cell_name(0, column) for column in (0, 25, 26, 701, 702, 16383)] == [
        "A1",
        "Z1",
        "AA1",
        "ZZ1",
        "AAA1",
        "XFD1",
    ]


def assert_same_number(ours: str, value: float) -> None:
    """The text is the number, rounded at most as far as its own decimals show."""
    digits = re.sub(r"[^0-9.]", "", ours)
    number = float(digits) * (-1 if "-" in ours else 1) / (100 if ours.endswith("%") else 1)
    decimals = len(digits.partition(".")[2]) + (2 if ours.endswith("%") else 0)
    exact = re.fullmatch(r"-?[\d.]+", ours) is not None and decimals > 6
    assert number == pytest.approx(value, rel=1e-12, abs=1e-12 if exact else 0.51 * 10**-decimals)


@pytest.mark.slow
@pytest.mark.skipif(
    SHARED is None,
    reason=NO_SHARED,
)
@pytest.mark.parametrize(
    "name", ["km__msexcelfile", "onyx__financial-sample", "unst__2023-half-year-analyses-by-segment"]
)
def test_real_workbooks_cell_by_cell(name: str) -> None:
    """Every anchored value is what another library finds in that cell, and no cell is left out."""
    assert SHARED is not None
    path = SHARED / f"data/files/office/{name}.xlsx"
    blocks = read(WorkbookParser(), path)
    found = cells(blocks)
    text = "\n".join(block.text for block in blocks)
    book = openpyxl.load_workbook(path, data_only=True)
    checked = 0
    for sheet in book.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.value is None or not str(cell.value).strip():
                    continue
                ours = found.get((sheet.title, cell.coordinate))
                if ours is None:  # a header: it is part of the rows below
                    assert re.sub(r"\s+", " ", str(cell.value)).strip()[:200] in text
                elif isinstance(cell.value, str):
                    assert ours == re.sub(r"\s+", " ", cell.value).strip()
                    checked += 1
                elif isinstance(cell.value, int | float) and not isinstance(cell.value, bool):
                    assert_same_number(ours, float(cell.value))
                    checked += 1
    assert checked > 300


@pytest.mark.slow
@pytest.mark.skipif(
    SHARED is None,
    reason=NO_SHARED,
)
def test_a_real_csv_cell_by_cell() -> None:
    assert SHARED is not None
    path = SHARED / "data/files/office/ragflow__schools.csv"
    found = cells(read(CsvParser(), path))
    text = path.read_text(encoding="utf-8")
    records = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter(text)))
    for (_, cell), value in found.items():
        letters, digits = re.fullmatch(r"([A-Z]+)(\d+)", cell).groups()  # type: ignore[union-attr]
        column = sum((ord(char) - 64) * 26**power for power, char in enumerate(reversed(letters))) - 1
        assert re.sub(r"\s+", " ", records[int(digits) - 1][column]).strip() == value
    assert len(found) > 10_000


def test_threads_of_comments_are_read_without_what_excel_says_of_them(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (("Name", "Sum"), ("Cash", 1), ("Debt", 2)):
        book.active.append(row)
    book.active["A2"].comment = Comment("[Threaded comment] Your version of Excel allows ...", "tc={1}")
    book.active["A3"].comment = Comment("A remark.", "Ann")
    book.save(tmp_path / "a.xlsx")
    space = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"
    threads = "".join(f'<threadedComment ref="A2"><text>{one}</text></threadedComment>' for one in ("Is it?", "It is."))
    known = '<Relationship Id="t" Type="x/threadedComment" Target="/xl/threads.xml"/></Relationships>'
    with zipfile.ZipFile(tmp_path / "a.xlsx") as old, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as new:
        new.writestr("xl/threads.xml", f'<ThreadedComments xmlns="{space}">{threads}</ThreadedComments>')
        for name in old.namelist():
            data = old.read(name).decode()
            new.writestr(name, data.replace("</Relationships>", known) if "sheet1.xml.rels" in name else data)
    blocks: list[Block] = []
    WorkbookParser().parse(tmp_path / "b.xlsx", BlockWriter(blocks.append, Limits()), Limits())
    assert [one.text for one in blocks if one.kind == NOTE] == [
        "Comment on A3: A remark.", "Comment on A2: Is it?", "Comment on A2: It is.",
    ]  # fmt: skip
