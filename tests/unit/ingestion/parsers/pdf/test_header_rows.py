"""Rows of headers: above a second table, with a number in the words, and in boxes of several rows."""

from __future__ import annotations

from pathlib import Path

from fpdf import FPDF
from support.drawn_tables import columns, put, read, rows


def middle(pdf: FPDF, centre: float, top: float, text: str) -> None:
    pdf.text(centre - pdf.get_string_width(text) / 2, top, text)


def test_a_group_above_the_headers_of_the_next_table_is_in_its_headers(tmp_path: Path) -> None:
    table = [["", "Own", "Rented", "Total"], ["Gross", "81", "18", "99"], ["Interest", "12", "2", "14"]]

    def draw(pdf: FPDF) -> None:
        for top, day in ((90, "May 31, 2022"), (154, "June 30, 2023")):
            middle(pdf, 420, top, day)
            for height in (top + 4, top + 18):
                for end in (350, 450, 550):
                    pdf.line(end - 60, height, end, height)
            columns(pdf, table, top=top + 14)

    found = rows(read(tmp_path, draw))
    assert len(found) == 4
    assert found[0] == "Gross; May 31, 2022 › Own: 81; May 31, 2022 › Rented: 18; May 31, 2022 › Total: 99"
    assert found[2] == "Gross; June 30, 2023 › Own: 81; June 30, 2023 › Rented: 18; June 30, 2023 › Total: 99"


