"""Which texts of cells are numbers and days, beside what the sheets' own tests say."""

from __future__ import annotations

import pytest
from footnote.types.v1.table_pb2 import Cell
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
