"""The audit log of a deployment without its service, for the command line on the database's machine: all tenants."""

from pathlib import Path

from footnote.edge.v1.audit_pb2 import ListAuditEventsRequest, ListAuditEventsResponse
from footnote.stages.v1.scope_pb2 import Scope
from footnote_database.parts import Parts
from footnote_kit.paging import Page, long_sequence

from footnote_edge.adapters.database import Database
from footnote_edge.audit.book import ALL_TENANTS, AuditBook
from footnote_edge.audit.shown import filters, message
from footnote_edge.settings import Settings


class OfflineLog:
    """Answers ListAuditEvents as a server does, but without authentication: access to the file is the permission."""

    def __init__(self, database: Database) -> None:
        self._book = AuditBook(database)

    async def read(self, request: ListAuditEventsRequest) -> ListAuditEventsResponse:
        """Return a page; without a tenant, of the whole deployment."""
        page = Page.of(Scope(), request, kinds=(long_sequence,))
        found, token = await self._book.page(filters(request, request.tenant_id or ALL_TENANTS), page)
        return ListAuditEventsResponse(events=map(message, found), next_page_token=token)


async def offline(data_dir: Path) -> tuple[Database, OfflineLog]:
    """Open the log of a deployment."""
    database = Database(Settings().sqlalchemy_url(data_dir / "edge"))
    await database.migrate(parts=Parts(data_dir))
    return database, OfflineLog(database)
