"""Headers of several lines and of groups, names around their values, cells several rows high, tables of words."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote_ingestion.parsers.pdf.groups import Part, spread_over_periods
from footnote_ingestion.parsers.pdf.headings import is_caption, is_of_table, is_set_apart
from footnote_ingestion.parsers.pdf.lines import Line, Word
from footnote_ingestion.parsers.pdf.stacked import piece_of, stacked
from fpdf import FPDF
from support.drawn_tables import columns, put, read, rows


def middle(pdf: FPDF, centre: float, top: float, text: str) -> None:
    pdf.text(centre - pdf.get_string_width(text) / 2, top, text)


def test_a_header_of_several_lines_over_several_columns_heads_them_all(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for centre, lines in ((270, ("Maximum", "Potential", "Payments")), (410, ("Proceeds from", "Recourse"))):
            for number, line in enumerate(reversed(lines)):
                middle(pdf, centre, 100 - 12 * number, line)
        columns(
            pdf,
            [
                ["", "2018", "2017", "2018", "2017"],
                ["Credit", "106", "109", "51", "55"],
                ["Other", "176", "191", "8", "7"],
            ],
            top=114,
            ends=(250, 310, 390, 450),
        )

    assert rows(read(tmp_path, draw))[0] == (
        "Credit; Maximum Potential Payments › 2018: 106; Maximum Potential Payments › 2017: 109; "
        "Proceeds from Recourse › 2018: 51; Proceeds from Recourse › 2017: 55"
    )


def test_words_over_the_middle_of_years_name_a_group_and_are_not_cut(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for centre, name in ((262, "Pension Benefits"), (402, "Other Benefits")):
            middle(pdf, centre, 100, name)
        columns(
            pdf,
            [
                ["", "2022", "2021", "2022", "2021"],
                ["Service cost", "106", "109", "51", "55"],
                ["Interest", "176", "191", "8", "7"],
            ],
            top=114,
            ends=(250, 296, 390, 436),
        )

    assert rows(read(tmp_path, draw))[0] == (
        "Service cost; Pension Benefits › 2022: 106; Pension Benefits › 2021: 109; "
        "Other Benefits › 2022: 51; Other Benefits › 2021: 55"
    )


def test_one_group_over_two_years_is_not_cut(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        middle(pdf, 262, 100, "Pension Benefits")
        columns(
            pdf,
            [["", "2022", "2021"], ["Service cost", "106", "109"], ["Interest", "176", "191"]],
            top=114,
            ends=(250, 296),
        )

    assert rows(read(tmp_path, draw))[0] == "Service cost; Pension Benefits › 2022: 106; Pension Benefits › 2021: 109"


def test_a_header_right_over_the_middle_of_two_columns_heads_both(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        middle(pdf, 236, 100, "MNLI")
        middle(pdf, 362, 100, "NER")
        for centre, name in ((236, "Tuned"), (320, "Tuned"), (404, "Features")):
            middle(pdf, centre, 114, name)
        for number, values in enumerate((("84.2", "95.4", "94.9"), ("84.3", "94.9", "94.0"))):
            pdf.text(50, 130 + 14 * number, f"Model {number}")
            for centre, value in zip((236, 320, 404), values, strict=True):
                middle(pdf, centre, 130 + 14 * number, value)

    assert rows(read(tmp_path, draw))[0] == "Model 0; MNLI Tuned: 84.2; NER › Tuned: 95.4; NER › Features: 94.9"


def test_names_that_come_again_show_which_columns_belong_together(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        put(pdf, 318, 100, "2001")
        put(pdf, 442, 100, "2002")
        columns(
            pdf,
            [
                ["", "Tons", "Part", "Tons", "Part"],
                ["Fish", "663", "2.5", "478", "1.9"],
                ["Oil", "232", "0.9", "241", "0.8"],
            ],
            top=114,
            ends=(260, 320, 380, 440),
        )

    assert rows(read(tmp_path, draw))[0] == (
        "Fish; 2001 › Tons: 663; 2001 › Part: 2.5; 2002 › Tons: 478; 2002 › Part: 1.9"
    )


def test_a_unit_alone_above_the_last_header_is_the_tables(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        put(pdf, 450, 100, "(Per cent)")
        columns(
            pdf,
            [["States", "1951", "1961"], ["Assam", "34.98", "34.95"], ["Goa", "7.77", "34.77"]],
            116,
            ends=(350, 450),
        )

    blocks = read(tmp_path, draw)
    assert rows(blocks)[0] == "States: Assam; 1951: 34.98; 1961: 34.95"
    assert "(Per cent)" in [block.text for block in blocks]


def test_a_header_far_above_its_figures_heads_them_if_a_line_parts_them(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        columns(pdf, [["Ministry", "Plan", "Total"]], ends=(350, 450))
        pdf.line(48, 104, 452, 104)
        columns(pdf, [["Coal", "550.00", "600.00"], ["Culture", "1767.00", "2511.00"]], 140, ends=(350, 450))

    assert rows(read(tmp_path, draw))[0] == "Ministry: Coal; Plan: 550.00; Total: 600.00"


def test_titles_above_a_drawn_frame_are_no_headers(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        middle(pdf, 350, 100, "FYE 12/31/04")
        for x in (260, 360, 460, 560):
            pdf.line(x, 106, x, 176)
        pdf.line(260, 106, 560, 106)
        pdf.line(260, 124, 560, 124)
        columns(
            pdf,
            [["Cost", "All", "Direct", "Other"], ["Salaries", "1,314", "940", "799"], ["Travel", "94", "74", "62"]],
            top=118,
            ends=(350, 450, 550),
        )

    assert rows(read(tmp_path, draw))[0] == "Cost: Salaries; All: 1,314; Direct: 940; Other: 799"


def test_names_above_and_below_their_values_are_one(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        columns(pdf, [["Measure", "1997", "1998"], ["Income", "49,497", "51,295"]], ends=(350, 450))
        for number, (first, second) in enumerate((("Inequality (Gini", "index)"), ("Mean Health and", "Activities"))):
            top = 140 + 46 * number
            pdf.text(50, top, first)
            put(pdf, 350, top + 8, f"0.06{number}")
            put(pdf, 450, top + 8, f"0.07{number}")
            pdf.text(50, top + 16, second)

    assert rows(read(tmp_path, draw)) == [
        "Measure: Income; 1997: 49,497; 1998: 51,295",
        "Measure: Inequality (Gini index); 1997: 0.060; 1998: 0.070",
        "Measure: Mean Health and Activities; 1997: 0.061; 1998: 0.071",
    ]


def test_a_cell_of_several_rows_stands_in_each_of_them(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for at, text in enumerate(("Road", "Lanes", "Area")):
            pdf.set_xy(50 + 100 * at, 100)
            pdf.cell(100, 18, text, border=1)
        for number, (lanes, area) in enumerate((("eight", "2.5"), ("six", "2.1"), ("four", "1.6"), ("two", "0.3"))):
            for at, text in ((1, lanes), (2, area)):
                pdf.set_xy(50 + 100 * at, 118 + 18 * number)
                pdf.cell(100, 18, text, border=1)
        pdf.rect(50, 118, 100, 54)
        pdf.text(54, 148, "Motorway")
        pdf.rect(50, 172, 100, 18)
        pdf.text(54, 184, "Street")

    assert rows(read(tmp_path, draw)) == [
        "Road: Motorway; Lanes: eight; Area: 2.5",
        "Road: Motorway; Lanes: six; Area: 2.1",
        "Road: Motorway; Lanes: four; Area: 1.6",
        "Road: Street; Lanes: two; Area: 0.3",
    ]


def test_a_figure_with_another_in_brackets_is_one_value(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        columns(
            pdf,
            [["", "QQP", "RACE"], ["ALBERT", "92.2", "86.5 (89.0/85.5)"], ["XLNet", "92.3", "85.4 (88.6%)"]],
            ends=(250, 400),
        )

    assert rows(read(tmp_path, draw)) == [
        "ALBERT; QQP: 92.2; RACE: 86.5 (89.0/85.5)",
        "XLNet; QQP: 92.3; RACE: 85.4 (88.6%)",
    ]


def test_figures_that_count_are_headers(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        columns(
            pdf,
            [["Year", "1", "2", "3"], ["1996", "3,770", "3,600", "3,524"], ["1997", "3,755", "3,689", "3,597"]],
        )

    assert rows(read(tmp_path, draw))[0] == "Year: 1996; 1: 3,770; 2: 3,600; 3: 3,524"


def test_the_same_names_below_several_years_are_headers(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        pdf.set_xy(50, 100)
        for width, text in ((100, ""), (160, "1996"), (160, "1991")):
            pdf.cell(width, 18, text, border=1)
        for number, line in enumerate((("", "share", "stores") * 2, ("Austria", "17", "568", "14", "530"))):
            cells = (line[0], *line[1:3], *line[-2:])
            for at, text in enumerate(cells):
                pdf.set_xy(50 + (100 + 80 * (at - 1) if at else 0), 118 + 18 * number)
                pdf.cell(80 if at else 100, 18, text, border=1)

    assert rows(read(tmp_path, draw)) == [
        "Austria; 1996 › share: 17; 1996 › stores: 568; 1991 › share: 14; 1991 › stores: 530"
    ]


def test_lines_between_some_columns_of_a_table_are_not_its_border(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for x in (150, 250, 350, 450):
            pdf.line(x, 88, x, 142)
        for y in (88, 106, 124, 142):
            pdf.line(48, y, 552, y)
        for number, line in enumerate(
            (
                ("Sex", "2005", "2010", "2015", "Change"),
                ("Male", "17.9", "17.6", "17.1", "0.8"),
                ("Female", "19.0", "18.3", "18.0", "1.0"),
            )
        ):
            pdf.text(50, 100 + 18 * number, line[0])
            for end, value in zip((240, 340, 440, 545), line[1:], strict=True):
                put(pdf, end, 100 + 18 * number, value)

    assert rows(read(tmp_path, draw))[0] == "Sex: Male; 2005: 17.9; 2010: 17.6; 2015: 17.1; Change: 0.8"


def test_a_numbered_row_below_headers_ends_them_not(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        columns(pdf, [["States", "Debt", "Loans", "Other"], ["1", "2", "3", "4"]], top=100)
        for y in (88, 104, 120, 170):
            pdf.line(48, y, 552, y)
        columns(pdf, [["Assam", "12.69", "10.02", "2.41"], ["Goa", "1.4", "1.02", "-"]], top=140)

    assert rows(read(tmp_path, draw))[0] == "States: Assam; Debt: 12.69; Loans: 10.02; Other: 2.41"


def test_a_title_over_a_whole_bordered_table_heads_no_column(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        pdf.set_xy(50, 100)
        pdf.cell(360, 18, "Exhibit B", border=1)
        for number, line in enumerate((("State", "Granted", "Number"), ("NC", "Yes", "5"), ("OH", "No", "100"))):
            for at, text in enumerate(line):
                pdf.set_xy(50 + 120 * at, 118 + 18 * number)
                pdf.cell(120, 18, text, border=1)

    blocks = read(tmp_path, draw)
    assert rows(blocks) == ["State: NC; Granted: Yes; Number: 5", "State: OH; Granted: No; Number: 100"]
    assert "Exhibit B" in [block.text for block in blocks]


def test_headers_of_columns_without_values_head_no_other_one(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for y in (88, 104, 138):
            pdf.line(48, y, 470, y)
        columns(
            pdf,
            [["", "Total", "Rural", "Urban"], ["Injury", "1.9", "2.1"], ["Illness", "4.5", "5.6"]],
            ends=(300, 380, 460),
        )

    blocks = read(tmp_path, draw)
    assert rows(blocks)[0] == "Injury; Total: 1.9; Rural: 2.1"
    assert "Urban" in [block.text for block in blocks]


def test_words_among_figures_make_no_header_of_a_row(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        columns(
            pdf,
            [
                ["", "Units", "No.", "Share", "Ratio", "Range"],
                ["Male", "61,206", "14,037", "(22.9)", "Ref.", "-"],
                ["Female", "49,486", "12,303", "(24.9)", "1.1", "(1.1-1.2)"],
                ["Other", "7,086", "1,433", "(20.2)", "0.9", "(0.7-1.0)"],
            ],
            ends=(210, 280, 350, 420, 500),
        )

    assert rows(read(tmp_path, draw))[1].startswith("Female; Units: 49,486; No.: 12,303; Share: (24.9); Ratio: 1.1")


def framed(pdf: FPDF, *tops: float) -> None:
    for top in tops:
        pdf.line(48, top, 420, top)


def test_words_between_lines_as_wide_as_one_another_are_a_table(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        framed(pdf, 88, 106, 170)
        for number, (model, kind, name) in enumerate(
            (("model", "category", "template"), ("T0", "instructive", "should assume"), ("T1", "null", "concat"))
        ):
            for left, text in ((50, model), (140, kind), (280, name)):
                pdf.text(left, 101 + 20 * number, text)
        pdf.text(280, 151, "and more")

    assert rows(read(tmp_path, draw)) == [
        "model: T0; category: instructive; template: should assume",
        "model: T1; category: null; template: concat and more",
    ]


def test_figures_in_a_single_column_between_such_lines_are_a_table(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        framed(pdf, 88, 106, 170)
        columns(pdf, [["Land", "2023"]], top=101, ends=(400,))
        columns(pdf, [["Chad", "7"], ["Peru", "8"], ["Mali", "9"]], top=121, ends=(400,))

    assert rows(read(tmp_path, draw)) == ["Land: Chad; 2023: 7", "Land: Peru; 2023: 8", "Land: Mali; 2023: 9"]


def test_text_in_two_columns_between_lines_is_no_table(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        framed(pdf, 60, 80, 300)
        pdf.text(50, 74, "A running head")
        pdf.text(250, 74, "with its chapter")
        for number in range(12):
            pdf.text(50, 100 + 14 * number, "these words are those of running text")
            pdf.text(240, 100 + 14 * number, "set in columns as papers have them")

    assert rows(read(tmp_path, draw)) == []


@pytest.mark.parametrize(
    ("text", "caption", "table", "apart"),
    [
        ("Table 3: Costs of a year", True, True, True),
        ("Table 3 shows the costs", True, True, False),
        ("TABLE IV. Results", True, True, True),
        ("Tabelle A.1 – Kosten", True, True, True),
        ("表 7.5 停车区", True, True, False),
        ("Fig. 2.1 | Loss", True, False, True),
        ("Table of Contents", False, False, False),
        ("Figures rose by a third", False, False, False),
        ("Tabular data 3: none", False, False, False),
    ],
)
def test_captions_are_known_by_what_they_are_and_a_number(text: str, caption: bool, table: bool, apart: bool) -> None:
    assert (is_caption(text), is_of_table(text), is_set_apart(text)) == (caption, table, apart)


def word(text: str, left: float, top: float) -> Word:
    line = Line(text, 1, left, left + 6 * len(text), top, top - 10, 10, bold=False, hyphen=False)
    return Word(text, line.left, line.right, top, top - 10, line)


def test_only_what_has_the_same_middle_goes_on_in_the_next_line() -> None:
    upper, lower = piece_of([word("Maximum", 100, 50)]), piece_of([word("Payment", 100, 40)])
    aside = piece_of([word("Less", 300, 40)])
    (ends, stands), (last, _) = stacked([[upper], [lower, aside]], 50, (), 10)
    assert ends == []
    assert [[one.text for one in piece.words] for piece in stands] == [["Maximum", "Payment"]]
    assert [[one.text for one in piece.words] for piece in last] == [["Maximum", "Payment"], ["Less"]]


def test_headers_are_not_spread_over_names_that_differ() -> None:
    parts = [Part(piece_of([word(text, 40 * at, 40)]), at, at + 1) for at, text in enumerate("ABCD")]
    above = [Part(piece_of([word("2001", 40, 50)]), 1, 2), Part(piece_of([word("2002", 120, 50)]), 3, 4)]
    spread_over_periods([above, parts], 4)
    assert [(part.first, part.last) for part in above] == [(1, 2), (3, 4)]
