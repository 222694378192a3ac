"""Tables as statistics and reports set them: by columns, with lines drawn cell by cell, signs for no value."""

from __future__ import annotations

from pathlib import Path

import pytest
from fpdf import FPDF
from support.drawn_tables import columns, put, read, rows, ruled


def test_a_table_written_column_by_column_has_its_rows(tmp_path: Path) -> None:
    table = [
        ["Totals", "FY 2007", "FY 2008"],
        ["Charged", "290", "259"],
        ["Sentenced", "287", "242"],
        ["Free", "81", "72"],
    ]

    def draw(pdf: FPDF) -> None:
        for at, left in enumerate((50, 300, 400)):
            for number, row in enumerate(table):
                pdf.text(left, 100 + 30 * number, row[at])

    assert rows(read(tmp_path, draw)) == [
        "Totals: Charged; FY 2007: 290; FY 2008: 259",
        "Totals: Sentenced; FY 2007: 287; FY 2008: 242",
        "Totals: Free; FY 2007: 81; FY 2008: 72",
    ]


def test_a_line_drawn_cell_by_cell_is_one(tmp_path: Path) -> None:
    table = [["", "Actual", "2009 to 2015", "2015 to 2021", "2009 to 2021"]]
    table += [[name, "10.4", "0.9", "3.8", f"4.{at}"] for at, name in enumerate(("North", "South", "West"))]

    def draw(pdf: FPDF) -> None:
        put(pdf, 410, 84, "Projected")
        columns(pdf, table, ends=(250, 340, 430, 520))
        for left, right in ((260, 350), (350, 440), (440, 530)):
            pdf.line(left, 88, right, 88)

    assert rows(read(tmp_path, draw))[0] == (
        "North; Actual: 10.4; Projected › 2009 to 2015: 0.9; "
        "Projected › 2015 to 2021: 3.8; Projected › 2009 to 2021: 4.0"
    )


def test_digits_parted_by_spaces_are_one_figure(tmp_path: Path) -> None:
    table = [
        ["", "2000", "2002"],
        ["Upper secondary", "15 455", "13 951"],
        ["Polytechnics", "20 527", "1 649 692"],
        ["Others", "915", "28"],
    ]
    assert rows(read(tmp_path, lambda pdf: columns(pdf, table))) == [
        "Upper secondary; 2000: 15 455; 2002: 13 951",
        "Polytechnics; 2000: 20 527; 2002: 1 649 692",
        "Others; 2000: 915; 2002: 28",
    ]


@pytest.mark.parametrize(("first", "second"), [("2003-04", "2004-05"), ("2019", "2018 (6)"), ("2024", "2025e")])
def test_years_head_columns_in_whatever_wording(tmp_path: Path, first: str, second: str) -> None:
    table = [["", first, second], ["North", "485,670", "503,528"], ["South", "34,573", "35,515"]]
    assert rows(read(tmp_path, lambda pdf: columns(pdf, table)))[0] == f"North; {first}: 485,670; {second}: 503,528"


def test_signs_for_no_value_stand_in_their_columns(tmp_path: Path) -> None:
    table = [
        ["", "Number", "Error", "Percent"],
        ["All ages", "291,099", "*****", "(X)"],
        ["Aged 6 and older", "266,752", "84", "*"],
        ["Aged 15 and older", "*1,338", "..", "4.1"],
        ["Aged 21", "49,069", "794", "21.3"],
    ]
    assert rows(read(tmp_path, lambda pdf: columns(pdf, table))) == [
        "All ages; Number: 291,099; Error: *****; Percent: (X)",
        "Aged 6 and older; Number: 266,752; Error: 84; Percent: *",
        "Aged 15 and older; Number: *1,338; Error: ..; Percent: 4.1",
        "Aged 21; Number: 49,069; Error: 794; Percent: 21.3",
    ]


