"""Headers that a workbook declares: panes, repeated rows, pivot tables, and texts centred across cells."""

from __future__ import annotations

import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openpyxl
import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_indexing.chunking.assemble import TextWindow
from footnote_indexing.chunking.model import Cut
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.sheets.parser import WorkbookParser
from footnote_ingestion.parsers.sheets.xls import XlsCells
from footnote_text.tables import Row, rows
from openpyxl.styles import Alignment
from openpyxl.worksheet.table import Table
from support.opendocument import spreadsheet

# Made with xlwt: groups centred across two cells each above names, and two frozen rows.
ACROSS = Path(__file__).parent / "files" / "across.xls"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
PIVOT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/pivotTable"
GRID = [["Town", "Homes", None, "Shops", None], [None, "Old", "New", "Small", "Large"], ["Ghent", 12.5, 27, 3, 4],
        ["Mons", 3, 4.5, 6, 8], ["Namur", 5, 6, 7, 7.5]]  # fmt: skip
PARTS = [["Vote", "North", "South"], ["Cast", 12, 14], [None], ["The council"], [None], ["Ann", 5, 9], ["Bea", 7, 5]]


def kept(path: Path) -> list[Row]:
    blocks: list[Block] = []
    WorkbookParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    window = TextWindow()
    placed = window.place(blocks)
    return [row for one in placed for row in rows(window.passage(Cut(one.start, one.end)))]


def paths(found: list[Row]) -> dict[str, tuple[str, ...]]:
    return {cell.locator.sheet.range: cell.headers for row in found for cell in row.cells}


def filled(grid: list[list[Any]]) -> Any:
    book = openpyxl.Workbook()
    for number, row in enumerate(grid, 1):
        for column, value in enumerate(row, 1):
            if value is not None:
                book.active.cell(number, column, value)
    return book


def test_a_text_centred_across_cells_heads_them_all(tmp_path: Path) -> None:
    assert paths(kept(ACROSS))["C3"] == ("Homes", "New")
    book = filled([["Town", "Groups", None, None, None], *GRID[1:]])
    for column in range(2, 6):
        book.active.cell(1, column).alignment = Alignment(horizontal="centerContinuous")
    book.save(tmp_path / "a.xlsx")
    found = paths(kept(tmp_path / "a.xlsx"))
    assert (found["B3"], found["E5"]) == (("Groups", "Old"), ("Groups", "Large"))


@pytest.mark.parametrize("how", ["pane", "print", "neither"])
def test_rows_that_stay_in_sight_head_all_below_them(how: str, tmp_path: Path) -> None:
    book = filled(PARTS)
    if how == "pane":
        book.active.freeze_panes = "A2"
    elif how == "print":
        book.active.print_title_rows = "1:1"
    book.save(tmp_path / "a.xlsx")
    assert paths(kept(tmp_path / "a.xlsx"))["C7"] == (() if how == "neither" else ("South",))


def test_a_frozen_title_is_no_header(tmp_path: Path) -> None:
    book = filled([["Town and shops, all years"], ["Town", "Homes", "Shops"], ["Ghent", 250, 90], ["Mons", 80, 6]])
    book.active.merge_cells("A1:C1")
    book.active.freeze_panes = "A2"
    book.save(tmp_path / "a.xlsx")
    assert paths(kept(tmp_path / "a.xlsx"))["C3"] == ("Shops",)


@pytest.mark.parametrize("how", ["pane", "print", "neither"])
def test_rows_that_stay_in_sight_in_opendocument_sheets(how: str, tmp_path: Path) -> None:
    def of(row: list[Any]) -> str:
        cells = (
            "<table:table-cell/>" if value is None
            else f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'
            if isinstance(value, str)
            else f'<table:table-cell office:value-type="float" office:value="{value}"><text:p>{value}</text:p>'
            "</table:table-cell>"
            for value in row
        )  # fmt: skip
        return f"<table:table-row>{''.join(cells)}</table:table-row>"

    head = of(PARTS[0])
    head = f"<table:table-header-rows>{head}</table:table-header-rows>" if how == "print" else head
    made = f'<table:table table:name="Votes">{head}{"".join(map(of, PARTS[1:]))}</table:table>'
    path = spreadsheet(tmp_path / "a.ods", made)
    if how == "pane":
        items = "".join(
            f'<config:config-item config:name="{name}" config:type="int">{value}</config:config-item>'
            for name, value in (("VerticalSplitMode", 2), ("VerticalSplitPosition", 1))
        )
        with zipfile.ZipFile(path, "a") as package:
            package.writestr(
                "settings.xml",
                '<office:document-settings xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
                'xmlns:config="urn:oasis:names:tc:opendocument:xmlns:config:1.0"><office:settings>'
                '<config:config-item-map-named config:name="Tables"><config:config-item-map-entry config:name="Votes">'
                f"{items}</config:config-item-map-entry></config:config-item-map-named>"
                "</office:settings></office:document-settings>",
            )
    assert paths(kept(path))["C7"] == (() if how == "neither" else ("South",))


