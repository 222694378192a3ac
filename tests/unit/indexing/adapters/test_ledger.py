"""The life of revisions in the ledger, on a real SQLite file and a real PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from footnote_database.transactions import now_ms
from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.ledger import LedgerTable
from footnote_indexing.adapters.purge_list import PurgeTable
from footnote_indexing.adapters.tables import revisions
from footnote_indexing.chunking.model import UNDECIDED
from footnote_indexing.model import CURRENT, RETIRED, WRITING, RevisionKey
from footnote_kit.errors import Aborted, FailedPrecondition
from support import postgres
from support.conditions import until

PAIR = [("c", 1)]


@pytest.fixture(params=["sqlite", "postgresql"])
async def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LedgerTable]:
    """The ledger on SQLite, then on PostgreSQL, migrated twice."""
    url = ""
    if request.param == "postgresql":
        url = await postgres.new_database(request.getfixturevalue("postgres_url"))
    database = Database(url, tmp_path)
    assert database.dialect == request.param
    await database.migrate()
    await database.migrate()
    yield LedgerTable(database)
    await database.close()


def purges(ledger: LedgerTable) -> PurgeTable:
    return PurgeTable(ledger._database)


def key(revision: int, document: str = "d", collection: str = "c") -> RevisionKey:
    return RevisionKey(collection, 1, document, revision)


async def publish(
    ledger: LedgerTable, revision: RevisionKey, chunks: int = 3, expire_at: int | None = None, grace_ms: int = 0
) -> None:
    await ledger.publish(
        revision, chosen=UNDECIDED, language="en", chunks=chunks, characters=9, expire_at=expire_at, grace_ms=grace_ms
    )


async def test_one_revision_is_searched_and_every_other_is_hidden(ledger: LedgerTable) -> None:
    opened = await ledger.open(key(1), "f", True)
    assert (opened.before, opened.current) == (None, None)
    assert await ledger.hidden(PAIR) == {"c": ["d:1"]}
    assert (await ledger.totals(PAIR))["c"].documents == 0
    await publish(ledger, key(1))
    assert await ledger.hidden(PAIR) == {"c": []}
    second = await ledger.open(key(2), "f", True)
    assert second.current is not None
    assert (second.current.key, second.current.contextual_header) == (key(1), True)
    assert await ledger.hidden(PAIR) == {"c": ["d:2"]}
    await publish(ledger, key(2), chunks=5)
    assert await ledger.hidden(PAIR) == {"c": ["d:1"]}
    assert (await ledger.totals(PAIR))["c"].chunks == 5
    assert [entry.key for entry in await purges(ledger).due(10)] == [key(1)]
    await purges(ledger).forget(key(1))
    await purges(ledger).forget(key(2))
    assert await ledger.hidden(PAIR) == {"c": []}
    assert (await ledger.totals(PAIR))["c"].documents == 1


async def test_a_late_publication_leaves_the_newer_revision_to_its_writer(ledger: LedgerTable) -> None:
    """Another replica writes the newer one: retired, it would end as an error, and the file that replaced is lost."""
    await ledger.open(key(1), "f", True)
    await ledger.open(key(2), "g", True)
    await publish(ledger, key(1))
    assert await ledger.wanted(key(2))
    await publish(ledger, key(2), chunks=5)
    assert not await ledger.wanted(key(1))
    assert (await ledger.totals(PAIR))["c"].chunks == 5


async def test_opening_again_resumes_completes_or_refuses(ledger: LedgerTable) -> None:
    await ledger.open(key(1), "f", True)
    resumed = await ledger.open(key(1), "g", True)
    assert resumed.before is not None
    assert resumed.before.fingerprint == "f"
    await publish(ledger, key(1))
    complete = await ledger.open(key(1), "g", True)
    assert complete.before is not None
    assert complete.before.state == CURRENT
    assert (await ledger.totals(PAIR))["c"].chunks == 3
    await publish(ledger, key(1))  # by a second attempt that ran beside the first
    with pytest.raises(Aborted):
        await publish(ledger, key(1), chunks=4)
    await ledger.open(key(2), "g", True)
    await publish(ledger, key(2))
    with pytest.raises(FailedPrecondition, match="older than 2"):
        await ledger.open(key(1), "g", True)
    with pytest.raises(FailedPrecondition, match="another collection"):
        await ledger.open(key(1, collection="other"), "g", True)


async def test_what_was_deleted_or_overtaken_cannot_be_published(ledger: LedgerTable) -> None:
    await ledger.open(key(1), "f", True)
    await ledger.check_wanted(key(1))
    assert [entry.key for entry in await ledger.retire_document("c", 1, "d", 0)] == [key(1)]
    with pytest.raises(Aborted):
        await ledger.check_wanted(key(1))
    with pytest.raises(Aborted):
        await publish(ledger, key(1))
    assert await purges(ledger).due(10) == [], "its writer may still be at work"
    await ledger.open(key(2, "e"), "f", True)
    await ledger.open(key(3, "e"), "f", True)
    await publish(ledger, key(3, "e"))
    with pytest.raises(Aborted):
        await publish(ledger, key(2, "e"))


@pytest.mark.parametrize("known", ["", "written", "searched"])
async def test_no_job_under_way_begins_a_deleted_document(ledger: LedgerTable, known: str) -> None:
    if known:
        await ledger.open(key(1), "f", True)
    if known == "searched":
        await publish(ledger, key(1))
    for _ in range(2):
        await ledger.retire_document("c", 1, "d", 0)
    assert await ledger.open_new({key(1): "f"}, True) == set()
    for revision in (1, 2):
        with pytest.raises(Aborted, match="deleted"):
            await ledger.open(key(revision), "f", True)
    await ledger.retire_document("c", 1, "e", 1)  # one revision: the document is still wanted
    await ledger.open(key(1, "e"), "f", True)


async def test_expired_and_abandoned_revisions_are_retired(ledger: LedgerTable) -> None:
    now = now_ms()
    await ledger.open(key(1), "f", True)
    await publish(ledger, key(1), expire_at=now - 10)
    await ledger.open(key(1, "abandoned"), "f", True)
    assert (await ledger.totals(PAIR))["c"].documents == 0
    epoch = ledger._database.current()
    assert await purges(ledger).retire_stale(expired_before=now - 20, abandoned_before=now - 20) == 0
    assert ledger._database.current() == epoch, "a sweep with nothing to do begins no new epoch"
    assert await purges(ledger).retire_stale(expired_before=now, abandoned_before=now + 60_000) == 2
    assert epoch is None or ledger._database.current() != epoch
    assert {entry.key.document_id for entry in await purges(ledger).due(10)} == {"d", "abandoned"}


async def test_several_documents_are_opened_at_their_next_revision(ledger: LedgerTable) -> None:
    await ledger.open(key(4), "f", True)
    assert await ledger.open_next("c", 1, ["d", "new"]) == [key(5), key(1, "new")]


CHANGES: dict[str, tuple[Callable[[LedgerTable], Awaitable[Any]], str]] = {
    "cancelled while it begins": (lambda ledger: ledger.cancel(key(1)), WRITING),
    "begun while it is cancelled": (lambda ledger: ledger.open(key(1), "f", True), RETIRED),
    "begun twice": (lambda ledger: ledger.open(key(1), "f", True), WRITING),
    "the next one twice": (lambda ledger: ledger.open_next("c", 1, ["d"]), WRITING),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_of_two_who_add_a_revision_at_once_the_second_sees_the_first(
    change: str, postgres_url: str, tmp_path: Path
) -> None:
    """Only where writers are side by side: the second has looked before the first's row can be seen."""
    database = Database(await postgres.new_database(postgres_url), tmp_path)
    await database.migrate()
    work, state = CHANGES[change]
    cancelled = state == RETIRED
    waiting = sa.text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    async with asyncio.timeout(60):
        async with database.engine.connect() as first, first.begin():
            await first.execute(
                sa.insert(revisions).values(
                    collection_id="c", index_version=1, document_id="d", revision=1, state=state, fingerprint="f",
                    contextual_header=True, cancelled=cancelled, purge_at=now_ms() + 600_000 if cancelled else None,
                    updated_at=now_ms(),
                )
            )  # fmt: skip
            second = asyncio.create_task(work(LedgerTable(database)))
            async with database.engine.connect() as looking:
                # Each look a transaction of its own: within one, PostgreSQL shows its activity as it was at first.
                await looking.execution_options(isolation_level="AUTOCOMMIT")
                while not (await looking.execute(waiting)).scalar_one():  # noqa: ASYNC110 -- no event tells
                    await asyncio.sleep(0.01)
        if cancelled:
            with pytest.raises(Aborted):
                await second
        else:
            await second
    async with database.read() as connection:
        rows = (await connection.execute(sa.select(revisions).order_by(revisions.c.revision))).all()
    assert [row.revision for row in rows] == ([1, 2] if change.startswith("the next") else [1])
    assert rows[0].cancelled == (change != "begun twice" and not change.startswith("the next"))
    await database.close()


