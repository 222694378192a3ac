"""Tables of words whose headers are underlined, one by one or together, as lists of exhibits are."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from fpdf import FPDF
from support.drawn_tables import read, rows

PLACES = ((50, 90), (100, 290), (300, 360), (370, 430), (440, 500))
LIST = [
    ("2.1", ["Agreement and plan of merger,", "dated March 10, 2019"], "8-K", "2.1", "3/11/2019"),
    ("3.1*", ["Restated certificate of incorporation"], "", "", ""),
    ("4.2", ["Form of 2021 note"], "S-1/A", "Annex A", "4/24/1998"),
    ("10.3+", ["Equity plan, stock option", "(annual grant)"], "10-Q", "10.41", "5/27/2011"),
]


def draw(pdf: FPDF, *, one_line: bool = False) -> None:
    pdf.text(230, 76, "INDEX OF EXHIBITS")
    pdf.text(310, 92, "Incorporated by reference")
    pdf.line(300, 95, 430, 95)
    for (left, right), name in zip(PLACES, ("No.", "Description", "Form", "Exhibit", "Date"), strict=True):
        pdf.text((left + right - pdf.get_string_width(name)) / 2, 106, name)
        if not one_line:
            pdf.line(left, 109, right, 109)
    if one_line:
        pdf.line(50, 109, 500, 109)
    top = 122
    for number, description, *values in LIST:
        pdf.text(55, top, number)
        for (left, _), value in zip(PLACES[2:], values, strict=True):
            pdf.text(left + 8, top, value)
        for line in description:
            pdf.text(100, top, line)
            top += 12
        top += 4


@pytest.mark.parametrize("one_line", [False, True])
def test_a_list_under_underlined_headers_is_a_table(tmp_path: Path, one_line: bool) -> None:
    assert rows(read(tmp_path, partial(draw, one_line=one_line))) == [
        "No.: 2.1; Description: Agreement and plan of merger, dated March 10, 2019; "
        "Incorporated by reference › Form: 8-K; Incorporated by reference › Exhibit: 2.1; Date: 3/11/2019",
        "No.: 3.1*; Description: Restated certificate of incorporation",
        "No.: 4.2; Description: Form of 2021 note; "
        "Incorporated by reference › Form: S-1/A; Incorporated by reference › Exhibit: Annex A; Date: 4/24/1998",
        "No.: 10.3+; Description: Equity plan, stock option (annual grant); "
        "Incorporated by reference › Form: 10-Q; Incorporated by reference › Exhibit: 10.41; Date: 5/27/2011",
    ]


@pytest.mark.parametrize("one_line", [False, True])
def test_words_across_its_columns_end_such_a_table(tmp_path: Path, one_line: bool) -> None:
    def with_text(pdf: FPDF) -> None:
        draw(pdf, one_line=one_line)
        pdf.text(50, 216, "The exhibits marked with a star are filed with this report and the others are not.")

    found = read(tmp_path, with_text)
    assert len(rows(found)) == len(LIST)
    assert found[-1].text.startswith("The exhibits marked with a star")


def test_underlined_titles_of_columns_of_text_are_no_table(tmp_path: Path) -> None:
    def text(pdf: FPDF) -> None:
        for at, name in enumerate(("North", "South", "West")):
            pdf.text(50 + 180 * at, 100, name)
            pdf.line(50 + 180 * at, 103, 210 + 180 * at, 103)
        for number in range(8):
            pdf.text(
                50, 118 + 12 * number, "where sentences run on over the whole of the page to its end, line by line"
            )

    assert rows(read(tmp_path, text)) == []


def test_text_below_a_line_under_several_titles_is_no_table(tmp_path: Path) -> None:
    def text(pdf: FPDF) -> None:
        for at, name in enumerate(("Report", "2024", "Edition", "Page 7")):
            pdf.text(50 + 140 * at, 100, name)
        pdf.line(50, 103, 550, 103)
        for number in range(8):
            pdf.text(50, 118 + 12 * number, "where sentences run on over the whole of the page to its end")

    assert rows(read(tmp_path, text)) == []
