"""Names of groups over columns, where lines under them, middles and the words' own gaps show what they head."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote_ingestion.parsers.tables import is_form
from fpdf import FPDF
from support.drawn_tables import columns, read, rows

BODY = [["Wages", "1,250", "1,310", "940"], ["Rent", "310", "295", "288"], ["Power", "75", "81", "64"]]


def middle(pdf: FPDF, at: float, top: float, text: str) -> None:
    pdf.text(at - pdf.get_string_width(text) / 2, top, text)


def under(pdf: FPDF, height: float, *ends: float, wide: float = 60) -> None:
    """A line for each column that ends there."""
    for end in ends:
        pdf.line(end - wide, height, end, height)


def test_words_of_a_group_stay_together_over_columns_that_are_no_years(tmp_path: Path) -> None:
    table = [["", "Plan", "Actual", "Plan", "Actual"]] + [[*row, "12"] for row in BODY]

    def draw(pdf: FPDF) -> None:
        middle(pdf, 290, 84, "Head office")
        middle(pdf, 490, 84, "Field staff")
        columns(pdf, table, ends=(260, 340, 460, 540))

    assert rows(read(tmp_path, draw))[0] == (
        "Wages; Head office › Plan: 1,250; Head office › Actual: 1,310; Field staff › Plan: 940; "
        "Field staff › Actual: 12"
    )


def test_a_name_in_the_middle_heads_all_columns_that_are_underlined_with_it(tmp_path: Path) -> None:
    table = [["", "Cost", "Gain", "Value"], *BODY]

    def draw(pdf: FPDF) -> None:
        middle(pdf, 420, 84, "30 June 2023")
        under(pdf, 88, 350, 450, 550)
        under(pdf, 104, 350, 450, 550)
        columns(pdf, table)

    assert rows(read(tmp_path, draw))[0] == (
        "Wages; 30 June 2023 › Cost: 1,250; 30 June 2023 › Gain: 1,310; 30 June 2023 › Value: 940"
    )


@pytest.mark.parametrize("alone", ["first", "last"])
def test_underlined_groups_need_not_be_as_large_as_one_another(alone: str, tmp_path: Path) -> None:
    table = [["", "Total", "Cost", "Gain", "Loss"]] + [[*row, "12"] for row in BODY]
    ends = (260, 350, 440, 530)
    groups = {"first": (230, 410), "last": (320, 500)}[alone]

    def draw(pdf: FPDF) -> None:
        for at, name in zip(groups, ("May 2021", "June 2022"), strict=True):
            middle(pdf, at, 84, name)
        under(pdf, 88, *ends)
        under(pdf, 104, *ends)
        columns(pdf, table, ends=ends)

    over = {"first": ["May 2021", *["June 2022"] * 3], "last": [*["May 2021"] * 3, "June 2022"]}[alone]
    cells = zip(over, ("Total: 1,250", "Cost: 1,310", "Gain: 940", "Loss: 12"), strict=True)
    assert rows(read(tmp_path, draw))[0] == "; ".join(["Wages", *(f"{group} › {cell}" for group, cell in cells)])


def test_a_column_without_a_line_is_in_no_group(tmp_path: Path) -> None:
    table = [["", "2023", "2024", "Later"], *BODY]

    def draw(pdf: FPDF) -> None:
        middle(pdf, 370, 84, "Payments due")
        under(pdf, 88, 350, 450)
        columns(pdf, table)

    assert rows(read(tmp_path, draw))[0] == (
        "Wages; Payments due › 2023: 1,250; Payments due › 2024: 1,310; Later: 940"
    )


def test_a_line_under_a_header_shows_its_column_where_figures_are_narrow(tmp_path: Path) -> None:
    table = [["", "", ""], ["Granted", "45", "158.45"], ["Vested", "10", "120.20"], ["Left", "35", "166.10"]]

    def draw(pdf: FPDF) -> None:
        middle(pdf, 300, 100, "Number of shares")
        middle(pdf, 480, 100, "Value")
        pdf.line(240, 104, 360, 104)
        pdf.line(410, 104, 550, 104)
        columns(pdf, table, ends=(360, 550))

    assert rows(read(tmp_path, draw))[0] == "Granted; Number of shares: 45; Value: 158.45"


def test_long_headers_over_figures_are_no_sentences(tmp_path: Path) -> None:
    table = [["", "2023", "2022"], *([*row[:3]] for row in BODY)]

    def draw(pdf: FPDF) -> None:
        middle(pdf, 420, 68, "Gain or loss that was taken")
        middle(pdf, 420, 80, "into the income of the year")
        pdf.line(300, 86, 550, 86)
        columns(pdf, table, ends=(400, 540))

    assert rows(read(tmp_path, draw))[0] == (
        "Wages; Gain or loss that was taken into the income of the year › 2023: 1,250; "
        "Gain or loss that was taken into the income of the year › 2022: 1,310"
    )


def test_a_sentence_above_a_table_is_no_header(tmp_path: Path) -> None:
    table = [["", "2023", "2022"], *([*row[:3]] for row in BODY)]

    def draw(pdf: FPDF) -> None:
        pdf.text(50, 80, "The costs of both years were as follows, with the part of the field staff:")
        columns(pdf, table, ends=(400, 540))

    assert rows(read(tmp_path, draw))[0] == "Wages; 2023: 1,250; 2022: 1,310"


def test_a_unit_beside_the_name_of_a_section_is_no_header(tmp_path: Path) -> None:
    table = [["", "May 2023", "May 2022"], ["Costs:", "", ""], *([*row[:3]] for row in BODY)]

    def draw(pdf: FPDF) -> None:
        columns(pdf, table, ends=(400, 540))
        middle(pdf, 440, 116, "(in millions)")

    found = read(tmp_path, draw)
    assert rows(found)[0].endswith("Wages; May 2023: 1,250; May 2022: 1,310")
    assert {"Costs:", "(in millions)"} <= {block.text for block in found}


def test_lines_part_the_names_of_a_group_above_one_another(tmp_path: Path) -> None:
    table = [["", "2023", "2022"], *([*row[:3]] for row in BODY)]

    def draw(pdf: FPDF) -> None:
        middle(pdf, 420, 66, "Field staff")
        pdf.line(300, 70, 550, 70)
        middle(pdf, 420, 84, "Years ended in May")
        pdf.line(300, 88, 550, 88)
        columns(pdf, table, ends=(400, 540))

    assert rows(read(tmp_path, draw))[0] == (
        "Wages; Field staff › Years ended in May › 2023: 1,250; Field staff › Years ended in May › 2022: 1,310"
    )


def test_a_note_on_the_whole_table_says_what_its_numbers_are_in(tmp_path: Path) -> None:
    table = [["", "2023", "2022"], *([*row[:3]] for row in BODY)]

    def draw(pdf: FPDF) -> None:
        middle(pdf, 295, 70, "(in thousands)")
        columns(pdf, table, ends=(400, 540))

    found = read(tmp_path, draw)
    assert rows(found)[0] == "Wages; 2023: 1,250; 2022: 1,310"
    part = next(block.table_part for block in found if block.table_part.columns)
    assert part.columns[1].measure.scale == 3


def test_a_magnitude_over_the_middle_of_three_columns_is_of_all(tmp_path: Path) -> None:
    table = [["", "2023", "2022", "2021"], *([*row[:3], "990"] for row in BODY)]

    def draw(pdf: FPDF) -> None:
        columns(pdf, table[:1], top=80, ends=(330, 440, 550))
        middle(pdf, 425, 100, "(in thousands)")
        columns(pdf, table[1:], top=116, ends=(330, 440, 550))

    found = read(tmp_path, draw)
    assert rows(found)[0] == "Wages; 2023: 1,250; 2022: 1,310; 2021: 990"
    part = next(block.table_part for block in found if block.table_part.columns)
    assert [column.measure.scale for column in part.columns] == [0, 3, 3, 3]
    assert (part.note, part.note_scale) == ("(in thousands)", 3)


def test_labels_with_their_values_head_nothing(tmp_path: Path) -> None:
    cells = [
        ["Name: Ada Byron", "Ward: 7 North", "Bed: 12"], ["Seen: 2024-06-04 09:00", "Age: 50", "Room: 3"],
        ["Sample: blood", "State: normal", "Floor: 2"],
    ]  # fmt: skip

    def draw(pdf: FPDF) -> None:
        for down, row in enumerate(cells):
            for across, text in enumerate(row):
                pdf.rect(50 + 160 * across, 100 + 20 * down, 160, 20)
                pdf.text(55 + 160 * across, 114 + 20 * down, text)

    found = read(tmp_path, draw)
    assert [text.split("; ") for text in rows(found)] == cells
    assert not any(column.headers for block in found for column in block.table_part.columns)


@pytest.mark.parametrize("header", [["Line", "12:30", "14:45"], ["Item", "Cost", "Notes: see below"], ["", "2023"]])
def test_times_and_a_single_colon_make_no_form(header: list[str]) -> None:
    assert not is_form([header])


def test_a_name_over_all_groups_is_their_group_where_its_line_spares_the_names(tmp_path: Path) -> None:
    table = [["Ages", "Rate", "Count", "Rate", "Count"]] + [[*row, "12"] for row in BODY]

    def draw(pdf: FPDF) -> None:
        pdf.line(50, 55, 540, 55)
        middle(pdf, 370, 66, "Origin")
        pdf.line(90, 70, 540, 70)
        middle(pdf, 290, 84, "Northern")
        middle(pdf, 490, 84, "Southern")
        pdf.line(200, 88, 345, 88)
        pdf.line(390, 88, 540, 88)
        columns(pdf, table, ends=(260, 340, 460, 540))
        pdf.line(50, 104, 540, 104)

    assert rows(read(tmp_path, draw))[0] == (
        "Ages: Wages; Origin › Northern › Rate: 1,250; Origin › Northern › Count: 1,310; "
        "Origin › Southern › Rate: 940; Origin › Southern › Count: 12"
    )


def test_a_title_above_a_whole_line_or_a_note_in_brackets_heads_no_column(tmp_path: Path) -> None:
    table = [["State", "2013-14", "2014-15", "2015-16"], *BODY]

    def draw(pdf: FPDF) -> None:
        pdf.text(110, 66, "through the year 2021")
        pdf.line(50, 70, 550, 70)
        middle(pdf, 430, 84, "Projected")
        pdf.line(305, 88, 550, 88)
        columns(pdf, table)
        pdf.line(50, 104, 550, 104)

    assert rows(read(tmp_path, draw))[0] == (
        "State: Wages; Projected › 2013-14: 1,250; Projected › 2014-15: 1,310; Projected › 2015-16: 940"
    )

    def noted(pdf: FPDF) -> None:
        pdf.text(110, 68, "through the year 2021")
        middle(pdf, 300, 84, "[In thousands]")
        columns(pdf, [["State", "Pupils", "Schools", "Staff"], *BODY])

    assert rows(read(tmp_path, noted))[0] == "State: Wages; Pupils: 1,250; Schools: 1,310; Staff: 940"


def test_names_with_colons_over_figures_in_all_cells_are_headers(tmp_path: Path) -> None:
    head = ["", "Begun: May 2009", "Later: May 2010", "FY 2011"]
    found = rows(read(tmp_path, lambda pdf: columns(pdf, [head, *BODY])))
    assert found[0] == "Wages; Begun: May 2009: 1,250; Later: May 2010: 1,310; FY 2011: 940"
    forms = [BODY[0], ["Rent", "310", "", "288"], BODY[2]]
    assert rows(read(tmp_path, lambda pdf: columns(pdf, [head, *forms])))[0] == "Wages; 1,250; 1,310; 940"
