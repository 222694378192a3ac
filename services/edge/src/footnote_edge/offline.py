"""Tools of the command line on a deployment's own database, without its service: entry points `footnote.offline`."""

from pathlib import Path

from footnote.edge.v1.audit_pb2 import ListAuditEventsRequest, ListAuditEventsResponse
from footnote.stages.v1.scope_pb2 import Scope
from footnote_database.parts import Parts
from footnote_kit.paging import Page, long_sequence

from footnote_edge.adapters.audit import AuditTable, Journal
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.keys import KeyTable
from footnote_edge.adapters.limits import LimitTable
from footnote_edge.audit.events import ALL_TENANTS, AuditLog, filters, message
from footnote_edge.gateway.allowances import Allowances
from footnote_edge.gateway.keys import ApiKeys
from footnote_edge.settings import Settings


class OfflineLog:
    """Answers ListAuditEvents as a server does, but without authentication: access to the file is the permission."""

    def __init__(self, events: AuditLog) -> None:
        self._events = events

    async def read(self, request: ListAuditEventsRequest) -> ListAuditEventsResponse:
        """Return a page; without a tenant, of the whole deployment."""
        page = Page.of(Scope(), request, kinds=(long_sequence,))
        found, token = await self._events.page(filters(request, request.tenant_id or ALL_TENANTS), page)
        return ListAuditEventsResponse(events=map(message, found), next_page_token=token)


async def keys(data_dir: Path) -> tuple[Database, ApiKeys]:
    """Open the keys, so that the command line can create the first one; changes are audited."""
    database = await _open(data_dir)
    return database, ApiKeys(KeyTable(database, Journal(database)))


async def limits(data_dir: Path) -> tuple[Database, Allowances]:
    """Open the limits of tenants; changes are audited."""
    database = await _open(data_dir)
    return database, Allowances(LimitTable(database, Journal(database)), Settings())


async def audit(data_dir: Path) -> tuple[Database, OfflineLog]:
    """Open the audit log of all tenants."""
    database = await _open(data_dir)
    return database, OfflineLog(AuditTable(database))


async def _open(data_dir: Path) -> Database:
    database = Database(Settings().sqlalchemy_url(data_dir / "edge"))
    await database.migrate(parts=Parts(data_dir))
    return database
