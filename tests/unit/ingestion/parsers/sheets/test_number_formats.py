"""Numbers of a workbook read as its sheets show them."""

from pathlib import Path

import openpyxl
import pytest
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.sheets.number_formats import parse
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
    ],
)
def test_numbers_are_shown_as_the_format_says(code: str, value: float, shown: str) -> None:
    style = parse(code)
    assert style is not None
    assert style.show(value) == shown


@pytest.mark.parametrize("code", ["General", "dd/mm/yyyy", "# ?/?", "0.00E+00", "@", "[h]:mm", ""])
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
