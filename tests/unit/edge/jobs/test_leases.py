"""A replica is considered dead after a long silence, whatever the database's clock shows."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from footnote_edge.adapters import leases as lease_table
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.leases import GroupClaimTable, LeaseTable
from footnote_edge.jobs import leases
from footnote_edge.jobs.leases import BEAT_SECONDS, LEASE_SECONDS, Leases

JUMPS = {"an hour on": 3600, "an hour back": -3600, "a day on": 86_400, "a day back": -86_400, "no jump": 0}


class Time:
    """Seconds that pass for everybody, and what the database's clock makes of them."""

    def __init__(self) -> None:
        self.passed, self.ahead = 1000.0, 0.0

    def statement(self) -> sa.TextClause:
        return sa.text(f"SELECT {int((1_700_000_000 + self.passed + self.ahead) * 1000)}")


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """The database's clock, which a test sets."""
    made = Time()

    class Clocks:
        def __getitem__(self, dialect: str) -> sa.TextClause:
            return made.statement()

    monkeypatch.setattr(lease_table, "_CLOCK", Clocks())
    return made


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """An empty SQLite database of edge."""
    opened = Database(f"sqlite:///{tmp_path / 'edge.db'}")
    await opened.migrate()
    yield opened
    await opened.close()


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The replicas whose jobs were taken over."""
    found: list[str] = []

    class Ledger:
        @staticmethod
        def _recover_pending_workflows(names: list[str]) -> None:
            found.extend(names)

    monkeypatch.setattr(leases, "DBOS", Ledger)
    return found


def replica(database: Database, name: str, time: Time, at_work: set[str]) -> Leases:
    made = Leases(LeaseTable(database), GroupClaimTable(database), name, lambda: time.passed)

    async def owners() -> set[str]:
        return at_work - {name}

    made._owners = owners  # type: ignore[method-assign]
    return made


@pytest.mark.parametrize("jump", JUMPS)
async def test_nobody_alive_is_given_up_and_the_dead_are_in_time(
    database: Database, time: Time, taken: list[str], jump: str
) -> None:
    at_work = {"first", "second"}
    first, second = (replica(database, name, time, at_work) for name in ("first", "second"))

    async def pass_on(seconds: float, *living: Leases) -> None:
        ends = time.passed + seconds
        while time.passed < ends:
            time.passed += BEAT_SECONDS
            for one in living:
                await one.renew()

    await pass_on(3 * LEASE_SECONDS, first, second)
    time.ahead = JUMPS[jump]
    await pass_on(3 * LEASE_SECONDS, first, second)
    assert (taken, first.alive, second.alive) == ([], 2, 2)
    await pass_on(LEASE_SECONDS - BEAT_SECONDS, first)
    assert taken == []
    time.ahead = 0
    await pass_on(30 - LEASE_SECONDS + BEAT_SECONDS, first)
    assert set(taken) == {"second"}
    assert first.alive == 1


async def test_who_said_that_it_ends_is_given_up_at_once(database: Database, time: Time, taken: list[str]) -> None:
    first, second = (replica(database, name, time, {"first", "second"}) for name in ("first", "second"))
    for _ in range(10):
        time.passed += BEAT_SECONDS
        await first.renew()
        await second.renew()
    await second.close()
    time.passed += BEAT_SECONDS
    await first.renew()
    assert taken == ["second"]
