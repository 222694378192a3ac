"""Headers with lines in pieces, numbers of columns, a colon in a group's name, and a long section name below them."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_PARAGRAPH
from fpdf import FPDF
from support.drawn_tables import columns, put, read, rows

ENDS = (350, 450, 550)


def test_figures_with_a_line_under_each_are_the_headers_below_a_group(tmp_path: Path) -> None:
    table = [
        ["Province", "1%", "1.1%", "1.2%"],
        ["North", "26.90%", "24.45%", "22.41%"],
        ["South", "12.80%", "11.64%", "10.67%"],
        ["West", "8.80%", "8.00%", "7.34%"],
        ["All", "12.37%", "11.24%", "10.31%"],
    ]

    def draw(pdf: FPDF) -> None:
        pdf.text(380, 84, "Assumed share of deaths")
        pdf.line(310, 87, 550, 87)
        for end in ENDS:
            pdf.line(end - 35, 103, end, 103)
        columns(pdf, table)
        pdf.line(50, 151, 550, 151)

    found = rows(read(tmp_path, draw))
    assert len(found) == 4
    group = "Assumed share of deaths"
    assert found[0].endswith(f"North; {group} › 1%: 26.90%; {group} › 1.1%: 24.45%; {group} › 1.2%: 22.41%")


@pytest.mark.parametrize("lined", [1, 2])
def test_figures_with_a_line_under_those_of_several_rows_are_values(tmp_path: Path, lined: int) -> None:
    table = [["Sales", "10", "11", "12"], ["Cost", "4", "5", "6"], ["Rent", "2", "3", "4"], ["Pay", "1", "2", "3"]]

    def draw(pdf: FPDF) -> None:
        for number in range(lined):
            for end in ENDS:
                pdf.line(end - 35, 103 + 16 * number, end, 103 + 16 * number)
        columns(pdf, table)

    assert len(rows(read(tmp_path, draw))) == (3 if lined == 1 else 4)


def numbered(tmp_path: Path, corner: str, numbers: list[str]) -> tuple[list[str], list[str]]:
    def draw(pdf: FPDF) -> None:
        columns(pdf, [["State", "Loans", "Bonds", "Total"]], top=90)
        pdf.line(50, 94, 550, 94)
        columns(pdf, [[corner, *numbers]], top=106)
        if "=" in numbers[-1]:
            put(pdf, 550, 117, "(2 to 3)")
        pdf.line(50, 120, 550, 120)
        names = (("Aland", "7.5", "8.1", "15.6"), ("Borg", "3.2", "4", "7.2"), ("Celle", "1.1", "2", "3.1"))
        columns(pdf, [*map(list, names)], top=134)

    blocks = read(tmp_path, draw)
    return rows(blocks), [block.text for block in blocks if block.kind == BLOCK_KIND_PARAGRAPH]


def test_the_numbers_of_columns_are_in_no_header_but_above_the_table(tmp_path: Path) -> None:
    found, above = numbered(tmp_path, "1", ["2", "3", "4="])
    assert found[0] == "State: Aland; Loans: 7.5; Bonds: 8.1; Total: 15.6"
    assert above == ["1; 2; 3; 4= (2 to 3)"]


def test_numbers_that_do_not_count_all_columns_stay_headers(tmp_path: Path) -> None:
    found, above = numbered(tmp_path, "Grade", ["2", "3", "4"])
    assert found[0].endswith("Aland; Loans 2: 7.5; Bonds 3: 8.1; Total 4: 15.6")
    assert above == []


def test_a_colon_in_the_name_of_a_group_makes_no_form_of_the_table(tmp_path: Path) -> None:
    table = [["Input", "2015", "2020", "Note"], ["Area", "1,068", "1,070", "A"], ["Loss", "3.0", "2.5", "B"]]

    def draw(pdf: FPDF) -> None:
        pdf.set_xy(50, 82)
        pdf.cell(120, 18, "coverage to 40 %", border=1)
        pdf.cell(360, 18, "Solar: LARGE systems", border=1, align="C")
        for number, line in enumerate(table):
            for at, text in enumerate(line):
                pdf.set_xy(50 + 120 * at, 100 + 18 * number)
                pdf.cell(120, 18, "" if text == "Input" else text, border=1)

    found = rows(read(tmp_path, draw))
    group = "Solar: LARGE systems"
    assert f"Area; {group} › 2015: 1,068; {group} › 2020: 1,070; {group} › Note: A" in found[0].replace(
        "coverage to 40 %: ", ""
    )


def test_headers_are_above_a_section_name_that_ends_before_the_figures(tmp_path: Path) -> None:
    table = [["Aged 0-5 months, fed at home", "76.9", "80.0", "85.9"], ["Aged 6-9 months", "78.6", "75.0", "31.8"]]

    def draw(pdf: FPDF) -> None:
        columns(pdf, [["Indicators", "Total", "Rural", "Urban"]], top=84, ends=(470, 510, 550))
        pdf.text(50, 100, "Child feeding practices (based on last-born child in the reference period) (%)")
        columns(pdf, table, top=116, ends=(470, 510, 550), left=55)

    found = rows(read(tmp_path, draw))
    assert found[-1].endswith("Aged 6-9 months; Total: 78.6; Rural: 75.0; Urban: 31.8")
