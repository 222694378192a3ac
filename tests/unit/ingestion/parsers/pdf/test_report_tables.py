"""Tables as reports print them: parts with names over the columns, boxes around pages, names of several lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote_ingestion.parsers.pdf.frames import frames
from footnote_ingestion.parsers.pdf.rulings import Rule, Rulings
from fpdf import FPDF
from support.drawn_tables import columns, put, read, rows


def middle(pdf: FPDF, centre: float, top: float, text: str) -> None:
    pdf.text(centre - pdf.get_string_width(text) / 2, top, text)


def test_names_over_the_middle_of_the_columns_name_the_rows_below_them(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        columns(pdf, [["Place", "2007", "2008", "2009"]])
        for top, name, first in (
            (116, "Number of all pupils in the schools of towns", "493"),
            (164, "Share of all the pupils in the schools of towns", "7.1"),
        ):
            middle(pdf, 440, top, name)
            columns(pdf, [["Ghent", first, "496", "494"], ["Mons", first, "498", "500"]], top=top + 16)

    assert rows(read(tmp_path, draw)) == [
        "Number of all pupils in the schools of towns",
        "Place: Number of all pupils in the schools of towns › Ghent; 2007: 493; 2008: 496; 2009: 494",
        "Place: Number of all pupils in the schools of towns › Mons; 2007: 493; 2008: 498; 2009: 500",
        "Share of all the pupils in the schools of towns",
        "Place: Share of all the pupils in the schools of towns › Ghent; 2007: 7.1; 2008: 496; 2009: 494",
        "Place: Share of all the pupils in the schools of towns › Mons; 2007: 7.1; 2008: 498; 2009: 500",
    ]


def test_words_over_the_columns_above_headers_of_figures_begin_another_table(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for top, names in ((100, ("1.0", "1.1", "1.2")), (200, ("1.7", "1.8", "1.9"))):
            middle(pdf, 440, top, "Effect of the design of the sample on sizes")
            columns(pdf, [["Share", *names]], top=top + 14)
            pdf.line(48, top + 18, 552, top + 18)
            columns(pdf, [["Half", "30", "33", "36"], ["Third", "40", "44", "48"]], top=top + 30)

    name = "Effect of the design of the sample on sizes"
    assert rows(read(tmp_path, draw))[2] == f"Share: Half; {name} › 1.7: 30; {name} › 1.8: 33; {name} › 1.9: 36"


def test_a_name_of_a_section_in_capitals_over_the_columns_does_not_end_the_headers(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        columns(pdf, [["Precinct", "#1", "#2", "TOTAL"]])
        pdf.text(50, 124, "MEMBERS OF THE COUNCIL AND OF THE BOARD OF THE WHOLE TOWN")
        columns(pdf, [["Smith", "934", "959", "1893"], ["Jones", "115", "87", "202"]], top=140)

    found = rows(read(tmp_path, draw))
    assert found[1].endswith("Smith; #1: 934; #2: 959; TOTAL: 1893")


def test_headers_are_as_far_above_the_first_row_as_rows_are_from_one_another(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        columns(pdf, [["", "Men", "Women", "All"]], top=90)
        for at, name in enumerate(("Ghent", "Mons", "Arlon", "Eupen")):
            columns(pdf, [[name, f"{at + 2}1", f"{at + 2}2", f"{at + 2}3"]], top=132 + 32 * at)

    assert rows(read(tmp_path, draw))[0] == "Ghent; Men: 21; Women: 22; All: 23"


def test_rows_that_are_counted_are_named_beside_their_numbers(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for at, cells in enumerate(
            (("No", "Town", "Cases"), ("1", "Ghent", "64"), ("2", "Mons", "126"), ("3", "Arlon", "77"))
        ):
            for left, text in zip((52, 102, 252), cells, strict=True):
                pdf.text(left, 112 + 16 * at, text)
            pdf.line(50, 100 + 16 * at, 300, 100 + 16 * at)
        pdf.line(50, 164, 300, 164)
        for left in (50, 100, 250, 300):
            pdf.line(left, 100, left, 164)

    part = next(block.table_part for block in read(tmp_path, draw) if block.table_part.columns)
    assert [column.names_rows for column in part.columns] == [True, True, False]


@pytest.mark.parametrize("pieces", [[(45, 555)], [(45, 290), (295, 390), (396, 555)]])
def test_a_year_above_a_section_names_all_rows_up_to_a_line(tmp_path: Path, pieces: list[tuple[float, float]]) -> None:
    body = [
        ["Revenue:", "", "", ""],
        [" Sold", "71", "39", "10"],
        [" Rented", "54", "38", "12"],
        ["Cost of all goods, net", "37", "23", "6"],
    ]

    def draw(pdf: FPDF) -> None:
        columns(pdf, [["", "Europe", "Asia", "All"]])
        for number, year in enumerate(("2018", "2017")):
            top = 118 + 82 * number
            for left, right in pieces:
                pdf.line(left, top - 12, right, top - 12)
            columns(pdf, [[year, "", "", ""], *body], top=top)

    found = rows(read(tmp_path, draw))
    assert found[2] == "2018 › Revenue › Sold; Europe: 71; Asia: 39; All: 10"
    assert found[4] == "2018 › Cost of all goods, net; Europe: 37; Asia: 23; All: 6"
    assert found[7] == "2017 › Revenue › Sold; Europe: 71; Asia: 39; All: 10"


def test_a_name_without_room_goes_on_in_a_line_that_names_no_rows(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        columns(pdf, [["", "Men", "Women", "All"], ["Islander/ Lowland", "40", "43", "83"]])
        pdf.text(54, 129, "Native")
        columns(pdf, [["Others", "41", "44", "85"], ["Group", "", "", ""], [" Small", "42", "45", "87"]], top=145)

    assert [row.partition("; ")[0] for row in rows(read(tmp_path, draw))] == [
        "Islander/ Lowland Native", "Others", "Group", "Group › Small",
    ]  # fmt: skip


def test_columns_of_a_named_group_have_no_second_name_in_common(tmp_path: Path) -> None:
    ends = (250, 320, 390, 460)

    def draw(pdf: FPDF) -> None:
        for left, right, name in ((215, 320, "Preferred"), (355, 460, "Common")):
            middle(pdf, (left + right) / 2, 80, name)
            pdf.line(left, 83, right, 83)
        columns(pdf, [["", "", "Stated", "", "Par"], ["", "Shares", "Value", "Shares", "Value"]], 92, ends)
        for end in ends:
            pdf.line(end - 35, 112, end, 112)
        columns(pdf, [["January", "524", "21", "927", "46"], ["June", "478", "19", "933", "47"]], 126, ends)

    assert rows(read(tmp_path, draw))[0] == (
        "January; Preferred › Shares: 524; Preferred › Stated Value: 21; Common › Shares: 927; Common › Par Value: 46"
    )


def test_lines_between_headers_show_where_a_groups_name_ends(tmp_path: Path) -> None:
    ends = (200, 260, 320, 380)

    def draw(pdf: FPDF) -> None:
        put(pdf, 201, 100, "Small")
        pdf.text(206.5, 100, "white")
        middle(pdf, 325, 100, "Large")
        columns(pdf, [["Age", "Male", "Female", "Male", "Female"]], 114, ends)
        for top, age in ((128, "1-2"), (144, "3-5")):
            columns(pdf, [[age, "13,340,788", "14,032,118", "12,895,086", "12,644,242"]], top, ends)
        for left in (145, 265, 385):
            pdf.line(left, 88, left, 150)

    assert rows(read(tmp_path, draw))[0] == (
        "Age: 1-2; Small white › Male: 13,340,788; Small white › Female: 14,032,118; "
        "Large › Male: 12,895,086; Large › Female: 12,644,242"
    )


def test_a_box_around_the_page_is_no_border_of_the_table_in_it() -> None:
    inner = ([Rule(at, 70, 770) for at in (40, 150, 250, 350)], [Rule(at, 40, 350) for at in (70, 740, 770)])
    page = ([Rule(at, 0, 842) for at in (0, 595)], [Rule(at, 0, 595) for at in (0, 842)])
    beyond = ([Rule(at, 800, 859) for at in (400, 605)], [Rule(at, 400, 605) for at in (800, 859)])
    rules = Rulings(
        [rule for _, across in (page, beyond, inner) for rule in across],
        [rule for down, _ in (page, beyond, inner) for rule in down],
    )
    assert [(xs, ys) for xs, ys, _, _ in frames(rules)] == [([40, 150, 250, 350], [770, 740, 70])]


def test_rows_between_two_lines_below_headers_in_boxes_are_apart(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        tops = (100, 116, 132, 148, 250)
        for top, cells in ((112, ("Town", "All", "Rural")), (128, ("1", "2", "3")), (144, ("Whole", "87.1", "86.3"))):
            for left, text in zip((52, 152, 252), cells, strict=True):
                pdf.text(left, top, text)
        for at, town in enumerate(("Ghent", "Mons", "Arlon", "Eupen", "Liege")):
            for left, text in zip((52, 152, 252), (town, f"8{at}.1", f"7{at}.2"), strict=True):
                pdf.text(left, 162 + 18 * at, text)
        for top in tops:
            pdf.line(50, top, 350, top)
        for left in (50, 150, 250, 350):
            pdf.line(left, 100, left, 250)

    assert rows(read(tmp_path, draw))[-1] == "Town: Liege; All: 84.1; Rural: 74.2"


def test_headers_with_narrow_gaps_are_cut_beside_others_of_several_lines(tmp_path: Path) -> None:
    ends = (255, 310, 365, 420)

    def draw(pdf: FPDF) -> None:
        for end, *lines in (
            (255, "FISCAL 19"),
            (310, "FISCAL 18"),
            (365, "WHOLE", "CHANGE"),
            (420, "CHANGE", "OF ALL"),
        ):
            for number, line in enumerate(reversed(lines)):
                put(pdf, end, 100 - 12 * number, str(line))
        columns(pdf, [["Shoes", "42", "34", "22", "25"], ["Shirts", "18", "15", "20", "23"]], 116, ends)

    assert rows(read(tmp_path, draw))[0] == ("Shoes; FISCAL 19: 42; FISCAL 18: 34; WHOLE CHANGE: 22; CHANGE OF ALL: 25")


def test_a_line_of_words_from_where_names_begin_is_a_title(tmp_path: Path) -> None:
    ends = tuple(120 + 40 * at for at in range(7))

    def draw(pdf: FPDF) -> None:
        pdf.text(50, 84, "3. Accidents by the day of the week")
        columns(pdf, [["", "All", "Rate", "Light", "Part", "Grave", "Part", "Sum"]], 100, ends)
        for top, name in ((116, "Monday"), (132, "Tuesday"), (148, "Friday")):
            columns(pdf, [[name, "72", "16", "43", "21", "19", "11", "80"]], top, ends)

    assert rows(read(tmp_path, draw))[0] == (
        "Monday; All: 72; Rate: 16; Light: 43; Part: 21; Grave: 19; Part: 11; Sum: 80"
    )


def test_the_last_line_of_a_groups_name_heads_what_its_first_one_does(tmp_path: Path) -> None:
    ends = tuple(170 + 42 * at for at in range(10))
    names = (("Fruit", "trees"), ("TOTAL",), ("Pasture",), ("Waste", "land"), ("ALL",))

    def draw(pdf: FPDF) -> None:
        for at, lines in enumerate(names):
            for number, line in enumerate(lines):
                middle(pdf, 185 + 84 * at, 88 + 11 * number, line)
        columns(pdf, [["Town", *("ha", "%") * 5]], 112, ends)
        for at, town in enumerate(("Ghent", "Mons", "Arlon")):
            columns(pdf, [[town, *(f"{at + 1}{one}" for one in range(10))]], 128 + 16 * at, ends)

    values = (f"{' '.join(names[at // 2])} › {'ha%'[at % 2 * 2 :][:2]}: 1{at}" for at in range(10))
    assert rows(read(tmp_path, draw))[0] == "; ".join(("Town: Ghent", *values))


def test_figures_above_a_line_are_no_headers(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for at, (name, *values) in enumerate(
            (("", "401", "380"), ("North", "781", "715"), ("Middle", "591", "615"), ("", "137", "133"))
        ):
            columns(pdf, [[name, *values]], 100 + 16 * at, (350, 450))
        for top in (88, 104, 136, 152):
            pdf.line(48, top, 460, top)

    assert not any("401: " in row for row in rows(read(tmp_path, draw)))


def test_figures_of_one_text_in_a_sideways_table_are_apart(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        with pdf.rotation(90, x=300, y=400):
            columns(pdf, [["Office", "Own", "Other", "All"], ["Council", "9", "0", "9"], ["Law", "121", "50", "171"]])
            pdf.text(50, 148, "Museum")
            pdf.set_char_spacing(94.44)
            pdf.text(344.44, 148, "404")
            pdf.set_char_spacing(0)

    assert rows(read(tmp_path, draw))[2] == "Office: Museum; Own: 4; Other: 0; All: 4"


def test_words_across_a_bordered_table_name_the_rows_below_them(tmp_path: Path) -> None:
    body = (
        ("Reading",),
        ("Letters", "0.16", "0.25"),
        ("Spelling", "0.09", "0.22"),
        ("Math",),
        ("Counting", "0.11", "0.19"),
    )

    def draw(pdf: FPDF) -> None:
        for at, cells in enumerate((("Measure", "Age 4", "Age 5"), *body)):
            top = 100 + 16 * at
            for left, text in zip((52, 152, 252), cells, strict=False):
                pdf.text(left, top + 12, text)
            pdf.line(50, top, 350, top)
            for left in (50, 150, 250, 350) if len(cells) > 1 else (50, 350):
                pdf.line(left, top, left, top + 16)
        pdf.line(50, 196, 350, 196)

    assert rows(read(tmp_path, draw)) == [
        "Reading",
        "Measure: Reading › Letters; Age 4: 0.16; Age 5: 0.25",
        "Measure: Reading › Spelling; Age 4: 0.09; Age 5: 0.22",
        "Math",
        "Measure: Math › Counting; Age 4: 0.11; Age 5: 0.19",
    ]
