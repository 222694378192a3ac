"""Sections of tables: blocks between empty lines, and rows with values whose parts are indented below them."""

from __future__ import annotations

from pathlib import Path

import pytest
from fpdf import FPDF
from PIL import Image
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
    inner = [["All", "99", "99"], [" First half", "70", "80"], [" Second half", "7", "7"], ["None", "18", "19"]]
    found = names(tmp_path, ["Actual", "", ""], *inner, EMPTY, *PROJECTED)
    assert found[:5] == ["Actual", *(f"Actual › {name.strip()}" for name, *_ in inner)]


def test_without_empty_lines_nothing_says_where_a_block_ends(tmp_path: Path) -> None:
    found = names(tmp_path, *ACTUAL, *PROJECTED, ["Total", "60", "61"])
    assert found == ["Actual", "2009", "2010", "2011", "Projected", "2012", "2013", "Total"]


def test_a_single_name_above_all_rows_names_them_up_to_an_empty_line(tmp_path: Path) -> None:
    found = names(tmp_path, *ACTUAL, EMPTY, *PROJECTED[1:])
    assert found == ["Actual", "Actual › 2009", "Actual › 2010", "Actual › 2011", "2012", "2013"]


def test_a_single_name_below_other_rows_shows_no_block(tmp_path: Path) -> None:
    found = names(tmp_path, ["2008", "12", "13"], *ACTUAL, EMPTY, *PROJECTED[1:])
    assert found == ["2008", "Actual", "2009", "2010", "2011", "2012", "2013"]


@pytest.mark.parametrize("drawn", [True, False])
def test_a_sum_below_a_gap_belongs_to_a_single_name(tmp_path: Path, drawn: bool) -> None:
    def draw(pdf: FPDF) -> None:
        columns(pdf, [YEARS, *ACTUAL, EMPTY, ["Total", "48", "51"]])
        for end in (350, 450) if drawn else ():
            pdf.line(end - 30, 182, end, 182)

    found = rows(read(tmp_path, draw))
    assert found[-1].partition("; ")[0].endswith("Actual › Total" if drawn else "Total")
    assert ("Actual › Total" in found[-1]) is drawn


def drawn_at(pdf: FPDF, *heights: float) -> None:
    for height in heights:
        pdf.line(45, height, 455, height)


def test_lines_across_a_table_part_its_blocks(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        columns(pdf, [YEARS, *ACTUAL, *PROJECTED, ["Total", "60", "61"]])
        drawn_at(pdf, 88, 104, 168, 216, 232)

    found = [row.partition("; ")[0].removeprefix("Year: ") for row in rows(read(tmp_path, draw))]
    assert found == [
        "Actual", "Actual › 2009", "Actual › 2010", "Actual › 2011",
        "Projected", "Projected › 2012", "Projected › 2013",
        "Total",
    ]  # fmt: skip


@pytest.mark.parametrize("as_images", [True, False])
def test_a_long_name_of_a_section_below_the_headers_does_not_end_them(tmp_path: Path, as_images: bool) -> None:
    name = "Measured by a company of its own on all roads that lead to the town, without the tunnels"

    def draw(pdf: FPDF) -> None:
        columns(pdf, [YEARS, [name, "", ""], *ACTUAL[1:]])
        for height in (88, 104, 170):
            if as_images:  # as some programs write lines
                pdf.image(Image.new("1", (1, 1)), 45, height, 410, 1)
            else:
                pdf.line(45, height, 455, height)

    found = rows(read(tmp_path, draw))
    assert found == [
        name,
        *(f"Year: {name} › {one}; Men: {two}; Women: {three}" for one, two, three in ACTUAL[1:]),
    ]


@pytest.mark.parametrize(
    ("whole", "first", "second", "is_group"),
    [
        (["30", "33"], ["10", "11"], ["20", "22"], True),
        (["44.4", "31.2"], ["40.0", "25.0"], ["46.5", "33.9"], True),
        (["(30)", "33"], ["(50)", "11"], ["20", "22"], True),
        (["90", "95"], ["10", "11"], ["20", "22"], False),  # an opening balance, and additions
        (["15", "95"], ["10", "11"], ["20", "22"], False),
        (["15", "16"], ["(10)", "11"], ["20", "22"], False),
        (["15", ""], ["10", "11"], ["20", "22"], False),
    ],
)
def test_a_row_with_values_names_its_parts(
    tmp_path: Path, whole: list[str], first: list[str], second: list[str], is_group: bool
) -> None:
    body = [["Public schools", *whole], [" Small", *first], [" Very large", *second], ["Others", "7", "8"]]
    above = "Public schools › " if is_group else ""
    assert names(tmp_path, *body) == ["Public schools", f"{above}Small", f"{above}Very large", "Others"]


def test_a_single_indented_row_may_be_a_total(tmp_path: Path) -> None:
    assert names(tmp_path, ["Rent", "30", "33"], [" Total", "30", "33"], ["Other", "7", "8"])[1] == "Total"
