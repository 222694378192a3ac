"""Numbers of a workbook read as its sheets show them."""

import re
import zipfile
from pathlib import Path

import openpyxl
import pytest
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.format_codes import parse
from footnote_ingestion.parsers.sheets.parser import WorkbookParser
from footnote_text.a1 import cell_name, cell_position


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("0%", 0.25, "25%"),
        ("0.0%", 0.0725, "7.3%"),
        ("0.00", 1.005, "1.01"),
        ("0", 2.5, "3"),
        ("0", -0.5, "-1"),
        ("00000", 1234, "01234"),
        ("0,000", 42, "0,042"),
        ("000.0", -7.25, "-007.3"),
        ("#,##0.0", 1234567.85, "1,234,567.9"),
        ("0.00", 1e-20, "0.00"),
        ("0." + "0" * 40, 1e14, "100000000000000." + "0" * 30),
        ("0.00", 3, "3.00"),
        ("#,##0", 61200, "61,200"),
        ("#,##0.00", -1234.5, "-1,234.50"),
        ("0.0##", 2.5, "2.5"),
        ('"$"#,##0.00', 1577, "$1,577.00"),
        ("[$€-407] #,##0", 5400, "€ 5,400"),
        ('#,##0.00" kg";[Red]-#,##0.00" kg"', 12.8, "12.80 kg"),
        ("_($* #,##0_);_($* (#,##0)", -12, "-$12"),
        ("0", -0.2, "0"),
        ("▲0.0%;▼0.0%", 0.053, "▲5.3%"),
        ('[Green]"▲ "0.0%;[Red]"▼ "0.0%', -0.021, "▼ 2.1%"),
        ('"Debit "0;"Credit "(0)', -5, "Credit 5"),
        ("+0.0%;-0.0%", -0.02, "-2.0%"),
        ("+0.0%;-0.0%", 0.02, "+2.0%"),
        ('"+"0;"-"0', -2, "-2"),
        ('0.00 "CR";0.00 "DR"', -5, "5.00 DR"),
        ('0.00 "CR";-0.00 "DR"', -5, "-5.00 DR"),
        ('0.00 "CR";0.00 "DR"', 5, "5.00 CR"),
    ],
)
def test_numbers_are_shown_as_the_format_says(code: str, value: float, shown: str) -> None:
    style = parse(code)
    assert style is not None
    assert style.show(value) == shown


@pytest.mark.parametrize(
    "code", ["General", "dd/mm/yyyy", "# ?/?", "0.00E+00", "@", "[h]:mm", "", "[<1]0%;0", "[Red][>=5]0%"]
)
def test_other_formats_are_left_to_the_reader_of_values(code: str) -> None:
    assert parse(code) is None


def test_what_is_too_large_to_be_exact_is_left_as_it_is() -> None:
    style = parse("0%")
    assert style is not None
    assert style.show(1e14) is None


def test_positions_are_the_inverse_of_names() -> None:
    for position in [(0, 0), (11, 25), (99, 26), (5, 702), (1048575, 16383)]:
        assert cell_position(cell_name(*position)) == position
    with pytest.raises(ValueError, match="no cell"):
        cell_position("A0")


def test_a_workbook_says_what_its_sheet_shows(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Growth & Co"
    for row in (["Region", "Growth", "Revenue", "Plain"], ["North", 0.25, 61200, 0.25], ["South", -0.031, 5, 7]):
        sheet.append(row)
    for row in (2, 3):
        sheet[f"B{row}"].number_format = "0.0%"
        sheet[f"C{row}"].number_format = '"€" #,##0'
    path = tmp_path / "growth.xlsx"
    book.save(path)
    blocks: list = []
    WorkbookParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    assert [block.text for block in blocks] == [
        "Region: North; Growth: 25.0%; Revenue: € 61,200; Plain: 0.25",
        "Region: South; Growth: -3.1%; Revenue: € 5; Plain: 7",
    ]
    [growth] = [anchor for anchor in blocks[0].anchors if anchor.locator.sheet.range == "B2"]
    assert blocks[0].text[growth.span.start : growth.span.end] == "25.0%"


def test_cells_without_names_of_their_places_are_shown_alike(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Region", "Growth", "Plain"], ["North", 0.25, 0.25], ["South", -0.031, 7]):
        sheet.append(row)
    sheet["B2"].number_format = sheet["B3"].number_format = "0.0%"
    named, unnamed = tmp_path / "named.xlsx", tmp_path / "unnamed.xlsx"
    book.save(named)
    with zipfile.ZipFile(named) as package, zipfile.ZipFile(unnamed, "w") as other:
        for entry in package.infolist():
            data = package.read(entry)
            if entry.filename.startswith("xl/worksheets/"):
                data = re.sub(rb' r="[A-Z]*\d+"', b"", data)
            other.writestr(entry.filename, data)
    found: list[list] = [[], []]
    for path, blocks in zip((named, unnamed), found, strict=True):
        WorkbookParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    assert found[0] == found[1]
    assert found[1][0].text == "Region: North; Growth: 25.0%; Plain: 0.25"


def test_hours_below_none_and_above_a_day(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for at, row in enumerate((["Name", "Hours"], ["Ann", -0.0625], ["Bob", 1.5], ["Cid", -0.5 / 24]), 1):
        sheet.append(row)
        sheet[f"B{at}"].number_format = "[h]:mm"
    path = tmp_path / "hours.xlsx"
    book.save(path)
    blocks: list = []
    WorkbookParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    assert [block.text for block in blocks] == [
        "Name: Ann; Hours: -1:30:00",
        "Name: Bob; Hours: 36:00:00",
        "Name: Cid; Hours: -0:30:00",
    ]