def of_group(chunks: int = 3) -> dict[str, object]:
    return {
        "strategy": 1, "choice": 1, "language": "en", "chunks_expected": chunks, "chunks_stored": chunks,
        "characters": 9, "expire_at": None, "vectors_owed": 0,
    }  # fmt: skip


async def test_a_group_opens_what_is_new_and_publishes_what_is_still_wanted(ledger: LedgerTable) -> None:
    await ledger.open(key(1, "known"), "f", True)
    names = ("kept", "deleted", "cancelled", "replaced", "known")
    new = await ledger.open_new({key(1, name): "f" for name in names}, True)
    assert new == {key(1, name) for name in names} - {key(1, "known")}
    assert len((await ledger.hidden(PAIR))["c"]) == len(names)
    await ledger.retire_document("c", 1, "deleted", 0)
    await ledger.cancel(key(1, "cancelled"))
    await ledger.open(key(2, "replaced"), "f", True)
    refused = await ledger.publish_new({one: of_group() for one in new})
    assert set(refused) == new - {key(1, "kept")}
    assert {one.document_id for one, error in refused.items() if error.metadata.get("cancelled")} == {"cancelled"}
    totals = (await ledger.totals(PAIR))["c"]
    assert (totals.documents, totals.chunks, totals.characters) == (1, 3, 9)
    assert "kept:1" not in (await ledger.hidden(PAIR))["c"]


