"""Which texts of cells are numbers and days, beside what the sheets' own tests say."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote.types.v1.table_pb2 import Cell, Measure
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.measures import measure_of
from footnote_ingestion.parsers.numbers import Numbers


def read(text: str, *before: str) -> Cell:
    """Return what a text is once others of its column are known."""
    numbers = Numbers()
    numbers.learn([[one] for one in (*before, text)])
    return Cell.FromString(numbers.cell(text))


@pytest.mark.parametrize(("text", "value"), [
    ("39.49519800920953", 39.49519800920953),
    ("-0.37399038562310283", -0.37399038562310283),
    ("1.52", 1.52),
])  # fmt: skip
def test_decimals_beyond_those_of_a_double_are_rounded(text: str, value: float) -> None:
    assert read(text).number == value


@pytest.mark.parametrize("text", ["1234567890123456", "12.345.678.901.234.567", "1234567890123456.5"])
def test_more_digits_before_the_decimals_are_an_identifier(text: str) -> None:
    assert not read(text).HasField("number")


@pytest.mark.parametrize(("text", "before", "day"), [
    ("03/09/2024 12:03:33", ("20/08/2024 02:14:00",), "2024-09-03T12:03:33"),
    ("03/09/2024", ("08/20/2024",), "2024-03-09"),
    ("03/09/2024 12:03", (), ""),
    ("3.9.2024 08:15", (), "2024-09-03T08:15:00"),
    ("3.9.2024 24:15", (), ""),
])  # fmt: skip
def test_a_day_may_have_a_clock(text: str, before: tuple[str, ...], day: str) -> None:
    assert read(text, *before).date == day


@pytest.mark.parametrize(("text", "value", "currency", "scale"), [
    ("£5m", 5, "GBP", 6),
    ("€1.25 bn", 1.25, "EUR", 9),
    ("(US$40k)", -40, "USD", 3),
    ("£5", 5, "GBP", 0),
])  # fmt: skip
def test_a_letter_beside_a_currency_is_a_scale_and_no_unit(text: str, value: float, currency: str, scale: int) -> None:
    assert read(text) == Cell(number=value, measure=Measure(currency=currency, scale=scale))


@pytest.mark.parametrize(("text", "value", "currency"), [
    ("Rs 33.49", 33.49, "Rs"), ("Rs. 1,234.50", 1234.5, "Rs"), ("-Rs.5", -5, "Rs"), ("R$ 10,50", 10.5, "BRL"),
    ("kr 100", 100, "kr"), ("100 Kč", 100, "CZK"), ("US$ 5", 5, "USD"), ("₪7", 7, "ILS"),
])  # fmt: skip
def test_signs_of_letters_stand_beside_numbers(text: str, value: float, currency: str) -> None:
    cell = read(text)
    assert (cell.number, cell.measure.currency) == (value, currency)


@pytest.mark.parametrize("text", ["Rs", "Rsx 5", "krona 5", "leisure 5", "R 5", "RM 101"])
def test_words_that_begin_as_signs_are_none(text: str) -> None:
    assert read(text).WhichOneof("value") is None


@pytest.mark.parametrize("text", ["$ 3 h", "$2T", "€5 %"])
def test_no_unit_stands_beside_a_currency(text: str) -> None:
    assert not read(text).HasField("number")


@pytest.mark.parametrize(("header", "currency", "scale"), [
    ("Revenue (£m)", "GBP", 6),
    ("Debt (€ bn)", "EUR", 9),
    ("US$m", "USD", 6),
    ("EURm", "EUR", 6),
    ("Cost £000", "GBP", 3),
    ("Cost, €k", "EUR", 3),
    ("Ergebnis (T€)", "EUR", 3),
    ("Resultat (MSEK)", "SEK", 6),
    ("Price (£)", "GBP", 0),
])  # fmt: skip
def test_a_header_may_name_its_scale_by_letters(header: str, currency: str, scale: int) -> None:
    assert measure_of((header,)) == Measure(currency=currency, scale=scale)


@pytest.mark.parametrize(("text", "value"), [("(-5%)", -5), ("(+8%)", 8), ("(5%)", -5), ("-5%", -5), ("(-3)", -3)])
def test_in_brackets_a_sign_of_its_own_decides(text: str, value: float) -> None:
    assert read(text).number == value


@pytest.mark.parametrize(("text", "before", "value"), [
    ("1.234", ("2", "3.141"), None),  # ratios, or thousands
    ("1,234", ("987",), 1234),
    ("1.234", ("987",), 1234),
    ("1.234", ("2", "3.14"), 1.234),
])  # fmt: skip
def test_only_a_number_of_like_size_shows_what_separates_thousands(
    text: str, before: tuple[str, ...], value: float | None
) -> None:
    found = read(text, *before)
    assert (found.number if found.HasField("number") else None) == value


@pytest.mark.parametrize(("table", "value"), [
    ("Name,Ratio\nA,2\nB,1.234\nC,3.141\n", [2, 1.234, 3.141]),
    ("Name,Price\nA,100\nB,1.234\n", [100, 1.234]),
    ("Name,Price\nA,987\nB,1.234\nC,2.500\n", [987, None, None]),
    ('Name,Price\nA,"1.234,50"\nB,1.234\n', [1234.5, 1234]),
    ("Name;Price\nA;100\nB;1.234\n", [100, 1234]),
])  # fmt: skip
def test_where_commas_delimit_points_separate_decimals(table: str, value: list[float | None], tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(table)
    blocks: list[Block] = []
    parser_for("csv").parse(path, BlockWriter(blocks.append, Limits()), Limits())
    cells = [block.anchors[1].cell for block in blocks]
    assert [cell.number if cell.HasField("number") else None for cell in cells] == value


@pytest.mark.parametrize(("text", "value"), [
    ("1,50,000", 150_000),
    ("₹12,34,56,789.50", 123_456_789.5),
    ("８００", 800),
    ("－１，２００．５", -1200.5),
    ("￥８００", 800),
    ("３％", 3),
    ("٨٠٠", 800),
    ("١٬٢٠٠٫٥", 1200.5),
    ("१२३", 123),
])  # fmt: skip
def test_lakhs_and_digits_of_other_scripts_are_numbers(text: str, value: float) -> None:
    assert read(text).number == value


@pytest.mark.parametrize("text", ["1,50,00", "150,00,000", "1.50.000", "1,500,00,000", "1,50,000,000", "００７"])
def test_other_groups_are_no_numbers(text: str) -> None:
    assert not read(text).HasField("number")


def test_arabic_signs_settle_no_column_with_decimal_commas() -> None:
    assert not read("١٫٢٣٤", "0,5", "1,75").HasField("number")


@pytest.mark.parametrize("text", ["۱۴۰۲/۰۱/۳۱", "۱۴۰۲/۰۲/۳۱", "๐๓/๐๔/๒๕๖๗"])
def test_a_day_in_digits_of_other_scripts_may_be_of_another_calendar(text: str) -> None:
    assert not read(text).HasField("date")


@pytest.mark.parametrize(("text", "before", "value"), [
    ("1.234", ("2.500", "1,20,300"), None),
    ("1,20,300", ("1.234,50",), None),
    ("2.500", ("1.234,50", "1,20,300"), 2500),
    ("2.500", ("1,50,000", "3,75"), 2500),
    ("1,50,000", ("1,234.50",), 150_000),
])  # fmt: skip
def test_lakhs_show_no_separator_to_other_cells(text: str, before: tuple[str, ...], value: float | None) -> None:
    found = read(text, *before)
    assert (found.number if found.HasField("number") else None) == value


@pytest.mark.parametrize("text", ["（１）", "（1）", "1，200，300", "1，200"])
def test_full_width_brackets_and_commas_of_lists_are_no_signs_of_numbers(text: str) -> None:
    assert not read(text).HasField("number")
