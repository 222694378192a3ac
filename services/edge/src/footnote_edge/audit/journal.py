"""Audit events of offline work on the deployment's own database, written in the same transaction as the change."""

from collections.abc import Sequence

from footnote.edge.v1.audit_pb2 import AUDIT_DOOR_COMMAND
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.database import Database
from footnote_edge.audit.book import AuditBook
from footnote_edge.audit.events import Event, Principal, Way


class Journal:
    """Writes an operator's changes by the command line; the user at this machine is not recorded."""

    def __init__(self, database: Database) -> None:
        self._book = AuditBook(database)

    async def write(
        self, session: AsyncSession, action: str, tenant_id: str, resource: str, changed_fields: Sequence[str] = ()
    ) -> None:
        """Append an event to a transaction."""
        event = Event(
            Principal(tenant_id), Way(AUDIT_DOOR_COMMAND), action, resource, changed_fields=tuple(changed_fields)
        )
        await self._book.append_within(session, [event])
