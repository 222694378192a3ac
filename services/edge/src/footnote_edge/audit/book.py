"""The audit log in the database: this module appends and reads events; only `retention` deletes them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from footnote.edge.v1.audit_pb2 import AuditDoor
from footnote.edge.v1.system_pb2 import Authentication
from footnote_kit.paging import Page
from sqlalchemy import ColumnElement, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.audit_table import AuditEventRow
from footnote_edge.adapters.database import Database
from footnote_edge.audit.events import Event, Principal, Way

ALL_TENANTS = "-"


@dataclass(frozen=True, slots=True)
class Filters:
    """Selects events; an empty, 0 or None filter does not narrow. Times in milliseconds, the end excluded."""

    tenant_id: str
    start_ms: int | None = None
    end_ms: int | None = None
    user_id: str = ""
    key_id: str = ""
    action: str = ""
    resource: str = ""
    outcome: int = 0

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the filters as SQL conditions."""
        row = AuditEventRow
        found: list[ColumnElement[bool]] = []
        if self.tenant_id != ALL_TENANTS:
            found.append(row.tenant_id == self.tenant_id)
        if self.start_ms is not None:
            found.append(row.time_ms >= self.start_ms)
        if self.end_ms is not None:
            found.append(row.time_ms < self.end_ms)
        for column, wanted in ((row.user_id, self.user_id), (row.key_id, self.key_id), (row.action, self.action)):
            if wanted:
                found.append(column == wanted)
        if self.resource.endswith("/"):
            found.append(row.resource.startswith(self.resource, autoescape=True))
        elif self.resource:
            found.append(row.resource == self.resource)
        if self.outcome:
            found.append(row.outcome == self.outcome)
        return found


class AuditBook:
    """Appends events and reads them."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions
        insert: Any = sqlite.insert if database.is_sqlite else postgresql.insert
        # An append with an unknown outcome is repeated; rows that it has written already stay as they are.
        self._insert = insert(AuditEventRow.__table__).on_conflict_do_nothing(index_elements=["id"])

    async def append(self, events: Sequence[Event]) -> None:
        """Write events, all of them or none."""
        async with self._sessions.begin() as session:
            await self.append_within(session, events)

    async def append_within(self, session: AsyncSession, events: Sequence[Event]) -> None:
        """Append events within the transaction of another change."""
        connection = await session.connection()
        await connection.execute(self._insert, [_row(event) for event in events])

    async def page(self, filters: Filters, page: Page) -> tuple[list[Event], str]:
        """Return a page of events, newest first, and the next page's token."""
        query = select(AuditEventRow).where(*filters.conditions())
        if page.position is not None:
            query = query.where(AuditEventRow.sequence < page.position[0])
        query = query.order_by(AuditEventRow.sequence.desc()).limit(page.size + 1)
        async with self._sessions() as session:
            rows = (await session.scalars(query)).all()
        shown = rows[: page.size]
        token = page.token((shown[-1].sequence,)) if len(rows) > len(shown) else ""
        return [_event(row) for row in shown], token


def _row(event: Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "time_ms": event.time_ms,
        "tenant_id": event.who.tenant_id,
        "user_id": event.who.user_id,
        "authentication": event.who.authentication,
        "key_id": event.who.key_id,
        "door": event.way.door,
        "address": event.way.address,
        "action": event.action,
        "resource": event.resource,
        "changed_fields": json.dumps(event.changed_fields),
        "providers": json.dumps(event.providers),
        "outcome": event.outcome,
        "status": event.status,
        "reason": event.reason,
        "trace_id": event.trace_id,
        "request_id": event.request_id,
        "count": event.count,
        "last_ms": event.last_ms,
        "mixed": event.mixed,
    }


def _event(row: AuditEventRow) -> Event:
    authentication: Authentication.ValueType = row.authentication  # type: ignore[assignment]
    door: AuditDoor.ValueType = row.door  # type: ignore[assignment]
    return Event(
        who=Principal(row.tenant_id, row.user_id, authentication, row.key_id),
        way=Way(door, row.address),
        action=row.action,
        resource=row.resource,
        status=row.status,
        reason=row.reason,
        changed_fields=tuple(json.loads(row.changed_fields)),
        providers=tuple(json.loads(row.providers)),
        trace_id=row.trace_id,
        request_id=row.request_id,
        count=row.count,
        last_ms=row.last_ms,
        mixed=row.mixed,
        time_ms=row.time_ms,
        id=row.id,
    )
