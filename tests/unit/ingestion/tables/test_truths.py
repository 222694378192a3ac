"""Questions for the rows of which a column of truth values says true or false: "active", "not active"."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote.types.v1.table_pb2 import TableComputation
from footnote_ingestion.tables.computing import Computing
from support.table_engine import opened

FLAGS = (
    "Employee,City,Active,Days\nAda,Lyon,TRUE,5\nBen,Lyon,FALSE,7\nCem,Paris,TRUE,9\nDia,Rome,FALSE,11\n"
    "Eva,Lyon,FALSE,12\n"
)
LIEUX = "lieu;ouvert;places\nA;true;5\nB;false;7\nC;true;9\n"


def computed(folder: Path, text: str, question: str, locale: str) -> TableComputation | None:
    with opened(folder, file=text) as (engine, own):
        return Computing(engine, own.of).answer(question, locale)


@pytest.mark.parametrize(("table", "question", "locale", "said"), [
    (FLAGS, "How many employees are active?", "en", "where Active = true: 2"),
    (FLAGS, "How many employees are not active?", "en", "where Active = false: 3"),
    (FLAGS, "What is the sum of days of active employees?", "en", "where Active = true: 14"),
    (FLAGS, "What is the sum of days of employees that are not active in Lyon?", "en", "Active = false: 19"),
    (FLAGS, "Which active employee has the most days?", "en", "- Cem: 9"),
    (FLAGS, "What share of the employees is active?", "en", "in percent: 40 %"),
    (LIEUX, "Combien de lieux ne sont pas ouverts ?", "fr", ": 1"),
    (LIEUX, "Quel lieu ouvert a le plus de places ?", "fr", "- C: 9"),
    ("员工,在职,天数\n甲,TRUE,5\n乙,FALSE,7\n丙,FALSE,9\n", "不在职员工的天数总和是多少？", "zh", ": 16"),
])  # fmt: skip
def test_a_truth_value_is_asked_for_by_its_column_s_name(
    tmp_path: Path, table: str, question: str, locale: str, said: str
) -> None:
    found = computed(tmp_path, table, question, locale)
    assert found is not None
    assert found.text.endswith(said)
    assert found.confirmed
    assert bool(found.doubts) == ("ouverts" in question)  # another form of the column's word


@pytest.mark.parametrize(("table", "question", "locale"), [
    (FLAGS, "How many employees are only active?", "en"),
    (FLAGS, "How many employees are not without active?", "en"),
    (FLAGS + "Fay,Rome,,3\n", "How many employees are not active?", "en"),  # of one nothing is known
    ("社員,有効,日数\nA,TRUE,5\nB,FALSE,7\nC,FALSE,9\n", "有効でない社員は何人ですか？", "ja"),
])  # fmt: skip
def test_no_truth_value_is_guessed(tmp_path: Path, table: str, question: str, locale: str) -> None:
    assert computed(tmp_path, table, question, locale) is None
