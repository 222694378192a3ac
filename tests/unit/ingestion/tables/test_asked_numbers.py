"""Numbers of questions: their signs, decimals and thousands; where one may mean several things, no form has it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlglot
from footnote.types.v1.table_pb2 import Measure
from footnote_ingestion.tables import accounting
from footnote_ingestion.tables.asked_forms import read
from footnote_ingestion.tables.asked_numbers import number_of, numbers_of
from footnote_ingestion.tables.candidates import Reading, candidates
from footnote_ingestion.tables.forms import Filter, Subject
from footnote_ingestion.tables.mentions import Asked, Mentions
from footnote_text import locales

PLACES = Subject(
    filename="places.csv",
    about="places.csv",
    headers={1: "City", 2: "Temperature"},
    numeric=frozenset({2}),
    values={1: ["Oslo", "Lyon", "Kiruna"]},
    naming=1,
    rows=3,
)


@pytest.mark.parametrize(("question", "language", "wanted"), [
    ("Which cities have a temperature below -5?", "en", Filter(2, "<", -5.0)),
    ("Which cities have a temperature below −5?", "en", Filter(2, "<", -5.0)),
    ("Which cities have a temperature of at most -10.5?", "en", Filter(2, "<=", -10.5)),
    ("Which cities have a temperature above 5?", "en", Filter(2, ">", 5.0)),
    ("temperature 低于-5的 city", "zh", Filter(2, "<", -5.0)),
    ("Which cities have a temperature below 0.125?", "en", Filter(2, "<", 0.125)),
    ("Which cities have a temperature above 1.025?", "en", Filter(2, ">", 1.025)),
    ("Which cities have a temperature above 1,025?", "en", Filter(2, ">", 1025.0)),
    ("city mit temperature von mindestens 1.025", "de", Filter(2, ">=", 1025.0)),
    ("city mit temperature von mindestens 0,125", "de", Filter(2, ">=", 0.125)),
])  # fmt: skip
def test_limits_have_the_sign_and_the_decimals_of_the_question(question: str, language: str, wanted: Filter) -> None:
    found = read(question, PLACES, locales.choose(language).tables, language)
    assert found is not None
    assert found.filters == [wanted]


@pytest.mark.parametrize("number", ["5-10", "2019-2021", "5 – 10", "- 5", "x-5", ".5", "1.2.3", "1,2,3"])
def test_a_number_that_may_mean_several_things_is_no_limit(number: str) -> None:
    question = f"Which cities have a temperature below {number}?"
    assert read(question, PLACES, locales.choose("en").tables, "en") is None
    asked = Asked.of(question, locales.choose("en").tables, "en")
    every = candidates(asked, Mentions.of(asked, PLACES), Reading({}))
    assert not [one.form.filters for one in every if one.form.filters]


def test_a_fitted_reading_has_the_sign_too() -> None:
    asked = Asked.of("cities colder than -5", locales.choose("en").tables, "en")
    limits = {one.value for found in candidates(asked, Mentions.of(asked, PLACES), Reading({}))
              for one in found.form.filters}  # fmt: skip
    assert limits == {-5.0}


@pytest.mark.parametrize(("word", "language", "number"), [
    ("1,500", "en", 1500.0), ("1,500", "de", 1.5), ("1.500", "de", 1500.0), ("1.500", "en", 1.5),
    ("0.125", "de", 0.125), ("0,125", "en", 0.125), ("2,5", "en", 2.5), ("1.234,5", "en", 1234.5),
    ("1,234,567.8", "fr", 1234567.8), ("12,34,567", "en", 1234567.0), ("1234.567", "de", 1234.567), ("7", "xx", 7.0),
    ("1.2.3", "en", None), ("1,2.3", "en", None), ("1.2,3.4", "en", None), ("2024.01.31", "de", None),
    ("0.123.456", "de", None),
])  # fmt: skip
def test_points_and_commas(word: str, language: str, number: float | None) -> None:
    assert number_of(word, language) == number


@pytest.mark.parametrize(("question", "language", "power", "size"), [
    ("3 million", "en", 6, 2), ("3 Milliarden", "de", 9, 2), ("3 Mio. Euro", "de", 6, 2), ("3 Billionen", "de", 12, 2),
    ("3万", "zh", 4, 2), ("3万亿", "zh", 12, 3), ("2,5 millions", "fr", 6, 2), ("3 items", "en", None, 1),
    ("3, million", "en", None, 1), ("3 M", "en", None, 1),
])  # fmt: skip
def test_words_for_powers_of_ten(question: str, language: str, power: int | None, size: int) -> None:
    found = numbers_of(question, language)[0]
    assert (found.power, found.places) == (power, range(size))


def test_a_range_has_no_signs_and_other_numbers_stay() -> None:
    found = numbers_of("5-10 and -€7, €-8, (-9) or 1 000", "en")
    assert {place: one.value for place, one in found.items()} == {3: -7.0, 4: -8.0, 5: -9.0, 7: 1.0, 8: 0.0}
    spaced = numbers_of("-1 500", "fr")[0]
    assert (spaced.value, spaced.places) == (-1500.0, range(2))


@pytest.mark.parametrize(("question", "limit", "doubted"), [
    ("How many cities have a temperature below -5?", "-5", False),
    ("How many cities have a temperature below -5?", "5", True),
    ("How many cities have a temperature below 5?", "-5", True),
    ("How many cities have a temperature below 1.025?", "1.025", False),
    ("How many cities have a temperature below 1.025?", "1025", True),
    ("How many cities have a temperature below 3 million?", "3000", False),
    ("How many cities have a temperature below 3 million?", "3", True),
    ("How many cities have a temperature below 5000 euros?", "5000", True),
])  # fmt: skip
def test_a_query_with_another_number_than_the_question_is_doubted(question: str, limit: str, doubted: bool) -> None:
    tree = sqlglot.parse_one(f'SELECT COUNT(*) FROM t WHERE "Temperature" < {limit}', dialect="duckdb")
    thousands = replace(PLACES, measures={2: Measure(scale=3)})
    subject = thousands if question.endswith(("million?", "euros?")) else PLACES
    found = accounting.discrepancies(question, tree, [subject], [], locales.choose("en"))
    assert bool(found.not_asked) is doubted
    assert any(word.strip("-")[0].isdecimal() for word in found.left_out) is doubted
