"""Numbers read as the sheet shows them, in the formats that are not Office Open XML."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.sheets.parser import WorkbookParser, beside_cells
from footnote_ingestion.parsers.sheets.sheet_extras import SheetExtras
from support.ingestion_client import assert_spans_exact
from support.opendocument import spreadsheet

# Made with xlwt: cells B4 to F6, with the formats 0%, 0.0%, "$"#,##0.00, 0.00 "EUR", #,##0 and General.
XLS = Path(__file__).parent / "files" / "numbers.xls"
ODS = """<table:table table:name="Prices">
 <table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="4"/></table:table-row>
 <table:table-row><table:table-cell/>{header}</table:table-row>
 <table:table-row-group>
  <table:table-row><table:table-cell/>{laser}</table:table-row>
  <table:table-row table:number-rows-repeated="2"><table:table-cell/>{mirror}</table:table-row>
 </table:table-row-group>
 <table:table-row table:number-rows-repeated="1048570"><table:table-cell/></table:table-row>
</table:table>"""


def string(text: str) -> str:
    return f'<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>'


def number(kind: str, value: float, text: str, repeated: int = 1) -> str:
    return (
        f'<table:table-cell office:value-type="{kind}" office:value="{value}" '
        f'table:number-columns-repeated="{repeated}"><text:p>{text}</text:p></table:table-cell>'
    )


def ods(path: Path) -> Path:
    euros = number("currency", 1234.5, "1 234,50 €", repeated=2)
    share, none, three = number("percentage", 0.125, "12,5 %"), number("float", 7, ""), number("float", 3, "3")
    tables = ODS.format(
        header=string("Item") + string("Share") + string("Price") + string("Was"),
        laser=string("Laser") + number("percentage", 0.25, "25 %") + euros,
        mirror=string("Mirror") + share + none + three,
    )
    return spreadsheet(path, tables)


def texts(path: Path) -> list[str]:
    blocks: list[Block] = []
    limits = Limits()
    WorkbookParser().inspect(path, limits)
    WorkbookParser().parse(path, BlockWriter(blocks.append, limits), limits)
    assert_spans_exact(blocks)
    return [block.text for block in blocks]


def test_xls() -> None:
    assert texts(XLS) == [
        "Item: Laser; Share: 25%; Price: $1,234.50; Stock: 9,335; Plain: 1.5",
        "Item: Mirror; Share: 12.5%; Price: 3.00 EUR; Stock: 12; Plain: 7",
    ]


def test_ods(tmp_path: Path) -> None:
    mirror = "Item: Mirror; Share: 12,5 %; Price: 7; Was: 3"
    assert texts(ods(tmp_path / "a.ods")) == [
        "Item: Laser; Share: 25 %; Price: 1 234,50 €; Was: 1 234,50 €", mirror, mirror,
    ]  # fmt: skip


@pytest.mark.parametrize("cut", [600, 2000, 4000])
def test_a_damaged_workbook_has_its_plain_values_at_least(tmp_path: Path, cut: int) -> None:
    data = XLS.read_bytes()
    damaged = tmp_path / "a.xls"
    damaged.write_bytes(data[:cut] + bytes(64) + data[cut + 64 :])
    assert beside_cells(damaged).of_sheet("Prices") is not None
    assert beside_cells(damaged).of_sheet("no such sheet") == SheetExtras(unreadable=1)


def read_numbers(path: Path, *body: tuple[object, ...]) -> dict[str, float | None]:
    """The number of each cell of the second column, by the row's name."""
    book = openpyxl.Workbook()
    book.active.append(["Town", "Result"])
    for row in body:
        book.active.append(row)
    book.save(path)
    blocks: list[Block] = []
    WorkbookParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    found: dict[str, float | None] = {}
    for block in blocks:
        name, value = block.anchors
        known = value.cell.WhichOneof("value") == "number"
        found[block.text[name.span.start : name.span.end]] = value.cell.number if known else None
    return found


def test_texts_among_whole_numbers_have_thousands_and_brackets_are_negative(tmp_path: Path) -> None:
    found = read_numbers(
        tmp_path / "a.xlsx",
        ("Ghent", "62,994"),
        ("Mons", 51760),
        ("Bruges", "(1,250)"),
        ("Ypres", "(35)"),
        ("Namur", 8),
    )
    assert found == {"Ghent": 62994, "Mons": 51760, "Bruges": -1250, "Ypres": -35, "Namur": 8}


def test_texts_that_nothing_shows_how_to_read_stay_texts(tmp_path: Path) -> None:
    found = read_numbers(tmp_path / "a.xlsx", ("Ghent", "62,994"), ("Mons", "5,250"), ("Bruges", "(1,250)"))
    assert found == {"Ghent": None, "Mons": None, "Bruges": None}


def test_hours_of_an_ods_are_read_as_the_sheet_shows_them(tmp_path: Path) -> None:
    hours = '<table:table-cell office:value-type="time" office:time-value="{}"><text:p>{}</text:p></table:table-cell>'
    rows = [string("Name") + string("Hours")] + [
        string(name) + hours.format(value, text)
        for name, value, text in [
            ("Ann", "-PT01H30M00S", "-01:30"),
            ("Bob", "PT26H15M00S", "26:15"),
            ("Cid", "PT01H15M00S", "01:15"),
        ]
    ]
    table = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    path = spreadsheet(tmp_path / "hours.ods", f'<table:table table:name="S">{table}</table:table>')
    assert texts(path) == ["Name: Ann; Hours: -01:30", "Name: Bob; Hours: 26:15", "Name: Cid; Hours: 01:15"]
