"""Any grid of cells is read to its end, and no cell is lost."""

from __future__ import annotations

import pytest
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.sheets.parser import write_grid
from hypothesis import given, settings
from hypothesis import strategies as st

Rows = list[list[str]]
SIZES = """Size|Chest|Waist|Hip
S|88-96|73-81|92-96
M|97-104|82-90|97-103"""
SALES = """Region|Q1|Q2|Q3
North|1|2|3
South|4|5|6"""
OWNERS = "Owner|Ann|Ben|Cid"
REMARKS = "|".join(f"{name} " + "explains at length what happened there and why " * 5 for name in ("Ann", "Ben", "Cid"))
BESIDE = "\n".join(["Region|Sales||Town|People", *(f"Area {n}|{n * 7}||Town {n}|{n * 9}" for n in range(40))])


def texts(rows: Rows) -> list[str]:
    found: list[str] = []
    write_grid(rows, BlockWriter(lambda block: found.append(block.text), Limits()))
    return found


def missing(rows: Rows) -> set[str]:
    """The cells that no block holds."""
    read = "\n".join(texts(rows))
    return {cell for row in rows for cell in row if cell not in read}


def of(grid: str) -> Rows:
    return [line.split("|") for line in grid.splitlines()]


@pytest.mark.parametrize(
    "grid",
    [
        SIZES,
        f"{SALES}\n\n{SIZES}",
        f"{SALES}\n\nAll|{REMARKS}\nWest|7|8|9",
        f"{SALES}\n\n" + "\n".join(f"All {n}|{REMARKS}" for n in range(30)) + "\nWest|7|8|9",
        f"{SALES}\n{OWNERS}",
        f"{SALES}\n{OWNERS}\n\nTown|People\nWells|12\nYork|19",
        f"{SALES}\n{OWNERS}\n\n{OWNERS}\n\n{SALES}\n{OWNERS}",
        f"{BESIDE}\n||in between||\n|||||to the right",
    ],
)
def test_rows_that_may_be_a_header_end_and_are_kept(grid: str) -> None:
    assert missing(of(grid)) == set()


def test_ranges_are_values_below_their_header() -> None:
    assert texts(of(SIZES))[-1] == "Size: M; Chest: 97-104; Waist: 82-90; Hip: 97-103"


def test_the_rows_of_one_table_keep_their_order() -> None:
    grid = f"{SALES}\n{OWNERS}\n\n{OWNERS.replace('Owner', 'Buyer')}\n\nTown|People\nWells|12\nYork|19"
    read = "\n".join(texts(of(grid)))
    names = ["North", "South", "Owner", "Buyer", "Wells", "York"]
    assert sorted(names, key=read.index) == names


def test_many_parts_each_wider_than_the_one_above_are_kept() -> None:
    rows: Rows = []
    for width in range(3, 120):
        rows += [[f"name {width}.{at}" for at in range(width)], []]
    assert missing(rows) == set()


CELLS = ("name", "number", "range", "year", "blank", "again", "long")
ROWS = (
    ("name", "name"),
    ("name", "number"),
    ("name", "range"),
    ("name", "year"),
    ("name", "long"),
    ("again", "number"),
)
"""Kinds of rows: their first cell and all others."""


def cell(kind: str, row: int, column: int) -> str:
    """A cell of a kind; no other cell's text is within it, but for those that come again."""
    at = (row + 10) * 100 + column
    match kind:
        case "name":
            return f"n{at}x"
        case "number":
            return f"{at}.25"
        case "range":
            return f"{at}-{at + 5}"
        case "year":
            return str(1990 + at % 30)
        case "again":
            return f"again {at % 3}"
        case "long":
            return f"l{at}x " + "word " * 30 + "end"
        case _:
            return ""


@st.composite
def grids(draw: st.DrawFn) -> Rows:
    """Rows of a few kinds, in runs, as in tables: mostly one kind of cells beside a name."""
    width = draw(st.integers(2, 9))
    usual = st.sampled_from(ROWS).map(lambda kinds: [kinds[0]] + [kinds[1]] * (width - 1))
    mixed = st.lists(st.sampled_from(CELLS), min_size=width, max_size=width)
    blank = st.just(["blank"] * width)
    runs = draw(st.lists(st.tuples(st.one_of(usual, usual, mixed, blank), st.integers(1, 30)), min_size=1, max_size=8))
    lines = [kinds for kinds, times in runs for _ in range(times)][:60]
    return [[cell(kind, row, column) for column, kind in enumerate(kinds)] for row, kinds in enumerate(lines)]


@settings(max_examples=100)
@given(grids())
def test_no_cell_of_any_grid_is_lost(rows: Rows) -> None:
    assert missing(rows) == set()
