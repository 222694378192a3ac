"""Numbers that a source does not write but that follow from those it does in one step."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import combinations

from footnote_generation.language.quantities import Quantity, readings

_MOST = 24
"""Numbers that are combined; more than that of one kind are no longer one step."""
_NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")
_DAY = 24 * 60  # minutes of a clock
_SECONDS = 60.0


def follows(quantity: Quantity, given: Sequence[Quantity]) -> bool:
    """Whether a number of a statement is a sum, a difference, a multiple or a share of numbers given.

    Nobody says so of a number that bears something itself: what the statement gives besides is not combined again.
    """
    return any(
        abs(wanted - value) <= 1e-6 * max(1.0, abs(wanted))
        for wanted in quantity.values
        for value in _results(quantity.dimension, given)
    )


def from_one_quoted(dimension: str, quoted: Sequence[Quantity], anywhere: Sequence[Quantity]) -> list[float]:
    """Return, sorted, what follows from a number quoted and another one of the source, which nobody need quote."""
    pairs = ((one, other) for one in quoted[:_MOST] for other in anywhere[:_MOST])
    return sorted({value for pair in pairs for value in _results(dimension, pair)})


def is_among(quantity: Quantity, values: Sequence[float]) -> bool:
    """Whether a quantity has one of some sorted values."""
    for wanted in quantity.values:
        room = 1e-6 * max(1.0, abs(wanted))
        at = bisect_left(values, wanted - room)
        if at < len(values) and values[at] <= wanted + room:
            return True
    return False


def _pairs(values: Sequence[float]) -> Iterator[float]:
    for left, right in combinations(values[:_MOST], 2):
        yield left + right
        yield abs(left - right)
    if len(values) > 2:
        yield sum(values)


def _with_its_unit_unsaid(dimension: str, given: Sequence[Quantity], bare: Sequence[float]) -> Iterator[float]:
    """Yield sums and differences with bare numbers that mean the unit of another: "from 22 to 13 minutes"."""
    for item in (one for one in given if dimension and one.dimension == dimension):
        written = numeral(item)
        plain = max(readings(written)) if written[:1].isdigit() else 0.0
        for value in item.values:
            unit = value / plain if plain else 0.0
            for other in bare if unit else ():
                yield other * unit
                yield value + other * unit
                yield abs(value - other * unit)


def numeral(quantity: Quantity) -> str:
    """Return how a number is written, without its unit: "14" of "14 days", a word where it is one."""
    found = _NUMERAL.search(quantity.text)
    return found[0] if found else quantity.text.partition(" ")[0].lower()


def _shares(given: Sequence[Quantity]) -> Iterator[float]:
    """Yield, in percent, how much each number is of a larger one of its kind, and by how much the two differ."""
    for left, right in combinations(given[:_MOST], 2):
        if left.dimension == right.dimension and left.dimension not in {"date", "year", "clock"}:
            low, high = sorted((max(left.values), max(right.values)))
            if low > 0:
                yield 100 * low / high
                yield 100 * (high - low) / high
                yield 100 * (high - low) / low


def _results(dimension: str, given: Sequence[Quantity]) -> Iterator[float]:
    """Yield what one step gives of a kind: of two numbers, or the sum of all."""
    alike = [max(item.values) for item in given if item.dimension == dimension][:_MOST]
    if not dimension:  # a bare number may leave out its unit: "1.5 points" of two percentages
        for kind in {item.dimension for item in given if item.dimension} - {"date", "year", "clock"}:
            yield from (value for value in _pairs([max(item.values) for item in given if item.dimension == kind]))
    bare = [max(item.values) for item in given if not item.dimension][:_MOST]
    yield from _pairs(alike)
    yield from _with_its_unit_unsaid(dimension, given, bare)
    for one in alike:
        yield from (one * count for count in bare)
        yield from (one / count for count in bare if count)
        yield one * 12  # a year of months
        yield one * 7
    for share in (max(item.values) for item in given if item.dimension == "percent"):
        yield from (one * share / 100 for one in alike)
    if dimension == "percent":
        yield from (100.0 - one for one in alike)
        yield from _shares(given)
    if not dimension:  # what is counted in hundredths: "30 cents" of 0.30
        yield from (100 * value for item in given if item.dimension.startswith("money") for value in item.values)
    clocks = [max(item.values) for item in given if item.dimension == "clock"][:_MOST]
    spans = [max(item.values) for item in given if item.dimension == "time"][:_MOST]
    if dimension in {"time", ""}:
        for left, right in combinations(clocks, 2):
            minutes = (right - left) % _DAY
            yield minutes * _SECONDS if dimension == "time" else minutes / 60
            yield float(minutes)
    if dimension == "clock":
        for at in clocks:
            for span in spans:
                yield (at + span / _SECONDS) % _DAY
                yield (at - span / _SECONDS) % _DAY
    years = [max(item.values) for item in given if item.dimension == "year"][:_MOST]
    if dimension in {"", "year"}:
        yield from (abs(left - right) for left, right in combinations(years, 2))
        yield from (year + sign * count for year in years for count in bare for sign in (1, -1))
