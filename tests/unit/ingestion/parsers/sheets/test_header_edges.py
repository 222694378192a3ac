"""Where the header of a table on a sheet begins and ends: captions and units above it, blank rows in it, sections."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote_ingestion.parsers.sheets.parser import WorkbookParser

from .test_headers import Grid, kept, paths, workbook

Case = tuple[Grid, list[str], dict[str, tuple[str, ...]]]

CASES: dict[str, Case] = {
    "a unit alone above the last column": (
        [
            ["Mood by schooling", None, None, None],
            [None, None, None, "(%)"],
            ["Year", "None", "School", "College"],
            ["2004", 54.4, 57.7, 66.8],
            ["2005", 54.0, 57.4, 64.0],
        ],
        [],
        {"B4": ("None",), "D4": ("College",)},
    ),
    "a unit above the end of a group two rows below": (
        [
            [None, None, None, None, "millions"],
            [None, "Residents", None, "Guests", None],
            [None, "Spent", None, "Left", None],
            ["Month", "Raw", "Smooth", "Raw", "Smooth"],
            ["Jan", 1, 2, 3, 4],
            ["Feb", 5, 6, 7, 8],
        ],
        ["B2:C2", "D2:E2", "B3:C3", "D3:E3"],
        {"E5": ("Guests", "Left", "Smooth"), "B6": ("Residents", "Spent", "Raw")},
    ),
    "a title above the first group": (
        [
            [None, "Prices since 1952", None, None, None],
            [None, "All homes", None, "New homes", None],
            ["Quarter", "Index", "Price", "Index", "Price"],
            ["Q1", 100.5, 1890, 100.1, 2106],
            ["Q2", 101.5, 1900, 101.1, 2116],
        ],
        ["B2:C2", "D2:E2"],
        {"B4": ("All homes", "Index"), "E5": ("New homes", "Price")},
    ),
    "captions that begin over the inside of a group": (
        [
            [None, None, "by day of record", None, "persons"],
            ["Year", "Births", None, None, "Rate"],
            [None, "Total", "Boys", "Girls", None],
            ["1958", 413.5, 212.5, 201.0, 41.7],
            ["1959", 421.5, 216.5, 205, 41.2],
        ],
        ["A2:A3", "B2:D2", "E2:E3"],
        {"C4": ("Births", "Boys"), "E5": ("Rate",)},
    ),
    "a header that goes on below a blank row, under a title and a unit": (
        [
            ["Visits by purpose", None, None, None, None],
            [None, None, None, None, "thousands"],
            [None, "All", None, "Holiday", "Trade"],
            [None],
            ["Month", "Raw", "Smooth", "Raw", "Raw"],
            ["Jan", 2245, 2660, 708, 517],
            ["Feb", 1736, 2470, 538, 548],
        ],
        ["B3:C3"],
        {"B6": ("All", "Raw"), "C7": ("All", "Smooth"), "E6": ("Trade", "Raw")},
    ),
    "units of two columns above a blank row": (
        [["State", "Payers", "Paid"], [None, "no.", "$m"], [None], ["North", 265673, 30731], ["South", 194916, 21065]],
        [],
        {"B4": ("Payers", "no."), "C5": ("Paid", "$m")},
    ),
    "one row of figures below units, and sections": (
        [
            ["", "", "Income", "Income"],
            ["Trade", "Firms", "Farms", "Other"],
            ["", "", "$m", "$m"],
            [None],
            ["Homes", 98651, 0, 12],
            [None],
            ["Fields"],
            ["Sheep", 2453, 444, 36],
            ["Grain", 2088, 528, 58],
        ],
        [],
        {"C5": ("Income", "Farms", "$m"), "D9": ("Income", "Other", "$m"), "B8": ("Firms",)},
    ),
    "years with the raised marks of notes": (
        [
            [None, "20171)", "2018", "20222)", "20232), 3)"],
            ["All", 39167, 43724, 57243, 73709],
            ["Farms", 25671, 28699, 39436, 52868],
            ["Mines", 74474, 83178, 103473, 130825],
        ],
        [],
        {"B2": ("20171)",), "C3": ("2018",), "E4": ("20232), 3)",)},
    ),
    "sections with a remark each, below one header": (
        [
            [None, "Ward", "One", "Two", "Three", "Total"],
            [None],
            ["GOVERNOR", None, "Vote for one", None, None, None],
            ["Patrick", None, 408, 370, 376, 1154],
            ["Baker", None, 611, 456, 559, 1626],
            [None],
            ["TREASURER", None, "Vote for one", None, None, None],
            ["Grossman", None, 549, 314, 497, 1360],
            ["Blanks", None, 12, 8, 13, 33],
        ],
        [],
        {"C4": ("One",), "D5": ("Two",), "E8": ("Three",), "F9": ("Total",)},
    ),
    "a row that lacks its values, and says why": (
        [
            ["Country", "2019", "2020", "2021", "2022"],
            ["Austria", 11, 12, 13, 14],
            ["Belgium", "suspended", None, None, None],
            ["Croatia", 5, 6, 7, 8],
            ["Denmark", 5, 6, 7, 9],
        ],
        [],
        {"B4": ("2019",), "E5": ("2022",)},
    ),
    "a year over columns that are named in different rows": (
        [
            ["Trade", "Farms", "Mines", "Total"],
            [None, "A", "B", None],
            [None, 2000, None, None],
            ["All", 1252, 3893, 5145],
            ["North", 23, 1396, 1419],
            [None, 2001, None, None],
            ["All", 1300, 3900, 5200],
            ["North", 32, 1355, 1387],
        ],
        ["B3:D3", "B6:D6"],
        {"B4": ("Farms", "A"), "D5": ("Total",), "C7": ("Mines", "B")},
    ),
    "marks of values that are not known": (
        [["Druze", "Jews", "Total"], [". .", "671.9", ". ."], [158, 901, 1059], [14.8, 1103, 1266.8]],
        [],
        {"B2": ("Jews",), "C3": ("Total",)},
    ),
    "a group row with one long name": (
        [
            [
                "Year",
                "All",
                None,
                "Those who completed a school of a kind that is no longer there, as their parents said",
                None,
            ],
            [None, "Men", "Women", "Men", "Women"],
            ["2008", 52, 53, 26, 27],
            ["2009", 53, 54, 27, 28],
        ],
        ["A1:A2", "B1:C1", "D1:E1"],
        {
            "B3": ("All", "Men"),
            "E4": ("Those who completed a school of a kind that is no longer there, as their parents said", "Women"),
        },
    ),
    "numbers of districts above names in two lines": (
        [
            [None, 1, 4, 5],
            [None, "Cooper's", "Newton", "Geary"],
            [None, "Roofing", "Centre", "School"],
            ["Capito", 66, 53, 59],
            ["Yoder", 36, 36, 38],
        ],
        [],
        {"B4": ("1", "Cooper's", "Roofing"), "D5": ("5", "Geary", "School")},
    ),
    "a name merged over classes that are figures": (
        [
            ["Share of payers", None, None, "Income", None],
            [None, None, None, "All", "Single"],
            [0, "to", 10, 0.5, 0.2],
            [11, "to", 20, 1.7, 0.7],
            [21, "to", 30, 3.8, 1.7],
        ],
        ["A1:C1", "D1:E1"],
        {"D3": ("Income", "All"), "E4": ("Income", "Single")},
    ),
    "a list of names between a header and sparse rows": (
        [
            ["Country", "Year", "Rate", "Births", "Source"],
            [None],
            ["Malta (1901-2006)"],
            ["Spain (1911-2006)"],
            [None],
            ["Malta", "1871-1880", 643, None, "Loudon"],
            ["Malta", "1881-1890", 592, None, "Loudon"],
            ["Malta", "1906", 538, 107890, "Loudon"],
            ["Malta", "1907", 556, 110347, "Loudon"],
        ],
        [],
        {"C6": ("Rate",), "D8": ("Births",)},
    ),
    "years merged over months, and a total beside them": (
        [
            [None, "Jan", "Feb", "Mar", "Total"],
            [None, 2013, None, None, None],
            ["Births", 736, 674, 727, 2137],
            ["Deaths", 35, 30, 67, 132],
            [None, 2012, None, None, None],
            ["Births", 754, 697, 736, 2187],
            ["Deaths", 50, 46, 54, 150],
        ],
        ["B2:D2", "B5:D5"],
        {"B3": ("Jan",), "E3": ("Total",), "D7": ("Mar",)},
    ),
}

NAMES: dict[str, tuple[Grid, list[str], dict[int, tuple[str, ...]]]] = {
    "years merged over months": (CASES["years merged over months, and a total beside them"][0],
                                 CASES["years merged over months, and a total beside them"][1],
                                 {3: ("2013", "Births"), 7: ("2012", "Deaths")}),
    "years alone in a column left of the names": (
        [["Year", None, "None", "School"], [2004, None, None, None], [None, "Happy", 54.4, 57.7],
         [None, "Unhappy", 18.6, 11.6], [2005, None, None, None], [None, "Happy", 54.0, 61.4],
         [None, "Unhappy", 18.1, 13.1]],
        [],
        {3: ("2004", "Happy"), 4: ("2004", "Unhappy"), 7: ("2005", "Unhappy")},
    ),
    "sections with a remark each": (
        CASES["sections with a remark each, below one header"][0], [],
        {4: ("GOVERNOR", "Patrick"), 9: ("TREASURER", "Blanks")},
    ),
    "a row that lacks its values, and says why": (
        CASES["a row that lacks its values, and says why"][0], [], {4: ("Croatia",), 5: ("Denmark",)},
    ),
    "two columns that name rows, below a list": (
        CASES["a list of names between a header and sparse rows"][0], [], {6: ("Malta", "1871-1880")},
    ),
    "rows that come again": (
        [["Place", "Item", "Kind", "Unit", "2005", "2006"], ["Land", "Towns", "People", "no.", 10, 11],
         ["Land", "Farms", "People", "no.", 20, 21], ["City", "Towns", "People", "no.", 30, 31],
         ["City", "Farms", "People", "no.", 40, 41], ["City", "Towns", "People", "no.", 50, 51],
         ["City", "Farms", "People", "no.", 60, 61]],
        [],
        {2: ("Land", "Towns"), 7: ("City", "Farms")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_header_is_the_names_of_its_columns_alone(name: str, tmp_path: Path) -> None:
    grid, merged, expected = CASES[name]
    workbook(tmp_path / "a.xlsx", grid, merged)
    found = paths(kept(WorkbookParser(), tmp_path / "a.xlsx"))
    assert {cell: found.get(cell) for cell in expected} == expected


@pytest.mark.parametrize("name", NAMES)
def test_rows_have_the_names_around_them(name: str, tmp_path: Path) -> None:
    grid, merged, expected = NAMES[name]
    workbook(tmp_path / "a.xlsx", grid, merged)
    found = {row.number: row.headers for row in kept(WorkbookParser(), tmp_path / "a.xlsx")}
    assert {number: found.get(number) for number in expected} == expected


def test_rows_of_data_that_a_pane_keeps_below_a_section_are_no_header(tmp_path: Path) -> None:
    grid: Grid = [
        ["Name", "Term", "From", "To"], ["2009", None, None, None], ["Mata", "3 years", "2009-06-28", "2012-06-27"],
        ["Full", "2 years", "2009-08-17", "2011-08-17"], ["Pell", "1 year", "2009-11-06", "2010-11-05"],
        ["2010", None, None, None], ["Cal", "1 year", "2011-12-03", "2012-12-02"],
    ]  # fmt: skip
    book = workbook(tmp_path / "a.xlsx", grid, [])
    book.active.freeze_panes = "A5"
    book.save(tmp_path / "a.xlsx")
    found = paths(kept(WorkbookParser(), tmp_path / "a.xlsx"))
    assert (found["C3"], found["D5"]) == (("From",), ("To",))


def test_names_go_on_below_a_frozen_row_each_with_their_own(tmp_path: Path) -> None:
    grid: Grid = [
        ["Code", "PALL", "PFOOD", "PBEV"], ["Kind", "Index", "Index", "Index"], ["How", "Month", "Month", "Month"],
        ["1992M1", 57.1, 49.4, 52.7], ["1992M2", 56.9, 45.5, 54.0], ["1992M3", 56.5, 44.7, 54.0],
    ]  # fmt: skip
    book = workbook(tmp_path / "a.xlsx", grid, [])
    book.active.freeze_panes = "B3"
    book.save(tmp_path / "a.xlsx")
    found = paths(kept(WorkbookParser(), tmp_path / "a.xlsx"))
    assert (found["B4"], found["D6"]) == (("PALL", "Index", "Month"), ("PBEV", "Index", "Month"))
