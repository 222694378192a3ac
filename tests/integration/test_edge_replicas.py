"""What replicas of edge know of one another by their leases."""

from pathlib import Path

import pytest
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.leases import GroupClaimTable, LeaseTable
from footnote_edge.jobs import leases
from footnote_edge.jobs.leases import Leases

pytestmark = pytest.mark.full


class Quiet(Leases):
    """Knows of no jobs: the ledger is not what this is about."""

    async def _owners(self) -> set[str]:
        return set()


async def test_each_replica_hears_how_many_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(f"sqlite+aiosqlite:///{tmp_path / 'edge.db'}")
    await database.migrate()
    heard: dict[str, int] = {}
    first, second = (
        Quiet(
            LeaseTable(database),
            GroupClaimTable(database),
            name,
            on_change=lambda alive, name=name: heard.update({name: alive}),
        )
        for name in ("first", "second")
    )
    try:
        await first.renew()
        assert heard == {"first": 1}
        await second.renew()
        await first.renew()
        assert heard == {"first": 2, "second": 2}
        await second.close()  # gives its lease back
        await first.renew()
        assert heard["first"] == 1
        await second.renew()
        await first.renew()
        assert heard["first"] == 2
        monkeypatch.setattr(leases, "LEASE_SECONDS", -1.0)  # no message has come for longer than that
        await first.renew()
        assert heard["first"] <= 1
    finally:
        await database.close()
