"""The audit log on a real PostgreSQL that goes away, hangs and comes back."""

import asyncio

import pytest
from footnote_edge.adapters.audit import AuditTable
from footnote_edge.adapters.database import Database
from footnote_edge.audit import recorder as module
from footnote_edge.audit.events import ALL_TENANTS, CallOrigin, Event, Filters, Principal
from footnote_edge.audit.recorder import Recorder
from footnote_kit.errors import Unavailable
from footnote_kit.paging import Page
from support import postgres
from support.postgres import postgres_server

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(postgres.why_not() is not None, reason=str(postgres.why_not())),
]


async def is_ready(recorder: Recorder) -> bool:
    try:
        recorder.ready()
    except Unavailable:
        return False
    return True


@pytest.mark.parametrize("how", ["stop", "kill", "freeze"])
async def test_events_wait_for_the_database_and_new_work_for_them(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WRITE_SECONDS", 2.0)
    with postgres_server() as server:
        database = Database(await postgres.new_database(server.url))
        await database.migrate()
        book = AuditTable(database)
        recorder = Recorder(book)
        await recorder.rounds.start()
        first, second = (Event(Principal("acme", "ann"), CallOrigin(), action) for action in ("First", "Second"))
        await recorder.record(first)
        await asyncio.to_thread(getattr(server, how))
        await recorder.record(second)
        assert not await is_ready(recorder)
        await asyncio.to_thread(server.thaw if how == "freeze" else server.start)
        async with asyncio.timeout(60):
            while not await is_ready(recorder):  # noqa: ASYNC110 - the background finds out
                await asyncio.sleep(0.05)
        found, _ = await book.page(Filters(ALL_TENANTS), Page.first(10))
        assert [event.action for event in found] == ["Second", "First"], "each is there once"
        await recorder.rounds.stop()
        await recorder.close()
        await database.close()
