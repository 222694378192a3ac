"""Rows under names of sections of which one holds the totals of the others are not added up."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote_ingestion.tables.computing import Computing
from support.table_engine import opened

PARTS = "Town;People;Share\n\n{first};;\nLyon;30;5\nNice;40;6\n\nMen;;\nBrest;20;7\nMetz;25;8\n"


@pytest.mark.parametrize(("first", "question", "said"), [
    ("Women", "Total people", ": 115"),
    ("Total", "Total people", ""),
    ("Total", "Average people", ""),
    ("Total", "What are the people of Brest?", ": 20"),
    ("Total", "Which town has the most people?", "- Nice: 40"),
])  # fmt: skip
def test_totals_of_sections_are_not_counted_again(tmp_path: Path, first: str, question: str, said: str) -> None:
    with opened(tmp_path, file=PARTS.format(first=first)) as (engine, own):
        found = Computing(engine, own.of).answer(question, "en")
    assert ("" if found is None else found.text).endswith(said)
    assert (found is None) == (not said)
