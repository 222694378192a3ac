"""Tables of PDFs made here: rows with their headers, empty cells in place, every cell with its page and box."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_PARAGRAPH, BLOCK_KIND_TABLE_ROW
from fpdf import FPDF
from support.drawn_tables import Draw, columns, read, rows, ruled


def prose(pdf: FPDF, top: float, lines: int = 3) -> None:
    for number in range(lines):
        text = "These words are a sentence that goes from one side of the page to the other and names 12 and 13 things"
        pdf.text(50, top + 14 * number, text)


def test_rows_without_borders_have_their_headers(tmp_path: Path) -> None:
    table = [
        ["", "2023", "2022", "2021"],
        ["Product", "64,699", "72,732", "71,074"],
        ["Service and other", "147,216", "125,538", "97,014"],
        ["Total", "211,915", "198,270", "168,088"],
    ]
    assert rows(read(tmp_path, lambda pdf: columns(pdf, table))) == [
        "Product; 2023: 64,699; 2022: 72,732; 2021: 71,074",
        "Service and other; 2023: 147,216; 2022: 125,538; 2021: 97,014",
        "Total; 2023: 211,915; 2022: 198,270; 2021: 168,088",
    ]


def test_empty_cells_keep_their_place_whichever_they_are(tmp_path: Path) -> None:
    full = [[f"Row {number}", *(f"{number}{at}0" for at in range(3))] for number in range(1, 9)]
    table = [["", "North", "South", "West"]]
    wanted = []
    for number, row in enumerate(full):  # every pattern of empty cells, none and all included
        values = [value if number >> at & 1 else "" for at, value in enumerate(row[1:])]
        table.append([row[0], *values])
        named = [f"{header}: {value}" for header, value in zip(table[0][1:], values, strict=True) if value]
        wanted.append("; ".join([row[0], *named]))
    table.append(["Sum", "1", "2", "3"])
    found = rows(read(tmp_path, lambda pdf: columns(pdf, table)))
    assert found == [*wanted, "Sum; North: 1; South: 2; West: 3"]


@pytest.mark.parametrize(
    ("shown", "read_as"),
    [("$ 12", "$12"), ("(34)", "(34)"), ("—", "—"), ("5.6%", "5.6%"), ("n/a", "n/a")],
)
def test_signs_stay_with_their_number(tmp_path: Path, shown: str, read_as: str) -> None:
    shown = shown.replace("—", "-")
    table = [["", "2023", "2022"], ["Cash", shown, "$ 77"], ["Debt", "88", shown], ["Rest", "11", "22"]]
    assert rows(read(tmp_path, lambda pdf: columns(pdf, table))) == [
        f"Cash; 2023: {read_as.replace('—', '-')}; 2022: $77",
        f"Debt; 2023: 88; 2022: {read_as.replace('—', '-')}",
        "Rest; 2023: 11; 2022: 22",
    ]


def test_a_percent_sign_before_a_closing_bracket_belongs_to_its_figure(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        columns(pdf, [["", "2023", "2022"], ["Net change", "$ 213", "$ 10"], ["in percent of sales", "5.8", "(0.3"]])
        pdf.text(353, 132, "%")
        pdf.text(453, 132, "%)")

    assert rows(read(tmp_path, draw)) == [
        "Net change; 2023: $213; 2022: $10", "in percent of sales; 2023: 5.8%; 2022: (0.3%)",
    ]  # fmt: skip


def test_headers_of_groups_stand_before_those_below_them(tmp_path: Path) -> None:
    def draw(pdf: FPDF) -> None:
        pdf.text(325, 84, "Trained")
        pdf.text(475, 84, "Untrained")
        table = [
            ["Model", "Dev", "Test", "Dev", "Test"],
            ["Small", "1.5", "2.5", "3.5", "4.5"],
            ["Big", "5", "6", "7", "8"],
        ]
        columns(pdf, table, ends=(325, 375, 475, 525))

    assert rows(read(tmp_path, draw)) == [
        "Model: Small; Trained › Dev: 1.5; Trained › Test: 2.5; Untrained › Dev: 3.5; Untrained › Test: 4.5",
        "Model: Big; Trained › Dev: 5; Trained › Test: 6; Untrained › Dev: 7; Untrained › Test: 8",
    ]


def test_names_that_stand_under_a_section_say_so(tmp_path: Path) -> None:
    table = [
        ["", "2023", "2022"],
        ["Revenue:", "", ""], [" Product", "1", "2"], [" Service", "3", "4"],
        ["Cost:", "", ""], [" Product", "5", "6"], ["Margin", "7", "8"],
    ]  # fmt: skip
    assert rows(read(tmp_path, lambda pdf: columns(pdf, table))) == [
        "Revenue:",
        "Revenue › Product; 2023: 1; 2022: 2",
        "Revenue › Service; 2023: 3; 2022: 4",
        "Cost:",
        "Cost › Product; 2023: 5; 2022: 6",
        "Margin; 2023: 7; 2022: 8",
    ]


@pytest.mark.parametrize("header", [True, False])
def test_cells_between_lines_are_cells(tmp_path: Path, header: bool) -> None:
    table = [["Code", "State", "Meaning"], ["CE", "", "does not compile"], ["WA", "1", ""], ["", "2", "too slow"]]
    found = rows(read(tmp_path, lambda pdf: ruled(pdf, table if header else [["1", "7", "8"], ["2", "9", "10"]])))
    assert found == (
        ["Code: CE; Meaning: does not compile", "Code: WA; State: 1", "State: 2; Meaning: too slow"]
        if header
        else ["1; 7; 8", "2; 9; 10"]
    )


@pytest.mark.parametrize("draw", [ruled, columns])
def test_every_cell_has_its_page_and_box(tmp_path: Path, draw: Callable[..., None]) -> None:
    table = [["Name", "First", "Second", "Third"], ["Alpha", "11", "22", "33"], ["Beta", "44", "55", "66"]]
    blocks = read(tmp_path, lambda pdf: prose(pdf, 100), lambda pdf: draw(pdf, table))
    boxes = {}
    for block in blocks:
        if block.kind == BLOCK_KIND_TABLE_ROW:
            for one in block.anchors:
                assert one.locator.page.page == 2
                boxes[block.text[one.span.start : one.span.end]] = one.locator.page.box
    assert set(boxes) == {text for line in table[1:] for text in line}
    for above, below in zip(table[1], table[2], strict=True):
        assert boxes[above].bottom > boxes[below].bottom + 10
        assert boxes[above].top - boxes[above].bottom == pytest.approx(11, abs=4)
    for line in table[1:]:
        edges = [boxes[text].left for text in line]
        assert edges == sorted(edges)
        assert all(boxes[text].right - boxes[text].left > 5 for text in line)


@pytest.mark.parametrize("repeated", [True, False])
@pytest.mark.parametrize("draw", [ruled, columns])
def test_a_table_goes_on_over_the_page_with_its_headers(
    tmp_path: Path, draw: Callable[..., None], repeated: bool
) -> None:
    head = ["Name", "First", "Second", "Third"]
    body = [[f"Row {number}", str(number), str(number + 10), str(number + 20)] for number in range(30, 38)]
    rest = body[4:]

    blocks = read(
        tmp_path,
        lambda pdf: draw(pdf, [head, *body[:4]], top=640),
        lambda pdf: draw(pdf, [head, *rest] if repeated else rest, top=60),
    )
    found = [block for block in blocks if block.kind == BLOCK_KIND_TABLE_ROW]
    assert [block.text for block in found] == [
        f"Name: {name}; First: {one}; Second: {two}; Third: {three}" for name, one, two, three in body
    ]
    assert {block.table for block in found} == {1}
    assert [block.locator.page.page for block in found] == [1] * 4 + [2] * 4


def test_another_table_on_the_next_page_is_another(tmp_path: Path) -> None:
    one = [["", "2023", "2022"], ["Cash", "1", "2"], ["Debt", "3", "4"]]
    other = [["", "North", "South"], ["Cash", "5", "6"], ["Debt", "7", "8"]]
    blocks = read(tmp_path, lambda pdf: columns(pdf, one), lambda pdf: columns(pdf, other))
    found = [block for block in blocks if block.kind == BLOCK_KIND_TABLE_ROW]
    assert [block.table for block in found] == [1, 1, 2, 2]
    assert found[2].text == "Cash; North: 5; South: 6"


def test_two_tables_below_one_another_have_their_own_headers(tmp_path: Path) -> None:
    table = [
        ["", "Land", "Sea"], ["Cash", "1", "2"], ["Debt", "3", "4"],
        ["", "Fire", "Air"], ["Cash", "5", "6"], ["Debt", "7", "8"],
    ]  # fmt: skip
    blocks = read(tmp_path, lambda pdf: columns(pdf, table))
    assert rows(blocks)[2:] == ["Cash; Fire: 5; Air: 6", "Debt; Fire: 7; Air: 8"]
    assert [block.table for block in blocks if block.kind == BLOCK_KIND_TABLE_ROW] == [1, 1, 2, 2]


def test_prose_around_a_table_stays_prose_and_no_word_is_lost(tmp_path: Path) -> None:
    table = [["Model", "Score", "Rank"], ["Old", "1.5", "2"], ["New", "2.5", "1"]]

    def draw(pdf: FPDF) -> None:
        prose(pdf, 60)
        columns(pdf, table, top=130)
        pdf.text(50, 190, "Table 1: Scores and ranks of the old one and the new one, from 3 runs in 2021 and 2022.")
        prose(pdf, 240)

    blocks = read(tmp_path, draw)
    assert rows(blocks) == ["Model: Old; Score: 1.5; Rank: 2", "Model: New; Score: 2.5; Rank: 1"]
    texts = [block.text for block in blocks if block.kind == BLOCK_KIND_PARAGRAPH]
    assert sum(text.count("These words are a sentence") for text in texts) == 6
    assert any(text.startswith("Table 1:") for text in texts)


def test_headers_of_columns_without_values_are_kept(tmp_path: Path) -> None:
    table = [["Name", "First", "Second"], ["Alpha", "", "2"], ["Beta", "", "3"]]
    blocks = read(tmp_path, lambda pdf: ruled(pdf, table))
    assert "First" in [block.text for block in blocks if block.kind == BLOCK_KIND_PARAGRAPH]


def test_a_column_of_words_between_names_and_figures_is_one(tmp_path: Path) -> None:
    table = [["Product", "2023", "2022"], ["Films", "10,061", "10,033"], ["Cartons", "1,093", "1,118"]]
    table += [["Net sales", "11,154", "11,151"]]

    def draw(pdf: FPDF) -> None:
        columns(pdf, table, ends=(450, 550))
        for number, text in enumerate(("Segment", "Flexibles", "Rigid packaging")):
            pdf.text(220, 100 + 16 * number, text)

    assert rows(read(tmp_path, draw)) == [
        "Product: Films; Segment: Flexibles; 2023: 10,061; 2022: 10,033",
        "Product: Cartons; Segment: Rigid packaging; 2023: 1,093; 2022: 1,118",
        "Product: Net sales; 2023: 11,154; 2022: 11,151",
    ]


def test_names_with_a_wide_space_stay_whole_without_a_header_above(tmp_path: Path) -> None:
    table = [["", "2023", "2022"], ["Item 1.", "10", "11"], ["Item 2.", "12", "13"]]

    def draw(pdf: FPDF) -> None:
        columns(pdf, table, ends=(450, 550))
        pdf.text(120, 116, "Sales")
        pdf.text(120, 132, "Costs")

    assert rows(read(tmp_path, draw)) == ["Item 1. Sales; 2023: 10; 2022: 11", "Item 2. Costs; 2023: 12; 2022: 13"]


def test_a_header_over_the_middle_of_sign_and_figure_heads_their_column(tmp_path: Path) -> None:
    table = [["", "", "", ""], ["Flexibles", "$ 384", "$ 376", "$ 336"], ["Other", "9", "15", "5"]]

    def draw(pdf: FPDF) -> None:
        columns(pdf, table)
        pdf.text(50, 100, "(in millions)")
        for middle, year in ((310, "2023"), (410, "2022"), (510, "2021")):
            pdf.text(middle - 10, 100, year)

    assert [text.partition("; ")[2] for text in rows(read(tmp_path, draw))] == [
        "2023: $384; 2022: $376; 2021: $336",
        "2023: 9; 2022: 15; 2021: 5",
    ]


def test_a_note_in_brackets_over_all_columns_stands_above_the_table(tmp_path: Path) -> None:
    table = [["", "2023", "2022", "2021"], ["Sales", "10", "11", "12"], ["Costs", "9", "8", "7"]]

    def draw(pdf: FPDF) -> None:
        pdf.text(410, 84, "(unaudited)")
        pdf.line(320, 88, 552, 88)
        columns(pdf, table)

    blocks = read(tmp_path, draw)
    assert rows(blocks) == ["Sales; 2023: 10; 2022: 11; 2021: 12", "Costs; 2023: 9; 2022: 8; 2021: 7"]
    assert [block.text for block in blocks if block.kind == BLOCK_KIND_PARAGRAPH] == ["(unaudited)"]


def test_a_note_above_a_table_that_goes_on_is_kept_and_not_repeated(tmp_path: Path) -> None:
    table = [["", "2023", "2022", "2021"], ["Sales", "10", "11", "12"], ["Costs", "9", "8", "7"]]

    def draw(note: str) -> Draw:
        def drawn(pdf: FPDF) -> None:
            pdf.text(410, 84, note)
            pdf.line(320, 88, 552, 88)
            columns(pdf, table)

        return drawn

    blocks = read(tmp_path, draw("(unaudited)"), draw("(unaudited)"), draw("(restated)"))
    texts = [block.text for block in blocks if block.kind == BLOCK_KIND_PARAGRAPH]
    assert texts == ["(unaudited)", "(restated)"]
    assert len({block.locator.page.page for block in blocks if block.kind == BLOCK_KIND_TABLE_ROW}) == 3
