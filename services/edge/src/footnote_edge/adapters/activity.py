"""The table of activity by tenant and hour."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from footnote_kit.wall_clock import deletion_datetime
from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import ActivityRow
from footnote_edge.system.activity import KEPT_HOURS, hour
from footnote_edge.system.ports import Key

_ROWS = 500  # rows per thread switch of the connection


class ActivityTable:
    """The table of counts."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions
        table: Any = ActivityRow.__table__
        insert: Any = (sqlite.insert if database.is_sqlite else postgresql.insert)(table)
        added = {"amount": table.c.amount + insert.excluded.amount}
        self._addition = insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=added)

    async def add(self, items: Mapping[Key, int]) -> None:
        """Add counts, all of them or none."""
        # In a fixed order, so that two replicas never deadlock.
        rows = [
            {"tenant_id": tenant, "hour": hour, "measure": measure, "amount": amount}
            for (tenant, hour, measure), amount in sorted(items.items())
        ]
        async with self._sessions.begin() as session:
            connection = await session.connection()
            for start in range(0, len(rows), _ROWS):
                await connection.execute(self._addition, rows[start : start + _ROWS])

    async def since(self, tenant: str, first: datetime) -> dict[str, dict[str, int]]:
        """Return a tenant's counts by hour and measure, from the hour of a time on."""
        mine = (ActivityRow.tenant_id == tenant, ActivityRow.hour >= hour(first))
        found: dict[str, dict[str, int]] = {}
        async with self._sessions() as session:
            for row in await session.scalars(select(ActivityRow).where(*mine)):
                found.setdefault(row.hour, {})[row.measure] = row.amount
        return found

    async def sweep(self) -> None:
        """Delete counts after their retention period."""
        last = hour(deletion_datetime() - timedelta(hours=KEPT_HOURS))
        async with self._sessions.begin() as session:
            await session.execute(delete(ActivityRow).where(ActivityRow.hour < last))
