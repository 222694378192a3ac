"""Daily usage counts once, also while it is being written."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from footnote_edge import offline
from footnote_edge.adapters.usage import UsageTable
from footnote_edge.gateway.metering import Meter
from footnote_edge.gateway.ports import Account, Spent

TURNS = 10
"""Turns of the event loop that a reader gets to begin its read: without a lock it needs one."""


class Committed(UsageTable):
    """The real table; a write stays under way after its commit until it is let go. It counts the reads that began."""

    def __init__(self, database: object) -> None:
        super().__init__(database)  # type: ignore[arg-type]
        self.stored, self.let_go = asyncio.Event(), asyncio.Event()
        self.reads = 0

    async def add(self, items: dict[Account, Spent]) -> None:
        await super().add(items)
        self.stored.set()
        await self.let_go.wait()

    async def of(self, tenant: str, day: str) -> Spent:
        self.reads += 1
        return await super().of(tenant, day)

    async def of_user(self, tenant: str, day: str, user: str) -> Spent:
        self.reads += 1
        return await super().of_user(tenant, day, user)


async def test_a_charge_that_is_stored_but_still_being_written_counts_once(tmp_path: Path) -> None:
    database, allowances = await offline.limits(tmp_path)
    table = Committed(database)
    meter = Meter(table, allowances)
    charge = Spent(prompt_tokens=500, completion_tokens=1, cost_usd=0.501)
    meter.charge("acme", charge, "ann")
    writing = asyncio.create_task(meter.flush())
    await table.stored.wait()
    reading = asyncio.create_task(meter.today("acme"))
    reading_user = asyncio.create_task(meter.today_of("acme", "ann"))
    for _ in range(TURNS):
        await asyncio.sleep(0)
    assert table.reads == 0
    table.let_go.set()
    await writing
    assert await reading == await reading_user == charge
    assert table.reads == 2
    await database.close()


async def test_callers_that_leave_amid_a_write_charge_nothing_twice(tmp_path: Path) -> None:
    database, allowances = await offline.limits(tmp_path)
    await allowances.set("acme", {"tokens_per_day": 1_000_000})
    table = Committed(database)
    meter = Meter(table, allowances)
    calls: list[Callable[[], Coroutine[Any, Any, object]]] = [
        meter.flush,
        lambda: meter.days("acme", "2026-01-01"),
        lambda: meter.users_today("acme", "", 10),
        lambda: meter.take("acme", Spent(prompt_tokens=1)),
    ]
    for number, call in enumerate(calls, start=1):
        table.stored.clear()
        table.let_go.clear()
        meter.charge("acme", Spent(prompt_tokens=500), "ann")
        calling = asyncio.create_task(call())
        await table.stored.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        table.let_go.set()
        days = await meter.days("acme", "2026-01-01")
        assert list(days.values()) == [Spent(prompt_tokens=500 * number)]
    await database.close()
