"""What each tenant is allowed: the deployment's limits, and those that an operator has set for one tenant."""

import shlex
import time
from collections import OrderedDict
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from footnote_kit.errors import InvalidArgument
from sqlalchemy import delete, select

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import TenantLimitsRow
from footnote_edge.settings import Settings

CACHE_SECONDS = 5.0
"""How long a change may take to be seen by a running edge."""

CACHE_SIZE = 10_000


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a tenant may keep and use, 0 for no limit; a day is one in UTC, cost is in US dollars."""

    documents: int = 0
    bytes: int = 0
    collections: int = 0
    tokens_per_day: int = 0
    cost_per_day: float = 0.0

    @property
    def daily(self) -> bool:
        """Whether use per day is limited."""
        return bool(self.tokens_per_day or self.cost_per_day)


NAMES = tuple(field.name for field in fields(Allowance))


class Allowances:
    """Finds and changes what tenants are allowed."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._sessions = database.sessions
        self._usual = Allowance(
            documents=settings.max_documents_per_tenant,
            bytes=settings.max_bytes_per_tenant,
            collections=settings.max_collections_per_tenant,
            tokens_per_day=settings.max_tokens_per_day,
            cost_per_day=settings.max_cost_per_day,
        )
        self._cache: OrderedDict[str, tuple[float, Allowance]] = OrderedDict()

    async def of(self, tenant: str) -> Allowance:
        """Return what a tenant is allowed; a change is seen within CACHE_SECONDS."""
        now = time.monotonic()
        known = self._cache.get(tenant)
        if known is not None and now - known[0] < CACHE_SECONDS:
            return known[1]
        async with self._sessions() as session:
            row = await session.get(TenantLimitsRow, tenant)
        found = self._usual if row is None else Allowance(**{**asdict(self._usual), **_own(row)})
        self._cache[tenant] = (now, found)
        self._cache.move_to_end(tenant)
        if len(self._cache) > CACHE_SIZE:
            self._cache.popitem(last=False)
        return found

    async def set(self, tenant: str, changes: dict[str, float]) -> Allowance:
        """Set limits of one tenant's own; those not named stay. Raises InvalidArgument for one below zero."""
        for name, value in changes.items():
            if value < 0:
                raise InvalidArgument.field(name, "must not be negative; 0 is no limit")
        async with self._sessions.begin() as session:
            row = await session.get(TenantLimitsRow, tenant) or TenantLimitsRow(tenant_id=tenant)
            for name, value in changes.items():
                setattr(row, name, value)
            row.update_time = datetime.now(UTC)
            session.add(row)
        self._cache.pop(tenant, None)
        return await self.of(tenant)

    async def clear(self, tenant: str) -> bool:
        """Let the deployment's limits hold again; False when the tenant had none of its own."""
        async with self._sessions.begin() as session:
            found = await session.get(TenantLimitsRow, tenant)
            await session.execute(delete(TenantLimitsRow).where(TenantLimitsRow.tenant_id == tenant))
        self._cache.pop(tenant, None)
        return found is not None

    async def listed(self) -> list[tuple[str, dict[str, float]]]:
        """Return the tenants with limits of their own, each with these."""
        async with self._sessions() as session:
            rows = await session.scalars(select(TenantLimitsRow).order_by(TenantLimitsRow.tenant_id))
            return [(row.tenant_id, _own(row)) for row in rows]


async def offline(data_dir: Path) -> tuple[Database, Allowances]:
    """Open the limits of a deployment without its service, for the command line."""
    settings = Settings()
    database = Database(settings.sqlalchemy_url(data_dir / "edge"))
    await database.migrate()
    return database, Allowances(database, settings)


def raising(tenant: str, option: str, limit: float) -> str:
    """Return the command that allows a tenant twice as much."""
    return f"footnote limits set {shlex.quote(tenant)} --{option} {2 * limit:.12g}"


def _own(row: TenantLimitsRow) -> dict[str, Any]:
    return {name: value for name in NAMES if (value := getattr(row, name)) is not None}
