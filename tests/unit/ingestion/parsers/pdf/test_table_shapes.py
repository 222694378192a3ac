"""Tables whose names and headers span several cells, continue in the next line, or have no border."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from fpdf import FPDF
from support.drawn_tables import columns, put, read, rows


def across(pdf: FPDF, top: float, *sides: tuple[float, float]) -> None:
    for left, right in sides:
        pdf.line(left, top, right, top)


@pytest.mark.parametrize("ruled", [True, False])
def test_a_name_beside_several_rows_stands_before_each_of_theirs(tmp_path: Path, ruled: bool) -> None:
    def draw(pdf: FPDF) -> None:
        columns(pdf, [["", "Basic", "Polite"]], ends=(250, 320))
        for number, size in enumerate(("7B", "13B", "33B", "9B", "60B")):
            if number == 1:  # beside the second of three
                pdf.text(50, 136, "Camel")
            put(pdf, 160, 120 + 16 * number, size)
            put(pdf, 250, 120 + 16 * number, f"0.1{number}")
            put(pdf, 320, 120 + 16 * number, f"0.2{number}")
        pdf.text(50, 176, "Dromedary")  # between the two that follow
        if ruled:
            for top in (88, 106, 160, 190):
                across(pdf, top, (48, 330))

    assert rows(read(tmp_path, draw)) == [
        "Camel › 7B; Basic: 0.10; Polite: 0.20",
        "Camel › 13B; Basic: 0.11; Polite: 0.21",
        "Camel › 33B; Basic: 0.12; Polite: 0.22",
        "Dromedary › 9B; Basic: 0.13; Polite: 0.23",
        "Dromedary › 60B; Basic: 0.14; Polite: 0.24",
    ]


def test_a_column_beside_such_names_keeps_its_own_header(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        pdf.text(50, 100, "Training")
        pdf.text(120, 100, "Retriever")
        put(pdf, 300, 100, "Top 20")
        put(pdf, 400, 100, "Top 100")
        pdf.text(50, 120, "None")
        for number, retriever in enumerate(("Sparse", "Dense", "Dense + x")):
            pdf.text(120, 120 + 16 * number, retriever)
            put(pdf, 300, 120 + 16 * number, f"59.{number}")
            put(pdf, 400, 120 + 16 * number, f"73.{number}")
        pdf.text(50, 144, "Single")

    assert rows(read(tmp_path, draw)) == [
        "Training: None; Retriever: Sparse; Top 20: 59.0; Top 100: 73.0",
        "Training: Single; Retriever: Dense; Top 20: 59.1; Top 100: 73.1",
        "Training: Single; Retriever: Dense + x; Top 20: 59.2; Top 100: 73.2",
    ]


def test_figures_above_a_line_head_those_below_it(tmp_path: Path) -> None:
    table = [
        ["", "7B", "13B", "33B"],
        ["All", "66.0", "64.7", "69.0"],
        ["Some", "65.0", "66.7", "66.1"],
        ["None", "1.5", "2.5", "3.5"],
    ]

    def draw(pdf: FPDF) -> None:
        columns(pdf, table)
        across(pdf, 105, (48, 560))

    assert rows(read(tmp_path, draw))[0] == "All; 7B: 66.0; 13B: 64.7; 33B: 69.0"


@pytest.mark.parametrize(
    ("first", "second", "read_as"),
    [
        ("Number of shares that were set aside for", "those who hold others", "{} {}"),
        ("Robust", "    with books", "{} › {}"),  # there was room for "with"
    ],
)
def test_a_name_goes_on_below_only_where_it_had_no_room(tmp_path: Path, first: str, second: str, read_as: str) -> None:
    table = [
        ["", "2023", "2022"],
        ["Number of shares that were outstanding", "1", "2"],
        [first],
        [second, "11", "12"],
        ["Other", "21", "22"],
    ]
    found = rows(read(tmp_path, lambda pdf: columns(pdf, table)))
    assert f"{read_as.format(first, second.strip())}; 2023: 11; 2022: 12" in found
    assert found[-1] == "Other; 2023: 21; 2022: 22"


def test_rows_stand_under_a_colon_until_a_sum(tmp_path: Path) -> None:
    table = [
        ["", "2023", "2022"],
        ["Current assets:"],
        ["Cash", "10", "11"],
        ["Goods", "20", "21"],
        ["Total current assets", "30", "32"],
        ["Land", "5", "6"],
    ]

    def draw(pdf: FPDF) -> None:
        columns(pdf, table)
        across(pdf, 152, (310, 352), (410, 452))  # above the sum

    assert rows(read(tmp_path, draw)) == [
        "Current assets:",
        "Current assets › Cash; 2023: 10; 2022: 11",
        "Current assets › Goods; 2023: 20; 2022: 21",
        "Current assets › Total current assets; 2023: 30; 2022: 32",
        "Land; 2023: 5; 2022: 6",
    ]


def test_a_header_that_only_some_columns_have_a_line_for_heads_those(tmp_path: Path) -> None:
    ends = (250, 330, 410, 490)

    def draw(pdf: FPDF) -> None:
        text = "Owners of the company"
        pdf.text(275 - pdf.get_string_width(text) / 2, 84, text)
        across(pdf, 88, (210, 252), (290, 332))
        columns(
            pdf,
            [
                ["", "Stock", "Capital", "Others", "Total"],
                ["Balance", "1", "2", "3", "6"],
                ["Loss", "2", "3", "4", "9"],
            ],
            ends=ends,
        )

    assert rows(read(tmp_path, draw))[1] == (
        "Loss; Owners of the company › Stock: 2; Owners of the company › Capital: 3; Others: 4; Total: 9"
    )


def test_headers_of_groups_that_stand_over_headers_and_not_over_figures(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for text, middle in (("Three Months Ended June 30,", 262), ("Twelve Months Ended June 30,", 452)):
            pdf.text(middle - pdf.get_string_width(text) / 2, 84, text)
        for year, middle in zip(("2022", "2023", "2022", "2023"), (215, 310, 405, 500), strict=True):
            pdf.text(middle - pdf.get_string_width(year) / 2, 100, year)
        columns(
            pdf,
            [["Sales", "13,909", "13,673", "14,544", "14,694"], ["Profit", "1,794", "1,722", "2,820", "2,725"]],
            top=118,
            ends=(253, 348, 443, 538),
        )

    assert rows(read(tmp_path, draw))[0] == (
        "Sales; Three Months Ended June 30, › 2022: 13,909; Three Months Ended June 30, › 2023: 13,673; "
        "Twelve Months Ended June 30, › 2022: 14,544; Twelve Months Ended June 30, › 2023: 14,694"
    )


def test_a_header_over_the_last_of_columns_named_alike_heads_them_all(tmp_path: Path) -> None:
    table: Sequence[Sequence[str]] = [
        ["", "", "Under a year", "", "Over a year"],
        ["", "Value", "Loss", "Value", "Loss"],
        ["Bonds", "77", "(5)", "391", "(19)"],
        ["Notes", "257", "(6)", "412", "(34)"],
    ]
    found = rows(read(tmp_path, lambda pdf: columns(pdf, table, ends=(250, 330, 430, 530))))
    assert found[0] == (
        "Bonds; Under a year › Value: 77; Under a year › Loss: (5); Over a year › Value: 391; Over a year › Loss: (19)"
    )


def test_a_title_in_the_middle_of_the_page_is_no_header(tmp_path: Path) -> None:
    table = [["", "Stock", "Capital", "Total"], ["Balance", "10", "20", "30"], ["Loss", "11", "21", "32"]]

    def draw(pdf: FPDF) -> None:
        title = "Statements of what the owners of the company have"
        pdf.text(300 - pdf.get_string_width(title) / 2, 84, title)
        columns(pdf, table, ends=(300, 380, 550))

    blocks = read(tmp_path, draw)
    assert rows(blocks)[0] == "Balance; Stock: 10; Capital: 20; Total: 30"
    assert any("the owners of the company have" in block.text for block in blocks)


def test_figures_far_below_under_the_same_columns_keep_the_headers(tmp_path: Path) -> None:
    table = [
        ["", "2023", "2022"],
        ["Debts", "10", "11"],
        ["Sum of debts", "10", "11"],
        [""],
        ["Commitments and contingencies"],
        [""],
        [""],
        ["Owners' part", "5", "6"],
        ["Sum", "15", "17"],
    ]
    found = rows(read(tmp_path, lambda pdf: columns(pdf, table)))
    assert found[-2:] == ["Owners' part; 2023: 5; 2022: 6", "Sum; 2023: 15; 2022: 17"]


def test_two_rows_between_two_lines_are_two(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for at, texts in enumerate((("", "Java", "Perl"), ("Bag", "81.8", "86.6"), ("Twin", "89.7", "94.6"))):
            for text, left in zip(texts, (54, 184, 304), strict=True):
                pdf.text(left, 112 + 14 * at, text)
        for top in (100, 116, 146):
            pdf.line(50, top, 410, top)
        for left in (50, 180, 300, 410):
            pdf.line(left, 100, left, 146)

    assert rows(read(tmp_path, draw)) == ["Bag; Java: 81.8; Perl: 86.6", "Twin; Java: 89.7; Perl: 94.6"]


def test_columns_of_words_without_a_border_on_the_sides(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        table = (
            ("Set", "Base", "Large", "Notes"),
            ("Papers", "F / M", "M", "Layouts of papers"),
            ("News", "F", "-", "Layouts of scans"),
            ("Tables", "F", "F", "Regions of reports"),
        )
        for at, texts in enumerate(table):
            for text, left in zip(texts, (54, 154, 234, 314), strict=True):
                pdf.text(left, 112 + 16 * at, text)
        for top in (100, 117, 166):
            pdf.line(50, top, 450, top)
        for left in (150, 230, 310):
            pdf.line(left, 100, left, 166)

    assert rows(read(tmp_path, draw)) == [
        "Set: Papers; Base: F / M; Large: M; Notes: Layouts of papers",
        "Set: News; Base: F; Large: -; Notes: Layouts of scans",
        "Set: Tables; Base: F; Large: F; Notes: Regions of reports",
    ]


def test_years_with_ranges_and_marks_are_headers(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        columns(pdf, [["", "2023", "2024", "2025 - 2029"], ["Plans", "140", "130", "570"], ["Others", "5", "6", "7"]])
        text = "(in thousands, except for what is told of shares)"
        pdf.text(400 - pdf.get_string_width(text) / 2, 84, text)

    assert rows(read(tmp_path, draw)) == [
        "Plans; 2023: 140; 2024: 130; 2025 - 2029: 570",
        "Others; 2023: 5; 2024: 6; 2025 - 2029: 7",
    ]


def test_a_range_with_spaces_is_one_value(tmp_path: Path) -> None:
    table = [
        ["", "Maturities", "Rates", "Amount"],
        ["First issue", "2024 - 2044", "3.80% - 4.95%", "4,000"],
        ["Second issue", "2025 - 2057", "2.80% - 5.20%", "15,000"],
        ["Third issue", "2026", "2.70%", "9,000"],
        ["Credit", "", "", "972"],
    ]
    found = rows(read(tmp_path, lambda pdf: columns(pdf, table)))
    assert found[0] == "First issue; Maturities: 2024 - 2044; Rates: 3.80% - 4.95%; Amount: 4,000"
    assert found[3] == "Credit; Amount: 972"


def test_a_dash_for_none_stays_a_value_of_its_own(tmp_path: Path) -> None:
    table = [["", "Gains", "Losses", "Fair value"], *([f"Fund {n}", f"1{n}", "-", f"2{n}"] for n in range(4))]
    assert rows(read(tmp_path, lambda pdf: columns(pdf, table)))[0] == "Fund 0; Gains: 10; Losses: -; Fair value: 20"


def test_a_justified_sentence_above_a_table_is_no_header(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for at, word in enumerate(re.findall(r"\S+", "The table below shows revenue by each of the markets we serve:")):
            pdf.text(50 + 42 * at, 90, word)
        columns(
            pdf,
            [["", "2023", "2022", "2021"], *([f"Market {n}", f"{n},100", f"{n},200", f"{n},300"] for n in (1, 2))],
            106,
        )

    assert rows(read(tmp_path, draw)) == [
        "Market 1; 2023: 1,100; 2022: 1,200; 2021: 1,300",
        "Market 2; 2023: 2,100; 2022: 2,200; 2021: 2,300",
    ]


def test_a_name_below_years_that_name_rows(tmp_path: Path) -> None:
    table = [
        ["Year ending", "Amount"],
        ["2023", "1,750"],
        ["2024", "5,250"],
        ["2025", "2,250"],
        ["Thereafter", "34,108"],
    ]
    found = rows(read(tmp_path, lambda pdf: columns(pdf, table)))
    assert found[-1] == "Year ending: Thereafter; Amount: 34,108"


def test_a_row_apart_from_rows_that_are_far_apart_themselves(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for at, text in enumerate(("Men", "Women", "Total")):
            put(pdf, 300 + 100 * at, 100, text)
        for number, top in enumerate((130, 200, 250, 300, 350, 420)):
            pdf.text(50, top, f"District {number}")
            for at in range(3):
                put(pdf, 300 + 100 * at, top, f"{number + 1},{at}00")

    found = rows(read(tmp_path, draw))
    assert found[0] == "District 0; Men: 1,000; Women: 1,100; Total: 1,200"
    assert found[-1] == "District 5; Men: 6,000; Women: 6,100; Total: 6,200"


def test_a_wide_header_flush_right_over_the_first_column_is_no_title(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for line, texts in enumerate(
            (("international", "desired"), ("desired population", "exclusion"), ("coverage", "rate"))
        ):
            for end, text in zip((220, 290), texts, strict=True):
                put(pdf, end, 100 + 12 * line, text)
        for end, text in ((360, "before"), (430, "after")):
            put(pdf, end, 124, text)
        for number in range(4):
            pdf.text(50, 142 + 14 * number, f"Region {number}")
            for at, end in enumerate((220, 290, 360, 430)):
                put(pdf, end, 142 + 14 * number, str(90 + at + number))

    assert rows(read(tmp_path, draw))[0] == (
        "Region 0; international desired population coverage: 90; desired exclusion rate: 91; before: 92; after: 93"
    )


def test_a_first_row_with_a_word_for_a_value_is_no_header(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        ends = (200, 240, 290, 340, 400, 440, 490, 540)
        for end, text in zip(ends, ("No.", "(%)", "ratio", "(95% CI)") * 2, strict=True):
            put(pdf, end, 112, text)
        for end in (290, 490):
            put(pdf, end + 6, 100, "Odds")
        for left, right, name in ((170, 345, "Peeling paint"), (375, 545, "No smoke alarm")):
            pdf.text((left + right - pdf.get_string_width(name)) / 2, 84, name)
            pdf.line(left, 87, right, 87)
        pdf.line(50, 116, 545, 116)
        for number, name in enumerate(("Male", "Female", "North", "South")):
            pdf.text(50, 132 + 16 * number, name)
            values = (
                f"1,17{number}",
                f"(1.{number})",
                "Ref." if number == 0 else f"1.{number}",
                "-" if number == 0 else "(1.0-1.5)",
            )
            for end, value in zip(ends, values * 2, strict=True):
                put(pdf, end, 132 + 16 * number, value)

    found = rows(read(tmp_path, draw))
    assert found[0].startswith(
        "Male; Peeling paint › No.: 1,170; Peeling paint › (%): (1.0); Peeling paint › Odds ratio: Ref.;"
    )
    assert found[1].endswith("No smoke alarm › Odds ratio: 1.1; No smoke alarm › (95% CI): (1.0-1.5)")


def test_a_sentence_that_ends_above_the_end_of_the_first_column_is_no_header(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        put(pdf, 350, 84, "The components of the cost in both of the years were as follows:")
        columns(
            pdf, [["", "2023", "2022", "2021"], *([f"Cost {n}", f"{n},100", f"{n},200", f"{n},300"] for n in (1, 2, 3))]
        )

    assert rows(read(tmp_path, draw))[0] == "Cost 1; 2023: 1,100; 2022: 1,200; 2021: 1,300"