def test_lines_down_say_how_far_a_header_reaches(tmp_path: Path) -> None:
    table = [["", "Number", "Error", "Percent", "Number", "Percent"]]
    table += [[name, "10", "11", "12", "13", f"1{at}"] for at, name in enumerate(("All", "Old", "Young"))]

    def draw(pdf: FPDF) -> None:
        pdf.text(225, 84, "2005")  # far from the middle of its columns
        pdf.text(450, 84, "Difference")
        columns(pdf, table, ends=(250, 310, 370, 450, 520))
        for left in (200, 390):
            pdf.line(left, 70, left, 150)

    assert rows(read(tmp_path, draw))[0] == (
        "All; 2005 › Number: 10; 2005 › Error: 11; 2005 › Percent: 12; "
        "Difference › Number: 13; Difference › Percent: 10"
    )


def test_a_header_that_ends_in_a_figure_is_no_row(tmp_path: Path) -> None:
    table = [["Characteristic", "Average amount", "Less than half", "More than $5,000"]]
    table += [[name, "31,200", "25.5", f"19.{at}"] for at, name in enumerate(("Public", "Private", "Other"))]
    assert rows(read(tmp_path, lambda pdf: columns(pdf, table, ends=(300, 400, 500))))[0] == (
        "Characteristic: Public; Average amount: 31,200; Less than half: 25.5; More than $5,000: 19.0"
    )


def test_names_set_closer_than_words_are_parted_where_each_is_flush_with_its_column(tmp_path: Path) -> None:
    table = [["", "9,999", "19,999", "29,999"]]
    table += [[name, "25.5", "10.2", f"26.{at}"] for at, name in enumerate(("Public", "Private", "Other"))]

    def draw(pdf: FPDF) -> None:
        for right, name in ((300, "Less than"), (345, "$10,000 -"), (390, "$20,000 -")):
            put(pdf, right, 88, name)
        columns(pdf, table, ends=(300, 345, 390))
        pdf.line(48, 105, 400, 105)

    assert rows(read(tmp_path, draw))[0] == (
        "Public; Less than 9,999: 25.5; $10,000 - 19,999: 10.2; $20,000 - 29,999: 26.0"
    )


def test_the_header_of_the_names_may_stand_beside_two_rows_of_headers(tmp_path: Path) -> None:
    table = [["", "Estimate", "Error", "Estimate", "Error"]]
    table += [[name, "18.6", "0.3", "18.1", f"0.{at}"] for at, name in enumerate(("All", "Male", "Female"), 4)]

    def draw(pdf: FPDF) -> None:
        put(pdf, 280, 80, "2005")
        put(pdf, 400, 80, "2010")
        pdf.text(50, 90, "Category")
        columns(pdf, table, ends=(250, 310, 370, 430))

    assert rows(read(tmp_path, draw))[0] == (
        "Category: All; 2005 › Estimate: 18.6; 2005 › Error: 0.3; 2010 › Estimate: 18.1; 2010 › Error: 0.4"
    )


@pytest.mark.parametrize("degrees", [90, -90])
@pytest.mark.parametrize("bordered", [True, False])
def test_tables_that_stand_sideways_are_read_as_upright_ones(tmp_path: Path, degrees: int, bordered: bool) -> None:
    table = [["Name", "2023", "2022"], ["North", "485", "503"], ["South", "345", "355"], ["West", "11", "12"]]

    def draw(pdf: FPDF) -> None:
        with pdf.rotation(degrees, 300, 400):
            ruled(pdf, table, top=350) if bordered else columns(pdf, table, top=350)

    blocks = read(tmp_path, draw)
    assert rows(blocks) == [
        "Name: North; 2023: 485; 2022: 503",
        "Name: South; 2023: 345; 2022: 355",
        "Name: West; 2023: 11; 2022: 12",
    ]
    first, second = (row.anchors[1].locator.page.box for row in blocks if row.text.startswith(("Name: N", "Name: S")))
    assert first.left != pytest.approx(second.left, abs=5)  # rows stand beside one another there
    assert first.bottom == pytest.approx(second.bottom, abs=5)


