"""Finds numbers and dates of a statement that its sources neither contain nor imply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from footnote_generation.language.quantities import Quantity, same_dimension, same_value

_FACTORS = (2.0, 3.0, 4.0, 7.0, 10.0, 12.0, 24.0, 30.0, 60.0, 100.0, 365.0, 1000.0)
_TIMES = (2.0, 3.0, 4.0, 10.0)
_MOST = 60
"""Maximum numbers of a source used in calculations; with more, any number follows from some."""


def missing(stated: Sequence[Quantity], given: Sequence[Quantity]) -> list[Quantity]:
    """Return the stated quantities that no given one matches."""
    return [one for one in stated if not any(_same(one, other) for other in given)]


def absent(stated: Sequence[Quantity], given: Sequence[Quantity], text: str) -> Quantity | None:
    """Return a value that is neither given nor one calculation step from given ones; `text` is the statement.

    Dates, years and times of day are ignored, since statements add them as context ("in 2019"). Numbers in a word or
    range ("9th-grade", "2018–19") are ignored too. Of 342 true statements of WiCE, 25 had such a date and 6 such a
    number.
    """
    for one in missing(stated, given):
        whole = one.dimension == "percent" and 100.0 in one.values
        if one.spelled or whole or one.dimension in _FROM_WITHOUT or _in_word(one, text):
            continue
        if not _follows(one, given):
            return one
    return None


_FROM_WITHOUT = frozenset({"date", "year", "clock", "ordinal"})


def _in_word(one: Quantity, text: str) -> bool:
    around = text[max(0, one.start - 1) : one.start] + text[one.end : one.end + 1]
    return any((char.isascii() and (char.isalpha() or char in "-_/")) or char in "–‑" for char in around)


def _same(stated: Quantity, given: Quantity) -> bool:
    if not same_value(stated, given):
        return _part_of_date(stated, given)
    if same_dimension(stated, given):
        return True
    # The unit of "40 employees" may be in no table of units.
    return {stated.dimension, given.dimension} <= {"year", "clock", "date", "ordinal", ""}


def _part_of_date(stated: Quantity, given: Quantity) -> bool:
    """Return whether a year or a day belongs to a date: 2024 of "3 March 2024", March 2024 too."""
    if given.dimension != "date":
        return False
    dates = {int(value) for value in given.values}
    if stated.dimension == "date":
        return any(
            int(value) % 100 == 0 and int(value) // 100 == date // 100 for value in stated.values for date in dates
        )
    if stated.dimension not in {"year", "", "ordinal"}:
        return False
    return any(value in {date // 10_000, date % 100, date // 100 % 100} for value in stated.values for date in dates)


def _follows(stated: Quantity, given: Sequence[Quantity]) -> bool:
    """Return whether a value is a sum, difference, product, quotient or share of given ones, or a multiple of one."""
    alike = [one for one in given if one.dimension != "date" and same_dimension(stated, one)]
    numbers = sorted({abs(value) for one in alike for value in one.values})
    if stated.dimension == "date":
        return False
    if len(numbers) > _MOST or any(_rounded(value, number) for value in stated.values for number in numbers):
        return True
    # "1,200 a month" is 14,400 a year; but 6 days are not 6 hours, although a day has 24.
    factors = _FACTORS if not stated.dimension or stated.dimension.startswith("money") else _TIMES
    for value in stated.values:
        if any(_near(value, number * f) or _near(value, number / f) for number in numbers for f in factors):
            return True
        for one, other in combinations(numbers, 2):
            results = [one + other, other - one, one * other]
            if one:
                results += [other / one, (other - one) / one * 100, one / other * 100, other / one * 100]
            if any(_near(value, result) for result in results):
                return True
    if stated.dimension == "time":
        clocks = [value for one in given if one.dimension == "clock" for value in one.values]
        spans = {abs(one - other) * 60 for one, other in combinations(clocks[:_MOST], 2)}
        if stated.values & spans:
            return True
    if stated.dimension == "percent":
        if any(_near(100 - value, number) for value in stated.values for number in numbers):
            return True
        amounts = sorted({abs(value) for one in given if one.dimension != "date" for value in one.values})[:_MOST]
        shares = ((one / other * 100, (other - one) / one * 100) for one, other in combinations(amounts, 2) if one)
        return any(_near(value, share) for value in stated.values for pair in shares for share in pair)
    return _sum(stated, numbers)


def _rounded(value: float, number: float) -> bool:
    """Return whether a value is a number rounded to the value's own digits: 1.9 billion of 1,932 million."""
    digits = len(f"{abs(value):.12g}".replace(".", "").strip("0").split("e")[0])
    return value != 0 and digits <= 3 and float(f"{number:.{max(digits - 1, 0)}e}") == abs(value)


def _sum(stated: Quantity, numbers: Iterable[float]) -> bool:
    """Return whether a value is the sum of several neighbouring numbers, as a total is of a column."""
    listed = list(numbers)
    return any(
        any(_near(value, sum(chosen)) for chosen in combinations(listed, 3)) for value in stated.values
    ) if len(listed) <= 20 else False  # fmt: skip


def _near(value: float, result: float) -> bool:
    """Return whether a result is a value after usual rounding."""
    return abs(value - result) <= max(0.006 * abs(result), 1e-9)