async def test_groups_that_open_the_same_documents_share_them_out(ledger: LedgerTable) -> None:
    marks = {key(1, f"d{number}"): "f" for number in range(20)}
    opened = await asyncio.gather(*(ledger.open_new(marks, True) for _ in range(4)))
    assert sorted(one.document_id for new in opened for one in new) == sorted(one.document_id for one in marks)


async def test_a_withdrawal_amid_the_publishing_of_a_newer_revision_restores_none(ledger: LedgerTable) -> None:
    if ledger._database.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    for revision in (1, 2, 3):
        await ledger.open(key(revision), "f", True)
        if revision < 3:
            await publish(ledger, key(revision), grace_ms=60_000)
    async with ledger._database.write_documents() as publishing:
        await ledger.publish_on(
            publishing, key(3), chosen=UNDECIDED, language="en", chunks=3, characters=9, expire_at=None, grace_ms=60_000
        )
        withdrawal = asyncio.create_task(ledger.retire_document("c", 1, "d", 2))
        async with ledger._database.read() as looker:
            await until(lambda: looker.scalar(sa.text("SELECT count(*) > 0 FROM pg_locks WHERE NOT granted")))
    await withdrawal
    async with ledger._database.read() as connection:
        searched = sa.select(revisions.c.revision).where(revisions.c.state == CURRENT)
        assert list((await connection.execute(searched)).scalars()) == [3]
