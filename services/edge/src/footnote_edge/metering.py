"""What each tenant uses a day: tokens of models and of embeddings, and their cost; kept in the edge's database.

A day is one in UTC. What a tenant without a daily limit uses is gathered for a moment and written together; what one
with such a limit is about to use is taken from the database first, so that replicas cannot overdraw it side by side.
"""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from footnote.types.v1.answer_pb2 import Usage
from footnote_kit.context import detached
from footnote_kit.errors import ResourceExhausted
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import counter
from sqlalchemy import Insert, and_, literal
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from footnote_edge.allowances import Allowance, Allowances, raising
from footnote_edge.database import Database
from footnote_edge.tables import UsageRow

FLUSH_SECONDS = 0.5
"""What a killed process may forget of the use of tenants, at most."""

_COLUMNS = ("prompt_tokens", "completion_tokens", "embedding_tokens", "cost_usd")
_log = get_logger(__name__)


@dataclass(slots=True)
class Spent:
    """Tokens and US dollars spent."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    embedding_tokens: int = 0
    cost_usd: float = 0.0

    @classmethod
    def of(cls, usage: Usage) -> "Spent":
        """Return what a stage says was used."""
        return cls(*(getattr(usage, name) for name in _COLUMNS))

    @property
    def tokens(self) -> int:
        """All tokens together."""
        return self.prompt_tokens + self.completion_tokens + self.embedding_tokens

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(*(getattr(self, name) + getattr(other, name) for name in _COLUMNS))

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(*(getattr(self, name) - getattr(other, name) for name in _COLUMNS))

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in _COLUMNS)


class UsageBook:
    """The table of use by tenant and day."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions
        self._insert: Any = sqlite.insert if database.is_sqlite else postgresql.insert

    async def of(self, tenant: str, day: str) -> Spent:
        """Return what a tenant used on a day, given as 2026-11-22."""
        async with self._sessions() as session:
            row = await session.get(UsageRow, (tenant, day))
        return Spent() if row is None else Spent(*(getattr(row, name) for name in _COLUMNS))

    async def add(self, items: dict[tuple[str, str], Spent]) -> None:
        """Add what was used, by tenant and day, all of it or nothing."""
        async with self._sessions.begin() as session:
            # In one order, so that two replicas never wait for each other.
            for (tenant, day), spent in sorted(items.items()):
                await session.execute(self._adding(tenant, day, spent))

    async def take(self, tenant: str, day: str, spent: Spent, allowance: Allowance) -> bool:
        """Add what is about to be used if there is anything left of what the tenant is allowed; False if not."""
        there = UsageRow.prompt_tokens + UsageRow.completion_tokens + UsageRow.embedding_tokens
        left = and_(
            there < allowance.tokens_per_day if allowance.tokens_per_day else literal(True),
            UsageRow.cost_usd < allowance.cost_per_day if allowance.cost_per_day else literal(True),
        )
        statement = self._adding(tenant, day, spent, left).returning(UsageRow.day)
        async with self._sessions.begin() as session:
            return (await session.execute(statement)).first() is not None

    def _adding(self, tenant: str, day: str, spent: Spent, left: Any = None) -> Insert:
        values = {name: getattr(spent, name) for name in _COLUMNS}
        insert = self._insert(UsageRow).values(tenant_id=tenant, day=day, **values)
        added = {name: getattr(UsageRow, name) + getattr(insert.excluded, name) for name in _COLUMNS}
        statement: Insert = insert.on_conflict_do_update(
            index_elements=["tenant_id", "day"], set_=added, **({} if left is None else {"where": left})
        )
        return statement


class Meter:
    """Charges tenants, and holds up those that have used up their day."""

    def __init__(self, book: UsageBook, allowances: Allowances) -> None:
        self._book = book
        self._allowances = allowances
        self._pending: dict[tuple[str, str], Spent] = {}
        self._writing: dict[tuple[str, str], Spent] = {}
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def today(self, tenant: str) -> Spent:
        """Return what a tenant has used today, what is not written yet included."""
        key = (tenant, _today())
        stored = await self._book.of(*key)
        return stored + self._pending.get(key, Spent()) + self._writing.get(key, Spent())

    async def admit(self, tenant: str) -> None:
        """Let a call in that will use tokens; raises ResourceExhausted when the tenant has used up its day."""
        allowance = await self._allowances.of(tenant)
        if allowance.daily:
            _check(tenant, await self.today(tenant), allowance)

    async def take(self, tenant: str, spent: Spent) -> None:
        """Charge what is about to be used; raises ResourceExhausted when the tenant has used up its day."""
        allowance = await self._allowances.of(tenant)
        if not allowance.daily:
            self.charge(tenant, spent)
            return
        await self.flush()
        if not await self._book.take(tenant, _today(), spent, allowance):
            _check(tenant, await self._book.of(tenant, _today()), allowance)
        _count(spent)

    def charge(self, tenant: str, spent: Spent) -> None:
        """Charge what was used."""
        if spent:
            key = (tenant, _today())
            self._pending[key] = self._pending.get(key, Spent()) + spent
            _count(spent)

    async def flush(self) -> None:
        """Write down what was charged."""
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

    async def start(self) -> None:
        """Begin to write down what is charged, in the background."""
        self._task = asyncio.create_task(self._run(), name="edge-metering")

    async def stop(self) -> None:
        """Write down the rest."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.flush()

    async def _run(self) -> None:
        with detached("edge"):
            while True:
                await asyncio.sleep(FLUSH_SECONDS)
                try:
                    await asyncio.shield(self.flush())
                except (SQLAlchemyError, OSError) as error:  # kept, and tried again
                    _log.warning("usage_not_written", error=type(error).__name__)


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
        # A correction downwards is left out: a counter only counts up.
        if (value := getattr(spent, name)) > 0:
            tokens.add(value, {"kind": name.removesuffix("_tokens")})
    if spent.cost_usd > 0:
        counter("footnote.edge.cost").add(spent.cost_usd)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
