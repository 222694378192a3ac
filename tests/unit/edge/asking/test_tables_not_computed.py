"""What an answer says where its tables gave no number: why, instead of passages alone."""

import pytest
from footnote.types.v1.table_pb2 import TableComputation
from footnote_edge.asking.tables import why_not


@pytest.mark.parametrize(
    ("made", "expected", "said"),
    [
        (TableComputation(mixed="EUR, USD (Currency)"), False, "the numbers are in EUR, USD (Currency)"),
        (TableComputation(query="SELECT 1", confirmed=True, doubts=["Left out: margin."]), False, "Left out: margin."),
        (TableComputation(query="SELECT 1"), False, "do not give the same"),
        (TableComputation(), True, "Nothing was computed"),
    ],
)
def test_the_reason_is_said(made: TableComputation, expected: bool, said: str) -> None:
    (warning,) = why_not(made, expected=expected)
    assert said in warning


def test_a_question_that_tables_need_not_answer_has_no_warning() -> None:
    assert why_not(TableComputation(), expected=False) == []
