"""Daily usage of each tenant: model and embedding tokens and their cost; stored in the edge's database.

A day is one in UTC. The usage of a tenant without a daily limit is buffered briefly and written in batches. With a
daily limit, usage is reserved in the database first, so that replicas cannot overdraw it concurrently.
"""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from footnote.types.v1.answer_pb2 import Usage
from footnote_kit.errors import ResourceExhausted
from footnote_kit.periodic import PeriodicTasks
from footnote_kit.telemetry import counter
from sqlalchemy import Insert, and_, delete, literal, select
from sqlalchemy.dialects import postgresql, sqlite

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import UsageRow, UserUsageRow
from footnote_edge.gateway.allowances import Allowance, Allowances, raising

FLUSH_SECONDS = 0.5
"""Usage that a killed process may lose: at most that of so many seconds."""

USER_DAYS = 31
"""Days for which usage by user is stored."""

Account = tuple[str, str] | tuple[str, str, str]
"""An account: a tenant and a day, as 2026-11-22, and optionally a user."""

_COLUMNS = ("prompt_tokens", "completion_tokens", "embedding_tokens", "cost_usd")


@dataclass(slots=True)
class Spent:
    """Tokens and US dollars spent."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    embedding_tokens: int = 0
    cost_usd: float = 0.0

    @classmethod
    def of(cls, usage: Usage) -> "Spent":
        """Return a stage's reported usage."""
        return cls(*(getattr(usage, name) for name in _COLUMNS))

    @property
    def tokens(self) -> int:
        """The sum of all tokens."""
        return self.prompt_tokens + self.completion_tokens + self.embedding_tokens

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(*(getattr(self, name) + getattr(other, name) for name in _COLUMNS))

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(*(getattr(self, name) - getattr(other, name) for name in _COLUMNS))

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in _COLUMNS)


class UsageBook:
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
        last = (datetime.now(UTC) - timedelta(days=USER_DAYS)).date().isoformat()
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
        added = {name: table.c[name] + insert.excluded[name] for name in _COLUMNS}
        statement: Insert = insert.on_conflict_do_update(
            index_elements=list(table.primary_key), set_=added, **({} if left is None else {"where": left})
        )
        return statement


class Meter:
    """Charges tenants, and refuses those that have used up their day."""

    def __init__(self, book: UsageBook, allowances: Allowances) -> None:
        self._book = book
        self._allowances = allowances
        self._pending: dict[Account, Spent] = {}
        self._writing: dict[Account, Spent] = {}
        self._lock = asyncio.Lock()
        self.rounds = PeriodicTasks("metering", self._write, FLUSH_SECONDS, service="edge", at_once=False, jitter=0.0)
        """Writes charges in the background; `flush` writes the rest at the end."""

    async def today(self, tenant: str) -> Spent:
        """Return a tenant's usage today, including charges not written yet."""
        stored = await self._book.of(tenant, today())
        return stored + self._unwritten((tenant, today()))

    async def today_of(self, tenant: str, user: str) -> Spent:
        """Return the usage today of a tenant's user."""
        stored = await self._book.of_user(tenant, today(), user)
        return stored + self._unwritten((tenant, today(), user))

    async def days(self, tenant: str, first: str) -> dict[str, Spent]:
        """Return a tenant's usage on each day from `first` on, including charges not written yet."""
        await self.flush()
        return await self._book.days(tenant, first)

    async def users_today(self, tenant: str, after: str, most: int) -> dict[str, Spent]:
        """Return users' usage today: at most `most` users, by id, after the given one."""
        await self.flush()
        return await self._book.users(tenant, today(), after, most)

    async def admit(self, tenant: str) -> None:
        """Admit a call that will use tokens; raises ResourceExhausted if the tenant has used up its day."""
        allowance = await self._allowances.of(tenant)
        if allowance.daily:
            _check(tenant, await self.today(tenant), allowance)

    async def take(self, tenant: str, spent: Spent, user: str = "") -> None:
        """Charge usage in advance; raises ResourceExhausted if the tenant has used up its day."""
        allowance = await self._allowances.of(tenant)
        if not allowance.daily:
            self.charge(tenant, spent, user)
            return
        await self.flush()
        if not await self._book.take(tenant, today(), spent, allowance):
            _check(tenant, await self._book.of(tenant, today()), allowance)
        else:
            self._note((tenant, today(), user), spent)
        _count(spent)

    def charge(self, tenant: str, spent: Spent, user: str = "") -> None:
        """Charge usage to a tenant and its user."""
        if spent:
            self._note((tenant, today()), spent)
            self._note((tenant, today(), user), spent)
            _count(spent)

    def _note(self, account: Account, spent: Spent) -> None:
        if account[-1]:  # usage without a user is the tenant's alone
            self._pending[account] = self._pending.get(account, Spent()) + spent

    def _unwritten(self, account: Account) -> Spent:
        return self._pending.get(account, Spent()) + self._writing.get(account, Spent())

    async def flush(self) -> None:
        """Write all charges."""
        async with self._lock:
            if not self._pending:
                return
            self._writing, self._pending = self._pending, {}
            try:
                await self._book.add(self._writing)
            except BaseException:
                for key, spent in self._writing.items():
                    self._pending[key] = self._pending.get(key, Spent()) + spent
                raise
            finally:
                self._writing = {}

    async def _write(self) -> None:
        await asyncio.shield(self.flush())  # failed charges are kept and written again


def _row(account: Account, spent: Spent) -> dict[str, Any]:
    values = {name: getattr(spent, name) for name in _COLUMNS}
    return dict(zip(("tenant_id", "day", "user_id"), account, strict=False)) | values


def _check(tenant: str, spent: Spent, allowance: Allowance) -> None:
    if allowance.tokens_per_day and spent.tokens >= allowance.tokens_per_day:
        used, limit, option = f"{spent.tokens} tokens", float(allowance.tokens_per_day), "tokens-per-day"
    elif allowance.cost_per_day and spent.cost_usd >= allowance.cost_per_day:
        used, limit, option = f"{spent.cost_usd:.2f} US dollars", allowance.cost_per_day, "cost-per-day"
    else:
        return
    counter("footnote.edge.quota_refusals").add(1, {"quota": option.replace("-", "_")})
    raise ResourceExhausted(
        f"You have used {used} today; at most {limit:.12g} are allowed a day",
        metadata={
            "quota": option.replace("-", "_"),
            "limit": f"{limit:.12g}",
            "hint": "Wait until the day ends at 00:00 UTC, or have the operator allow more: "
            + raising(tenant, option, limit),
        },
    )


def _count(spent: Spent) -> None:
    tokens = counter("footnote.edge.tokens")
    for name in _COLUMNS[:3]:
        # A negative correction is left out: a counter must not decrease.
        if (value := getattr(spent, name)) > 0:
            tokens.add(value, {"kind": name.removesuffix("_tokens")})
    if spent.cost_usd > 0:
        counter("footnote.edge.cost").add(spent.cost_usd)


def _spent(row: UsageRow | UserUsageRow) -> Spent:
    return Spent(*(getattr(row, name) for name in _COLUMNS))


def today() -> str:
    """Return the day to which usage counts now, as 2026-11-22."""
    return datetime.now(UTC).date().isoformat()