def test_a_pivot_table_says_its_headers_and_the_names_of_its_rows(tmp_path: Path) -> None:
    book = filled([[None], ["Sum of sales", None, "Year"], ["Town", "Kind", 2022, 2023], ["Ghent", "old", 12, 14],
                   ["Ghent", "new", 3, 4], ["Mons", "old", 5, 6]])  # fmt: skip
    book.save(tmp_path / "plain.xlsx")
    with (
        zipfile.ZipFile(tmp_path / "plain.xlsx") as plain,
        zipfile.ZipFile(tmp_path / "a.xlsx", "w") as package,
    ):
        for name in plain.namelist():
            package.writestr(name, plain.read(name))
        package.writestr(
            "xl/worksheets/_rels/sheet1.xml.rels",
            f'<Relationships xmlns="{RELATIONS}"><Relationship Id="rId1" Type="{PIVOT}" '
            'Target="../pivotTables/pivotTable1.xml"/></Relationships>',
        )
        package.writestr(
            "xl/pivotTables/pivotTable1.xml",
            f'<pivotTableDefinition xmlns="{MAIN}" name="Sales">'
            '<location ref="A2:D6" firstHeaderRow="1" firstDataRow="2" firstDataCol="2"/></pivotTableDefinition>',
        )
    found = kept(tmp_path / "a.xlsx")
    assert paths(found)["D5"] == ("2023",)
    assert next(row.headers for row in found if row.number == 6) == ("Mons", "old")
    assert {row.table.name for row in found if row.number > 3} == {"Sales"}


def test_built_in_names_of_xls_say_repeated_rows_and_filters() -> None:
    def name(called: str, scope: int, *coords: int) -> SimpleNamespace:
        area = SimpleNamespace(coords=(scope, scope + 1, *coords))
        return SimpleNamespace(builtin=1, name=called, scope=scope, result=SimpleNamespace(value=[area]))

    cells = XlsCells(ACROSS)
    sheet = cells._book.sheet_by_index(0)
    cells._book.name_obj_list = [
        name("Print_Titles", 0, 0, 65536, 0, 1), name("Print_Titles", 0, 0, 2, 0, 256),
        name("_FilterDatabase", 0, 1, 9, 0, 5), name("Print_Titles", 1, 5, 6, 0, 256),
        name("Print_Area", 0, 0, 9, 0, 5),
    ]  # fmt: skip
    said = cells._declarations(sheet)
    assert (said.repeated, said.headers_end, said.frozen) == (1, {1}, 1)


def test_names_go_on_below_a_frozen_row_and_a_pane_may_keep_rows_of_data(tmp_path: Path) -> None:
    grid: list[list[Any]] = [["Code", "Place", "For mayor", "For mayor"], [None, None, "Ann", "Bea"],
                             [1, "Mill", 12, 14], [2, "Hill", 15, 9], [3, "Weir", 4, 8]]  # fmt: skip
    for rows_kept in ("A2", "A4"):
        book = filled(grid)
        book.active.freeze_panes = rows_kept
        book.save(tmp_path / "a.xlsx")
        assert paths(kept(tmp_path / "a.xlsx"))["D4"] == ("For mayor", "Bea")


def test_titles_merged_over_names_and_values_and_merged_remarks_are_no_groups(tmp_path: Path) -> None:
    book = filled([["Abstract of votes", None, None, "The county", None], ["Name", "East", "West", "Total", "Won"],
                   ["Ann", 12, 14, 26, "x"], ["Bea", 3, 4, 7, None], ["Cem", 5, 6, 11, None]])  # fmt: skip
    book.active.merge_cells("A1:C1")
    book.active.merge_cells("D1:E1")
    book.save(tmp_path / "a.xlsx")
    assert paths(kept(tmp_path / "a.xlsx"))["D4"] == ("Total",)
    book = filled([["or", "merging", None, None, "cells"], ["Name", "Work", "Age", "Town", "Died"],
                   ["Ann", "cook", 12, "Mons", 2016], ["Bea", "smith", 14, "Ghent", 2017]])  # fmt: skip
    book.active.merge_cells("B1:D1")
    book.active.add_table(Table(displayName="People", ref="A2:E4"))
    book.save(tmp_path / "b.xlsx")
    assert paths(kept(tmp_path / "b.xlsx"))["C3"] == ("Age",)
