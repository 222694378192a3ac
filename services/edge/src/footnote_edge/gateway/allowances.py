"""Allowances of tenants: the deployment's limits, and an operator's limits for individual tenants."""

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cachetools import TTLCache
from footnote_database.parts import Parts
from footnote_database.times import utc
from footnote_kit.errors import InvalidArgument
from footnote_kit.identifiers import checked_name
from footnote_kit.paging import Page
from sqlalchemy import select

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import TenantLimitsRow
from footnote_edge.audit.journal import Journal
from footnote_edge.settings import Settings

CACHE_SECONDS = 5.0
"""Seconds until a running edge sees a change."""

CACHE_SIZE = 10_000


@dataclass(frozen=True, slots=True)
class Allowance:
    """Limits of a tenant's storage and usage, 0 for unlimited; a day is one in UTC, cost is in US dollars."""

    documents: int = 0
    bytes: int = 0
    collections: int = 0
    tokens_per_day: int = 0
    cost_per_day: float = 0.0

    @property
    def daily(self) -> bool:
        """Whether daily usage is limited."""
        return bool(self.tokens_per_day or self.cost_per_day)


@dataclass(frozen=True, slots=True)
class Own:
    """A tenant's own limits by name; `update_time` in UTC, None if it has none."""

    tenant_id: str
    limits: Mapping[str, float] = field(default_factory=dict)
    update_time: datetime | None = None


NAMES = tuple(field.name for field in fields(Allowance))
"""Names of the limits."""


class Allowances:
    """Reads and changes the allowances of tenants."""

    def __init__(self, database: Database, settings: Settings, journal: Journal | None = None) -> None:
        """Take the database; with a `journal`, changes are audited here, in the same transaction."""
        self._sessions = database.sessions
        self._journal = journal
        # Compare by code points, whatever the database's collation: a page token continues after a tenant id.
        self._tenant = TenantLimitsRow.tenant_id if database.is_sqlite else TenantLimitsRow.tenant_id.collate("C")
        self._usual = Allowance(
            documents=settings.max_documents_per_tenant,
            bytes=settings.max_bytes_per_tenant,
            collections=settings.max_collections_per_tenant,
            tokens_per_day=settings.max_tokens_per_day,
            cost_per_day=settings.max_cost_per_day,
        )
        self._cache: TTLCache[str, Allowance] = TTLCache(CACHE_SIZE, CACHE_SECONDS)

    async def of(self, tenant: str) -> Allowance:
        """Return a tenant's allowance; a change is visible within CACHE_SECONDS."""
        if (known := self._cache.get(tenant)) is not None:
            return known
        async with self._sessions() as session:
            row = await session.get(TenantLimitsRow, tenant)
        found = self._usual if row is None else Allowance(**{**asdict(self._usual), **_own(row)})
        self._cache[tenant] = found
        return found

    async def own(self, tenant: str) -> Own:
        """Return a tenant's own limits from the database."""
        async with self._sessions() as session:
            row = await session.get(TenantLimitsRow, tenant)
        return Own(tenant) if row is None else _shown(row)

    async def set(self, tenant: str, changes: Mapping[str, float | None]) -> Own:
        """Change a tenant's own limits and return them; limits not named stay, None removes one.

        Raises InvalidArgument for a negative limit.
        """
        checked_name("tenant_id", tenant)
        for name, value in changes.items():
            if value is not None and not 0 <= value < float("inf"):
                raise InvalidArgument.field(name, "must not be negative; 0 is no limit")
        async with self._sessions.begin() as session:
            row = await session.get(TenantLimitsRow, tenant) or TenantLimitsRow(tenant_id=tenant)
            for name, value in changes.items():
                setattr(row, name, value)
            row.update_time = datetime.now(UTC)
            if _own(row):
                session.add(row)
            elif row in session:
                await session.delete(row)
            found = _shown(row) if _own(row) else Own(tenant)
            if self._journal is not None:
                await self._journal.write(session, "UpdateTenantLimits", tenant, f"limits/{tenant}", tuple(changes))
        self._cache.pop(tenant, None)
        return found

    async def clear(self, tenant: str) -> bool:
        """Remove a tenant's own limits; False if it had none."""
        had = bool((await self.own(tenant)).limits)
        await self.set(tenant, dict.fromkeys(NAMES))
        return had

    async def listed(self) -> list[tuple[str, dict[str, float]]]:
        """Return the tenants that have their own limits, with these."""
        async with self._sessions() as session:
            rows = await session.scalars(select(TenantLimitsRow).order_by(TenantLimitsRow.tenant_id))
            return [(row.tenant_id, _own(row)) for row in rows]

    async def page(self, page: Page) -> tuple[list[Own], str]:
        """Return a page of tenants with their own limits, by id, and the next page's token."""
        query = select(TenantLimitsRow).order_by(self._tenant).limit(page.size + 1)
        if page.position is not None:
            query = query.where(self._tenant > page.position[0])
        async with self._sessions() as session:
            found = [_shown(row) for row in await session.scalars(query)]
        shown = found[: page.size]
        return shown, page.token((shown[-1].tenant_id,)) if len(found) > len(shown) else ""


async def offline(data_dir: Path) -> tuple[Database, Allowances]:
    """Open the limits of a deployment without its service, for the command line."""
    settings = Settings()
    database = Database(settings.sqlalchemy_url(data_dir / "edge"))
    await database.migrate(parts=Parts(data_dir))
    return database, Allowances(database, settings, Journal(database))


def raising(tenant: str, option: str, limit: float) -> str:
    """Return the command that doubles a tenant's limit."""
    return f"footnote limits set {shlex.quote(tenant)} --{option} {2 * limit:.12g}"


def _shown(row: TenantLimitsRow) -> Own:
    return Own(row.tenant_id, _own(row), utc(row.update_time))


def _own(row: TenantLimitsRow) -> dict[str, Any]:
    return {name: value for name in NAMES if (value := getattr(row, name)) is not None}
