"""Months, quarters, years and days in questions: which columns and rows they mean, and when they mean none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from footnote_ingestion.tables import forms, periods
from footnote_ingestion.tables.asked_forms import AskedForm, read
from footnote_ingestion.tables.forms import Filter, Subject
from footnote_text import locales

MONTHS = Subject(
    "sales_2025.xlsx", "sales_2025.xlsx Plan", {1: "Region", 2: "Jan", 3: "Feb", 4: "Mar", 5: "Apr"},
    frozenset({2, 3, 4, 5}), {1: ["North", "South"]}, 1, 2,
)  # fmt: skip
DAYS = Subject(
    "bills.csv", "bills.csv", {1: "Bill", 2: "Issued", 3: "Paid", 4: "Amount (USD)"}, frozenset({4}),
    {1: ["B-1", "B-2"]}, 1, 2, frozenset({2, 3}), frozenset(), {4: "USD"},
)  # fmt: skip
YEARS = Subject(
    "report.md", "report.md", {1: "Item", 2: "2022", 3: "2023", 4: "2024"}, frozenset({2, 3, 4}),
    {1: ["Revenue", "Net income"]}, 1, 2,
)  # fmt: skip
QUARTERS = Subject(
    "shops.csv", "shops.csv", {1: "Shop", 2: "Sales 2023 Q1", 3: "Sales 2024 Q1", 4: "Visitors 2024 Q1"},
    frozenset({2, 3, 4}), {1: ["A1", "B1"]}, 1, 2,
)  # fmt: skip
LONG = Subject(
    "cash.csv", "cash.csv", {1: "Year", 2: "Month", 3: "Turnover"}, frozenset({1, 3}),
    {2: ["January", "February", "March"]}, 2, 9, frozenset(), frozenset({1}),
)  # fmt: skip

BY_QUARTER = Subject(
    "rents.csv", "rents.csv", {1: "Quarter", 2: "Rent"}, frozenset({2}),
    {1: [f"Q{quarter} {year}" for year in (2008, 2009) for quarter in (1, 2, 3, 4)]}, 1, 8,
)  # fmt: skip
SHEET = Subject(
    "fares.xlsx", "fares.xlsx Jan2025", {1: "Town", 2: "Fare"}, frozenset({2}), {1: ["Lyon", "Nice"]}, 1, 2,
)  # fmt: skip


def form(question: str, subject: Subject, language: str = "en") -> forms.Form | None:
    found = read(question, subject, locales.choose(language).tables, language)
    return None if found is None or found.kind == forms.SEVERAL else found


@pytest.mark.parametrize(("question", "language", "columns"), [
    ("Total plan for North in January", "en", (2,)),
    ("Total plan for North in the first quarter", "en", (2, 3, 4)),
    ("Total plan for North in Q1 2025", "en", (2, 3, 4)),
    ("Total plan for North from January to April", "en", (2, 3, 4, 5)),
    ("Total plan for North in January and March", "en", (2, 4)),
    ("Total du plan North au premier trimestre", "fr", (2, 3, 4)),
    ("Plan insgesamt im ersten Quartal", "de", (2, 3, 4)),
    ("Plan total del primer trimestre", "es", (2, 3, 4)),
    ("plan 第一季度合计", "zh", (2, 3, 4)),
    ("plan 一季度合计", "zh", (2, 3, 4)),
    ("Total plan for North in Q2", "en", None),
    ("Total plan for North in May", "en", None),
    ("Total plan for North in January 2024", "en", None),
    ("Total plan for North in 2025", "en", None),
    ("Total plan for North up to March", "en", None),
])  # fmt: skip
def test_columns_of_periods(question: str, language: str, columns: tuple[int, ...] | None) -> None:
    found = form(question, MONTHS, language)
    assert (found and found.measures) == columns


@pytest.mark.parametrize(("question", "columns"), [
    ("Total sales in Q1 2024", (3,)),
    ("Total visitors in Q1 2024", (4,)),
    ("Total sales in Q1", None),
    ("Total for Q1 2024", None),
])  # fmt: skip
def test_a_period_of_several_years_or_headers_is_not_guessed(question: str, columns: tuple[int, ...] | None) -> None:
    found = form(question, QUARTERS)
    assert (found and found.measures) == columns


@pytest.mark.parametrize(("question", "days"), [
    ("How many bills were issued in 2024?", ("2024-01-01", "2025-01-01")),
    ("How many bills were issued in March 2025?", ("2025-03-01", "2025-04-01")),
    ("How many bills were issued in Q4 2024?", ("2024-10-01", "2025-01-01")),
    ("How many bills were issued after 30 June 2025?", ("2025-07-01", None)),
    ("How many bills were issued before 2025-02-03?", (None, "2025-02-03")),
    ("How many bills were issued since March 2025?", ("2025-03-01", None)),
    ("How many bills were issued between 2024-03-01 and 2024-09-30?", ("2024-03-01", "2024-10-01")),
    ("How many bills were issued from March 2024 to May 2024?", ("2024-03-01", "2024-06-01")),
    ("How many bills were paid on 13/2/2025?", ("2025-02-13", "2025-02-14")),
    ("How many bills were paid on 3/2/2025?", None),
    ("How many bills were issued in March?", None),
    ("How many bills in 2024?", None),
    ("How many bills were issued in January 2024 and March 2024?", None),
])  # fmt: skip
def test_rows_of_days(question: str, days: tuple[str | None, str | None] | None) -> None:
    found = form(question, DAYS)
    if days is None:
        assert found is None
        return
    assert found is not None
    assert {one.column for one in found.filters} == {3 if "paid" in question else 2}
    sides = {one.op: one.value for one in found.filters}
    assert (sides.get("from"), sides.get("until")) == days


def test_rows_by_columns_of_years_and_of_months() -> None:
    found = form("Total turnover in March 2024", LONG)
    assert found is not None
    assert found.filters == [Filter(1, "==", 2024.0), Filter(2, "=", "March")]
    assert form("Total turnover in April 2024", LONG) is None
    found = form("Total turnover after 2023", LONG)
    assert found is not None
    assert found.filters == [Filter(1, ">", 2023.0)]


SCORES = Subject(
    "scores.md", "scores.md", {1: "Season", 2: "Ann", 3: "Ben"}, frozenset({2, 3}),
    {1: ["2021", "2020", "2019", "2018"]}, 1, 4,
)  # fmt: skip


@pytest.mark.parametrize(("question", "seasons"), [
    ("Average of Ann from 2018 through 2020", ["2020", "2019", "2018"]),
    ("Average of Ann between 2019 and 2020", ["2020", "2019"]),
    ("Average of Ann from 2017 to 2019", None),
    ("Average of Ann from 2020 to 2018", None),
    ("Average of Ann since 2019", None),
])  # fmt: skip
def test_a_range_is_of_rows_that_periods_name_if_both_ends_are_there(question: str, seasons: list[str] | None) -> None:
    found = form(question, SCORES)
    assert (found and [one.value for one in found.filters]) == seasons


def test_a_month_is_of_the_year_of_all_days() -> None:
    days = replace(DAYS, dates=frozenset({2}))
    assert form("Total amount issued in March", days) is None
    found = form("Total amount issued in March", replace(days, only_year={2: 2025}))
    assert found is not None
    assert [one.value for one in found.filters] == ["2025-03-01", "2025-04-01"]
    named = form("Total amount issued in March 2024", replace(days, only_year={2: 2025}))
    assert named is not None
    assert [one.value for one in named.filters] == ["2024-03-01", "2024-04-01"]


def test_what_grew_is_the_later_column_without_the_earlier() -> None:
    found = form("By how much did revenue increase from 2022 to 2024?", YEARS)
    assert found is not None
    assert (found.kind, *(one.measure for one in found.sides)) == (forms.DIFFERENCE, 4, 2)
    rows = form("What is the difference between revenue and net income in 2023?", YEARS)
    assert rows is not None
    assert [one.name for one in rows.sides] == ["Revenue", "Net income"]
    assert form("How did revenue change?", YEARS) is None


@pytest.mark.parametrize(("question", "language", "rows"), [
    ("Average rent over the four quarters of 2009", "en", 4),
    ("Average rent in the 4 quarters of 2009", "en", 4),
    ("Durchschnitt von Rent der vier Quartale 2009", "de", 4),
    ("Moyenne de rent des quatre trimestres de 2009", "fr", 4),
    ("Average rent over 2008 and 2009", "en", 8),
    ("Average rent over the three quarters of 2009", "en", None),
    ("Average rent over the four quarters of 2010", "en", None),
    ("Average rent over 2009", "en", None),  # of that year, or above that number
    ("Average rent of more than 2009", "en", None),
])  # fmt: skip
def test_rows_of_a_year_are_named_by_all_its_quarters_too(question: str, language: str, rows: int | None) -> None:
    found = form(question, BY_QUARTER, language)
    assert (found and len(found.filters)) == rows


@pytest.mark.parametrize(("question", "computed"), [
    ("Average fare in January 2025", True),
    ("Average fare in Jan 2025", True),
    ("Average fare in January", False),
    ("Average fare in January 2024", False),
    ("Average fare in 2025", False),
])  # fmt: skip
def test_a_sheet_s_name_is_a_period_in_any_way_of_writing(question: str, computed: bool) -> None:
    assert (form(question, SHEET) is not None) == computed


@pytest.mark.parametrize(("question", "limit"), [
    ("How many bills exceed $5,000?", 5000.0),
    ("How many bills are over 2000 dollars?", 2000.0),
    ("How many bills exceed €5,000?", None),
    ("How many bills exceed 5000 euros?", None),
])  # fmt: skip
def test_a_limit_is_in_the_currency_of_its_column(question: str, limit: float | None) -> None:
    found = form(question, DAYS)
    assert (found and [one.value for one in found.filters]) == (None if limit is None else [limit])


@pytest.mark.parametrize(("question", "language"), [
    ("How many bills were not paid?", "en"),
    ("Total amount of bills without B-1", "en"),
    ("De combien B-1 dépasse-t-il B-2 en moyenne ?", "fr"),
    ("Wie viele bill sind nicht B-1?", "de"),
])  # fmt: skip
def test_words_that_turn_the_meaning_are_not_passed_over(question: str, language: str) -> None:
    assert form(question, DAYS, language) is None


@pytest.mark.parametrize("language", locales.codes())
def test_every_locale_names_months_and_quarters(language: str) -> None:
    names = periods._names(language)
    assert {number for unit, number in names.values() if unit == periods.MONTH} == set(range(1, 13))
    assert {number for unit, number in names.values() if unit == periods.QUARTER} == set(range(1, 5))


@pytest.mark.parametrize(("question", "subject", "why"), [
    ("Total amount that B-1 owes", DAYS, "Not understood in the question: owes."),
    ("How many bills in 2024?", DAYS, "Several columns may be meant: Issued, Paid."),
    ("Total plan for North in May", MONTHS, "Not understood in the question: may."),
    ("Total of the sales of A1 in Q1", QUARTERS, "Several columns may be meant: Sales 2023 Q1, Sales 2024 Q1."),
    ("Total sales in Q1 2024", QUARTERS, ""),
])  # fmt: skip
def test_what_is_not_understood_is_said(question: str, subject: Subject, why: str) -> None:
    asked = AskedForm(question, subject, locales.choose("en").tables, "en")
    asked.form()
    assert asked.why() == why
