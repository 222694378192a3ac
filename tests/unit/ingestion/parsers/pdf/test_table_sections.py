"""Sections of tables whose rows are not indented: blocks between empty lines, each with a name above it."""

from __future__ import annotations

from pathlib import Path

from fpdf import FPDF
from support.drawn_tables import columns, read, rows

EMPTY = ["", "", ""]
YEARS = ["Year", "Men", "Women"]


def names(tmp_path: Path, *body: list[str]) -> list[str]:
    def draw(pdf: FPDF) -> None:
        columns(pdf, [YEARS, *body])

    return [row.partition("; ")[0].removeprefix("Year: ") for row in rows(read(tmp_path, draw))]


ACTUAL = [["Actual", "", ""], ["2009", "14", "15"], ["2010", "16", "17"], ["2011", "18", "19"]]
PROJECTED = [["Projected", "", ""], ["2012", "24", "25"], ["2013", "26", "27"]]


def test_rows_belong_to_the_name_above_their_block(tmp_path: Path) -> None:
    assert names(tmp_path, *ACTUAL, EMPTY, *PROJECTED, EMPTY, ["Total", "60", "61"]) == [
        "Actual", "Actual › 2009", "Actual › 2010", "Actual › 2011",
        "Projected", "Projected › 2012", "Projected › 2013",
        "Total",
    ]  # fmt: skip


def test_a_total_that_is_apart_and_indented_belongs_to_no_block(tmp_path: Path) -> None:
    found = names(tmp_path, *ACTUAL, EMPTY, [" Total", "48", "51"], EMPTY, *PROJECTED)
    assert found[4:6] == ["Total", "Projected"]


def test_indented_rows_leave_the_block_open(tmp_path: Path) -> None:
    inner = [["All", "14", "15"], [" First half", "7", "8"], [" Second half", "7", "7"], ["None", "18", "19"]]
    found = names(tmp_path, ["Actual", "", ""], *inner, EMPTY, *PROJECTED)
    assert found[:5] == ["Actual", *(f"Actual › {name.strip()}" for name, *_ in inner)]


def test_without_empty_lines_nothing_says_where_a_block_ends(tmp_path: Path) -> None:
    found = names(tmp_path, *ACTUAL, *PROJECTED, ["Total", "60", "61"])
    assert found == ["Actual", "2009", "2010", "2011", "Projected", "2012", "2013", "Total"]


def test_a_single_name_shows_no_blocks(tmp_path: Path) -> None:
    found = names(tmp_path, *ACTUAL, EMPTY, *PROJECTED[1:])
    assert found == ["Actual", "2009", "2010", "2011", "2012", "2013"]
