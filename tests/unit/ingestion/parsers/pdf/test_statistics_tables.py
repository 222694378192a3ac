"""Tables as statistics draw them: boxes around boxes, names beside several lines, headers between lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_indexing.chunking.assemble import TextWindow
from footnote_indexing.chunking.model import Cut
from footnote_ingestion.parsers.pdf import ruled
from footnote_ingestion.parsers.pdf.frames import frames
from footnote_ingestion.parsers.pdf.rulings import Rule, Rulings
from footnote_text.tables import Row
from footnote_text.tables import rows as table_rows
from fpdf import FPDF
from support.drawn_tables import put, read, rows


def grid(pdf: FPDF, downs: Sequence[float], acrosses: Sequence[float]) -> None:
    for left in downs:
        pdf.line(left, acrosses[0], left, acrosses[-1])
    for top in acrosses:
        pdf.line(downs[0], top, downs[-1], top)


def model(blocks: Sequence[Block]) -> list[Row]:
    window = TextWindow()
    return [row for one in window.place(blocks) for row in table_rows(window.passage(Cut(one.start, one.end)))]


def test_a_name_beside_two_lines_of_one_box_names_both(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for at, text in enumerate(("COUNTY", "Local", "Other", "Total")):
            pdf.text((52, 172, 252, 332)[at], 112, text)
        for number, county in enumerate(("Ghent", "Mons", "Arlon", "Eupen")):
            top = 132 + 32 * number
            pdf.text(52, top, county)
            for line, measure in enumerate(("Miles", "Traffic")):
                pdf.text(100, top + 14 * line, measure)
                for at, end in enumerate((235, 315, 395)):
                    put(pdf, end, top + 14 * line, str((number + 1) * (17 + at) * (1 + 99 * line)))
        grid(pdf, (50, 160, 240, 320, 400), [100, *(118 + 32 * number for number in range(5))])

    found = rows(read(tmp_path, draw))
    assert found[0] == "COUNTY: Ghent Miles; Local: 17; Other: 18; Total: 19"
    assert found[1] == "COUNTY: Ghent Traffic; Local: 1700; Other: 1800; Total: 1900"
    assert found[7] == "COUNTY: Eupen Traffic; Local: 6800; Other: 7200; Total: 7600"


def test_ranges_name_columns_and_years_name_rows_beside_a_name(tmp_path: Path) -> None:
    ages = ("<=14", "15-19", "20-24", "TOTAL")

    def draw(pdf: FPDF) -> None:
        pdf.text(240, 112, "INJURED")
        for at, text in enumerate(ages):
            put(pdf, 215 + 70 * at, 132, text)
        for number, name in enumerate(("Walkers", "Cars", "Bicycles")):
            pdf.text(52, 168 + 48 * number, name)
            for line, year in enumerate(("2013", "2014", "14-13")):
                top = 152 + 48 * number + 16 * line
                pdf.text(112, top, year)
                for at in range(4):
                    put(pdf, 215 + 70 * at, top, str(48 + 7 * at - 11 * line + 5 * number))
        for left in (50, 110, 150, 220, 290, 360, 430):
            pdf.line(left, 118 if 150 < left < 430 else 100, left, 284)
        for top in range(140, 290, 16):
            pdf.line(50 if (top - 140) % 48 == 0 else 110, top, 430, top)
        pdf.line(50, 100, 430, 100)
        pdf.line(50, 118, 430, 118)

    found = model(read(tmp_path, draw))
    assert [row.headers for row in found][:4] == [
        ("Walkers", "2013"), ("Walkers", "2014"), ("Walkers", "14-13"), ("Cars", "2013")
    ]  # fmt: skip
    assert [cell.headers for cell in found[0].cells[2:]] == [("INJURED", age) for age in ages]


def test_a_box_drawn_around_a_bordered_table_is_no_part_of_it() -> None:
    box = [Rule(40, 500, 740), Rule(520, 500, 740)], [Rule(500, 40, 520), Rule(740, 40, 520)]
    inner = [Rule(at, 600, 680) for at in (60, 180, 240, 300)], [Rule(at, 60, 300) for at in (600, 640, 680)]
    beside = [Rule(at, 640, 680) for at in (440, 500)], [Rule(at, 440, 500) for at in (640, 680)]

    def found(*parts: tuple[list[Rule], list[Rule]]) -> list[tuple[list[float], list[float]]]:
        rules = Rulings([rule for _, across in parts for rule in across], [rule for down, _ in parts for rule in down])
        return [(xs, ys) for xs, ys, _, _ in frames(rules)]

    assert found(box, inner, beside) == found(inner) == [([60, 180, 240, 300], [680, 640, 600])]


def test_headers_between_lines_go_on_up_within_the_border_of_a_ruled_table(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for left, text in ((244, "2018"), (424, "2019")):
            pdf.text(left, 112, text)
        for at, (name, unit) in enumerate((("Area", "acres"), ("Crop", "tons"), ("Yield", "tons/acre")) * 2):
            put(pdf, 205 + 60 * at, 128, name)
            put(pdf, 205 + 60 * at, 144, unit)
        for number, name in enumerate(("Oranges", "Lemons", "Olives", "Figs", "Dates")):
            pdf.text(52, 160 + 16 * number, name)
            for at in range(6):
                put(pdf, 205 + 60 * at, 160 + 16 * number, f"{(number + 2) * 13 + 7 * at},{at}")
        for top in range(100, 245, 16):
            pdf.line(45, top, 520, top)
        for left in (45, 520):
            pdf.line(left, 100, left, 244)

    found = rows(read(tmp_path, draw))
    assert found[0].startswith(
        "Oranges; 2018 › Area acres: 26,0; 2018 › Crop tons: 33,1; 2018 › Yield tons/acre: 40,2;"
    )


@pytest.mark.parametrize("mark", ["..", "x", ":", "k. A.", "*", "closed"])
def test_marks_of_absent_values_make_no_header(mark: str) -> None:
    body = [["Bergen", "1", "2", "3"], ["Lund", "4", "5", "6"], ["Mons", "7", "8", "9"]]
    assert ruled._depth([["City", "2019", "2020", "2021"], ["Oslo", mark, mark, mark], *body]) == 1
    assert ruled._depth([["City", "Men", "Women", "All"], ["Oslo", mark, mark, mark], *body]) == 1
