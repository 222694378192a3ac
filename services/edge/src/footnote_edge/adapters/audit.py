"""The audit log's table: appends and reads events, and deletes them only after their retention period."""

import json
from collections.abc import Sequence
from typing import Any

from footnote.edge.v1.audit_pb2 import AUDIT_DOOR_COMMAND, AuditDoor
from footnote.edge.v1.system_pb2 import Authentication
from footnote_kit.paging import Page
from footnote_kit.wall_clock import deletion_time
from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.audit_table import AuditEventRow
from footnote_edge.adapters.database import Database
from footnote_edge.audit.events import ALL_TENANTS, CallOrigin, Event, Filters, Principal

BATCH = 1000
"""Events that `sweep` deletes per transaction: few, so that other writers wait only briefly."""
_DAY_MS = 86_400_000


class AuditTable:
    """Appends events and reads them; only `sweep` deletes them."""

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
        query = select(AuditEventRow).where(*_conditions(filters))
        if page.position is not None:
            query = query.where(AuditEventRow.sequence < page.position[0])
        query = query.order_by(AuditEventRow.sequence.desc()).limit(page.size + 1)
        async with self._sessions() as session:
            rows = (await session.scalars(query)).all()
        shown = rows[: page.size]
        token = page.token((shown[-1].sequence,)) if len(rows) > len(shown) else ""
        return [_event(row) for row in shown], token

    async def sweep(self, days: float) -> int:
        """Delete events older than their retention period in days; return how many there were."""
        before = int(deletion_time() * 1000 - days * _DAY_MS)
        total = 0
        while True:
            oldest = select(AuditEventRow.sequence).where(AuditEventRow.time_ms < before).limit(BATCH)
            async with self._sessions.begin() as session:
                found = list(await session.scalars(oldest))
                await session.execute(delete(AuditEventRow).where(AuditEventRow.sequence.in_(found)))
            total += len(found)
            if len(found) < BATCH:
                return total


class Journal:
    """Writes an operator's changes by the command line in the transaction of the change; the user is not recorded."""

    def __init__(self, database: Database) -> None:
        self._events = AuditTable(database)

    async def write(
        self, session: AsyncSession, action: str, tenant_id: str, resource: str, changed_fields: Sequence[str] = ()
    ) -> None:
        """Append an event to a transaction."""
        event = Event(
            Principal(tenant_id), CallOrigin(AUDIT_DOOR_COMMAND), action, resource, changed_fields=tuple(changed_fields)
        )
        await self._events.append_within(session, [event])


def _conditions(filters: Filters) -> list[ColumnElement[bool]]:
    row = AuditEventRow
    found: list[ColumnElement[bool]] = []
    if filters.tenant_id != ALL_TENANTS:
        found.append(row.tenant_id == filters.tenant_id)
    if filters.start_ms is not None:
        found.append(row.time_ms >= filters.start_ms)
    if filters.end_ms is not None:
        found.append(row.time_ms < filters.end_ms)
    for column, wanted in ((row.user_id, filters.user_id), (row.key_id, filters.key_id), (row.action, filters.action)):
        if wanted:
            found.append(column == wanted)
    if filters.resource.endswith("/"):
        found.append(row.resource.startswith(filters.resource, autoescape=True))
    elif filters.resource:
        parts = row.resource.startswith(f"{filters.resource}/", autoescape=True)
        found.append((row.resource == filters.resource) | parts)
    if filters.outcome:
        found.append(row.outcome == filters.outcome)
    return found


def _row(event: Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "time_ms": event.time_ms,
        "tenant_id": event.principal.tenant_id,
        "user_id": event.principal.user_id,
        "authentication": event.principal.authentication,
        "key_id": event.principal.key_id,
        "door": event.call_origin.door,
        "address": event.call_origin.address,
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
        principal=Principal(row.tenant_id, row.user_id, authentication, row.key_id),
        call_origin=CallOrigin(door, row.address),
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
