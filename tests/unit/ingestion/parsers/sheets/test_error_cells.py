"""Error cells of workbooks are read as the sheet shows them, and said."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.sheets.parser import WorkbookParser
from support.opendocument import spreadsheet

WORDS = "2 cells show errors, such as #N/A, in the place of values"
ROWS = [("Item", "Amount", "Pct"), *((f"N{at}", at * 10, at + 1) for at in range(1, 7))]


def xlsx(folder: Path, errors: dict[str, str]) -> Path:
    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    for cell, text in errors.items():
        book.active[cell] = text
    book.save(folder / "a.xlsx")
    return folder / "a.xlsx"


def ods(folder: Path, errors: dict[str, str]) -> Path:
    def cell(value: object, name: str) -> str:
        kind = f'string" office:string-value="{value}'
        if name in errors:
            calc = "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"
            kind, value = f'string" office:string-value="" xmlns:c="{calc}" c:value-type="error', errors[name]
        elif isinstance(value, int):
            kind = f'float" office:value="{value}'
        return f'<table:table-cell office:value-type="{kind}"><text:p>{value}</text:p></table:table-cell>'

    rows = [
        "".join(cell(value, f"{column}{at}") for column, value in zip("ABC", row, strict=True))
        for at, row in enumerate(ROWS, 1)
    ]
    table = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    return spreadsheet(folder / "a.ods", f'<table:table table:name="Sheet">{table}</table:table>')


def read(path: Path) -> tuple[list[Block], BlockWriter]:
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    WorkbookParser().parse(path, out, Limits())
    return blocks, out


@pytest.mark.parametrize("made", [xlsx, ods])
@pytest.mark.parametrize("at", [2, 4])  # the first row below the header, and one amid others
def test_errors_are_read_and_said(made: Callable[[Path, dict[str, str]], Path], at: int, tmp_path: Path) -> None:
    path = made(tmp_path, {f"B{at}": "#N/A", "C6": "#DIV/0!"})
    blocks, out = read(path)
    texts = [block.text for block in blocks]
    assert texts[at - 2] == f"Item: N{at - 1}; Amount: #N/A; Pct: {at}"
    assert texts[4] == "Item: N5; Amount: 50; Pct: #DIV/0!"
    assert len(texts) == len(ROWS) - 1
    [wrong] = [one for one in blocks[at - 2].anchors if one.locator.sheet.range == f"B{at}"]
    assert wrong.cell.WhichOneof("value") is None
    [warning] = out.noticed.warnings()
    assert warning.text == WORDS
    assert [place.sheet.range for place in warning.places] == [f"B{at}", "C6"]


def test_errors_and_formulas_of_cells_without_names_of_their_places_are_said(tmp_path: Path) -> None:
    named, unnamed = xlsx(tmp_path, {"B3": "#N/A", "C4": "=1+1"}), tmp_path / "unnamed.xlsx"
    with zipfile.ZipFile(named) as package, zipfile.ZipFile(unnamed, "w") as other:
        for entry in package.infolist():
            data = package.read(entry)
            if entry.filename.startswith("xl/worksheets/"):
                data = re.sub(rb' r="[A-Z]*\d+"', b"", data)
            other.writestr(entry.filename, data)
    blocks, out = read(unnamed)
    assert blocks[1].text == "Item: N2; Amount: #N/A; Pct: 3"
    assert [[place.sheet.range for place in one.places] for one in out.noticed.warnings()] == [["B3"], ["C4"]]


def test_a_row_of_errors_is_a_row(tmp_path: Path) -> None:
    blocks, _ = read(xlsx(tmp_path, {"A3": "#REF!", "B3": "#REF!", "C3": "#REF!"}))
    assert blocks[1].text == "Item: #REF!; Amount: #REF!; Pct: #REF!"


def test_a_first_row_of_errors_is_no_header(tmp_path: Path) -> None:
    blocks, _ = read(xlsx(tmp_path, {"B2": "#N/A", "C2": "#VALUE!"}))
    assert [block.text for block in blocks][:2] == [
        "Item: N1; Amount: #N/A; Pct: #VALUE!", "Item: N2; Amount: 20; Pct: 3",
    ]  # fmt: skip
