"""Replicas' claims on the documents of their groups: one has each, as long as it lives."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.leases import GroupClaimTable, LeaseTable
from footnote_edge.jobs.claims import Claims
from footnote_edge.jobs.leases import BEAT_SECONDS, LEASE_SECONDS, Leases
from support import postgres


@pytest.fixture(params=["sqlite", "postgres"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty database of edge."""
    url = f"sqlite:///{tmp_path / 'edge.db'}"
    if request.param == "postgres":
        url = await postgres.new_database(request.getfixturevalue("postgres_url"))
    opened = Database(url)
    await opened.migrate()
    yield opened
    await opened.close()


class Replica(Leases):
    """A replica without jobs, at a time that the test sets."""

    def __init__(self, database: Database, name: str, now: list[float]) -> None:
        super().__init__(LeaseTable(database), GroupClaimTable(database), name, lambda: now[0])
        self.orphans = 0
        self.on_orphans = self._count

    def _count(self) -> None:
        self.orphans += 1

    async def _owners(self) -> set[str]:
        return set()


async def test_each_document_has_one_replica_whoever_claims_it_at_the_same_time(database: Database) -> None:
    table = GroupClaimTable(database)
    ids = [f"d{number}" for number in range(64)]
    taken = await asyncio.gather(
        *(table.take(f"r{number}", ids if number % 2 else ids[::-1]) for number in range(4)),
        *(table.take("r4", [one]) for one in ids[:8]),
    )
    assert sorted(one for some in taken for one in some) == sorted(ids)
    owner = next(number for number in range(4) if len(taken[number]) > 1)
    assert await table.take(f"r{owner}", ids) == taken[owner]  # again: they are its own
    assert await table.holders() <= {f"r{number}" for number in range(5)}


async def test_a_replica_ends_its_own_claims_alone(database: Database) -> None:
    table = GroupClaimTable(database)
    mine, theirs = Claims(table, "mine"), Claims(table, "theirs")
    assert await mine.oldest() is None
    assert await mine.take(["a", "b"]) == {"a", "b"}
    assert await theirs.take(["b", "c"]) == {"c"}
    assert [await mine.elsewhere(one) for one in ("a", "b", "c", "d")] == [False, False, True, False]
    oldest = await mine.oldest()
    assert oldest is not None
    assert abs(datetime.now(UTC) - oldest) < timedelta(minutes=1)
    await mine.release(["a", "c"])
    assert await mine.kept(["a", "b", "c"]) == {"b"}
    assert await theirs.kept(["a", "b", "c"]) == {"c"}
    assert await table.drop("theirs") == 1
    assert await table.holders() == {"mine"}


async def test_claims_end_with_the_lease_of_their_replica_and_not_before(database: Database) -> None:
    table, now = GroupClaimTable(database), [1000.0]
    first, second = (Replica(database, name, now) for name in ("first", "second"))

    async def pass_on(seconds: float, *living: Replica) -> None:
        ends = now[0] + seconds
        while now[0] < ends:
            now[0] += BEAT_SECONDS
            for one in living:
                await one.renew()

    await pass_on(2 * LEASE_SECONDS, first, second)
    await table.take("first", ["a"])
    await table.take("second", ["b", "c"])
    await pass_on(3 * LEASE_SECONDS, first, second)
    await pass_on(LEASE_SECONDS - BEAT_SECONDS, first)
    assert await table.holders() == {"first", "second"}
    await pass_on(30 - LEASE_SECONDS + BEAT_SECONDS, first)
    assert await table.holders() == {"first"}
    assert (first.orphans, second.orphans) == (1, 0)
    # It stood still, and goes on: it has lost its claims, and takes nothing from the other.
    assert await Claims(table, "second").kept(["b", "c"]) == set()
    await pass_on(2 * LEASE_SECONDS, first, second)
    assert await table.kept("first", ["a"]) == {"a"}
    assert second.orphans == 0


async def test_claims_of_a_replica_whose_lease_is_unknown_end_too(database: Database) -> None:
    table, now = GroupClaimTable(database), [1000.0]
    await table.take("restored", ["a"])
    replica = Replica(database, "first", now)
    for _ in range(12):
        now[0] += BEAT_SECONDS
        await replica.renew()
    assert await table.holders() == set()
    assert replica.orphans == 1


async def test_a_replica_that_ends_in_order_leaves_its_claims_to_the_next_check(database: Database) -> None:
    table, now = GroupClaimTable(database), [1000.0]
    first, second = (Replica(database, name, now) for name in ("first", "second"))
    for _ in range(12):
        now[0] += BEAT_SECONDS
        await first.renew()
        await second.renew()
    await table.take("second", ["a"])
    await second.close()
    now[0] += BEAT_SECONDS
    await first.renew()
    assert (await table.holders(), first.orphans) == (set(), 1)


async def test_a_replica_begins_without_the_claims_of_its_name(database: Database) -> None:
    table = GroupClaimTable(database)
    await table.take("first", ["a"])
    await table.take("second", ["b"])
    replica = Replica(database, "first", [1000.0])
    await replica.start()
    assert await table.holders() == {"second"}
    await replica.close()
