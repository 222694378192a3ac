"""Which words above a table state the magnitude of its numbers, and which only hold such a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote.types.v1.table_pb2 import Measure, Table
from footnote_ingestion.parsers.base import NOTE, PARAGRAPH, BlockWriter, Limits
from footnote_ingestion.parsers.cells import Cell, write_table
from footnote_ingestion.parsers.measures import measure_of, note_of
from footnote_ingestion.parsers.sheets.parser import CsvParser
from footnote_ingestion.parsers.texts.html import HtmlParser


@pytest.mark.parametrize(
    ("line", "note", "scale"),
    [
        ("(in thousands, except per share data)", "(in thousands, except per share data)", 3),
        ("Statement of income (in thousands of euro)", "(in thousands of euro)", 3),
        ("In millions, except per share amounts", "In millions, except per share amounts", 6),
        ("Alle Angaben in Tausend Euro, sofern nicht anders angegeben",
         "in Tausend Euro, sofern nicht anders angegeben", 3),
        ("Umsatz (Mio. EUR)", "(Mio. EUR)", 6),
        ("Umsatz (T€)", "(T€)", 3),
        ("Chiffre d'affaires (en milliers d’euros)", "(en milliers d’euros)", 3),
        ("Ventas (miles de euros)", "(miles de euros)", 3),
        ("Cifras en miles de millones de pesos", "en miles de millones de pesos", 9),
        ("(Em milhares de reais, exceto lucro por ação)", "(Em milhares de reais, exceto lucro por ação)", 3),
        ("(In millions, except number of shares, which are reflected in thousands, and per-share amounts)",
         "(In millions, except number of shares, which are reflected in thousands, and per-share amounts)", 6),
        ("($ in millions, except per share data)", "($ in millions, except per share data)", 6),
        ("(in millions except per share data)", "(in millions except per share data)", 6),
        ("Umsatz (in Tausend Schweizer Franken)", "(in Tausend Schweizer Franken)", 3),
        ("Balance (unaudited, US$ in thousands)", "(unaudited, US$ in thousands)", 3),
        ("EUR million", "EUR million", 6), ("Results, € in millions", "€ in millions", 6),
        ("STATEMENTS OF INCOME - USD ($) shares in Thousands, $ in Millions",
         "STATEMENTS OF INCOME - USD ($) shares in Thousands, $ in Millions", 3),
        ("(Dollars in millions, shares in thousands)", "(Dollars in millions, shares in thousands)", 6),
        ("T€", "T€", 3), ("(in T€)", "(in T€)", 3), ("Angaben in TEUR", "in TEUR", 3),
        ("Résultat (en k€)", "(en k€)", 3), ("(Figures in £m)", "(Figures in £m)", 6),
        ("Revenue in € million", "in € million", 6), ("Ergebnis (US$'000)", "(US$'000)", 3),
        ("Accounts, in millions", "in millions", 6), ("Visits, in thousands of visits", "in thousands of visits", 3),
        ("Sales in thousands of pounds", "in thousands of pounds", 3),
        ("Population in thousands of persons", "in thousands of persons", 3),
        ("Figures are in thousands of people", "in thousands of people", 3),
        ("Población en miles de habitantes", "en miles de habitantes", 3),
        ("All figures in thousands of tonnes", "in thousands of tonnes", 3),
        ("Alle Angaben in Tausend Tonnen", "in Tausend Tonnen", 3), ("金额(百万)", "(百万)", 6),
        ("(Yen in millions)", "(Yen in millions)", 6),
        ("Chiffre d'affaires en milliers d'euros", "en milliers d'euros", 3),
        ("Production (thousand tonnes)", "(thousand tonnes)", 3),
        ("Sales, EUR million, except per share", "Sales, EUR million, except per share", 6),
        ("Umsatz, TEUR, sofern nicht anders angegeben", "Umsatz, TEUR, sofern nicht anders angegeben", 3),
        ("Sales (in millions), shares (in thousands)", "Sales (in millions), shares (in thousands)", 6),
    ],
)  # fmt: skip
def test_a_stated_magnitude_is_a_note(line: str, note: str, scale: int) -> None:
    assert note_of(("", line))[:2] == (note, scale)


@pytest.mark.parametrize(
    "line",
    [
        "Thousand Oaks office", "In 2023, millions of tourists came to these sites", "Distances driven in miles",
        "Distances (miles)", "Milliarden-Projekte", "Mio. Besucher", "Population in millions and area in km²",
        "Courses and their fees in euros", "Travel costs up to €50 are refunded", "Budget in thousands (EUR)",
        "Offices (Thousand Oaks)", "Disasters (billion-dollar events)", "TOP MILLION", "(million-plus)",
        "Million Dollar Baby", "Millions of tourists", "Deaths (per million)", "Distances (in miles)",
        "Offices in Thousand Oaks", "Sales, in Thousand Oaks",
        "(Staff in Thousand Oaks)", "Courses in English, millions enrolled",
        "Used in thousands of schools", "Trusted in millions of homes", "Présent en milliers d'exemplaires",
        "Presente en miles de hogares", "(used in thousands of schools)", "Sold in millions of copies, since 2019",
        "In 2023, millions of tourists came, except to Nice", "Fees in EUR, unless agreed otherwise",
    ],
)  # fmt: skip
def test_a_word_of_magnitude_or_currency_alone_is_none(line: str) -> None:
    assert note_of((line,)) == ("", 0, 0)


@pytest.mark.parametrize(
    "line",
    [
        "(em milhares, exceto lucro por ação)", "(in Tausend, sofern nicht anders angegeben)",
        "(Dollars in millions, shares in thousands)", "$ in Millions, shares in Thousands",
    ],
)  # fmt: skip
def test_exceptions_leave_the_measure_open(line: str) -> None:
    assert not (measure_of((line,)) or Measure()).scale


def test_a_percentage_below_a_magnitude_is_in_none() -> None:
    found = measure_of(("(in thousands)", "Change (%)"))
    assert found is not None
    assert (found.unit, found.scale) == ("%", 0)
    found = measure_of(("Prices", "Wheat (thousand t)"))
    assert found is not None
    assert (found.unit, found.scale) == ("", 3)


@pytest.mark.parametrize(
    ("header", "currency"), [("2023 £'000", "GBP"), ("(US$'000)", "USD"), ("2023 TEUR", "EUR"), ("Kosten (k€)", "EUR")]
)
def test_headers_state_thousands_beside_a_currency(header: str, currency: str) -> None:
    assert measure_of((header,)) == Measure(currency=currency, scale=3)


@pytest.mark.parametrize(
    ("line", "currency", "scale"),
    [
        ("Segment, EUR million", "EUR", 6), ("Konzern TEUR", "EUR", 3), ("Revenue €m", "EUR", 6),
        ("Revenue by segment, EUR million", "EUR", 6), ("Umsatz in TEUR 2023", "EUR", 3), ("Umsatz, TEUR", "EUR", 3),
        ("Angaben: TEUR", "EUR", 3), ("Sales $000", "$", 3), ("Ventas, millones de euros", "EUR", 6),
        ("Chiffre d’affaires, millions d’euros", "EUR", 6), ("£ thousand, year ended 31 March", "GBP", 3),
        ("Sales in EUR million by segment", "EUR", 6), ("Table 3: Revenue, in €m by year", "EUR", 6),
        ("Revenue in million EUR in 2023", "EUR", 6), ("in thousands of EUR (2023)", "EUR", 3),
        ("Budget in thousands (EUR)", "EUR", 3), ("(EUR million)", "EUR", 6), ("Segment in Mio. EUR", "EUR", 6),
        ("Budget (EUR)", "EUR", 0), ("Offices in Thousand Oaks (EUR)", "EUR", 0), ("Million-plus deals, EUR", "EUR", 0),
        ("Sales, EUR million, except per share data", "EUR", 0), ("EUR million, shares in thousands", "EUR", 0),
        ("Millions of tourists", "", 0), ("Population in millions and area in km²", "", 0),
    ],
)  # fmt: skip
def test_a_title_gives_money_its_magnitude_together_with_its_currency(line: str, currency: str, scale: int) -> None:
    _, _, of_all = note_of((line,))
    assert (measure_of(("2023",), (line,), of_all) or Measure()) == Measure(currency=currency, scale=scale)


def test_a_title_adds_no_magnitude_to_a_share_or_beside_a_line_with_exceptions() -> None:
    title, note = "Sales, EUR million", "(EUR million, except per share data)"
    assert measure_of(("Change (%)",), (title,)) == Measure(unit="%")
    assert measure_of(("2023 (TEUR)",), (title,)) == Measure(currency="EUR", scale=3)
    assert measure_of(("2023 (EUR)",), ("Sales in thousands by segment",)) == Measure(currency="EUR", scale=3)
    assert measure_of(("2023",), (note, title), note_of((note,))[2]) == Measure(currency="EUR")
    assert measure_of(("2023",), (title, "Unaudited unless marked")) == Measure(currency="EUR", scale=6)


def test_a_title_of_a_sheet_says_the_same_with_a_blank_row_below_and_without(tmp_path: Path) -> None:
    path, found = tmp_path / "a.csv", []
    for blank in ("", ";;\n"):
        path.write_text(f"Umsatz in Mio. EUR;;\n{blank}Segment;2023;2022\nNord;48;45\nSüd;12;11\n")
        blocks: list[Block] = []
        CsvParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
        found.append(next(block.table_part for block in blocks if block.table_part.columns))
    assert [(part.note, part.columns[2].measure.scale) for part in found] == [("in Mio. EUR", 6)] * 2


@pytest.mark.parametrize(
    ("header", "scale"),
    [("Distance (miles)", 0), ("Ventas (miles de euros)", 3), ("en miles", 3), ("(miles de millones)", 9)],
)
def test_miles_are_thousands_only_in_spanish(header: str, scale: int) -> None:
    assert (measure_of((header,)) or Measure()).scale == scale


def columns_below(*lines: str) -> list[str]:
    """The measures of the columns of a table below lines, as text."""
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    for line in lines:
        out.heading(line, 2)
    write_table([[Cell("Course", head=True), Cell("People", head=True)], [Cell("Python"), Cell("12")]], out)
    part = next(block.table_part for block in blocks if block.table_part.columns)
    return [str(column.measure).strip() for column in part.columns]


def test_a_line_gives_its_table_no_currency_by_the_way() -> None:
    assert columns_below("Courses and their fees in euros") == ["", ""]
    assert columns_below("Courses (in thousands)") == ["", "scale: 3"]


@pytest.mark.parametrize(
    ("header", "unit"),
    [
        ("Share %", "%"),
        ("Growth in %", "%"),
        ("Anteil in Prozent", "%"),
        ("Price incl. 19 % VAT", ""),
        ("Visitors", ""),
    ],
)
def test_a_share_without_brackets_is_in_no_thousands(header: str, unit: str) -> None:
    assert measure_of((header,), ("Table in thousands",), 3) == (Measure(unit=unit) if unit else Measure(scale=3))


@pytest.mark.parametrize(
    ("head", "measure"),
    [
        (("Size (cm)", "Price"), Measure()),
        (("(cm)", "Price"), Measure(unit="cm")),
        (("Size (cm)", "2019"), Measure(unit="cm")),
        (("Size, EUR million", "Price"), Measure(currency="EUR", scale=6)),
    ],
)
def test_the_unit_of_a_corners_own_column_is_not_the_others(head: tuple[str, str], measure: Measure) -> None:
    blocks: list[Block] = []
    rows = [[Cell(text, head=True) for text in head], [Cell("A4"), Cell("12")], [Cell("A3"), Cell("15")]]
    write_table(rows, BlockWriter(blocks.append, Limits()))
    part = next(block.table_part for block in blocks if block.table_part.columns)
    assert part.columns[1].measure == measure


def test_headers_of_an_empty_column_say_nothing_of_the_next_table() -> None:
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    heads = [Cell("Item", head=True), Cell("Units", head=True), Cell("Budget (in thousands)", head=True)]
    write_table([heads, [Cell("Lamp"), Cell("5"), Cell("")]], out)
    write_table([[Cell("Town", head=True), Cell("Staff", head=True)], [Cell("Nice"), Cell("12")]], out)
    assert [block.table_part.note for block in blocks if block.table_part.columns] == ["", ""]


def test_a_sheets_note_lasts_beyond_a_section_and_a_blank_row(tmp_path: Path) -> None:
    path, blocks = tmp_path / "a.csv", list[Block]()
    path.write_text("(in thousands)\n\nCountry;North;South;West\nEurope;;;\n;;;\nAustria;118;12;943\nMalta;94;17;231\n")
    CsvParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    parts = [block.table_part for block in blocks if block.table_part.columns]
    assert [[column.measure.scale for column in part.columns] for part in parts] == [[0, 3, 3, 3]] * len(parts)


def html_part(body: str, tmp_path: Path) -> Table:
    """What is known of the columns of the one table of a page."""
    path, blocks = tmp_path / "a.html", list[Block]()
    path.write_text(f"<html><body><main>{body}</main></body></html>")
    HtmlParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    return next(block.table_part for block in blocks if block.table_part.columns)


ROWS = "<tr><td>Net income</td><td>2,871</td><td>2,044</td></tr><tr><td>Sales</td><td>9,871</td><td>9,044</td></tr>"
HEAD = "<tr><th>Item</th><th>2023</th><th>2022</th></tr>"
NOTED = "(in millions, except per share data)"


@pytest.mark.parametrize(
    ("above", "rows"),
    [
        ("", f"<caption>Results {NOTED}</caption>{HEAD}"),
        (f"<p>{NOTED}</p>", f"<caption>Table 3</caption>{HEAD}"),
        ("", HEAD.replace("Item", NOTED)),
        ("", f"<tr><th rowspan=2>Item</th><th colspan=2>{NOTED}</th></tr><tr><th>2023</th><th>2022</th></tr>"),
    ],
    ids=["caption", "above a caption", "corner", "above the years"],
)
def test_a_page_states_a_magnitude_in_several_places(above: str, rows: str, tmp_path: Path) -> None:
    part = html_part(f"{above}<table>{rows}{ROWS}</table>", tmp_path)
    assert (part.note, part.note_scale) == (NOTED, 6)
    assert [column.measure.scale for column in part.columns] == [0, 0, 0]


def test_a_remark_on_the_title_leaves_its_magnitude() -> None:
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    out.add(PARAGRAPH, "Sales (in thousands)")
    out.add(NOTE, "1 Without the new shop.")
    write_table([[Cell("Town", head=True), Cell("Sales", head=True)], [Cell("Nice"), Cell("12")]], out)
    part = next(block.table_part for block in blocks if block.table_part.columns)
    assert (part.note, part.columns[1].measure.scale) == ("(in thousands)", 3)
