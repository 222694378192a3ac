"""Computed answers say what a table says of its numbers, where that makes exceptions."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote_ingestion.tables.computing import Computing
from support.table_engine import opened

ROWS = "Segment;2019\nStreaming;5000\nCinemas;7000\nPrint;300\n"


@pytest.mark.parametrize(
    ("above", "total"),
    [
        ("(in thousands, except per share data)\n\n", "12300 (in thousands, except per share data)"),
        ("(in thousands)\n\n", "12300 × 10^3"),
        ("", "12300"),
    ],
)
def test_a_total_says_the_tables_note(above: str, total: str, tmp_path: Path) -> None:
    with opened(tmp_path, segments=above + ROWS) as (engine, own):
        found = Computing(engine, own.of).answer("What is the total of 2019?", "en")
    assert found is not None
    assert found.text.endswith(f": {total}")


@pytest.mark.parametrize(
    ("head", "total"),
    [
        ("Segment, EUR million", "74 × 10^6 EUR"),
        ("Konzern TEUR", "74 × 10^3 EUR"),
        ("Revenue €m", "74 × 10^6 EUR"),
        ("Revenue by segment, EUR million;\nSegment", "74 × 10^6 EUR"),
        ("Umsatz in TEUR 2023;\nSegment", "74 × 10^3 EUR"),
        ("(EUR million)", "74 × 10^6 EUR"),
        ("Segment in Mio. EUR", "74 × 10^6 EUR"),
    ],
)
def test_a_total_is_as_large_as_a_title_or_corner_says(head: str, total: str, tmp_path: Path) -> None:
    with opened(tmp_path, segments=f"{head};2023\nNord;48\nSüd;12\nOst;9\nWest;5\n") as (engine, own):
        found = Computing(engine, own.of).answer("Total 2023", "en")
    assert found is not None
    assert found.text.endswith(f": {total}")


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("How many segments have sales above 3000?", "2"),
        ("How many segments have sales below 6 million?", ""),
        ("How many segments have sales above 3000 euros?", ""),
    ],
)
def test_a_limit_with_a_magnitude_is_unclear_where_there_are_exceptions(
    question: str, found: str, tmp_path: Path
) -> None:
    rows = "(in thousands, except per share data)\n\n" + ROWS.replace("2019", "Sales")
    with opened(tmp_path, segments=rows) as (engine, own):
        answer = Computing(engine, own.of).answer(question, "en")
    assert (answer is not None) is bool(found)
    assert answer is None or found in answer.text
