"""Which texts of cells a question writes."""

from __future__ import annotations

import pytest
from footnote_ingestion.tables.literals import is_written, meant


@pytest.mark.parametrize(("text", "question"), [
    ("AA+", "How many are rated AA+?"),
    ("AA-", "How many are rated AA−, please?"),
    ("AA", "How many AA-rated ones are there?"),
    ("Lyon", "total for LYON"),
    ("Saint-Étienne", "Total de saint étienne"),
    ("Le\u0301on", "ventas de Léon"),
    ("mW", "how many mw"),
    ("rot", "Rot: wie viele?"),
    ("C#", "projects in C#."),
    ("R&D", "cost of R&D"),
    ("北京店", "北京店的总额"),
])  # fmt: skip
def test_a_text_is_written_with_its_signs(text: str, question: str) -> None:
    assert is_written(text, question)


@pytest.mark.parametrize(("text", "question"), [
    ("AA+", "How many are rated AA-?"),
    ("AA+", "How many are rated AA?"),
    ("AA", "How many are rated AA+?"),
    ("A+B", "sum of A-B"),
    ("CC", "projects in CC#"),
    ("-AA", "sum of AA"),
    ("mW", "how many MW"),
    ("AA", "how many Aa"),
    ("Lyon", "sum of Lyons"),
    ("+-", "sum of +-"),
])  # fmt: skip
def test_a_text_with_other_signs_or_capitals_is_not_written(text: str, question: str) -> None:
    assert not is_written(text, question)


def test_of_several_texts_the_only_one_that_is_written_is_meant() -> None:
    assert meant(["AA", "AA+", "AA-"], "rated AA-") == "AA-"
    assert meant(["AA", "AA+"], "rated AA-") is None
    assert meant(["AA", "AA+"], "rated AA") == "AA"
    assert meant(["Lyon", "LYON"], "rated Lyon") is None
