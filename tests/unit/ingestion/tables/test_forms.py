"""Questions read as forms over a table: what is understood, and that a word too many is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from footnote_ingestion.tables import forms
from footnote_ingestion.tables.asked_forms import read
from footnote_ingestion.tables.forms import Filter, Subject
from footnote_text import locales

STOCK = Subject(
    filename="depot.xlsx",
    about="depot.xlsx Halle",
    headers={1: "Item", 2: "Town", 3: "Units › January", 4: "Units › May", 5: "Price (€)"},
    numeric=frozenset({3, 4, 5}),
    values={1: ["A-1", "A-2"], 2: ["Lyon", "Nice", "San Remo"]},
    naming=1,
)


def form(question: str, language: str = "en", subject: Subject = STOCK) -> forms.Form | None:
    words = locales.choose(language)
    return read(question, subject, words.tables, language)


@pytest.mark.parametrize(
    ("question", "kind", "measure", "filters"),
    [
        ("What is the total of the units in May?", forms.TOTAL, 4, []),
        ("How many units were sold in January in Lyon?", forms.TOTAL, 3, [Filter(2, "=", "Lyon")]),
        ("Average price in San Remo", forms.AVERAGE, 5, [Filter(2, "=", "San Remo")]),
        ("How many items are in Nice?", forms.COUNT, 0, [Filter(2, "=", "Nice")]),
        ("Which item has the highest price?", forms.HIGHEST, 5, []),
        ("Which items have more than 1,500 units in May?", forms.ROWS, 4, [Filter(4, ">", 1500.0)]),
    ],
)
def test_forms_of_questions(question: str, kind: str, measure: int, filters: list[Filter]) -> None:
    found = form(question)
    assert found is not None
    assert (found.kind, found.measure, found.filters) == (kind, measure, filters)


@pytest.mark.parametrize(("question", "language"), [
    ("Total amount by customer", "en"),
    ("The three orders with the highest amount", "en"),
    ("每个客户的金额", "zh"),
    ("金额最大的三个订单", "zh"),
])  # fmt: skip
def test_texts_that_may_be_numbers_are_not_passed_over_for_another_column(question: str, language: str) -> None:
    orders = Subject(
        filename="orders.csv",
        about="orders.csv",
        headers={1: "Order 订单", 2: "Customer 客户", 3: "Amount 金额（元）", 4: "Pieces 数量"},
        numeric=frozenset({4}),
        values={1: ["D-1", "D-2"], 2: ["Ming", "Hua"], 3: ["62,994", "47,685"]},
        naming=1,
    )
    found = form(question, language, orders)
    assert found is None or found.kind == forms.SEVERAL


def test_of_columns_that_have_the_same_text_the_one_that_is_named_is_meant() -> None:
    freight = Subject(
        filename="freight.csv",
        about="freight.csv",
        headers={1: "No.", 2: "Origin", 3: "Destination", 4: "Cost"},
        numeric=frozenset({4}),
        values={1: ["F-1", "F-2"], 2: ["Madrid", "Lyon"], 3: ["Lyon", "Madrid", "Nice"]},
        naming=1,
    )
    for question, wanted in (
        ("Average cost with destination Madrid", Filter(3, "=", "Madrid")),
        ("Average cost with origin Madrid", Filter(2, "=", "Madrid")),
        ("Average cost to Nice", Filter(3, "=", "Nice")),
    ):
        found = form(question, subject=freight)
        assert found is not None
        assert found.filters == [wanted]
    for question in ("Average cost of Madrid", "Average cost with origin and destination Madrid"):
        found = form(question, subject=freight)
        assert found is None or found.kind == forms.SEVERAL


def test_groups_and_the_first_so_many() -> None:
    grouped = form("Total units in May by town")
    assert grouped is not None
    assert (grouped.kind, grouped.grouped, grouped.key) == (forms.TOTAL, True, 2)
    first = form("The three items with the highest price")
    assert first is not None
    assert (first.kind, first.most, first.key) == (forms.HIGHEST, 3, 1)


@pytest.mark.parametrize(
    "question",
    [
        "What is the total weight of the units in May?",
        "Why were the units in May so low in total?",
        "Total of the units in May in Berlin",
        "Total units in May without Lyon's returns",
        "Who signed the contract?",
        "The units in May",
    ],
)
def test_a_word_that_is_not_known_is_never_passed_over(question: str) -> None:
    assert form(question) is None


def test_several_columns_may_be_meant() -> None:
    found = form("What is the total of the units?")
    assert found is not None
    assert found.kind == forms.SEVERAL


@pytest.mark.parametrize("language", locales.codes())
def test_every_locale_asks_for_totals_averages_and_extremes(language: str) -> None:
    words = locales.choose(language).tables
    subject = Subject("x.csv", "x.csv", {1: "Name", 2: "Zebra"}, frozenset({2}), {1: ["q1w"]}, 1)
    for kind, phrases in ((forms.TOTAL, words.total), (forms.AVERAGE, words.average), (forms.HIGHEST, words.highest)):
        for phrase in phrases:
            found = form(f"{phrase.replace('*', '')} Zebra", language, subject)
            assert found is not None, phrase
            assert (found.kind, found.measure) == (kind, 2), phrase


@pytest.mark.parametrize(("question", "language", "op", "value"), [
    ("Which items have at least 200 units in May?", "en", ">=", 200.0),
    ("Which items have no more than 200 units in May?", "en", "<=", 200.0),
    ("Items mit mindestens 1.500 Units May", "de", ">=", 1500.0),
    ("items avec au moins 1 500 units may", "fr", ">=", 1500.0),
    ("items con al menos 200 units may", "es", ">=", 200.0),
    ("units may 至少200的 item", "zh", ">=", 200.0),
    ("units may 不超过200的 item", "zh", "<=", 200.0),
])  # fmt: skip
def test_limits_that_a_number_may_be_equal_to(question: str, language: str, op: str, value: float) -> None:
    found = form(question, language)
    assert found is not None
    assert found.filters == [Filter(4, op, value)]


@pytest.mark.parametrize("question", [
    "Which items have at least units in May?",
    "Which items have more than 1 500 units in May?",  # English writes no number so: "1" and "500" are two
    "Total units in May, at least in Lyon",
])  # fmt: skip
def test_a_limit_without_its_number_is_not_passed_over(question: str) -> None:
    assert form(question) is None


def test_the_first_so_many_by_a_number_are_of_the_column_that_is_named() -> None:
    """The first two towns, which come in several rows, are those with the greatest totals."""
    stock = replace(STOCK, rows=4, values={1: ["A-1", "A-2", "A-3", "A-4"], 2: ["Lyon", "Nice"]})
    for question in ("top 2 towns by units in January", "the two towns with the highest units in January"):
        found = form(question, subject=stock)
        assert found is not None
        assert (found.key, found.grouped, found.inner, found.most) == (2, True, forms.TOTAL, 2)
    found = form("top 2 items by units in January", subject=stock)
    assert found is not None
    assert (found.key, found.grouped, found.most) == (1, False, 2)
