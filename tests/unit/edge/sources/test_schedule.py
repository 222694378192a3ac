"""When sources run again: after refusals, after changes of their settings; and what a deleted one leaves."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import pytest
from footnote.edge.v1.sources_pb2 import SOURCE_STATE_AWAY, SOURCE_STATE_IN_STEP
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import VISIBILITY_PRIVATE, Collection
from footnote.types.v1.role_pb2 import ROLE_WRITER
from footnote_database.transactions import utc
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.operations import OperationTable
from footnote_edge.adapters.source_items import ItemTable
from footnote_edge.adapters.sources import SourceTable
from footnote_edge.adapters.tables import SourceItemRow, SourceRow
from footnote_edge.jobs.ports import StoredOperation
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.sources.creators import stored
from footnote_edge.sources.engine import Engine
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import Item, ItemFailed
from footnote_edge.sources.registry import Openings
from footnote_edge.sources.schedule import Schedule
from footnote_edge.sources.secrets import Vault
from footnote_edge.sources.stored import FAILED, Holder, Outcome, StoredSource, key_of
from footnote_kit.errors import InvalidArgument
from footnote_kit.paging import Page
from sqlalchemy import update
from support import postgres

SCOPE = Scope(tenant_id="t", user_id="u", roles=[ROLE_WRITER])
HOUR, MONTH = timedelta(hours=1), timedelta(days=31)


@dataclass
class Edge:
    """The tables and the schedule of sources over a database; jobs are only noted."""

    database: Database
    folder: Path
    error: Exception | None = None
    jobs: list[StoredOperation] = field(default_factory=list)
    policy: Policy = field(default_factory=Policy)

    def __post_init__(self) -> None:
        bus = ProgressBus()
        self.sources = SourceTable(self.database, bus)
        self.items = ItemTable(self.database, self.sources)
        self.operations = OperationTable(self.database, bus, 168)
        self.openings = Openings(*cast(Any, ({}, None, self.policy, self.folder)))
        self.schedule = Schedule(*cast(Any, (self.sources, self.operations, self, None, self.openings)))

    async def enqueue(self, row: StoredOperation) -> None:
        self.jobs.append(row)

    async def collection(self, scope: Scope, source: StoredSource) -> Collection:
        return Collection(id="c", tenant_id="t", owner_id="u" if self.error else "v", visibility=VISIBILITY_PRIVATE)

    def of(self, source: StoredSource) -> tuple[Any, Any]:
        return SimpleNamespace(open=self.refuse), None

    def spool(self, source_id: str) -> Path:
        return self.openings.spool(source_id)

    def refuse(self, opening: object) -> None:
        if self.error is not None:
            raise self.error

    async def source(self, **more: Any) -> StoredSource:
        now = datetime.now(UTC)
        times = {"create_time": now, "update_time": now, "next_time": now + HOUR}
        rest: dict[str, Any] = {"id": "s", "name": "n", "creator": stored(SCOPE), **times, **more}
        row = StoredSource(tenant_id="t", user_id="u", collection_id="c", kind="web", etag="etag", **rest)
        await self.sources.add(row)
        return await self.sources.take(row.id, "run", "token")

    async def next_time(self) -> datetime:
        row = await self.sources.read("s")
        assert row is not None
        assert row.next_time is not None
        return utc(row.next_time)


@pytest.fixture(params=["sqlite", "postgresql"])
async def edge(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Edge]:
    """Sources over an empty database of edge."""
    url = f"sqlite:///{tmp_path / 'edge.db'}"
    if request.param == "postgresql":
        url = await postgres.new_database(request.getfixturevalue("postgres_url"))
    database = Database(url)
    await database.migrate()
    yield Edge(database, tmp_path / "sources")
    await database.close()


@pytest.mark.parametrize("error", [None, InvalidArgument("Settings of an older version"), ImportError("a library")])
async def test_a_refused_source_waits_for_its_interval_though_an_item_is_to_be_retried(
    edge: Edge, error: Exception | None
) -> None:
    edge.error = error
    source = await edge.source()
    failed = Item("a", "1", "a", skip=ItemFailed("AWAY", "Status 500"))
    await edge.items.see(Holder("s", "run", "token"), [failed], "")
    async with edge.database.sessions.begin() as session:
        await session.execute(update(SourceItemRow).values(retry_time=datetime.now(UTC) - HOUR))
    engine = Engine(*cast(Any, (edge.sources, edge.items, edge.operations, edge, None, edge, 1.0)))
    for _ in range(3):
        await edge.schedule.begin_due()
        for row in edge.jobs:
            await engine.synchronise(SCOPE, row.id)
    assert [row.failed_only for row in edge.jobs] == [True]
    after = await edge.sources.read("s")
    assert after is not None
    assert after.state == SOURCE_STATE_AWAY
    assert await edge.next_time() == utc(source.next_time or datetime.min), "its listing is due as before"
    async with edge.database.sessions.begin() as session:
        await session.execute(update(SourceRow).values(next_time=datetime.now(UTC)))
    assert await edge.schedule.begin_due() == 1
    assert not edge.jobs[-1].failed_only


LISTED = Outcome(SOURCE_STATE_IN_STEP, gone=True)


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ({"settings": '{"url": "https://other"}', "next_time": timedelta(0)}, timedelta(0)),
        ({"interval_seconds": 3600}, HOUR),
        ({"name": "renamed"}, MONTH),
    ],
    ids=["settings", "interval", "name"],
)
async def test_a_change_during_a_listing_has_its_effect_after_it(
    edge: Edge, change: dict[str, Any], after: timedelta
) -> None:
    now = datetime.now(UTC)
    source = await edge.source(next_time=now - HOUR, interval_seconds=int(MONTH.total_seconds()))
    values = {name: now + value if name == "next_time" else value for name, value in change.items()}
    await edge.sources.change("s", "etag", "another", values)
    await edge.sources.listed(source, "token", LISTED)
    assert abs(await edge.next_time() - (now + after)) < timedelta(minutes=5)


async def test_what_a_source_copied_goes_with_it(edge: Edge) -> None:
    there, gone = uuid4().hex, uuid4().hex
    await edge.source(id=there)
    for name in (there, gone, "lost+found"):
        (edge.folder / name / "git").mkdir(parents=True)
        (edge.folder / name / "git" / "pack").write_text("what the repository holds")
    assert await edge.schedule.remove_folders() == 1
    assert {one.name for one in edge.folder.iterdir()} == {there, "lost+found"}
    await edge.sources.remove(there)
    assert await edge.schedule.remove_folders() == 1
    assert {one.name for one in edge.folder.iterdir()} == {"lost+found"}


async def test_retries_of_many_items_are_gathered(edge: Edge) -> None:
    source, now = await edge.source(), datetime.now(UTC)
    holder = Holder(source.id, "run", "token")
    refused = ItemFailed("REFUSED", "Status 403")
    await edge.items.see(holder, [Item(f"{one}", "1", "n", skip=refused) for one in range(120)], "")
    async with edge.database.sessions.begin() as session:
        for one in range(120):  # the last 60 have just failed for the first time
            when, attempts = (now + timedelta(minutes=one), 10) if one < 60 else (now + timedelta(seconds=30), 1)
            mine = SourceItemRow.key == key_of(f"{one}")
            await session.execute(update(SourceItemRow).where(mine).values(retry_time=when, attempts=attempts))
    assert await edge.items.take_up_again(holder, now) == 46, "no run in the next 45 minutes, an eighth of six hours"
    _, _, left = await edge.items.page(source.id, Page.first(), [FAILED])
    assert left == 74


@pytest.mark.parametrize(
    ("ahead", "runs"), [(timedelta(days=3), [False]), (timedelta(minutes=61), [])], ids=["days", "a minute's skew"]
)
async def test_a_source_is_due_whose_time_comes_from_a_wrong_clock(
    edge: Edge, ahead: timedelta, runs: list[bool]
) -> None:
    await edge.source(next_time=datetime.now(UTC) + ahead, interval_seconds=3600)
    await edge.schedule.begin_due()
    assert [row.failed_only for row in edge.jobs] == runs


async def test_damaged_secrets_keep_no_others_from_a_new_key(edge: Edge) -> None:
    old, new = (b64encode(os.urandom(32)).decode() for _ in range(2))
    for name in ("a", "b", "c"):
        sealed = Vault.of(old, None).seal(name, {"password": "p"})
        data = sealed.data if name != "b" else b"damaged" * 9
        await edge.source(id=name, name=name, secrets=data, secret_key=sealed.key_id)
    vault = Vault.of(f"{new},{old}", None)
    schedule = Schedule(*cast(Any, (edge.sources, edge.operations, edge, vault, edge.openings)))
    assert await schedule.rekey() == 2
    assert [row.id for row in await edge.sources.sealed_with_others(vault.primary)] == ["b"]
