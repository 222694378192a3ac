"""What names the rows of a sheet: sections, names above empty cells, numbers and codes beside names; their headers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from footnote_ingestion.parsers.sheets.parser import WorkbookParser
from footnote_text.tables import Row

from .test_headers import Grid, kept, paths, workbook


def read(tmp_path: Path, grid: Grid, merged: list[str] | None = None) -> list[Row]:
    workbook(tmp_path / "a.xlsx", grid, merged or [])
    return kept(WorkbookParser(), tmp_path / "a.xlsx")


def names(found: list[Row]) -> dict[int, tuple[str, ...]]:
    return {row.number: row.headers for row in found}


def test_a_section_after_a_blank_row_names_the_rows_up_to_the_next(tmp_path: Path) -> None:
    grid: Grid = [
        ["Age", "2019", "2020"], [None], ["Men"], ["0-14", 10, 11], ["15+", 30, 31], [None],
        ["Women"], ["0-14", 12, 13], ["15+", 32, 33], [None], ["Total", 84, 88],
    ]  # fmt: skip
    found = read(tmp_path, grid)
    assert names(found)[4] == ("Men", "0-14")
    assert names(found)[9] == ("Women", "15+")
    assert names(found)[11] == ("Total",), "where a section ends is certain only at blank rows"
    texts = {cell.locator.sheet.range: cell.text for row in found for cell in row.cells}
    assert texts["A8"] == "0-14", "the section is no part of the cell"


def test_a_merged_section_names_the_rows_below_it_without_blank_rows(tmp_path: Path) -> None:
    grid: Grid = [
        ["Town", "Homes", "Shops"], ["North", None, None], ["Ghent", 1, 2], ["Mons", 3, 4], ["South", None, None],
        ["Arlon", 5, 6],
    ]  # fmt: skip
    found = names(read(tmp_path, grid, ["A2:C2", "A5:C5"]))
    assert (found[3], found[4], found[6]) == (("North", "Ghent"), ("North", "Mons"), ("South", "Arlon"))


def test_a_title_that_is_kept_in_view_is_no_header(tmp_path: Path) -> None:
    grid: Grid = [
        ["", "", "", "", "Indicators", "Table 1"],
        ["Year", "Prices", None, "Trade", None, None],
        [None, "Food", "Rent", "Out", "In", "Net"], ["2009-10", 8.7, 7.3, 44.2, 65.1, 21.1],
        ["2010-11", 9.1, 7.9, 45.0, 61.4, 16.2], ["2011-12", 9.9, 8.1, 47.3, 60.2, 13.4],
    ]  # fmt: skip
    book = workbook(tmp_path / "a.xlsx", grid, ["A2:A3", "B2:C2", "D2:F2"])
    book.active.freeze_panes = "A2"
    book.save(tmp_path / "a.xlsx")
    found = paths(kept(WorkbookParser(), tmp_path / "a.xlsx"))
    assert (found["B4"], found["D6"]) == (("Prices", "Food"), ("Trade", "Out"))


def test_a_header_kept_in_view_needs_no_name_above_codes(tmp_path: Path) -> None:
    grid: Grid = [
        ["", "CHF", 2015, 2016, 2017], ["", "Total", None, 14, 15], [3600, "Shares of the state"],
        [3601, "Shares of the lands"], [3602, "Shares of the towns"], [3610, "Fees of the state"],
        [3611, "Fees of the lands"], [3612, "Fees of the towns"],
    ]  # fmt: skip
    book = workbook(tmp_path / "a.xlsx", grid, [])
    book.active.freeze_panes = "C2"
    book.save(tmp_path / "a.xlsx")
    found = paths(kept(WorkbookParser(), tmp_path / "a.xlsx"))
    assert (found["B2"], found["D2"]) == (("CHF",), ("2016",))


def test_a_row_without_values_names_no_others(tmp_path: Path) -> None:
    grid: Grid = [
        ["Town", "Homes", "Shops"], ["Names"], ["Ghent", 110, 25], ["Bruges", 90, 31], ["Mons"], ["Arlon", 55, 63],
        [None], ["East"], ["Eupen", 72, 80], ["Spa"], ["Huy", 94, 10],
    ]  # fmt: skip
    found = names(read(tmp_path, grid))
    assert found[3] == ("Ghent",), "the second row of a header may be the name of its column"
    assert found[6] == ("Arlon",)
    assert (found[9], found[11]) == (("East", "Eupen"), ("Huy",)), "nor does the section above go on below it"


def test_empty_cells_go_on_naming_over_blank_rows_but_codes_do_not(tmp_path: Path) -> None:
    grid: Grid = [
        ["Town", "Sex", "Age", "2019"], ["Ghent", "All", "0-14", 7], [None, None, "15+", 9], [None],
        [None, "Men", "0-14", 3], [None, None, "15+", 4], [None], ["Mons", "All", "0-14", 5],
    ]  # fmt: skip
    found = names(read(tmp_path, grid))
    assert found[3] == ("Ghent", "All", "15+")
    assert (found[5], found[6]) == (("Ghent", "Men", "0-14"), ("Ghent", "Men", "15+"))
    assert found[8] == ("Mons", "All", "0-14")
    grid = [["Code", "Town", "Homes"], [11, "Ghent", 7], [12, "Mons", 9], [None, "All towns", 16]]
    assert names(read(tmp_path, grid))[4] == ("All towns",)


def test_a_total_below_a_blank_row_is_of_all(tmp_path: Path) -> None:
    grid: Grid = [
        ["Region", "Town", "Homes"], ["North", "Oslo", 7], [None, "Bergen", 9], [None], [None, "Grand total", 16],
    ]  # fmt: skip
    found = names(read(tmp_path, grid))
    assert (found[3], found[5]) == (("North", "Bergen"), ("Grand total",))


def test_a_remark_or_a_long_text_names_no_rows(tmp_path: Path) -> None:
    grid: Grid = [
        ["Town", "Homes", "Shops"], ["Figures before 2010 are estimates.", None, None], ["Ghent", 1, 2], ["Mons", 3, 4],
    ]  # fmt: skip
    assert names(read(tmp_path, grid, ["A2:C2"]))[3] == ("Ghent",)
    long = "word " * 400
    grid = [["Note", "Town", "Homes"], [long, "Ghent", 7], *([None, f"Town {row}", row] for row in range(60))]
    found = read(tmp_path, grid)
    assert sum(len(cell.text) for row in found for cell in row.cells) < 3 * len(long)
    assert not any(long in name for row in found[1:] for name in row.headers)


def test_a_unit_below_the_header_is_the_columns_and_no_section(tmp_path: Path) -> None:
    grid: Grid = [
        ["Country", "2019", "2020", "2021"], [None, "in million euros", None, None], ["Norway", 1, 2, 3],
        ["Spain", 4, 5, 6], ["Malta", 7, 8, 9],
    ]  # fmt: skip
    found = read(tmp_path, grid, ["B2:D2"])
    assert names(found)[3] == ("Norway",)
    assert {cell.headers for row in found for cell in row.cells if cell.text == "1"} == {("2019", "in million euros")}


def test_identifiers_are_named_by_the_first_names_beside_them(tmp_path: Path) -> None:
    grid: Grid = [
        ["Order", "Customer", "Status", "Amount"], [1001, "ACME", "Open", 10], [1002, "ACME", "Shipped", 20],
        [1003, "Beta", "Open", 30],
    ]  # fmt: skip
    assert names(read(tmp_path, grid))[3] == ("1002", "ACME")


CODES: dict[str, tuple[Grid, tuple[str, ...]]] = {
    "rows that are counted": (
        [["No.", "Year", "Land", "Age", "Deaths"], [1, 2021, "Hesse", "0-64", 50], [2, 2021, "Hesse", "65+", 80],
         [3, 2021, "Saar", "0-64", 10], [4, 2021, "Saar", "65+", 20]],
        ("2", "2021", "Hesse", "65+"),
    ),
    "a code beside the name that it is of": (
        [["Country", "Code", "Year", "Total", "Rural"], ["Chad", 148, 2005, 10, 4], ["Chad", 148, 2010, 12, 5],
         ["Mali", 466, 2006, 14, 6], ["Mali", 466, 2012, 15, 7]],
        ("Chad", "148", "2010"),
    ),
    "names that repeat beside values": (
        [["Party", "Votes", "Seats"], ["Green", 10, 1], ["Blue", 12, 1], ["Green", 10, 2], ["Blue", 13, 1]],
        ("Blue",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CODES)
def test_numbers_beside_names(name: str, tmp_path: Path) -> None:
    grid, expected = CODES[name]
    assert names(read(tmp_path, grid))[3] == expected


HEADERS: dict[str, tuple[Grid, list[str], dict[str, tuple[str, ...]]]] = {
    "a corner merged over two columns and both header rows": (
        [["Week", None, "Deaths", None], [None, None, "North", "South"], [1, "2020-01-01", 16, 47],
         [2, "2020-01-08", 13, 44], [3, "2020-01-15", 12, 42]],
        ["A1:B2", "C1:D1"],
        {"C3": ("Deaths", "North"), "D4": ("Deaths", "South")},
    ),
    "a title in two merged cells over the inside of groups": (
        [["", "", "FOREIGN", None, "TRADE", None], ["Year", "Exports", None, None, "Imports", None],
         [None, "Jute", "Tea", "Fish", "Rice", "Oil"], ["2008-09", 9, 8, 7, 6, 5], ["2009-10", 8, 7, 6, 5, 4],
         ["2010-11", 7, 6, 5, 4, 3]],
        ["C1:D1", "E1:F1", "A2:A3", "B2:D2", "E2:F2"],
        {"B4": ("Exports", "Jute"), "D5": ("Exports", "Fish")},
    ),
    "a section merged over the values, below a header of numbers, above ranges": (
        [["Land", "At the age of", None, None], [None, 0, 20, 60], [None, "Men", None, None],
         ["Hesse", 79, "58-60", 22], ["Saar", 77, "57-59", 20], [None, "Women", None, None], ["Hesse", 83, 63, 25]],
        ["A1:A2", "B1:D1", "B3:D3", "B6:D6"],
        {"B4": ("At the age of", "0"), "C4": ("At the age of", "20"), "D7": ("At the age of", "60")},
    ),
    "ranges above a blank row": (
        [["Land", "Total", "Age", None, None], [None, None, "0 - 14", "15 - 64", "65+"], [None],
         ["All", 100, 20, 60, 20], [None], ["Hesse", 60, 12, 36, 12], ["Saar", 40, 8, 24, 8]],
        ["A1:A2", "B1:B2", "C1:E1"],
        {"B4": ("Total",), "C4": ("Age", "0 - 14"), "E7": ("Age", "65+")},
    ),
    "rows that describe the columns": (
        [["", "Slaughter ; Total", "Slaughter ; North", "Slaughter ; South"], ["Unit", "t", "t", "t"],
         ["Type", "Original", "Original", "Original"], ["Frequency", "Month", "Month", "Month"], ["No.", 5, 5, 5],
         ["Series", "A1", "A2", "A3"], ["July", 42, 10, 32], ["August", 39, 9, 30], ["September", 41, 12, 29],
         ["October", 38, 11, 27], ["November", 37, 11, 26]],
        [],
        {"B7": ("Slaughter ; Total", "t", "Original", "Month"), "D9": ("Slaughter ; South", "t", "Original", "Month")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_headers_of_statistics(name: str, tmp_path: Path) -> None:
    grid, merged, expected = HEADERS[name]
    found: dict[str, Any] = paths(read(tmp_path, grid, merged))
    assert {cell: found.get(cell) for cell in expected} == expected
