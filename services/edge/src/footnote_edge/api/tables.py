"""Tables in documents, as data."""

from footnote.edge.v1 import tables_pb2 as pb
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote_kit.context import Call
from footnote_kit.errors import InvalidArgument, NotFound, NotOffered
from footnote_kit.paging import Page, fitting, sequence

from footnote_edge.api.services import Services, caller


class TablesApi:
    """RPCs about tables. Edge checks access to their documents as exactly as for the documents themselves."""

    services: Services

    async def ListTables(self, request: pb.ListTablesRequest, context: Call) -> pb.ListTablesResponse:
        """List the tables of a document."""
        scope = caller()
        page = Page.of(scope, request, kinds=(sequence,))
        await self.services.documents.get(scope, request.document_id)
        try:
            found = await self.services.stages.ingestion.DescribeTables(
                ingestion.DescribeTablesRequest(scope=scope, document_id=request.document_id), timeout=self._timeout
            )
        except NotOffered:  # by a third-party ingestion stage: it knows no tables
            return pb.ListTablesResponse()
        after = page.position[0] if page.position else 0
        tables = found.tables[after : after + page.size]
        tables = tables[: fitting(tables)]
        more = after + len(tables) < len(found.tables)
        return pb.ListTablesResponse(
            tables=tables,
            next_page_token=page.token((after + len(tables),)) if more else "",
            total_size=len(found.tables),
        )

    async def GetTable(self, request: pb.GetTableRequest, context: Call) -> pb.GetTableResponse:
        """Return a table with a page of its rows."""
        scope = caller()
        await self.services.documents.get(scope, request.document_id)
        wanted = ingestion.ReadTableRequest(
            scope=scope,
            document_id=request.document_id,
            number=request.number,
            page_size=request.page_size,
            page_token=request.page_token,
        )
        try:
            found = await self.services.stages.ingestion.ReadTable(wanted, timeout=self._timeout)
        except NotOffered:
            missing = f"The document has no table {request.number}"
            raise NotFound(missing, reason="TABLE_NOT_FOUND") from None
        return pb.GetTableResponse(
            table=found.table, rows=found.rows, next_page_token=found.next_page_token, total_size=found.total_size
        )

    async def QueryTables(self, request: pb.QueryTablesRequest, context: Call) -> pb.QueryTablesResponse:
        """Run one SELECT over the tables in documents."""
        scope = caller()
        for document_id in dict.fromkeys(request.document_ids):
            await self.services.documents.get(scope, document_id)
        wanted = ingestion.QueryTablesRequest(scope=scope, document_ids=request.document_ids, query=request.query)
        try:
            found = await self.services.stages.ingestion.QueryTables(wanted, timeout=self._timeout)
        except NotOffered:
            raise InvalidArgument.field("document_ids", "must name a document that has tables") from None
        return pb.QueryTablesResponse(result=found.result)

    @property
    def _timeout(self) -> float:
        return self.services.settings.call_timeout_seconds
