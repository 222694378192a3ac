"""The headers of sheets: several rows, groups merged or not, years, declared tables, tables beside one another."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_indexing.chunking.assemble import TextWindow
from footnote_indexing.chunking.model import Cut
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.sheets.parser import CsvParser, WorkbookParser
from footnote_text.tables import Row, rows
from openpyxl.worksheet.table import Table

Grid = list[list[Any]]

GRIDS: dict[str, tuple[Grid, list[str], dict[str, tuple[str, ...]]]] = {
    "a group row above names, merged": (
        [["Region", "2022", None, "2023", None], [None, "Men", "Women", "Men", "Women"],
         ["North", 10, 11, 12, 13], ["South", 20, 21, 22, 23], ["West", 30, 31, 32, 33]],
        ["A1:A2", "B1:C1", "D1:E1"],
        {"A3": ("Region",), "B3": ("2022", "Men"), "C4": ("2022", "Women"), "E5": ("2023", "Women")},
    ),
    "a group row above names that repeat, not merged": (
        [["", "Party A", "", "Party B", ""], ["District", "Votes", "%", "Votes", "%"],
         ["North", 1000, 40.5, 1500, 59.5], ["South", 2000, 50, 2000, 50], ["East", 100, 10, 900, 90]],
        [],
        {"A3": ("District",), "B3": ("Party A", "Votes"), "C3": ("Party A", "%"), "D4": ("Party B", "Votes"),
         "E5": ("Party B", "%")},
    ),
    "names of groups in the middle of theirs": (
        [["", "", "Female", "", "", "Male", ""], ["Age", "2019", "2020", "2021", "2019", "2020", "2021"],
         ["0-14", 100, 101, 102, 200, 201, 202], ["15-64", 300, 301, 302, 400, 401, 402]],
        [],
        {"B3": ("Female", "2019"), "D4": ("Female", "2021"), "E3": ("Male", "2019"), "G4": ("Male", "2021")},
    ),
    "years below one group": (
        [["Country", "Population (thousands)", None, None], [None, 2019, 2020, 2021],
         ["France", 67000, 67300, 67500], ["Spain", 47000, 47300, 47400], ["Italy", 60000, 59900, 59500]],
        ["A1:A2", "B1:D1"],
        {"A3": ("Country",), "B3": ("Population (thousands)", "2019"), "D5": ("Population (thousands)", "2021")},
    ),
    "a number in the header": (
        [[0, "First Name", "Last Name", "Country", "Age", "Id"], [1, "Dulce", "Abril", "France", 32, 1562],
         [2, "Mara", "Hash", "Spain", 25, 1582], [3, "Phil", "Gent", "Italy", 36, 2587]],
        [],
        {"A2": ("0",), "B2": ("First Name",), "E3": ("Age",), "F4": ("Id",)},
    ),
    "years alone head columns": (
        [["", 2019, 2020, 2021], ["Sales", 100.5, 110.25, 120], ["Costs", 90, 95.5, 99], ["Staff", 7, 8, 9]],
        [],
        {"B2": ("2019",), "D4": ("2021",)},
    ),
    "titles, units and a note around": (
        [["Energy use by sector", None, None, None], ["Provisional figures", None, None, None],
         ["Sector", "Coal", "Gas", "Power"], ["", "kt", "TWh", "TWh"], ["Industry", 120, 33.5, 80],
         ["Homes", 4, 50.25, 71], ["Transport", 1, 2.5, 6], ["Source: the agency", None, None, None]],
        [],
        {"A5": ("Sector",), "B5": ("Coal", "kt"), "D7": ("Power", "TWh")},
    ),
    "columns that are counted": (
        [["Town", "Homes", "Shops", "Parks"], ["1", "2", "3", "4"], ["Aalst", 100, 20, 3], ["Ghent", 250, 90, 12],
         ["Liège", 180, 60, 9]],
        [],
        {"A3": ("Town",), "B3": ("Homes",), "D5": ("Parks",)},
    ),
    "blank rows within the header and below it": (
        [[None, "Total", "Mayor", None, "Clerk", None], [None, "Cast", "of the town", None, "of the court", None],
         [None], [None, None, "Ann", "Bea", "Cid", "Dan"], [None],
         ["North", 30, 10, 20, 25, 5], ["South", 40, 25, 15, 31, 9]],
        ["C1:D1", "C2:D2", "E1:F1", "E2:F2"],
        {"B6": ("Total", "Cast"), "D6": ("Mayor", "of the town", "Bea"), "E7": ("Clerk", "of the court", "Cid")},
    ),
    "a merged header of five rows above a blank row": (
        [["Place", "Local", None, None, None], [None, "Council", None, "Court", None],
         [None, "Left", None, "Right", None],
         [None, "Women", None, "Men", None], [None, "Ann", "Bea", "Cid", "Dan"], [None],
         ["North", 1, 2, 3, 4], ["South", 5, 6, 7, 8]],
        ["A1:A5", "B1:E1", "B2:C2", "D2:E2", "B3:C3", "D3:E3", "B4:C4", "D4:E4"],
        {"C7": ("Local", "Council", "Left", "Women", "Bea"), "E8": ("Local", "Court", "Right", "Men", "Dan")},
    ),
    "columns lettered and counted above a blank row": (
        [["Code", "Name", "Plan", "Changed", "Spent"], ["a", "b", 1, 2, 3], [None], ["A7", "Roads", 120, 130, 99.5],
         ["A8", "Parks", 20, 30, 25]],
        [],
        {"C4": ("Plan",), "E5": ("Spent",)},
    ),
    "numbers of districts beside a total, below a title": (
        [["Votes of 2018", None, None, None, None], [None, 1, 4, 7, "Total"], ["The senate", None, None, None, None],
         ["Ann", 130, 116, 133, 379], ["Bea", 54, 105, 88, 247], ["Cid", 12, 5, 12, 29]],
        ["A1:E1"],
        {"B4": ("1",), "D5": ("7",), "E6": ("Total",)},
    ),
    "numbers of districts below one word that repeats": (
        [[None, "Pct.", "Pct.", "Pct.", "Pct."], [None, 1, 2, 3, "4a"], ["The senate", None, None, None, None],
         ["Ann", 130, 116, 133, 379], ["Bea", 54, 105, 88, 247], ["Cid", 12, 5, 12, 29]],
        [],
        {"B4": ("Pct.", "1"), "E6": ("Pct.", "4a")},
    ),
    "numbered weeks, their dates, and a blank row": (
        [["Week", 1, 2, 3, None], ["Beginning", "2020-01-06", "2020-01-13", "2020-01-20", "Year"], [None],
         ["Births", 11, 12, 9, 32], ["Deaths", 8, 7, 15, 30], [None], ["By place", None, None, None, None],
         ["North", 4, 5, 6, 15]],
        ["A7:C7"],
        {"B4": ("1", "2020-01-06"), "E5": ("Year",), "D8": ("3", "2020-01-20")},
    ),
    "another header among the rows": (
        [["Place", "Voters", "Spoilt", "Valid", "Sum"], ["North", 10, 1, 9, 20], ["South", 30, 2, 28, 60],
         ["Mayor", "Ann", "Bea", "Cid", "Dan"], ["North", 3, 2, 2, 2], ["South", 10, 9, 8, 1]],
        [],
        {"B2": ("Voters",), "B5": ("Ann",), "E6": ("Dan",)},
    ),
    "captions of tables side by side": (
        [["Mice", None, None, "Rats", None], ["Caught", "Weight", None, "Caught", "Weight"],
         ["2013-07-16", 33, None, "2013-08-19", 52], ["2013-07-17", 35, None, "2013-08-20", 51],
         ["2013-07-18", 36, None, "2013-08-21", 50]],
        [],
        {"B3": ("Mice", "Weight"), "E5": ("Rats", "Weight")},
    ),
    "three rows of headers": (
        [["Year", "Exports", None, None, None], [None, "Goods", None, "Services", None],
         [None, "EU", "Other", "EU", "Other"], [2020, 10.5, 11, 12, 13], [2021, 20.25, 21, 22, 23], [2022, 1, 2, 3, 4]],
        ["A1:A3", "B1:E1", "B2:C2", "D2:E2"],
        {"A4": ("Year",), "B4": ("Exports", "Goods", "EU"), "E6": ("Exports", "Services", "Other")},
    ),
    "ranges head columns, names of rows have their headers below": (
        [["Purpose", None, "0 - 6", "7 - 10"], ["Sex", "Age", None, None], ["Men", "15 - 24", 12000, 37000],
         ["Men", "25 - 44", 30000, 19000], ["Women", "15 - 24", 9000, 11000]],
        [],
        {"A3": ("Purpose", "Sex"), "B3": ("Age",), "C3": ("0 - 6",), "D5": ("7 - 10",)},
    ),
    "groups that blank columns part": (
        [["In millions", "", "June 2023", None, "", "June 2022"], ["", "Goods", "Fees", None, "Goods", "Fees"],
         ["North", 12.5, 27, None, 9.5, 16], ["South", 3, 4, None, 5, 6.5], ["East", 1, 2, None, 2, 1.5]],
        [],
        {"A3": ("In millions",), "B3": ("June 2023", "Goods"), "C4": ("June 2023", "Fees"),
         "E3": ("June 2022", "Goods"), "F5": ("June 2022", "Fees")},
    ),
    "words below years": (
        [["Item", 2020, 2030, 2030], ["Estimate", "usual", "lower", "upper"], ["Weight", 39.5, 4.25, 40],
         ["Load", 3000.5, 300.25, 3100], ["Crew", 12, 8, 14]],
        [],
        {"B3": ("2020", "usual"), "C4": ("2030", "lower"), "D5": ("2030", "upper")},
    ),
    "a title with its number in a cell of its own": (
        [[3, "Visits by area", None], [None, "Europe", "Asia"], ["Jan", 12.5, 27], ["Feb", 3, 4.5], ["Mar", 5, 6]],
        [],
        {"B3": ("Europe",), "C5": ("Asia",)},
    ),
    "a unit above the end of merged groups": (
        [["Visits by area", None, None, None, None], [None, None, None, None, "thousands"],
         ["Month", "Europe", None, "Asia", None], [None, "North", "South", "Near", "Far"], ["Jan", 12.5, 27, 3, 4],
         ["Feb", 3, 4.5, 6, 8], ["Mar", 5, 6, 7, 7.5]],
        ["A3:A4", "B3:C3", "D3:E3"],
        {"B5": ("Europe", "North"), "E6": ("Asia", "Far")},
    ),
    "words alone": (
        [["Name", "Role", "Town"], ["Ann", "Driver", "Ghent"], ["Bea", "Cook", "Liège"]],
        [],
        {"A2": ("Name",), "C3": ("Town",)},
    ),
    "no header at all": (
        [["Ann", 12, 3.5], ["Bea", 14, 4.5], ["Cem", 9, 1.25]],
        [],
        {"A1": (), "B2": (), "C3": ()},
    ),
    "rising amounts beside remarks, and no header": (
        [["Ann", 28417, 28672, 28780, "by post"], ["Bea", 16708, 16543, 16334, "by hand"],
         ["Cid", 5946, 6104, 5861, "by post"]],
        [],
        {"B1": (), "D2": (), "E3": ()},
    ),
    "a section between header and rows": (
        [["Item", "2021", "2022"], ["Assets", None, None], ["Cash", 10.5, 11], ["Stock", 20, 21.5], ["Land", 7, 8]],
        [],
        {"A3": ("Item",), "B3": ("2021",), "C5": ("2022",)},
    ),
}  # fmt: skip


def kept(parser: CsvParser | WorkbookParser, path: Path) -> list[Row]:
    blocks: list[Block] = []
    parser.parse(path, BlockWriter(blocks.append, Limits()), Limits())
    window = TextWindow()
    placed = window.place(blocks)
    return [row for one in placed for row in rows(window.passage(Cut(one.start, one.end)))]


def paths(found: list[Row]) -> dict[str, tuple[str, ...]]:
    return {cell.locator.sheet.range: cell.headers for row in found for cell in row.cells}


def workbook(path: Path, grid: Grid, merged: list[str], top: int = 1, left: int = 0) -> Any:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for number, row in enumerate(grid, top):
        for column, value in enumerate(row, left + 1):
            if value not in (None, ""):
                sheet.cell(number, column, value)
    for one in merged:
        sheet.merge_cells(one)
    book.save(path)
    return book


@pytest.mark.parametrize("name", GRIDS)
def test_each_cell_has_the_whole_path_of_its_headers(name: str, tmp_path: Path) -> None:
    grid, merged, expected = GRIDS[name]
    workbook(tmp_path / "a.xlsx", grid, merged)
    found = paths(kept(WorkbookParser(), tmp_path / "a.xlsx"))
    assert {cell: found.get(cell) for cell in expected} == expected
    if merged:
        return
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["" if value is None else value for value in row] for row in grid])
    found = paths(kept(CsvParser(), tmp_path / "a.csv"))
    assert {cell: found.get(cell) for cell in expected} == expected


@pytest.mark.parametrize("name", GRIDS)
def test_a_table_may_begin_anywhere(name: str, tmp_path: Path) -> None:
    grid, merged, expected = GRIDS[name]

    def moved(cell: str) -> str:
        return re.sub(r"([A-Z])(\d+)", lambda m: f"{chr(ord(m[1]) + 2)}{int(m[2]) + 4}", cell)

    workbook(tmp_path / "a.xlsx", grid, [moved(one) for one in merged], 5, 2)
    found = paths(kept(WorkbookParser(), tmp_path / "a.xlsx"))
    assert {cell: found.get(moved(cell)) for cell in expected} == expected


def test_two_tables_beside_one_another(tmp_path: Path) -> None:
    grid: Grid = [
        ["Fruit", "Price", None, "Town", "People"], ["Apple", 1.5, None, "Ghent", 260],
        ["Pear", 2.5, None, "Liège", 195], ["Plum", 3.5, None, "Mons", 95], [None, None, None, "Namur", 112],
    ]  # fmt: skip
    workbook(tmp_path / "a.xlsx", grid, [])
    found = kept(WorkbookParser(), tmp_path / "a.xlsx")
    assert paths(found)["E5"] == ("People",)
    assert [row.headers for row in found if row.number == 3] == [("Pear",), ("Liège",)]
    assert len({row.table.number for row in found}) == 2


def test_a_blank_column_between_figures_parts_no_table(tmp_path: Path) -> None:
    grid: Grid = [
        ["Town", "2020", None, "2021"], ["Ghent", 260.5, None, 261], ["Liège", 195, None, 196.5],
        ["Mons", 95, None, 96],
    ]  # fmt: skip
    workbook(tmp_path / "a.xlsx", grid, [])
    found = kept(WorkbookParser(), tmp_path / "a.xlsx")
    assert [row.headers for row in found] == [("Ghent",), ("Liège",), ("Mons",)]


def test_a_declared_table_says_its_header_itself(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet["B2"] = "As of March"
    for number, row in enumerate((["2019", "Yes", "Total"], ["2020", "No", "7"], ["2021", "Yes", "9"]), 4):
        for column, value in enumerate(row, 2):
            sheet.cell(number, column, value)
    sheet["F5"] = "beside"
    sheet.add_table(Table(displayName="Answers", ref="B4:D6"))
    book.save(tmp_path / "a.xlsx")
    found = kept(WorkbookParser(), tmp_path / "a.xlsx")
    assert paths(found)["C5"] == ("Yes",)
    assert paths(found)["D6"] == ("Total",)
    assert {row.table.name for row in found if row.number in (5, 6) and len(row.cells) > 1} == {"Answers"}


def test_a_declared_table_without_filled_rows_keeps_its_header(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet["A1"] = "Orders of April"
    for column, name in enumerate(("Article", "Supplier", "Due"), 2):
        sheet.cell(3, column, name)
    sheet.add_table(Table(displayName="Orders", ref="B3:D9"))
    sheet["A12"] = "Nothing is ordered yet."
    book.save(tmp_path / "a.xlsx")
    blocks: list[Block] = []
    WorkbookParser().parse(tmp_path / "a.xlsx", BlockWriter(blocks.append, Limits()), Limits())
    (header,) = [block for block in blocks if "Supplier" in block.text]
    assert all(name in header.text for name in ("Article", "Supplier", "Due"))
    assert header.locator.sheet.range == "B3:D3"
    assert sum("Orders of April" in block.text for block in blocks) == 1


@pytest.mark.parametrize("how", ["filter", "pane", "print"])
def test_a_filter_a_pane_or_repeated_rows_show_the_header(how: str, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Ann", "Ghent", "red"], ["Bea", "Ghent", "red"], ["Bea", "Mons", "blue"], ["Cem", "Mons", "blue"]):
        sheet.append(row)
    if how == "filter":
        sheet.auto_filter.ref = "A1:C4"
    elif how == "pane":
        sheet.freeze_panes = "A2"
    else:
        sheet.print_title_rows = "1:1"
    book.save(tmp_path / "a.xlsx")
    assert paths(kept(WorkbookParser(), tmp_path / "a.xlsx"))["C3"] == ("red",)


def test_a_filter_over_figures_alone_declares_no_header(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in ([7, 5, 6], [5, 9, 1], [8, 1, 6], [8, 3, 3]):
        book.active.append(row)
    book.active.auto_filter.ref = "A1:C4"
    book.save(tmp_path / "a.xlsx")
    cells = [cell for row in kept(WorkbookParser(), tmp_path / "a.xlsx") for cell in row.cells]
    assert len(cells) == 12
    assert not any(cell.headers for cell in cells)


def test_a_header_above_a_blank_row_heads_what_is_below_it(tmp_path: Path) -> None:
    grid: Grid = [["Town", "Homes", "Shops"], [None], ["Ghent", 250, 90], ["Liège", 180, 60], ["Mons", 80, 6]]
    workbook(tmp_path / "a.xlsx", grid, [])
    assert paths(kept(WorkbookParser(), tmp_path / "a.xlsx"))["C4"] == ("Shops",)


def test_a_header_goes_on_below_a_blank_row_and_the_name_of_a_section(tmp_path: Path) -> None:
    grid: Grid = [
        ["Town", "Homes", "Shops"], ["Ghent", 250, 90], ["Liège", 180, 60], [None], ["The coast"], ["Ostend", 70, 8],
        ["Bruges", 110, 30], [None], ["Other figures"], [None], ["Namur", 80, 6], ["Mons", 90, 7],
    ]  # fmt: skip
    workbook(tmp_path / "a.xlsx", grid, [])
    found = paths(kept(WorkbookParser(), tmp_path / "a.xlsx"))
    assert found["C6"] == ("Shops",)
    assert found["B7"] == ("Homes",)
    assert found["C11"] == (), "a title between says that another table begins"


def test_a_column_that_was_empty_above_a_blank_row_keeps_its_header(tmp_path: Path) -> None:
    grid: Grid = [
        ["Candidate", "Town", "Coast", "Total", "Remark"], ["Ann", 250, None, 250, "won"],
        ["Bea", 180, None, 180, None],
        [None], ["Cem", 70, 8, 78, None], [None], ["Dot", 7, 1, 8, 5],
    ]  # fmt: skip
    workbook(tmp_path / "a.xlsx", grid, [])
    found = paths(kept(WorkbookParser(), tmp_path / "a.xlsx"))
    assert found["C5"] == ("Coast",)
    assert found["D7"] == (), "figures where texts were: another table"


def test_codes_below_a_blank_row_keep_the_header_of_a_total_without_one(tmp_path: Path) -> None:
    grid: Grid = [
        ["Code", "Town", "Age", "2020", "2021"], ["Whole", None, "0-14", 250.5, 262.5], [None, None, "15+", 180.5, 190],
        [None], [601, "Mill", "0-14", 70.5, 80], [None, None, "15+", 75, 77.5],
    ]  # fmt: skip
    workbook(tmp_path / "a.xlsx", grid, [])
    found = paths(kept(WorkbookParser(), tmp_path / "a.xlsx"))
    assert (found["A5"], found["D6"]) == (("Code",), ("2020",))


def test_rows_of_another_table_take_no_header_from_the_one_above(tmp_path: Path) -> None:
    grid: Grid = [
        ["Town", "Homes", "Shops"], ["Ghent", 250, 90], ["Mons", 180, 60], [None], ["Other"], [None], ["Namur", 80, 6],
    ]  # fmt: skip
    workbook(tmp_path / "a.xlsx", grid, [])
    found = kept(WorkbookParser(), tmp_path / "a.xlsx")
    assert [row.table.number for row in found] == [1, 1, 2]


def test_rows_are_named_by_cells_that_go_on_below_and_beside_codes(tmp_path: Path) -> None:
    grid: Grid = [["Precinct", "How", "Cast"], ["Mill", "Early", 12], [None, "Late", 14], ["Hill", "Early", 15],
                  [None, "Late", 16]]  # fmt: skip
    workbook(tmp_path / "a.xlsx", grid, [])
    found = kept(WorkbookParser(), tmp_path / "a.xlsx")
    assert [row.headers for row in found] == [("Mill", "Early"), ("Mill", "Late"), ("Hill", "Early"), ("Hill", "Late")]
    grid = [["County", "Code", "Name", "Cast", "Valid"], [25, 1, "Mill", 12, 10], [25, 2, "Hill", 14, 14],
            [25, 3, "Weir", 9, 7]]  # fmt: skip
    workbook(tmp_path / "b.xlsx", grid, [])
    found = kept(WorkbookParser(), tmp_path / "b.xlsx")
    assert [row.headers for row in found] == [("25", "1", "Mill"), ("25", "2", "Hill"), ("25", "3", "Weir")]


def test_measures_come_from_headers_titles_and_forms(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Accounts, in millions"], ["Item", "Sum (EUR)", "Share", "Fee"], ["Cash", 10.5, 0.25, 3],
                ["Debt", -7, 0.5, 4], ["Land", 3, 0.25, 5]):  # fmt: skip
        sheet.append(row)
    for number in (3, 4, 5):
        sheet.cell(number, 3).number_format = "0%"
        sheet.cell(number, 4).number_format = '#,##0 "kg"'
    book.save(tmp_path / "a.xlsx")
    row = next(one for one in kept(WorkbookParser(), tmp_path / "a.xlsx") if one.headers == ("Debt",))
    _, money, share, fee = row.cells
    assert (money.number, money.measure.currency, money.measure.scale) == (-7, "EUR", 6)
    assert (share.number, share.measure.unit, share.measure.scale) == (50, "%", 0)
    assert (fee.number, fee.measure.unit) == (4, "kg")
