"""What computed numbers are counted in: it is said with them; numbers of several units are not added or compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from footnote.types.v1.table_pb2 import TableComputation
from footnote_ingestion.tables import formatting, forms
from footnote_ingestion.tables.computing import Computing
from footnote_ingestion.tables.forms import Filter, Form, Side
from footnote_text import locales
from support.table_engine import opened

Compute = Callable[..., TableComputation | None]


@pytest.fixture
def compute(tmp_path: Path) -> Compute:
    """Computes an answer, or a form over the first table, from files by their names."""

    def computed(question: str | Form, **texts: str) -> TableComputation | None:
        with opened(tmp_path, **texts) as (engine, own):
            computing = Computing(engine, own.of)
            if isinstance(question, Form):
                return computing._computed(engine.tables[0], question, locales.choose("en"))
            return computing.answer(question, "en")

    return computed


def rows(header: str, *values: object) -> str:
    lines = (f"Item {number};Hall {number % 3};{value}" for number, value in enumerate(values, 1))
    return f"Name;Place;{header}\n" + "\n".join(lines) + "\n"


def test_a_limit_says_which_rows_hold_no_number_to_compare(compute: Compute) -> None:
    """A row without a number, as below one that merged cells share, is in no list; that is said."""
    found = compute(Form(forms.COUNT, filters=[Filter(3, "<", 13.0)]), a=rows("Class", 12, "n/a", 20, 11))
    assert found is not None
    assert found.text.endswith(": 2")
    assert any("1 of 4 cells hold no number" in note for note in found.notes)
    of_measure = compute(Form(forms.COUNT, 3, filters=[Filter(3, "<", 13.0)]), c=rows("Class", 12, "n/a", 20, 11))
    assert of_measure is not None
    assert any("1 of 4 cells hold no number" in note for note in of_measure.notes)
    whole = compute(Form(forms.COUNT, filters=[Filter(3, "<", 13.0)]), b=rows("Class", 12, 20, 11))
    assert whole is not None
    assert not whole.notes


def test_a_scale_is_said_with_its_unit(compute: Compute) -> None:
    found = compute("What is the total of Revenue?", a=rows("Revenue (EUR million)", 1, 2.5, 3))
    assert found is not None
    assert found.text.endswith(": 6.5 × 10^6 EUR")


@pytest.mark.parametrize(("question", "wanted"), [
    ("Which names have a level below -5?", ["Item 1: -12", "Item 4: -20"]),
    ("Which names have a level of at most −12?", ["Item 1: -12", "Item 4: -20"]),
    ("Which names have a level above -15?", ["Item 1: -12", "Item 2: 0.1", "Item 3: 9"]),
    ("Which names have a level below 0.125?", ["Item 1: -12", "Item 2: 0.1", "Item 4: -20"]),
    ("Which names have a level above 5-10?", []),
])  # fmt: skip
def test_a_limit_keeps_its_sign_and_its_decimals(compute: Compute, question: str, wanted: list[str]) -> None:
    found = compute(question, a=rows("Level", -12, 0.1, 9, -20))
    lines = [] if found is None else found.text.splitlines()[1:]
    assert lines == [f"- {one}" for one in wanted]
    assert found is None or found.confirmed


@pytest.mark.parametrize(("header", "values", "limit", "wanted"), [
    ("Revenue (€ thousand)", (5500, 8100, 3), "5000", [1, 2]),  # as the column counts
    ("Revenue (€ thousand)", (5500, 8100, 3), "5000 euros", None),  # 5 or 5000
    ("Revenue (€ thousand)", (5500, 8100, 3), "€5000", None),
    ("Revenue (€ thousand)", (5500, 8100, 3), "EUR 5000", None),
    ("Revenue (€ thousand)", (5500, 8100, 3), "6 million euros", [2]),
    ("Revenue (€ thousand)", (5500, 8100, 3), "0.002 million", [1, 2, 3]),
    ("Revenue (€ million)", (5, 8, 3), "6 million", [2]),
    ("Revenue (€)", (5e6, 8e6, 3e6), "6 million euros", [2]),
    ("Revenue (€)", (5500, 8100, 3), "5000 euros", [1, 2]),
    ("Revenue (€)", (5500, 8100, 3), "5k", None),
    ("Revenue", (0.5, 0.3, 30.5), "25%", None),
    ("Revenue", ("50%", "30%", "20%"), "25%", [1, 2]),
    ("Revenue (%)", (50, 30, 20), "25 %", [1, 2]),
    ("Revenue (%)", (50, 30, 20), "25", [1, 2]),
    ("Revenue (kg)", (50, 30, 20), "25 kg", [1, 2]),
    ("Revenue (kg)", (50, 30, 20), "25kg", [1, 2]),
    ("Revenue (kg)", (50, 30, 20), "25 t", None),
    ("Revenue (km/h)", (50, 30, 20), "25 km/h", [1, 2]),
])  # fmt: skip
def test_a_limit_is_in_what_the_column_counts(
    compute: Compute, header: str, values: tuple[object, ...], limit: str, wanted: list[int] | None
) -> None:
    found = compute(f"Which names have a revenue above {limit}?", a=rows(header, *values))
    if wanted is None:
        assert found is None
        return
    assert found is not None
    assert [line.split(":")[0] for line in found.text.splitlines()[1:]] == [f"- Item {one}" for one in wanted]
    assert not found.doubts


def test_small_numbers_and_limits_are_not_rounded_away(compute: Compute) -> None:
    fees = rows("Fee", 0.0034, 0.0012, 0.0021)
    found = compute("What is the average fee?", a=fees)
    assert found is not None
    assert found.text.endswith(": 0.00223")
    found = compute("Which names have a fee above 0.00205?", a=fees)
    assert found is not None
    assert found.text.splitlines() == ["Rows where Fee > 0.00205:", "- Item 1: 0.0034", "- Item 3: 0.0021"]
    found = compute("Which names have a level above 1.0251?", a=rows("Level", 1.03, 1.01, 2))
    assert found is not None
    assert found.text.startswith("Rows where Level > 1.0251:")


@pytest.mark.parametrize(("value", "text"), [
    (0.0, "0"), (0.5, "0.5"), (0.125, "0.125"), (-0.004, "-0.004"), (0.99999, "1"), (1 / 3, "0.333"),
    (4e-9, "0.000000004"), (0.1 + 0.2 - 0.3, "0"), (-1e-12, "0"),
    (33.3333, "33.33"), (1e20, "100000000000000000000"), (-1234.5, "-1234.5"),
])  # fmt: skip
def test_numbers_as_they_are_written(value: float, text: str) -> None:
    assert formatting.written(value, "") == text


def test_a_weight_is_in_no_currency(compute: Compute) -> None:
    header = "Weight (kg);Cost;Currency"
    text = rows(header, "12;5;EUR", "7;4;USD", "3;6;GBP")
    found = compute("What is the total of Weight?", a=text)
    assert found is not None
    assert found.text.endswith(": 22 kg")
    cost = compute("What is the total of Cost?", a=text)
    assert cost is not None
    assert cost.mixed == "EUR, GBP, USD (Currency)"


def test_days_of_one_year_are_read_from_the_table(compute: Compute) -> None:
    text = rows("Sent;Units", "2025-03-04;5", "2025-03-31;4", "2025-04-01;6")
    found = compute("What is the total of units in March?", a=text)
    assert found is not None
    assert found.text.endswith(": 9")
    years = rows("Sent;Units", "2025-03-04;5", "2024-03-31;4", "2025-04-01;6")
    assert compute("What is the total of units in March?", a=years) is None


def test_different_scales_of_one_column_are_not_added(compute: Compute) -> None:
    found = compute("What is the total of Revenue?", a=rows("Revenue", "12 kg", "7 kg", "3 t"))
    assert found is not None
    assert found.mixed == "kg, t"
    assert not found.text


def test_files_in_different_units_are_not_compared(compute: Compute) -> None:
    one, two = rows("Stock", "5 kg", "6 kg", "7 kg"), rows("Stock", "5 t", "6 t", "8 t")
    found = compute("Compare stock between a.csv and b.csv", a=one, b=two)
    assert found is not None
    assert found.mixed == "kg, t"
    assert not found.text
    alike = compute("Compare stock between a.csv and b.csv", a=one, b=rows("Stock", "5 kg", "6 kg", "8 kg"))
    assert alike is not None
    assert alike.confirmed
    assert "- Item 3: +1 kg" in alike.text


def test_a_key_without_a_number_is_not_said_to_be_missing(compute: Compute) -> None:
    one, two = rows("Stock", 5, 6, 7, 8, 9, 1), rows("Stock", 5, "on order", 9, 8, 9)
    found = compute("Compare stock between a.csv and b.csv", a=one, b=two)
    assert found is not None
    assert found.confirmed
    assert "- Item 3: +2" in found.text
    assert list(found.notes) == ["The same in both: 3.", "Only in a.csv: Item 6.", "1 of 10 cells hold no number."]
    assert '"difference"' in found.query


def test_a_long_comparison_says_how_many_lines_are_left_out(compute: Compute) -> None:
    one, two = rows("Stock", *range(300)), rows("Stock", *range(1, 301))
    found = compute("Compare stock between a.csv and b.csv", a=one, b=two)
    assert found is not None
    assert found.text.count("\n") == 200
    assert any("100" in note for note in found.notes)


@pytest.mark.parametrize(("headers", "mixed"), [
    ("Revenue (EUR million);Costs (EUR)", "EUR, × 10^6 EUR"),
    ("Revenue (EUR);Costs (USD)", "EUR, USD"),
    ("Revenue (EUR);Costs (EUR)", ""),
])  # fmt: skip
def test_columns_in_different_units_are_not_subtracted(compute: Compute, headers: str, mixed: str) -> None:
    sides = (Side("Revenue", 2), Side("Costs", 3))
    form = Form(forms.DIFFERENCE, 2, filters=[Filter(1, "=", "Birk")], sides=sides, inner=forms.ROWS)
    found = compute(form, a=f"Name;{headers}\nAnna;5;3\nBirk;7;4\nClio;9;2\n")
    assert found is not None
    assert found.mixed == mixed
    assert found.confirmed is (not mixed)
    assert found.text.endswith(": 3 EUR") is (not mixed)


def test_rows_of_a_table_without_names_are_counted_by_their_first_cells(compute: Compute) -> None:
    found = compute("How many rows are there?", a="Year;Units\n2020;5\n2021;7\n2022;8\n")
    assert found is not None
    assert found.text.endswith(": 3")
    assert [list(one.ranges) for one in found.cells] == [["A2:A4"]]
