"""Daily usage of each tenant: model and embedding tokens and their cost; stored in the edge's database.

A day is one in UTC. The usage of a tenant without a daily limit is buffered briefly and written in batches. With a
daily limit, usage is reserved in the database first, so that replicas cannot overdraw it concurrently.
"""

import asyncio
from datetime import UTC, datetime

from footnote_kit.errors import ResourceExhausted
from footnote_kit.periodic import PeriodicTasks
from footnote_kit.telemetry import counter

from footnote_edge.gateway.allowances import Allowances, raising
from footnote_edge.gateway.ports import SPENT, Account, Allowance, DailyUsage, Spent

FLUSH_SECONDS = 0.5
"""A killed process loses usage of at most this many seconds."""


class Meter:
    """Charges tenants, and refuses those that have used up their day."""

    def __init__(self, usage: DailyUsage, allowances: Allowances) -> None:
        self._usage = usage
        self._allowances = allowances
        self._pending: dict[Account, Spent] = {}
        self._lock = asyncio.Lock()
        self.rounds = PeriodicTasks("metering", self.flush, FLUSH_SECONDS, service="edge", at_once=False, jitter=0.0)
        """Writes charges in the background; `flush` writes the rest at the end."""

    async def today(self, tenant: str) -> Spent:
        """Return a tenant's usage today, including charges not written yet."""
        async with self._lock:  # a charge that is stored, but still listed as being written, would count twice
            stored = await self._usage.of(tenant, today())
        return stored + self._pending.get((tenant, today()), Spent())

    async def today_of(self, tenant: str, user: str) -> Spent:
        """Return the usage today of a tenant's user."""
        async with self._lock:
            stored = await self._usage.of_user(tenant, today(), user)
        return stored + self._pending.get((tenant, today(), user), Spent())

    async def days(self, tenant: str, first: str) -> dict[str, Spent]:
        """Return a tenant's usage on each day from `first` on, including charges not written yet."""
        await self.flush()
        return await self._usage.days(tenant, first)

    async def users_today(self, tenant: str, after: str, most: int) -> dict[str, Spent]:
        """Return users' usage today: at most `most` users, by id, after the given one."""
        await self.flush()
        return await self._usage.users(tenant, today(), after, most)

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
        if not await self._usage.take(tenant, today(), spent, allowance):
            _check(tenant, await self._usage.of(tenant, today()), allowance)
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

    async def flush(self) -> None:
        """Write all charges; failed ones are kept and written again.

        The write outlives a cancelled caller: cancelled after its commit, it would keep charges that are stored.
        """
        await asyncio.shield(self._write())

    async def _write(self) -> None:
        async with self._lock:
            if not self._pending:
                return
            writing, self._pending = self._pending, {}
            try:
                await self._usage.add(writing)
            except BaseException:
                for key, spent in writing.items():
                    self._pending[key] = self._pending.get(key, Spent()) + spent
                raise


def _check(tenant: str, spent: Spent, allowance: Allowance) -> None:
    if allowance.tokens_per_day and spent.tokens >= allowance.tokens_per_day:
        used, unit, limit, option = f"{spent.tokens}", "tokens", float(allowance.tokens_per_day), "tokens-per-day"
    elif allowance.cost_per_day and spent.cost_usd >= allowance.cost_per_day:
        used, unit, limit, option = f"{spent.cost_usd:.2f}", "US dollars", allowance.cost_per_day, "cost-per-day"
    else:
        return
    counter("footnote.edge.quota_refusals").add(1, {"quota": option.replace("-", "_")})
    raise ResourceExhausted(
        f"You have used {used} {unit} today; the limit is {limit:.12g} per day",
        metadata={
            "quota": option.replace("-", "_"),
            "limit": f"{limit:.12g}",
            "used": used,
            "hint": "Wait until the day ends at 00:00 UTC, or ask the operator to raise the limit: "
            + raising(tenant, option, limit),
        },
    )


def _count(spent: Spent) -> None:
    tokens = counter("footnote.edge.tokens")
    for name in SPENT[:3]:
        # A negative correction is left out: a counter must not decrease.
        if (value := getattr(spent, name)) > 0:
            tokens.add(value, {"kind": name.removesuffix("_tokens")})
    if spent.cost_usd > 0:
        counter("footnote.edge.cost").add(spent.cost_usd)


def today() -> str:
    """Return the day to which usage counts now, as 2026-11-22."""
    return datetime.now(UTC).date().isoformat()