def _beside(pdf: FPDF, table: list[list[str]], *, word: str = "") -> None:
    """Two tables with borders, whose rows are written across both, and a word in the second row between them."""
    for number, row in enumerate(table):
        for at, text in enumerate(row):
            left = 50 + 80 * at + (20 if at > 1 else 0)
            pdf.text(left + 4, 112 + 18 * number, text)
            if word and number == 1 and at == 1:
                pdf.text(left + 62, 112 + 18 * number, word)
    for left, right in ((50, 210), (230, 390)):
        for number in range(len(table) + 1):
            pdf.line(left, 100 + 18 * number, right, 100 + 18 * number)
        for at in (left, left + 80, right):
            pdf.line(at, 100, at, 100 + 18 * len(table))


SIDE_BY_SIDE = [["Air", "Asked", "Sea", "Asked"], ["Spain", "268", "Malta", "153"], ["Italy", "92", "Latvia", "11"]]


def test_tables_beside_one_another_are_two(tmp_path: Path) -> None:
    assert rows(read(tmp_path, lambda pdf: _beside(pdf, SIDE_BY_SIDE))) == [
        "Air: Spain; Asked: 268",
        "Air: Italy; Asked: 92",
        "Sea: Malta; Asked: 153",
        "Sea: Latvia; Asked: 11",
    ]


def test_no_word_between_two_tables_is_lost(tmp_path: Path) -> None:
    texts = " ".join(block.text for block in read(tmp_path, lambda pdf: _beside(pdf, SIDE_BY_SIDE, word="or")))
    for word in ("Spain", "268", "or", "Malta", "153", "Asked", "11"):
        assert word in texts.replace(";", " ").replace(":", " ").split()


def test_a_value_with_its_unit_makes_a_row_of_the_line_below_the_only_figures(tmp_path: Path) -> None:
    table = [
        ["", "2023", "2022", "Change"],
        ["Research", "27,195", "24,512", "11%"],
        ["As a part", "13%", "12%", "1ppt"],
    ]
    assert rows(read(tmp_path, lambda pdf: columns(pdf, table))) == [
        "Research; 2023: 27,195; 2022: 24,512; Change: 11%",
        "As a part; 2023: 13%; 2022: 12%; Change: 1ppt",
    ]


def test_days_are_headers_above_figures_and_values_below_words(tmp_path: Path) -> None:
    heads = [["Ending", "12/17", "12/18", "12/19"], ["North", "100.00", "194.07", "182.50"]]
    heads += [["South", "1", "2", "3"], ["West", "4", "5", "6"]]
    values = [["Year", "Paid", "Recorded", "Due"], ["2020", "$0.41", "4/15/2020", "5/6/2020"]]
    values += [["2019", "$0.37", "3/28/2019", "5/9/2019"]]
    found = rows(read(tmp_path, lambda pdf: columns(pdf, heads), lambda pdf: columns(pdf, values)))
    assert found[0] == "Ending: North; 12/17: 100.00; 12/18: 194.07; 12/19: 182.50"
    assert found[-1] == "Year: 2019; Paid: $0.37; Recorded: 3/28/2019; Due: 5/9/2019"


def _bordered(pdf: FPDF, bands: list[tuple[float, float, bool]], xs: tuple[float, ...]) -> None:
    """Borders of bands of rows, from top to bottom; those that are parted have lines down between columns."""
    for top, bottom, parted in bands:
        pdf.line(xs[0], top, xs[-1], top)
        pdf.line(xs[0], bottom, xs[-1], bottom)
        for x in xs if parted else (xs[0], xs[-1]):
            pdf.line(x, top, x, bottom)


