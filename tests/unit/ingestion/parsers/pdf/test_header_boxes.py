"""Headers between drawn lines: over several columns or lines, repeated, or set vertically."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from fpdf import FPDF
from support.drawn_tables import put, read, rows


def vertical(pdf: FPDF, left: float, foot: float, text: str, *, up: bool = True) -> None:
    """Text that runs up from `foot`, or down to it."""
    begin = foot if up else foot - pdf.get_string_width(text)
    with pdf.rotation(90 if up else -90, left, begin):
        pdf.text(left, begin, text)


def down(pdf: FPDF, places: Sequence[float], top: float, bottom: float) -> None:
    for left in places:
        pdf.line(left, top, left, bottom)


def across(pdf: FPDF, heights: Sequence[float], left: float, right: float) -> None:
    for height in heights:
        pdf.line(left, height, right, height)


@pytest.mark.parametrize("up", [True, False])
def test_vertical_headers_of_a_bordered_table_without_a_line_above_them(tmp_path: Path, up: bool) -> None:
    def draw(pdf: FPDF) -> None:
        pdf.text(52, 158, "Candidate")
        pdf.text(122, 158, "Party")
        for at in range(8):
            one, other = (200 + 30 * at, 212 + 30 * at) if up else (204 + 30 * at, 192 + 30 * at)
            vertical(pdf, one, 160, f"WARD {at // 4 + 1}", up=up)
            vertical(pdf, other, 160, f"PREC {at % 4 + 1}", up=up)
        for number, name in enumerate(("Abel", "Baker", "Cole", "Dunn")):
            pdf.text(52, 176 + 16 * number, name)
            pdf.text(122, 176 + 16 * number, "Green" if number % 2 else "Blue")
            for at in range(8):
                put(pdf, 218 + 30 * at, 176 + 16 * number, str(100 * number + 7 * at + 1))
        down(pdf, (50, 120, *(190 + 30 * at for at in range(9))), 110, 228)
        across(pdf, [164 + 16 * number for number in range(5)], 50, 430)

    found = rows(read(tmp_path, draw))
    assert found[0].startswith("Candidate: Abel; Party: Blue; WARD 1 PREC 1: 1; WARD 1 PREC 2: 8")
    assert found[3].endswith("WARD 2 PREC 3: 343; WARD 2 PREC 4: 350")


@pytest.mark.parametrize("boxed", [True, False])
def test_vertical_headers_above_columns_without_borders(tmp_path: Path, boxed: bool) -> None:
    columns = (220, 290, 360, 430)

    def draw(pdf: FPDF) -> None:
        if boxed:
            pdf.text(60, 140, "District")
            pdf.text(300, 90, "Toilets within the unit")
            for left, right, top in ((50, 160, 70), (160, 240, 70), (240, 450, 70), (240, 310, 100), (310, 380, 100)):
                pdf.rect(left, top, right - left, 210 - top)
            pdf.line(240, 100, 450, 100)
        for at, (end, name) in enumerate(zip(columns, ("Households", "Own", "Shared", "None at all"), strict=True)):
            vertical(pdf, end - 12, 190 + at, name)
        for number, name in enumerate(("Ampara", "Badulla", "Colombo", "Galle")):
            pdf.text(55, 226 + 18 * number, name)
            for at, end in enumerate(columns):
                put(pdf, end, 226 + 18 * number, f"{number + 1},{at}00")

    found = rows(read(tmp_path, draw))
    group = "Toilets within the unit › " if boxed else ""
    named = "District: Ampara" if boxed else "Ampara"
    assert found[0] == (
        f"{named}; Households: 1,000; {group}Own: 1,100; {group}Shared: 1,200; {group}None at all: 1,300"
    )
    assert len(found) == 4


def test_names_of_three_lines_around_their_values(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for end, name in ((300, "Men"), (400, "Women")):
            put(pdf, end, 100, name)
        for number, name in enumerate(("Ampara", "Badulla", "Colombo", "Galle", "Jaffna")):
            top = 130 + 36 * number
            for line, text in enumerate((f"{name} (A)", f"{name} (B)", f"{name} (C)")):
                pdf.text(50, top + 12 * line - 12, text)
            put(pdf, 300, top, f"{number + 1},100")
            put(pdf, 400, top, f"{number + 1},200")

    found = rows(read(tmp_path, draw))
    assert len(found) == 5
    assert found[1] == "Badulla (A) Badulla (B) Badulla (C); Men: 2,100; Women: 2,200"


def test_headers_flush_left_in_boxes_over_two_columns_each(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        pdf.text(300, 80, "President and Vice-Pres")
        for at, name in enumerate(("Stein", "Trump", "Bell")):
            pdf.text(153 + 120 * at, 110, name)
        pdf.text(273, 122, "and Pence")
        down(pdf, (150,), 70, 240)
        down(pdf, (510,), 70, 140)
        down(pdf, (270, 390), 100, 140)
        across(pdf, (140,), 50, 510)
        pdf.text(50, 152, "Jurisdiction Wide")
        for number, name in enumerate(("Polling", "Absentee", "Provisional", "Total")):
            pdf.text(60, 166 + 14 * number, name)
            for at in range(3):
                put(pdf, 220 + 120 * at, 166 + 14 * number, str(10 * number + at))
                put(pdf, 262 + 120 * at, 166 + 14 * number, f"{number}.{at}0%")

    found = rows(read(tmp_path, draw))
    group = "President and Vice-Pres"
    assert found[0] == "Jurisdiction Wide"
    assert found[1] == (
        f"Jurisdiction Wide › Polling; {group} › Stein: 0; {group} › Stein: 0.00%; "
        f"{group} › Trump and Pence: 1; {group} › Trump and Pence: 0.10%; {group} › Bell: 2; {group} › Bell: 0.20%"
    )


def test_a_header_of_two_lines_over_several_columns_is_read_line_by_line(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        down(pdf, (50, 150, 350, 550), 90, 122)
        down(pdf, (50, 150, 250, 350, 450, 550), 122, 202)
        across(pdf, (90, 122, 142, 162, 182, 202), 50, 550)
        pdf.text(198, 103, "Initiated Statutory")
        pdf.text(202, 115, "Measure No. 4")
        pdf.text(430, 109, "Governor")
        for at, text in enumerate(("Precinct", "Yes", "No", "Baker", "Cole")):
            pdf.text(54 + 100 * at, 136, text)
        for number, name in enumerate(("North", "South", "Total")):
            for at, text in enumerate((name, *(f"{column}{number + 1}" for column in (3, 4, 5, 6)))):
                pdf.text(54 + 100 * at, 156 + 20 * number, text)

    assert rows(read(tmp_path, draw))[0] == (
        "Precinct: North; Initiated Statutory Measure No. 4 › Yes: 31; Initiated Statutory Measure No. 4 › No: 41; "
        "Governor › Baker: 51; Governor › Cole: 61"
    )


def test_a_header_row_that_repeats_names_the_section_below_it(tmp_path: Path) -> None:
    wards = ["1/1", "1/2", "2/1", "Total"]
    table = [
        ["", *wards],
        ["All votes", "10", "20", "30", "60"],
        ["Governor", *wards],
        ["Blank", "1", "2", "3", "6"],
        ["Abel", "9", "18", "27", "54"],
        ["Auditor of the town", *wards],
        ["Blank", "4", "", "", "4"],
        ["Baker", "6", "", "", "6"],
    ]

    def draw(pdf: FPDF) -> None:
        for number, row in enumerate(table):
            for at, text in enumerate(row):
                pdf.set_xy(50 + 90 * at, 100 + 18 * number)
                # A filled cell hides the lines around it.
                pdf.set_fill_color(120)
                pdf.cell(90, 18, text, border=1 if text or not number else 0, fill=not text and number > 0)

    assert rows(read(tmp_path, draw)) == [
        "All votes; 1/1: 10; 1/2: 20; 2/1: 30; Total: 60",
        "Governor",
        "Governor › Blank; 1/1: 1; 1/2: 2; 2/1: 3; Total: 6",
        "Governor › Abel; 1/1: 9; 1/2: 18; 2/1: 27; Total: 54",
        "Auditor of the town",
        "Auditor of the town › Blank; 1/1: 4; Total: 4",
        "Auditor of the town › Baker; 1/1: 6; Total: 6",
    ]
