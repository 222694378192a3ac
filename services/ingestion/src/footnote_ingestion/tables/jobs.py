"""Table jobs in the sandbox: answers questions about kept tables."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from footnote.ingestion.v1.ingestion_service_pb2 import (
    ComputeAnswerResponse,
    DescribeTablesResponse,
    QueryTablesResponse,
    ReadTableResponse,
)
from footnote.stages.v1.table_reading_pb2 import TableReading
from footnote.types.v1.table_pb2 import QueryResult, TableComputation, TableDescription
from footnote_kit.paging import PAGE_BYTES, fitting
from google.protobuf.struct_pb2 import ListValue

from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.failures import ParseError
from footnote_ingestion.tables import periods
from footnote_ingestion.tables.candidates import Reading
from footnote_ingestion.tables.collected import Collector, RowData, TableData
from footnote_ingestion.tables.computing import Computing
from footnote_ingestion.tables.engine import Engine, TooCostly
from footnote_ingestion.tables.formatting import is_total
from footnote_ingestion.tables.opened import Archive
from footnote_ingestion.tables.questions import COSTLY, NO_TABLE, REFUSED, Question
from footnote_ingestion.tables.session import Session
from footnote_ingestion.tables.statements import RefusedStatement, checked
from footnote_ingestion.tables.written_queries import WrittenQuery

_MOST_TABLES = 50


def load() -> None:
    """Load what questions about tables need, so that workers have it when they are forked."""
    is_total("total")
    periods.load()
    checked("SELECT 1", ())


class OwnRows:
    """The rows of documents' tables, read from their own files; by document its type and the file."""

    def __init__(self, files: Mapping[str, tuple[str, str]]) -> None:
        self._files = files
        self._read: dict[str, dict[int, list[RowData]]] = {}

    def of(self, table: TableDescription) -> Iterable[RowData]:
        """Return the rows of a table; a document is read once."""
        if (found := self._read.get(table.document_id)) is None:
            found = self._read[table.document_id] = {}
            collector = Collector(self._taking(found))
            kind, path = self._files[table.document_id]
            parser_for(kind).parse(Path(path), BlockWriter(collector.add, Limits()), Limits())
        return found.get(table.number, ())

    def _taking(self, found: dict[int, list[RowData]]) -> Callable[[TableData, RowData], None]:
        return lambda table, row: found.setdefault(table.number, []).append(row)


def answered(line: str, archives: Sequence[str], session: Session) -> bytes:
    """Return the serialised answer to a question; raises `ParseError` for an invalid question."""
    question = Question(**json.loads(line))
    files = dict(zip([one[0] for one in question.documents], archives[len(question.documents) :], strict=False))
    found = [Archive(Path(path), of[0], of[1]) for path, of in zip(archives, question.documents, strict=False)]
    try:
        with Engine(found, session, question.seconds) as engine:
            return _answer(question, engine, files)
    except RefusedStatement as error:
        raise ParseError(REFUSED, str(error), "-") from None
    except TooCostly as error:
        raise ParseError(COSTLY, str(error), "-") from None


def _reading(encoded: str) -> Reading:
    try:
        return Reading.of(TableReading.FromString(b64decode(encoded)))
    except ValueError as error:
        raise ParseError(REFUSED, str(error), "-") from None


def _computed(question: Question, engine: Engine, files: Mapping[str, str]) -> ComputeAnswerResponse:
    own = OwnRows({of[0]: (of[2], files[of[0]]) for of in question.documents})
    computing = Computing(engine, own.of)
    if not question.query:
        made = _reading(question.reading) if question.reading else None
        found = computing.answer(question.question, question.locale, made)
        if found is not None:  # a doubtful one may be replaced by what a model makes of the tables
            return ComputeAnswerResponse(computation=found, tables=engine.tables[:_MOST_TABLES] if found.doubts else ())
        why = TableComputation(notes=[computing.why]) if computing.why else None
        return ComputeAnswerResponse(computation=why, tables=engine.tables[:_MOST_TABLES])
    written = WrittenQuery(engine, own.of, computing.subject)
    try:
        return ComputeAnswerResponse(computation=written.answer(question.question, question.query, question.locale))
    except RefusedStatement as refused:
        return ComputeAnswerResponse(problem=f"The statement {refused}.")


def _answer(question: Question, engine: Engine, files: Mapping[str, str]) -> bytes:
    if question.question:
        return _computed(question, engine, files).SerializeToString()
    if question.query:
        ran = engine.query(question.query)
        result = QueryResult(columns=ran.columns, query=ran.query)
        rows = [_row(values) for values in ran.rows]
        shown = fitting(rows, PAGE_BYTES - result.ByteSize())
        result.rows.extend(rows[:shown])
        result.truncated = ran.truncated or shown < len(rows)
        return QueryTablesResponse(result=result).SerializeToString()
    if not question.number:
        return DescribeTablesResponse(tables=engine.tables).SerializeToString()
    table = next((table for table in engine.tables if table.number == question.number), None)
    if table is None:
        raise ParseError(NO_TABLE, f"The document has no table {question.number}.", "-")
    found = engine.rows(question.number, question.after, question.size)
    shown = fitting(found, PAGE_BYTES - table.ByteSize())
    return ReadTableResponse(table=table, rows=found[:shown], total_size=table.rows).SerializeToString()


def _row(values: Sequence[Any]) -> ListValue:
    row = ListValue()
    row.extend(values)
    return row
