"""A row is no answer to a question that several rows answer together: a total, a mean, how many rows there are."""

from __future__ import annotations

import pytest
from footnote.types.v1.answer_pb2 import Source
from footnote_generation.extractive.compose import Draft, draft
from footnote_text.intents import Intent
from support.sources_with_tables import with_tables


def drafted(question: str, row: str) -> Draft:
    """Return the answer from a row, with numbers in its cells, whose first column names it."""
    source = with_tables(Source(number=1, text=row, filename="budget.csv", score=0.9))
    source.tables[0].columns[0].names_rows = True
    for anchor in source.anchors:
        text = row[anchor.span.start : anchor.span.end]
        if text.isdecimal():
            anchor.cell.number = float(text)
    return draft(question, [source])


@pytest.mark.parametrize(("question", "row"), [
    ("What do Rent and Rent of computers cost altogether?", "Account: Rent of computers; Budget: 77500"),
    ("Was kosten Miete und Miete der Rechner zusammen?", "Konto: Miete der Rechner; Kosten: 77500"),
    ("What is the average budget for Rent over all years?", "Account: Rent; Budget: 2300"),
])  # fmt: skip
def test_a_part_of_what_is_asked_for_is_said_to_be_no_sum(question: str, row: str) -> None:
    made = drafted(question, row)
    assert made.wish is Intent.TOTAL
    assert made.groups == (made.sentences,)


@pytest.mark.parametrize(("question", "row"), [
    ("What is the average budget for Rent?", "Account: Rent; Average budget: 2300"),
    ("What is the average budget for Rent?", "Konto: Rent; Budget: 2300; Mittelwert: 5"),
    ("What is the total budget?", "Account: Total; Budget: 2300"),
    ("What is the budget for Rent?", "Account: Rent; Budget: 2300"),
    ("What does budget for Rent mean?", "Account: Rent; Budget: 2300"),
    ("How many accounts has Rent?", "Budget: Rent; Accounts: 12; Year: 2020"),
])  # fmt: skip
def test_a_row_that_says_it_answers(question: str, row: str) -> None:
    made = drafted(question, row)
    assert made.wish is None
    assert made.sentences


def test_one_row_is_no_number_of_rows() -> None:
    row = "Account: Rent; Budget: 2300; Spent: 5"
    assert not drafted("How many accounts have spent a budget of more than 2000?", row).sentences
