"""Questions which of two is more, halves of years, short names of columns, countries: what is read, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from footnote.types.v1.table_pb2 import TableComputation
from footnote_ingestion.tables import forms, periods
from footnote_ingestion.tables.asked_forms import AskedForm, read
from footnote_ingestion.tables.candidates import Reading
from footnote_ingestion.tables.computing import Computing
from footnote_ingestion.tables.forms import Subject
from footnote_text import locales
from support.table_engine import opened

Compute = Callable[..., TableComputation | None]

ORDERS = """Order;Town;Sent;Pieces;Price
A-1;Lyon;2024-02-03;10;4
A-2;Nice;2024-03-05;3;5
A-3;Lyon;2024-08-07;1;6
A-4;Nice;2025-07-09;20;90
A-5;Brest;2025-01-11;4;8
"""
YEARS = "Year;Amy;Ted\n2023;5;8\n2024;7;6\n"
DAYS = Subject(
    "log.csv", "log.csv", {1: "Order", 2: "Bestelldatum", 3: "Liefertermin", 4: "Wert"}, frozenset({4}),
    {1: ["A-1", "A-2"]}, 1, 2, frozenset({2, 3}), only_year={2: 2024, 3: 2024},
)  # fmt: skip
SENSORS = Subject(
    "log.csv", "log.csv", {1: "sensor_id", 2: "temp_max", 3: "temp_min", 4: "qtyRead", 5: "Puiss. (ch)"},
    frozenset({2, 3, 4, 5}), {1: ["H-1", "H-2"]}, 1, 2,
)  # fmt: skip
SHOPS = Subject(
    "shops.csv", "shops.csv", {1: "Shop", 2: "Country", 3: "Sales"}, frozenset({3}),
    {1: ["S-1", "S-2"], 2: ["Germany", "Spain"]}, 1, 2,
)  # fmt: skip


@pytest.fixture
def compute(tmp_path: Path) -> Compute:
    """Computes an answer from a table of a file."""

    def computed(text: str, question: str, locale: str, reading: Reading | None = None) -> TableComputation | None:
        with opened(tmp_path, file=text) as (engine, own):
            return Computing(engine, own.of).answer(question, locale, reading)

    return computed


def form(question: str, subject: Subject, language: str = "en") -> forms.Form | None:
    return read(question, subject, locales.choose(language).tables, language)


@pytest.mark.parametrize(("table", "question", "locale", "said"), [
    (ORDERS, "Which town ordered more pieces, Lyon or Nice?", "en", "\n- Nice: 23\n- Lyon: 11"),
    (ORDERS, "Which town has fewer pieces: Lyon or Nice?", "en", "\n- Lyon: 11\n- Nice: 23"),
    (ORDERS, "Were there more pieces in Brest than in Lyon?", "en", "\n- Lyon: 11\n- Brest: 4"),
    (ORDERS, "Is the price of A-1 greater than that of A-2?", "en", "where Order = A-1, A-2:\n- A-2: 5\n- A-1: 4"),
    (ORDERS, "Which town has the most pieces, Lyon or Brest?", "en", "\n- Lyon: 11\n- Brest: 4"),
    (ORDERS, "Were there more orders in Lyon than in Brest?", "en", "\n- Lyon: 2\n- Brest: 1"),
    (ORDERS, "Were there more pieces in 2024 or in 2025?", "en", "\n- 2025: 24\n- 2024: 14"),
    (ORDERS, "Gab es mehr Pieces in Lyon oder in Brest?", "de", "\n- Lyon: 11\n- Brest: 4"),
    (ORDERS, "Lyon和Brest的Pieces哪个更多？", "zh", "\n- Lyon: 11\n- Brest: 4"),
    (YEARS, "Was Amy or Ted higher in 2023?", "en", "Highest Amy, Ted where Year = 2023:\n- Ted: 8\n- Amy: 5"),
    (ORDERS, "Total pieces in the first half of 2024", "en", ": 13"),
    (ORDERS, "Pieces insgesamt im 2. Halbjahr 2024?", "de", ": 1"),
    (ORDERS, "2024年上半年Pieces合计是多少？", "zh", ": 13"),
    (ORDERS, "Total pieces between February and August 2024", "en", ": 14"),
    (ORDERS, "What is the highest price by town Lyon?", "en", "Highest Price where Town = Lyon:\n- A-3: 6"),
    (ORDERS, "What is the highest price in the town Lyon?", "en", "Highest Price where Town = Lyon:\n- A-3: 6"),
    (ORDERS, "What is the highest price in Lyon and Nice?", "en", "Town = Nice:\n- A-4: 90"),
])  # fmt: skip
def test_it_is_computed(compute: Compute, table: str, question: str, locale: str, said: str) -> None:
    found = compute(table, question, locale)
    assert found is not None
    assert said in found.text
    assert found.confirmed
    assert not found.doubts


@pytest.mark.parametrize("question", [
    "Which town has the higher price, Lyon or Nice or not?",  # a word that turns it
    "Which orders in Lyon or Nice have the highest price?",  # orders are asked for
    "What is the highest price in Lyon or Nice?",  # one number
    "Was the price higher in Lyon and Nice and Brest?",
    "Are there more pieces in Lyon and Nice than in Brest?",  # two on one side
    "How many pieces has Lyon fewer than Nice?",  # a difference
    "Was the price higher in 2024 or in 2026?",  # nothing of 2026
    "Which town has a higher price than Lyon?",  # one side
    "Were there more shipments in Lyon than in Brest?",  # nothing that is counted
    "Total pieces between August and February 2024",  # of two years
])  # fmt: skip
def test_what_is_no_choice_is_not_computed_as_one(compute: Compute, question: str) -> None:
    found = compute(ORDERS, question, "en")
    assert found is None or not found.text


def test_where_sums_and_means_differ_in_order_neither_is_guessed(compute: Compute) -> None:
    table = "Name;Town;Price\nA;Lyon;9\nB;Nice;5\nC;Nice;6\n"
    assert compute(table, "Which town has a higher price, Lyon or Nice?", "en") is None
    mean = compute(table, "Which town has the higher average price, Lyon or Nice?", "en")
    assert mean is not None
    assert "- Lyon: 9\n- Nice: 5.5" in mean.text


@pytest.mark.parametrize(("name", "unit", "number", "year"), [
    ("January–June 2023 › Costs", periods.HALF, 1, 2023),
    ("H2 (Oct–Mar) › Actual", periods.HALF, 2, 0),
    ("2024年下半年", periods.HALF, 2, 2024),
    ("premier semestre 2023", periods.HALF, 1, 2023),
    ("Oct-Dec 2022", periods.QUARTER, 4, 2022),
    ("Jan–Dec 2022", periods.YEAR, 0, 2022),
])  # fmt: skip
def test_names_of_halves_and_of_months_side_by_side(name: str, unit: str, number: int, year: int) -> None:
    found = periods.of_name(name, "en")
    assert found is not None
    assert (found.unit, found.number, found.year) == (unit, number, year)


def test_a_half_is_its_months_in_order() -> None:
    names = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul")
    headers = {1: "Shop", **dict(enumerate(names, 2))}
    shops = Subject("plan.csv", "plan.csv", headers, frozenset(range(2, 9)), {1: ["A1", "B1"]}, 1, 2)
    found = form("Total plan of A1 in the first half", shops)
    assert found is not None
    assert found.measures == (2, 3, 4, 5, 6, 7)
    months = enumerate(("Apr", "May", "Jun", "Jan", "Feb", "Mar"), 2)
    fiscal = replace(shops, headers={1: "Shop", **dict(months)}, numeric=frozenset(range(2, 8)))
    refused = form("Total plan of A1 in the first half", fiscal)
    assert refused is None or refused.kind == forms.SEVERAL


@pytest.mark.parametrize(("question", "column"), [
    ("Total wert, bestellt im März", 2),
    ("Total wert, bestellt im März und geliefert", 0),
])  # fmt: skip
def test_the_word_that_a_column_of_days_begins_with_decides(question: str, column: int) -> None:
    asked = AskedForm(question.replace("Total", "Summe"), DAYS, locales.choose("de").tables, "de")
    found = asked.form()
    assert (found.filters[0].column if found is not None else 0) == column


def test_where_no_word_decides_between_columns_of_days_both_are_named() -> None:
    asked = AskedForm("Summe Wert im März", DAYS, locales.choose("de").tables, "de")
    found = asked.form()
    assert found is None or found.kind == forms.SEVERAL
    assert asked.why() == "Several columns may be meant: Bestelldatum, Liefertermin."


@pytest.mark.parametrize(("question", "language", "kind", "measure"), [
    ("Average max temperature of H-1", "en", forms.AVERAGE, 2),
    ("Lowest max temp", "en", forms.LOWEST, 2),
    ("Total quantity read by sensor H-1", "en", forms.TOTAL, 4),
    ("Puissance moyenne", "fr", forms.AVERAGE, 5),
])  # fmt: skip
def test_short_names_of_columns(question: str, language: str, kind: str, measure: int) -> None:
    found = form(question, SENSORS, language)
    assert found is not None
    assert (found.kind, found.measure, found.grouped) == (kind, measure, False)


@pytest.mark.parametrize("question", ["Average temperature", "Total template of H-1"])
def test_what_a_short_name_may_not_mean(question: str) -> None:
    short = Subject("log.csv", "log.csv", {1: "sensor", 2: "temp", 3: "price"}, frozenset({2, 3}), {1: ["H-1"]}, 1, 1)
    found = form(question, SENSORS if question == "Average temperature" else short)
    assert found is None or found.kind == forms.SEVERAL


@pytest.mark.parametrize(("question", "language", "value"), [
    ("Summe Sales in Deutschland", "de", "Germany"),
    ("Total des Sales en Espagne", "fr", "Spain"),
    ("西班牙的Sales合计", "zh", "Spain"),
    ("Total des Sales en Autriche", "fr", ""),
])  # fmt: skip
def test_countries_in_another_language(question: str, language: str, value: str) -> None:
    found = form(question, SHOPS, language)
    assert (found.filters[0].value if found is not None else "") == value


def test_days_are_counted_where_each_row_is_another(compute: Compute) -> None:
    text = "Date;Weather\n2024-01-01;rain\n2024-01-02;sun\n2024-01-03;rain\n"
    found = compute(text, "How many days had rain?", "en")
    assert found is not None
    assert found.text.endswith(": 2")
    twice = compute(text.replace("01-02", "01-01"), "How many days had rain?", "en")
    assert twice is None


def test_days_with_the_year_first_are_days(compute: Compute) -> None:
    found = compute("Day;Rain\n2024/01/31;2\n2024/2/1;3\n2024/2/13;4\n", "Total rain in February 2024", "en")
    assert found is not None
    assert found.text.endswith(": 7")


def test_scripts_side_by_side_are_words_of_their_own() -> None:
    assert forms.tokens("2014年Enterprise细分") == ("2014", "年", "enterprise", "细", "分")


@pytest.mark.parametrize(("question", "locale", "said"), [
    ("How many towns are there?", "en", "Number of different values of Town: 3"),
    ("In how many towns is the price above 5?", "en", "Number of different values of Town where Price > 5: 3"),
    ("How many orders are there in Lyon?", "en", "Number of rows where Town = Lyon: 2"),
    ("How many rows are there in Lyon?", "en", "Number of rows where Town = Lyon: 2"),
    ("Wie viele Einträge gibt es für Lyon?", "de", "Anzahl der Zeilen, wobei Town = Lyon: 2"),
    ("How many people are there in Lyon?", "en", ""),
    ("How many workers are there in Lyon?", "en", ""),
    ("Wie viele Arbeiter gibt es in Lyon?", "de", ""),
    ("Wie viele Verkäufer hat Lyon?", "de", ""),
    ("Combien de vendeurs à Lyon ?", "fr", ""),
    ("Cuántos vendedores hay en Lyon?", "es", ""),
    ("How many towns per order?", "en", ""),
])  # fmt: skip
def test_what_is_counted_is_rows_only_where_the_noun_says_so(
    compute: Compute, question: str, locale: str, said: str
) -> None:
    found = compute(ORDERS, question, locale)
    assert (found.text if found is not None else "") == said


COUNTIES = """Name;Level of risk;Risk index;Votes 2021
Adams County, Ohio;High risk;7;10
Athens County, Ohio;Low risk;3;20
Allen County, Ohio;Some risk;5;30
Lima city, Ohio;Low risk;1;40
"""


@pytest.mark.parametrize(("question", "said"), [
    ("How many votes were there in total in Adams?", "Sum of Votes 2021 where Name = Adams County, Ohio: 10"),
    ("Total votes in Athens County", "Sum of Votes 2021 where Name = Athens County, Ohio: 20"),
    ("Total votes in Troy County", ""),
    ("What percentage of rows has a low level of risk?",
     "Share of Level of risk = Low risk in the number of rows, in percent: 50 %"),
])  # fmt: skip
def test_texts_are_named_by_the_words_that_distinguish_them(compute: Compute, question: str, said: str) -> None:
    found = compute(COUNTIES, question, "en")
    assert (found.text if found is not None else "") == said


@pytest.mark.parametrize("question", ["How many new counties are urban?", "How many other counties are there?"])
def test_common_words_are_no_names(compute: Compute, question: str) -> None:
    counties = "County;Kind\nAdams County;Rural\nBoone County;Urban\nNew County;Urban\nOther County;Rural\n"
    found = compute(counties, question, "en")
    assert found is None or not found.confirmed


@pytest.mark.parametrize(
    "question", ["How many departments have more than 2 employees?", "How many departments have at least 2 people?"]
)
def test_a_limit_of_no_column_computes_nothing_and_breaks_nothing(compute: Compute, question: str) -> None:
    assert compute("Employee;Department;Age;Salary\nAnn;HR;30;10\nBob;HR;40;20\nCy;IT;50;30\n", question, "en") is None


def test_by_before_several_texts_gives_each(compute: Compute) -> None:
    found = compute(ORDERS, "Total pieces by town for Lyon and Brest", "en")
    assert found is not None
    assert found.text == "Sum of Pieces by Town where Town = Lyon, Town = Brest:\n- Lyon: 11\n- Brest: 4"


@pytest.mark.parametrize(("question", "locale", "said"), [
    ("What is the price of A-3?", "en", "Rows where Order = A-3:\n- A-3: 6"),
    ("A-4的Price是多少？", "zh", "行（Order = A-4）:\n- A-4: 90"),
    ("What is the price in Lyon?", "en", ""),
    ("What is the price of A-9?", "en", ""),
    ("What is the risk of Athens County?", "en", ""),
])  # fmt: skip
def test_a_number_of_one_row_is_looked_up(compute: Compute, question: str, locale: str, said: str) -> None:
    found = compute(COUNTIES if "County" in question else ORDERS, question, locale)
    assert (found.text if found is not None else "") == said


def test_rows_are_named_by_texts_with_letters(compute: Compute) -> None:
    text = "Code;Quarter;Index\n1-1;Ruzafa;4\n2-1;Benimaclet;9\n3-1;Campanar;2\n"
    found = compute(text, "Which quarter has the highest index?", "en")
    assert found is not None
    assert found.text == "Highest Index:\n- Benimaclet: 9"
    found = compute(text, "the lowest index", "en")
    assert found is not None
    assert found.text == "Lowest Index:\n- Campanar: 2"


@pytest.mark.parametrize(("question", "said"), [
    ("How many different towns were seen?", "Number of different values of Town: 3"),
    ("Number of pieces in total nowadays in Lyon", "Sum of Pieces where Town = Lyon: 11"),
    ("What is the total weight in Lyon?", ""),
    ("Pieces and total weight in Lyon?", ""),
])  # fmt: skip
def test_a_word_beside_a_form_is_left_out_only_where_the_column_stands_there_too(
    compute: Compute, question: str, said: str
) -> None:
    found = compute(ORDERS, question, "en")
    assert (found.text if found is not None else "") == said
    assert found is None or found.doubts


FLAGS = (
    "Employee,City,Remote,Active,Days,Joined\nAda,Lyon,yes,TRUE,5,2024-01-05\nBen,Lyon,no,FALSE,7,\n"
    "Cem,Paris,no,TRUE,9,2024-02-01\nDia,Rome,,FALSE,11,2024-02-03\nEva,Lyon,no,FALSE,12,2024-02-09\n"
)
AKTIV = "Mitarbeiter;Ort;Aktiv;Tage\nAda;Lyon;ja;5\nBen;Lyon;nein;7\nCem;Paris;ja;9\nDia;Rom;ja;1\n"


@pytest.mark.parametrize(("table", "question", "locale"), [
    (FLAGS, "How many are remote?", "en"),
    (FLAGS, "How many employees are remote in Lyon?", "en"),
    (FLAGS, "How many employees have joined?", "en"),
    (AKTIV, "Wie viele Mitarbeiter sind aktiv?", "de"),
    (AKTIV, "Wie hoch ist die Summe der Tage der aktiven Mitarbeiter?", "de"),
    (AKTIV, "Wie viele sind aktiv?", "de"),
])  # fmt: skip
def test_a_column_that_says_which_rows_are_meant_is_not_passed_over(
    compute: Compute, table: str, question: str, locale: str
) -> None:
    assert compute(table, question, locale) is None


@pytest.mark.parametrize(("table", "question", "said"), [
    (FLAGS, "How many employees are in Lyon?", "Lyon: 3"),
    (FLAGS, "How many employees in the city Paris have joined?", "Paris: 1"),  # each of them has
    (FLAGS, "Which employee has the most days?", "- Eva: 12"),
    (FLAGS + "Total,,,,44,\n", "How many employees in a city are there?", "rows: 5"),
    ("Order date;Team;Value\n2024-01-05;A1;5\n2024-01-06;B1;7\n2024-01-07;A1;9\n", "Total value of orders", ": 21"),
    ("Order date;Team;Value\n2024-01-05;A1;5\n2024-01-06;B1;7\n2024-01-07;A1;9\n", "How many teams?", ": 2"),
])  # fmt: skip
def test_a_column_with_something_in_each_row_narrows_none(
    compute: Compute, table: str, question: str, said: str
) -> None:
    found = compute(table, question, "en")
    assert found is not None
    assert found.text.endswith(said)
    assert found.confirmed


def likened(kind: str, column: str = "") -> Reading:
    """What a model says of a question that asks for an operation over a column."""
    kinds = ("total", "average", "count", "highest", "lowest", "compare", "other")
    return Reading({one: 0.95 if one == kind else 0.008 for one in kinds}, {column: 0.4} if column else {})


STAFF = (
    "Employee,City,Remote,Active,Days\nAda,Lyon,yes,TRUE,5\nBen,Lyon,no,FALSE,7\n"
    "Cem,Paris,no,TRUE,9\nDia,Paris,yes,FALSE,11\nEva,Lyon,no,FALSE,12\n"
)


@pytest.mark.parametrize(("table", "question", "kind", "column"), [
    (STAFF, "How many employees are remote in Lyon?", "count", ""),
    (STAFF, "Total days of remote employees in Lyon", "total", "Days"),
    (STAFF, "Which city has the most days?", "highest", "Days"),  # no employee is asked for
    (FLAGS, "Which city has the most days?", "highest", "Days"),
    (FLAGS, "Total days joined?", "total", "Days"),  # one has not
])  # fmt: skip
def test_a_model_s_reading_passes_over_no_column(
    compute: Compute, table: str, question: str, kind: str, column: str
) -> None:
    found = compute(table, question, "en", likened(kind, column))
    assert found is None or "by City" in found.formula


@pytest.mark.parametrize(("question", "kind", "column", "said"), [
    ("How many employees work in Lyon?", "count", "", ": 3"),
    ("Total days of Ada", "total", "Days", ": 5"),
    ("Total days of employees in Lyon", "total", "Days", ": 24"),
    ("Total days joined in Paris?", "total", "Days", ": 9"),
    ("Which employee has the most days?", "highest", "Days", "- Eva: 12"),
])  # fmt: skip
def test_a_model_s_reading_is_computed_as_before(
    compute: Compute, question: str, kind: str, column: str, said: str
) -> None:
    found = compute(FLAGS, question, "en", likened(kind, column))
    assert found is not None
    assert found.text.endswith(said)
    assert found.confirmed


GOODS = "Product,Warranty (months),Price (EUR)\nPolaris Tracker,60,61200\nZenith Colorimeter,18,990\n"


@pytest.mark.parametrize(("question", "locale", "word", "said"), [
    ("How many months of warranty does the Polaris Tracker have?", "en", "months", None),  # its cell is quoted
    ("How many months of warranty have the products in total?", "en", "months", ": 78"),
    ("Wie viele Monate Garantie hat der Polaris Tracker?", "de", "garantie", ": 60"),
])  # fmt: skip
def test_a_reading_is_needed_for_no_cell_that_the_question_names(
    compute: Compute, question: str, locale: str, word: str, said: str | None
) -> None:
    alike = {"Product": 0.5, "Warranty (months)": 1.6, "Price (EUR)": 0.5}
    read = Reading({}, levels=dict.fromkeys((word, "monate"), alike))
    found = compute(GOODS, question, locale, read)
    assert (found and found.text[found.text.rindex(":") :]) == said
    assert found is None or any(f"{word} → Warranty" in one for one in found.doubts)


def test_a_word_of_a_column_of_days_is_not_taken_for_a_question_for_the_day(compute: Compute) -> None:
    rows = "Supplier;Invoice date;Amount\nAlder;2024-01-05;100\nBirch;2024-02-07;250\n"
    found = compute(rows, "Which supplier has the highest invoice amount?", "en")
    assert found is not None
    assert "Birch" in found.text
    again = f"{rows}Cedar;2024-02-07;20\n"  # of a day's rows or of the day
    assert compute(again, "On which invoice date was the amount highest?", "en") is None


def test_the_most_of_names_that_repeat_is_of_rows_and_sums_alike(compute: Compute) -> None:
    rows = "Programme;Amount\nRoads;50\nParks;60\nRoads;30\n"
    assert compute(rows, "Which programme has the highest amount?", "en") is None
    found = compute(f"{rows}Roads;70\n", "Which programme has the highest amount?", "en")
    assert found is not None
    assert found.text.endswith("- Roads: 150")
