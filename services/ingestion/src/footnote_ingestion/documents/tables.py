"""Describes, reads and queries tables in the sandbox, for callers that may read the documents."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress

from footnote.ingestion.v1 import ingestion_service_pb2 as pb
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.table_reading_pb2 import TableReading
from footnote_kit.access import Access
from footnote_kit.errors import FailedPrecondition, FootnoteError, InvalidArgument, NotFound
from footnote_kit.telemetry import span

from footnote_ingestion.documents.extraction import Extraction
from footnote_ingestion.documents.permissions import Permissions
from footnote_ingestion.documents.uploads import file_error
from footnote_ingestion.parsers.base import Limits
from footnote_ingestion.parsers.failures import OUT_OF_MEMORY, TIMEOUT, ParseError
from footnote_ingestion.ports import WorkerPool
from footnote_ingestion.tables.questions import COSTLY, NO_TABLE, REFUSED, Question
from footnote_ingestion.tables.traced_queries import record_query
from footnote_ingestion.worker.wire import Job

MOST_DOCUMENTS = 20


class Tables:
    """Queries tables in processes of the tenant's own; `seconds` is the time limit of one statement."""

    def __init__(self, permissions: Permissions, extraction: Extraction, workers: WorkerPool, seconds: float) -> None:
        self._permissions = permissions
        self._extraction = extraction
        self._workers = workers
        self._seconds = seconds

    async def describe(self, scope: Scope, document_id: str) -> pb.DescribeTablesResponse:
        """Return the tables of a document."""
        return pb.DescribeTablesResponse.FromString(await self._ask(scope, [document_id]))

    async def read(self, scope: Scope, document_id: str, number: int, after: int, size: int) -> pb.ReadTableResponse:
        """Return `size` rows of a table, after place `after`."""
        found = await self._ask(scope, [document_id], number=number, after=after, size=size)
        if not found:
            raise _no_table(number)
        return pb.ReadTableResponse.FromString(found)

    async def query(self, scope: Scope, document_ids: Sequence[str], query: str) -> pb.QueryTablesResponse:
        """Return the result of a statement over the tables of documents."""
        found = await self._ask(scope, document_ids, query=query)
        if not found:
            raise InvalidArgument.field("document_ids", "must name a document that has tables")
        answer = pb.QueryTablesResponse.FromString(found)
        record_query(answer.result.query)
        return answer

    async def compute(
        self,
        scope: Scope,
        question: str,
        document_ids: Sequence[str],
        locale: str,
        query: str = "",
        reading: TableReading | None = None,
    ) -> pb.ComputeAnswerResponse:
        """Return the answer to a question computed from documents' tables.

        It is computed by a model's `query` where there is one, else by what an embedding model says, else by its words.
        """
        there: list[str] = []
        for one in dict.fromkeys(document_ids):
            with suppress(NotFound):
                there.append((await self._permissions.document(scope, one, Access.READ)).document.id)
        said = b64encode(reading.SerializeToString()).decode("ascii") if reading is not None else ""
        found = await self._ask(scope, there, query=query, question=question, locale=locale, reading=said)
        answer = pb.ComputeAnswerResponse.FromString(found)
        record_query(answer.computation.query)
        return answer

    async def _ask(
        self,
        scope: Scope,
        document_ids: Sequence[str],
        query: str = "",
        number: int = 0,
        after: int = 0,
        size: int = 0,
        question: str = "",
        locale: str = "",
        reading: str = "",
    ) -> bytes:
        """Return the answer to a question about documents, empty if none of them has tables."""
        stored = [await self._permissions.document(scope, one, Access.READ) for one in dict.fromkeys(document_ids)]
        async with AsyncExitStack() as stack:
            archives: list[str] = []
            files: list[str] = []
            documents: list[tuple[str, str, str]] = []
            for one in stored:
                try:
                    path = await stack.enter_async_context(self._extraction.tables(one))
                    if path is not None and question:
                        files.append(str(await stack.enter_async_context(self._extraction.file(one))))
                except FileNotFoundError:  # deleted or replaced meanwhile
                    continue
                if path is not None:
                    archives.append(str(path))
                    documents.append((one.document.id, one.document.filename, one.document.document_type))
            if not archives:
                return b""
            asked = Question(documents, self._seconds, query, number, after, size, question, locale, reading)
            job = Job("tables", "", "", "", Limits(), (*archives, *files), asked.line())
            with span("ingestion.tables"):
                try:
                    return await self._workers.last(job, scope.tenant_id, scope.user_id)
                except ParseError as error:
                    raise _error(error, number, "query" if query or not reading else "reading") from error


def _error(error: ParseError, number: int, field: str) -> FootnoteError:
    if error.reason == REFUSED:
        return InvalidArgument.field(field, error.message)
    if error.reason in (COSTLY, TIMEOUT, OUT_OF_MEMORY):
        what = error.message if error.reason == COSTLY else "takes more time or memory than a query may"
        return FailedPrecondition(f"The query {what}", reason="QUERY_TOO_COSTLY")
    return _no_table(number) if error.reason == NO_TABLE else file_error(error)


def _no_table(number: int) -> NotFound:
    return NotFound(f"The document has no table {number}", reason="TABLE_NOT_FOUND")