def test_the_name_of_a_section_is_not_in_the_headers_of_the_next_table(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        columns(pdf, [["", "Own", "Rented", "Total"], ["Gross", "81", "18", "99"], ["Interest", "12", "2", "14"]])
        pdf.text(50, 148, "Leases that begin later")
        columns(pdf, [["", "Rate", "Term", "Part"], ["Gross", "4", "5", "6"], ["Interest", "7", "8", "9"]], top=164)

    assert "Gross; Rate: 4; Term: 5; Part: 6" in rows(read(tmp_path, draw))


def test_a_number_in_the_lines_of_headers_makes_no_row_of_them(tmp_path: Path) -> None:
    heads = {
        200: (["Number", "of those", "ill or dead", "(found)"], 6),
        300: (["Number", "found", "dead"], 0),
        400: (["Number", "that was", "expected", "(model)"], 6),
        500: (["Rate", "of deaths", "(100 000", "people)"], 6),
    }

    def draw(pdf: FPDF) -> None:
        for centre, (lines, raised) in heads.items():
            for number, text in enumerate(lines):
                middle(pdf, centre, 100 + 12 * number - raised, text)
        for number, values in enumerate(
            (("7", "1 254", "1 351", "19,0"), ("8", "1 262", "1 343", "19,2"), ("9", "90", "98", "18,8"))
        ):
            pdf.text(50, 160 + 17 * number, f"Week {number}")
            for centre, value in zip(heads, values, strict=True):
                put(pdf, centre + 12, 160 + 17 * number, value)

    found = rows(read(tmp_path, draw))
    assert len(found) == 3
    assert found[0].endswith(
        "; Number of those ill or dead (found): 7; Number found dead: 1 254; "
        "Number that was expected (model): 1 351; Rate of deaths (100 000 people): 19,0"
    )


def test_boxes_with_hardly_a_gap_between_their_words_are_headers_of_their_own(tmp_path: Path) -> None:
    """Lines go through both rows of headers, and a whole line is drawn between these."""
    edges = [130, 160, 190, 250, 280, 310, 370, 430]

    def draw(pdf: FPDF) -> None:
        for top in (60, 76, 92):
            pdf.line(50, top, 430, top)
        for at in (50, 130, 250, 370, 430):
            pdf.line(at, 60, at, 92)
        for at in edges:
            pdf.line(at, 76, at, 92)
        pdf.text(137, 72, "Ward 1")
        pdf.text(257, 72, "Ward 2")
        pdf.text(54, 88, "Precinct")
        for at, text in enumerate(["1", "2", "ALL WARD", "1", "2", "ALL WARD"]):
            put(pdf, edges[at + 1] - 1, 88, text)
        pdf.text(372, 88, "ALL TOWN")
        for number, name in enumerate(("Abel", "Baker", "Cole")):
            pdf.text(54, 112 + 16 * number, name)
            for at in range(7):
                put(pdf, edges[min(at + 1, 7)] - 4, 112 + 16 * number, str(1000 + 100 * number + at))

    assert rows(read(tmp_path, draw))[0] == (
        "Precinct: Abel; Ward 1 › 1: 1000; Ward 1 › 2: 1001; Ward 1 › ALL WARD: 1002; "
        "Ward 2 › 1: 1003; Ward 2 › 2: 1004; Ward 2 › ALL WARD: 1005; ALL TOWN: 1006"
    )


def test_vertical_headers_in_the_middle_of_high_boxes(tmp_path: Path) -> None:
    ends = (240, 310, 380, 450)

    def draw(pdf: FPDF) -> None:
        for left, right in ((50, 170), *((end - 70, end) for end in ends)):
            pdf.rect(left, 60, right - left, 180)
        for end, name in zip(ends, ("Houses", "Flats", "Huts", "Other"), strict=True):
            with pdf.rotation(90, end - 30, 165):
                pdf.text(end - 30, 165, name)
        for number, name in enumerate(("Ampara", "Badulla", "Colombo", "Galle")):
            pdf.text(55, 256 + 18 * number, name)
            for at, end in enumerate(ends):
                put(pdf, end - 10, 256 + 18 * number, f"{number + 1},{at}00")

    assert rows(read(tmp_path, draw))[0] == ("Ampara; Houses: 1,000; Flats: 1,100; Huts: 1,200; Other: 1,300")


def test_a_title_below_the_names_of_all_columns_heads_none_but_says_what_they_are_in(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        columns(pdf, [["Source", "2007", "2008", "2009"]], ends=(400, 450, 500))
        middle(pdf, 438, 116, "Number of pupils, in thousands")
        columns(
            pdf,
            [["Actual", "49.3", "49.6", "49.4"], ["Expected", "49.6", "49.8", "50.0"]],
            top=134,
            ends=(400, 450, 500),
        )

    blocks = read(tmp_path, draw)
    assert rows(blocks) == [
        "Source: Actual; 2007: 49.3; 2008: 49.6; 2009: 49.4",
        "Source: Expected; 2007: 49.6; 2008: 49.8; 2009: 50.0",
    ]
    assert "Number of pupils, in thousands" in [block.text for block in blocks]
    part = next(block.table_part for block in blocks if block.table_part.columns)
    assert [column.measure.scale for column in part.columns[1:]] == [3, 3, 3]


def test_headers_of_columns_without_values_that_have_lines_of_their_own_head_no_other_column(tmp_path: Path) -> None:
    middles = (270, 340, 410, 480, 550)

    def draw(pdf: FPDF) -> None:
        middle(pdf, 410, 74, "December 31, 2022")
        for centre, name in zip(middles, ("Book", "Market", "Quoted prices", "Model", "No market"), strict=True):
            first, _, second = name.rpartition(" ")
            middle(pdf, centre, 88, first)
            middle(pdf, centre, 100, second)
            for height in (104, 152):
                pdf.line(centre - 31, height, centre + 31, height)
        for height in (104, 152):
            pdf.line(48, height, 235, height)
        pdf.text(50, 116, "Assets")
        columns(pdf, [[" Notes", "385", "403", "403"], [" Debt", "(794)", "(856)", "(856)"]], 130, (280, 350, 490))

    assert rows(read(tmp_path, draw)) == [
        "Assets",
        "Assets › Notes; December 31, 2022 › Book: 385; December 31, 2022 › Market: 403; "
        "December 31, 2022 › Model: 403",
        "Assets › Debt; December 31, 2022 › Book: (794); December 31, 2022 › Market: (856); "
        "December 31, 2022 › Model: (856)",
    ]


def test_a_label_beside_the_last_line_of_headers_is_not_read_into_them(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        pdf.text(50, 100, "Balance sheet:")
        for centre, *lines in (
            (335, "Balance at", "May 31,", "2018"),
            (435, "New", "standard"),
            (535, "June 1,", "2018"),
        ):
            for number, line in enumerate(reversed(lines)):
                middle(pdf, centre, 100 - 11 * number, str(line))
        columns(pdf, [["Cash", "539", "(8)", "531"], ["Loans", "482", "252", "734"]], 120)

    assert rows(read(tmp_path, draw))[0] == (
        "Balance sheet: Cash; Balance at May 31, 2018: 539; New standard: (8); June 1, 2018: 531"
    )
