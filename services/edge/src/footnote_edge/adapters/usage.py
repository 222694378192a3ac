"""The tables of daily usage by tenant and by user, and of activity by tenant and hour."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from footnote_kit.wall_clock import deletion_datetime
from sqlalchemy import Insert, and_, delete, literal, select
from sqlalchemy.dialects import postgresql, sqlite

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import ActivityRow, UsageRow, UserUsageRow
from footnote_edge.gateway.ports import SPENT, Account, Allowance, Spent
from footnote_edge.system.activity import KEPT_HOURS, Key, hour

USER_DAYS = 31
"""Days for which usage by user is stored."""


class UsageTable:
    """The tables of usage by tenant and day, and by user."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions
        # Compare by code points, whatever the database's collation: a page token continues after a user id.
        self._user = UserUsageRow.user_id if database.is_sqlite else UserUsageRow.user_id.collate("C")
        self._insert: Any = sqlite.insert if database.is_sqlite else postgresql.insert
        self._additions = {2: self._adding(UsageRow), 3: self._adding(UserUsageRow)}
        """Insert statements by the length of the account."""

    async def of(self, tenant: str, day: str) -> Spent:
        """Return a tenant's usage on a day, given as 2026-11-22."""
        async with self._sessions() as session:
            row = await session.get(UsageRow, (tenant, day))
        return Spent() if row is None else _spent(row)

    async def days(self, tenant: str, first: str) -> dict[str, Spent]:
        """Return a tenant's usage on each day from `first` on, given as 2026-11-22; days without usage are missing."""
        mine = (UsageRow.tenant_id == tenant, UsageRow.day >= first)
        async with self._sessions() as session:
            return {row.day: _spent(row) for row in await session.scalars(select(UsageRow).where(*mine))}

    async def of_user(self, tenant: str, day: str, user: str) -> Spent:
        """Return a user's usage on a day."""
        async with self._sessions() as session:
            row = await session.get(UserUsageRow, (tenant, day, user))
        return Spent() if row is None else _spent(row)

    async def users(self, tenant: str, day: str, after: str, most: int) -> dict[str, Spent]:
        """Return users' usage on a day: at most `most` users, by id, after the given one."""
        mine = (UserUsageRow.tenant_id == tenant, UserUsageRow.day == day, self._user > after)
        async with self._sessions() as session:
            rows = await session.scalars(select(UserUsageRow).where(*mine).order_by(self._user).limit(most))
            return {row.user_id: _spent(row) for row in rows}

    async def add(self, items: dict[Account, Spent]) -> None:
        """Add usage, all of it or none."""
        # In a fixed order, tenants before users, so that two replicas never deadlock. One statement per table, prepared
        # once and without the ORM: this runs once for every few answers.
        rows: dict[int, list[dict[str, Any]]] = {}
        for account, spent in sorted(items.items(), key=lambda item: (len(item[0]), item[0])):
            rows.setdefault(len(account), []).append(_row(account, spent))
        async with self._sessions.begin() as session:
            connection = await session.connection()
            for length, some in rows.items():
                await connection.execute(self._additions[length], some)

    async def sweep(self) -> None:
        """Delete old usage by user."""
        last = (deletion_datetime() - timedelta(days=USER_DAYS)).date().isoformat()
        async with self._sessions.begin() as session:
            await session.execute(delete(UserUsageRow).where(UserUsageRow.day < last))

    async def take(self, tenant: str, day: str, spent: Spent, allowance: Allowance) -> bool:
        """Reserve usage if any of the tenant's allowance is left; return whether it was."""
        there = UsageRow.prompt_tokens + UsageRow.completion_tokens + UsageRow.embedding_tokens
        left = and_(
            there < allowance.tokens_per_day if allowance.tokens_per_day else literal(True),
            UsageRow.cost_usd < allowance.cost_per_day if allowance.cost_per_day else literal(True),
        )
        statement = self._adding(UsageRow, left).returning(UsageRow.day)
        async with self._sessions.begin() as session:
            return (await session.execute(statement, _row((tenant, day), spent))).first() is not None

    def _adding(self, row: Any, left: Any = None) -> Insert:
        """Return the statement that adds usage to a table's row, provided that there is something `left`."""
        table = row.__table__
        insert = self._insert(table)
        added = {name: table.c[name] + insert.excluded[name] for name in SPENT}
        statement: Insert = insert.on_conflict_do_update(
            index_elements=list(table.primary_key), set_=added, **({} if left is None else {"where": left})
        )
        return statement


def _row(account: Account, spent: Spent) -> dict[str, Any]:
    values = {name: getattr(spent, name) for name in SPENT}
    return dict(zip(("tenant_id", "day", "user_id"), account, strict=False)) | values


def _spent(row: UsageRow | UserUsageRow) -> Spent:
    return Spent(*(getattr(row, name) for name in SPENT))


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
