"""The table of tenants' own limits."""

from collections.abc import Mapping
from datetime import UTC, datetime

from footnote_database.transactions import utc
from footnote_kit.paging import Page
from sqlalchemy import select

from footnote_edge.adapters.audit import Journal
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import TenantLimitsRow
from footnote_edge.gateway.ports import LIMITS, TenantOverrides


class LimitTable:
    """Reads and changes tenants' own limits; with a `journal`, changes are audited in the same transaction."""

    def __init__(self, database: Database, journal: Journal | None = None) -> None:
        self._sessions = database.sessions
        self._journal = journal
        # Compare by code points, whatever the database's collation: a page token continues after a tenant id.
        self._tenant = TenantLimitsRow.tenant_id if database.is_sqlite else TenantLimitsRow.tenant_id.collate("C")

    async def read(self, tenant: str) -> TenantOverrides:
        """Return a tenant's own limits."""
        async with self._sessions() as session:
            row = await session.get(TenantLimitsRow, tenant)
        return TenantOverrides(tenant) if row is None else _own(row)

    async def change(self, tenant: str, changes: Mapping[str, float | None]) -> TenantOverrides:
        """Change limits and return the tenant's own; None removes one."""
        async with self._sessions.begin() as session:
            row = await session.get(TenantLimitsRow, tenant) or TenantLimitsRow(tenant_id=tenant)
            for name, value in changes.items():
                setattr(row, name, value)
            row.update_time = datetime.now(UTC)
            found = _own(row)
            if found.limits:
                session.add(row)
            elif row in session:
                await session.delete(row)
            if self._journal is not None:
                await self._journal.write(session, "UpdateTenantLimits", tenant, f"limits/{tenant}", tuple(changes))
        return found if found.limits else TenantOverrides(tenant)

    async def listed(self) -> list[TenantOverrides]:
        """Return all tenants with own limits, by id."""
        query = select(TenantLimitsRow).order_by(TenantLimitsRow.tenant_id)
        async with self._sessions() as session:
            return [_own(row) for row in await session.scalars(query)]

    async def page(self, page: Page) -> tuple[list[TenantOverrides], str]:
        """Return a page of these, and the next page's token."""
        query = select(TenantLimitsRow).order_by(self._tenant).limit(page.size + 1)
        if page.position is not None:
            query = query.where(self._tenant > page.position[0])
        async with self._sessions() as session:
            found = [_own(row) for row in await session.scalars(query)]
        shown = found[: page.size]
        return shown, page.token((shown[-1].tenant_id,)) if len(found) > len(shown) else ""


def _own(row: TenantLimitsRow) -> TenantOverrides:
    limits = {name: value for name in LIMITS if (value := getattr(row, name)) is not None}
    return TenantOverrides(row.tenant_id, limits, utc(row.update_time))
