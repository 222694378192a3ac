"""What an answer says where its tables gave no number: why, instead of passages alone."""

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from footnote.augmentation.v1.augmentation_service_pb2 import BuildPromptResponse
from footnote.generation.v1.generation_service_pb2 import WriteTableQueryResponse
from footnote.ingestion.v1.ingestion_service_pb2 import ComputeAnswerRequest, ComputeAnswerResponse
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.table_reading_pb2 import TableReading
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote.types.v1.table_pb2 import TableComputation, TableDescription
from footnote_edge.asking import tables
from footnote_edge.asking.answerers import Answerer
from footnote_edge.asking.tables import why_not
from footnote_kit.errors import DeadlineExceeded, FootnoteError, NotOffered, Unavailable

EMPTY = TableComputation()
CHUNKS: Any = [SimpleNamespace(chunk=SimpleNamespace(document_id="d", tables=["t"]))]


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

    async def answerer() -> Answerer:
        return Answerer()

    class Ingestion:
        async def ComputeAnswer(self, request: Any, timeout: float) -> None:
            raise failure

    question: Any = SimpleNamespace(
        scope=None, deadline=SimpleNamespace(share=lambda stage: 3.0, remaining=lambda: 9.0),
        timings=SimpleNamespace(timed=lambda *stage: nullcontext()),
        tools=SimpleNamespace(stages=SimpleNamespace(ingestion=Ingestion())),
    )  # fmt: skip
    task = asyncio.ensure_future(settings())
    draft: Any = SimpleNamespace(
        text="What is the total?", settings=task, answerer=answerer(), built=BuildPromptResponse(),
    )  # fmt: skip
    assert (await tables._computation(question, draft, CHUNKS))[0] == made


@pytest.mark.parametrize(
    ("answerer", "second", "given"),
    [
        (Answerer(), "", "by words"),
        (Answerer(reads_tables=True), "by meaning", "by meaning"),
        (Answerer(reads_tables=True), "", "by words"),
        (Answerer(is_model=True), "by a model", "by a model"),
        (Answerer(is_model=True), "", "by words"),
        (Answerer(reads_tables=True), Unavailable("away"), "by words"),
        (Answerer(is_model=True), Unavailable("away"), "by words"),
        (Answerer(is_model=True), NotOffered("no queries"), "by words"),
    ],
)
async def test_what_leaves_words_out_is_given_where_nothing_reads_the_question_better(
    answerer: Answerer, second: str | FootnoteError, given: str
) -> None:
    doubtful = TableComputation(formula="by words", confirmed=True, doubts=["It leaves out: booked."])
    found = isinstance(second, str) and bool(second)
    better = TableComputation(formula=second, confirmed=True) if found else TableComputation()

    class Ingestion:
        async def ComputeAnswer(self, request: ComputeAnswerRequest, timeout: float) -> ComputeAnswerResponse:
            first = not request.query and not request.HasField("reading")
            tables = [TableDescription(view="t1")]
            return ComputeAnswerResponse(computation=doubtful if first else better, tables=tables)

    class Generation:
        async def WriteTableQuery(self, request: Any, timeout: float) -> WriteTableQueryResponse:
            if isinstance(second, FootnoteError):
                raise second
            if answerer.is_model:
                return WriteTableQueryResponse(query="SELECT 1", model="m")
            return WriteTableQueryResponse(reading=TableReading())

    async def value(one: Any) -> Any:
        return one

    question: Any = SimpleNamespace(
        scope=Scope(), deadline=SimpleNamespace(share=lambda stage: 3.0, remaining=lambda: 9.0),
        timings=SimpleNamespace(timed=lambda *stage: nullcontext()),
        tools=SimpleNamespace(stages=SimpleNamespace(ingestion=Ingestion(), generation=Generation())),
        meter=SimpleNamespace(charge_beside=lambda usage: None),
    )  # fmt: skip
    draft: Any = SimpleNamespace(
        text="What is the average amount booked?", settings=value(SimpleNamespace(model=GenerationSettings())),
        answerer=value(answerer), built=BuildPromptResponse(), remembered=SimpleNamespace(bounds=TextBounds()),
    )  # fmt: skip
    made, _ = await tables._computation(question, draft, CHUNKS)
    assert made is not None
    assert made.formula == given
