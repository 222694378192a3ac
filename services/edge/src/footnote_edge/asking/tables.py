"""Computes a question's answer from the tables of its passages, if they give one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from footnote.augmentation.v1.augmentation_service_pb2 import BuildPromptResponse
from footnote.generation.v1.generation_service_pb2 import (
    GenerateCompleted,
    WriteTableQueryRequest,
    WriteTableQueryResponse,
)
from footnote.ingestion.v1.ingestion_service_pb2 import ComputeAnswerRequest, ComputeAnswerResponse
from footnote.stages.v1.passage_pb2 import ScoredChunk
from footnote.types.v1.answer_pb2 import (
    PIPELINE_STAGE_GENERATION,
    PIPELINE_STAGE_INGESTION,
    PIPELINE_STAGE_RETRIEVAL,
    Usage,
)
from footnote.types.v1.table_pb2 import TableComputation
from footnote_kit.errors import FootnoteError, NotOffered
from footnote_kit.logs import get_logger
from footnote_kit.usages import add_usage, usage_in

from footnote_edge.asking import table_answer
from footnote_edge.asking.question import Draft, Question
from footnote_edge.asking.searching import below_floor
from footnote_edge.asking.side_calls import charged

_log = get_logger(__name__)
_COMPUTE_SECONDS = 15.0
_WRITE_SECONDS = 20.0
_WRITINGS = 2
"""Queries that a model writes for one question: the first, and one repair."""
_MOST_COMPUTED = 2000
"""Maximum characters of a question that is computed from tables."""


async def compute(question: Question, draft: Draft) -> Draft:
    """Compute the answer from tables; without one, the passages answer the question.

    Tables are tried if the question's words ask for a computation, also those of passages below the search's floor;
    and, where a model answers or generation reads questions by meaning, if the best passage is from a table.
    """
    answerer = await draft.answerer
    begins = (answerer.is_model or answerer.reads_tables) and table_answer.begins_with_table(draft.found.chunks)
    if not (draft.plan.table_words or begins):
        return draft
    # What a model may be sent is bounded by all collections searched, so passages below the floor are within it.
    chunks = draft.found.chunks or await below_floor(question, draft)
    computation, usage = await _computation(question, draft, chunks)
    draft = replace(draft, usage=draft.usage_with(usage))
    strict = (await draft.settings).model.strict
    placed = computation is not None and table_answer.is_placed(computation, chunks)
    if computation is None or not placed or not computation.confirmed or (computation.doubts and strict):
        by_words = bool(draft.plan.table_words) and not answerer.is_model
        expected = by_words and table_answer.begins_with_table(draft.found.chunks)
        return replace(draft, warnings=why_not(computation, expected=expected))
    locale = draft.built.prompt.locale
    answer, added = table_answer.answer_of(computation, draft.built.sources, chunks, locale)
    built = BuildPromptResponse()
    built.CopyFrom(draft.built)
    built.sources.extend(added)
    return replace(draft, built=built, computed=GenerateCompleted(answer=answer))


def why_not(computation: TableComputation | None, *, expected: bool) -> list[str]:
    """Return why no computed answer is given; where one is `expected`, passages alone may mislead.

    None means that the tables could not be asked.
    """
    if computation is None:
        said = "Nothing was computed: the tables are unavailable now. Ask again later."
        return [f"{said} Passages are quoted as they stand."] if expected else []
    if computation.mixed:
        return [f"Nothing was computed: the numbers are in {computation.mixed}."]
    if computation.query and not computation.confirmed:
        return ["A computed answer is left out: computing it again from the file's cells gave another result."]
    if computation.doubts:
        return [f"A computed answer is left out in strict mode. {' '.join(computation.doubts)}"]
    said = "Nothing was computed: no single result was derived from the question and the tables found."
    return [" ".join([said, *computation.notes, "Passages are quoted as they stand."])] if expected else []


async def _computation(
    question: Question, draft: Draft, chunks: Sequence[ScoredChunk]
) -> tuple[TableComputation | None, Usage]:
    """Return what the tables of passages' documents give, and the usage of the model calls for it.

    First ingestion derives a query from the question's words. If it finds none, or one that leaves words out, it
    derives one from what generation's embedding model says of the question; or the answering model, if there is one,
    writes a query and repairs it once.
    A confirmed one of the words stands where nothing better is found or a later call fails. The computation is empty if
    none is found, None if a stage failed. A third-party stage may have no tables, or write no queries; that is no
    degradation.
    """
    usage = Usage()
    documents = table_answer.documents_of(chunks)
    if not documents or len(draft.text) > _MOST_COMPUTED:
        return TableComputation(), usage
    request = ComputeAnswerRequest(
        scope=question.scope, question=draft.text, document_ids=documents, locale=draft.built.prompt.locale
    )
    settings = await draft.settings
    answerer = await draft.answerer
    by_words = TableComputation()
    try:
        answer = await _ask_tables(question, request)
        tables = answer.tables
        if answer.computation.doubts:  # what reads the question better is asked first
            by_words.CopyFrom(answer.computation)
            answer.ClearField("computation")
        if tables and answerer.reads_tables:
            asked = WriteTableQueryRequest(
                scope=question.scope, question=draft.text, tables=tables, settings=settings.model,
                bounds=draft.remembered.bounds,
            )  # fmt: skip
            written = await _write_query(question, draft, asked)
            if written.HasField("reading"):
                request.reading.CopyFrom(written.reading)
                answer = await _ask_tables(question, request)
        for _ in range(_WRITINGS if answerer.is_model else 0):
            if answer.computation.confirmed or answer.computation.mixed or not (answer.tables or answer.problem):
                break
            written = await _write_query(
                question,
                draft,
                WriteTableQueryRequest(
                    scope=question.scope, question=draft.text, tables=tables, settings=settings.model,
                    bounds=draft.remembered.bounds, query=request.query, problem=answer.problem,
                ),
            )  # fmt: skip
            add_usage(usage, written.usage)
            if not written.query:
                break
            request.query = written.query
            answer = await _ask_tables(question, request)
            answer.computation.model = written.model
    except NotOffered:
        return by_words if by_words.confirmed else TableComputation(), usage
    except FootnoteError as error:
        add_usage(usage, usage_in(error))
        _log.warning("tables_not_asked", reason=error.reason)
        return by_words if by_words.confirmed else None, usage
    return by_words if by_words.confirmed and not answer.computation.confirmed else answer.computation, usage


async def _ask_tables(question: Question, request: ComputeAnswerRequest) -> ComputeAnswerResponse:
    timeout = min(_COMPUTE_SECONDS, question.deadline.remaining() / 3)
    with question.timings.timed(PIPELINE_STAGE_INGESTION, "compute"):
        return await question.tools.stages.ingestion.ComputeAnswer(request, timeout=timeout)


async def _write_query(question: Question, draft: Draft, request: WriteTableQueryRequest) -> WriteTableQueryResponse:
    timeout = min(_WRITE_SECONDS, question.deadline.share(PIPELINE_STAGE_RETRIEVAL))
    with question.timings.timed(PIPELINE_STAGE_GENERATION, "query"):
        call = question.tools.stages.generation.WriteTableQuery(request, timeout=timeout)
        return await charged(question, draft, call, sum(one.ByteSize() for one in request.tables))
