"""Deletes audit events after their retention period: the only code that removes events."""

import time

from sqlalchemy import delete, select

from footnote_edge.adapters.audit_table import AuditEventRow
from footnote_edge.adapters.database import Database

BATCH = 1000
"""Events per transaction, small so that other writers wait only briefly."""
_DAY_MS = 86_400_000


class Retention:
    """Sweeps the audit log; `days` is the retention period."""

    def __init__(self, database: Database, days: float) -> None:
        self._sessions = database.sessions
        self._days = days

    async def sweep(self) -> int:
        """Delete expired events and return their number."""
        before = int(time.time() * 1000 - self._days * _DAY_MS)
        total = 0
        while True:
            oldest = select(AuditEventRow.sequence).where(AuditEventRow.time_ms < before).limit(BATCH)
            async with self._sessions.begin() as session:
                found = list(await session.scalars(oldest))
                await session.execute(delete(AuditEventRow).where(AuditEventRow.sequence.in_(found)))
            total += len(found)
            if len(found) < BATCH:
                return total