def test_titles_over_a_bordered_table_are_no_headers(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for top, text in ((112, "Report of what was paid to all"), (130, "Calendar year 2012")):
            pdf.text(200, top, text)
        for number, row in enumerate((["Name", "Town", "Paid"], ["Abel", "Rome", "51.24"], ["Bea", "Oslo", "66.12"])):
            for at, text in enumerate(row):
                pdf.text(54 + 150 * at, 148 + 18 * number, text)
        bands = [(100 + 18 * number, 118 + 18 * number, number > 1) for number in range(5)]
        _bordered(pdf, bands, (50, 200, 350, 500))

    assert rows(read(tmp_path, draw)) == [
        "Name: Abel; Town: Rome; Paid: 51.24",
        "Name: Bea; Town: Oslo; Paid: 66.12",
    ]


def test_a_header_of_several_lines_is_one_row_where_each_row_has_a_line_below_it(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        for at, lines in enumerate(
            (["Designation", "under", "initiative"], ["Schools", "found", "so"], ["All", "the", "rest"])
        ):
            for number, text in enumerate(lines):
                pdf.text(54 + 150 * at, 112 + 12 * number, text)
        for number, name in enumerate(("Low", "None", "High", "Other")):
            for at, text in enumerate((name, f"{number + 1}4%", f"{number}3%")):
                pdf.text(54 + 150 * at, 154 + 18 * number, text)
        bands = [(100, 142, True), *((142 + 18 * number, 160 + 18 * number, True) for number in range(4))]
        _bordered(pdf, bands, (50, 200, 350, 500))

    assert rows(read(tmp_path, draw))[0] == (
        "Designation under initiative: Low; Schools found so: 14%; All the rest: 03%"
    )


def test_one_row_of_figures_is_a_table_with_what_stands_below_it(tmp_path: Path) -> None:
    table = [
        ["", "Total", "2021", "2022"],
        ["Leases", "1,273", "300", "199"],
        ["Less: interest", "158"],
        ["Total", "1,115"],
    ]
    assert rows(read(tmp_path, lambda pdf: columns(pdf, table))) == [
        "Leases; Total: 1,273; 2021: 300; 2022: 199",
        "Less: interest; Total: 158",
        "Total; Total: 1,115",
    ]


def test_strokes_that_are_typed_are_lines(tmp_path: Path) -> None:
    table = [["Part", "1.0", "1.1", "1.2"], [], ["0.99 ..", "800", "880", "960"], ["0.95 ..", "160", "176", "192"]]
    table += [["0.90 ..", "80", "88", "96"]]

    def draw(pdf: FPDF) -> None:
        pdf.set_font("Courier", size=10)
        columns(pdf, [row or ["-" * 83] for row in table])

    assert rows(read(tmp_path, draw))[0] == "Part: 0.99 ..; 1.0: 800; 1.1: 880; 1.2: 960"


def test_rows_of_figures_between_two_lines_are_rows(tmp_path: Path) -> None:
    table = [["Group", "Some", "Total"], ["Young:", "", ""], ["Start", "85%", "100%"], ["Control", "17%", "99%"]]
    table += [["Old:", "", ""], ["Late", "7%", "98%"], ["None", "1%", "97%"]]

    def draw(pdf: FPDF) -> None:
        for number, row in enumerate(table):
            for at, text in enumerate(row):
                if text:
                    pdf.text(54 + 150 * at, 112 + 14 * number + (4 if number else 0), text)
        _bordered(pdf, [(100, 118, True), (118, 204, True)], (50, 200, 350, 500))

    assert [row for row in rows(read(tmp_path, draw)) if "%" in row] == [
        "Group: Start; Some: 85%; Total: 100%",
        "Group: Control; Some: 17%; Total: 99%",
        "Group: Late; Some: 7%; Total: 98%",
        "Group: None; Some: 1%; Total: 97%",
    ]


def test_cells_that_are_filled_are_a_table_without_lines(tmp_path: Path) -> None:
    table = [
        ["Program", "Cost"],
        ["Performance", "1.1M"],
        ["Dashboard for the whole of it", "0.3M"],
        ["Data", "$0"],
    ]

    def draw(pdf: FPDF) -> None:
        pdf.set_fill_color(180, 200, 220)
        for number, row in enumerate(table):
            for at, text in enumerate(row):
                left, width = (50, 300) if not at else (352, 80)
                pdf.rect(left, 100 + 22 * number, width, 20, style="F")
                pdf.text(left + 6, 114 + 22 * number, text)

    assert rows(read(tmp_path, draw)) == [
        "Program: Performance; Cost: 1.1M",
        "Program: Dashboard for the whole of it; Cost: 0.3M",
        "Program: Data; Cost: $0",
    ]


def test_what_stands_below_the_line_under_headers_is_no_header(tmp_path: Path) -> None:
    table = [["", "1994", "1997"], ["Lowest", "$9,594 or less", "$22,400 or less"], ["Lower", "$9,595", "$22,401"]]
    table += [["Upper", "$17,993", "$29,993"], ["Highest", "Over $25,771", "Over $40,888"]]

    def draw(pdf: FPDF) -> None:
        for number, row in enumerate(table):
            for at, text in enumerate(row):
                if text:
                    pdf.text(50 + 120 * at, 100 + 16 * number + (4 if number else 0), text)
        for top in (88, 106, 174):
            pdf.line(48, top, 400, top)

    assert rows(read(tmp_path, draw)) == [
        "Lowest; 1994: $9,594 or less; 1997: $22,400 or less",
        "Lower; 1994: $9,595; 1997: $22,401",
        "Upper; 1994: $17,993; 1997: $29,993",
        "Highest; 1994: Over $25,771; 1997: Over $40,888",
    ]


def test_a_note_over_the_middle_of_all_columns_is_no_name_of_one(tmp_path: Path) -> None:
    table = [["", "Total", "Less than 1", "1 to 3 years", "3 to 5 years"]]
    table += [[name, "3,044", "7,032", "880", f"1,00{at}"] for at, name in enumerate(("Notes", "Leases", "Other"))]

    def draw(pdf: FPDF) -> None:
        columns(pdf, table[:1], top=88, ends=(230, 330, 430, 530))
        pdf.text(349, 100, "(in thousands)")
        columns(pdf, table[1:], top=116, ends=(230, 330, 430, 530))

    assert rows(read(tmp_path, draw))[0] == (
        "Notes; Total: 3,044; Less than 1: 7,032; 1 to 3 years: 880; 3 to 5 years: 1,000"
    )


def test_a_currency_sign_that_is_alone_in_its_row_stays(tmp_path: Path) -> None:
    table = [["", "2019", "2020"], ["North", "12", "13"], ["South", "14", "15"], ["", "$"], ["", "16", "17"]]

    found = rows(read(tmp_path, lambda pdf: columns(pdf, [*table, ["", "$"], ["West", "18", "19"]])))
    assert found == [
        "North; 2019: 12; 2020: 13",
        "South; 2019: 14; 2020: 15",
        "2019: $",
        "2019: 16; 2020: 17",
        "2019: $",
        "West; 2019: 18; 2020: 19",
    ]


def test_currency_signs_behind_their_figures_belong_to_them(tmp_path: Path) -> None:
    table = [["", "2022", "2023"], ["Sales", "1,234 $", "567 $"], ["Rent", "88 $", "1,090 $"], ["Fees", "5 $", "7 $"]]

    assert rows(read(tmp_path, lambda pdf: columns(pdf, table, ends=(350, 450)))) == [
        "Sales; 2022: 1,234 $; 2023: 567 $", "Rent; 2022: 88 $; 2023: 1,090 $", "Fees; 2022: 5 $; 2023: 7 $"
    ]  # fmt: skip
