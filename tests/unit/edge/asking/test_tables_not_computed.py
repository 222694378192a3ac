"""What an answer says where its tables gave no number: why, instead of passages alone."""

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from footnote.augmentation.v1.augmentation_service_pb2 import BuildPromptResponse
from footnote.types.v1.table_pb2 import TableComputation
from footnote_edge.asking import tables
from footnote_edge.asking.tables import why_not
from footnote_edge.asking.windows import Window
from footnote_kit.errors import DeadlineExceeded, FootnoteError, NotOffered, Unavailable

EMPTY = TableComputation()


@pytest.mark.parametrize(
    ("made", "expected", "said"),
    [
        (TableComputation(mixed="EUR, USD (Currency)"), False, "the numbers are in EUR, USD (Currency)"),
        (TableComputation(query="SELECT 1", confirmed=True, doubts=["Left out: margin."]), False, "Left out: margin."),
        (TableComputation(query="SELECT 1"), False, "gave another result"),
        (TableComputation(query="SELECT 1", doubts=["Left out: margin."]), False, "gave another result"),
        (TableComputation(), True, "no single result was derived"),
        (
            TableComputation(notes=["Not understood in the question: owe."]),
            True,
            "Not understood in the question: owe.",
        ),
        (None, True, "the tables are unavailable now"),
    ],
)
def test_the_reason_is_said(made: TableComputation | None, expected: bool, said: str) -> None:
    (warning,) = why_not(made, expected=expected)
    assert said in warning


def test_a_question_that_tables_need_not_answer_has_no_warning() -> None:
    assert why_not(TableComputation(), expected=False) == []
    assert why_not(None, expected=False) == []


@pytest.mark.parametrize(
    ("failure", "made"), [(Unavailable("away"), None), (DeadlineExceeded("late"), None), (NotOffered("no"), EMPTY)]
)
async def test_only_a_failed_stage_could_not_be_asked(failure: FootnoteError, made: TableComputation | None) -> None:
    async def settings() -> None:
        pass

    async def window() -> Window:
        return Window()

    class Ingestion:
        async def ComputeAnswer(self, request: Any, timeout: float) -> None:
            raise failure

    question: Any = SimpleNamespace(
        scope=None, deadline=SimpleNamespace(share=lambda stage: 3.0),
        timings=SimpleNamespace(timed=lambda *stage: nullcontext()),
        tools=SimpleNamespace(stages=SimpleNamespace(ingestion=Ingestion())),
    )  # fmt: skip
    task = asyncio.ensure_future(settings())
    draft: Any = SimpleNamespace(
        text="What is the total?", settings=task, window=window(), built=BuildPromptResponse(),
        found=SimpleNamespace(chunks=[SimpleNamespace(chunk=SimpleNamespace(document_id="d", tables=["t"]))]),
    )  # fmt: skip
    assert (await tables._computed(question, draft))[0] == made
