"""The ids of the objects of a repeated call, also of one whose first try an earlier version took."""

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4, uuid5

import pytest
from footnote.edge.v1.vectors_pb2 import AddVectorsRequest
from footnote.stages.v1.scope_pb2 import Scope
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.request_ids import RequestTable
from footnote_edge.gateway import request_ids
from footnote_edge.gateway.ports import StoredRequest
from footnote_edge.gateway.request_ids import _TIME, RequestIds
from footnote_kit import wall_clock

SCOPE = Scope(tenant_id="t", user_id="u")
CALL = AddVectorsRequest(collection="notes", request_id="once")


@pytest.fixture
async def stored(tmp_path: Path) -> AsyncIterator[RequestTable]:
    """The table of calls."""
    database = Database(f"sqlite:///{tmp_path / 'edge.db'}")
    await database.migrate()
    yield RequestTable(database)
    await database.close()


async def rows_of_call(stored: RequestTable) -> list[str]:
    claim = await RequestIds(stored).claim(SCOPE, CALL)
    assert claim is not None
    return [claim.ordered_id_of(number) for number in range(100)]


def put_clock(monkeypatch: pytest.MonkeyPatch, ahead: timedelta) -> None:
    """Set the wall clock, as `datetime` and `time` tell it."""

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + ahead

    real = time.time
    monkeypatch.setattr(request_ids, "datetime", Shifted)
    monkeypatch.setattr(wall_clock, "_deletions", wall_clock.DeletionClock())  # the process's own doubts for an hour
    monkeypatch.setattr(time, "time", lambda: real() + ahead.total_seconds())


async def test_rows_of_a_call_that_an_earlier_version_took_keep_their_ids(stored: RequestTable) -> None:
    content, earlier = request_ids._content(CALL, ()), uuid4().hex  # random digits throughout
    await stored.add(SCOPE, "once", StoredRequest(content, earlier, datetime.now(UTC)))
    assert (await rows_of_call(stored))[3] == uuid5(UUID(earlier), "row 3").hex


async def test_rows_of_a_call_are_in_their_order_and_the_same_a_day_later(
    stored: RequestTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        put_clock(patch, -timedelta(seconds=86_399))
        first = await rows_of_call(stored)
    assert first == sorted(set(first))
    assert len({one[:_TIME] for one in first}) == 1
    assert await rows_of_call(stored) == first


@pytest.mark.parametrize("days", [1, 3, 400])
async def test_a_call_stays_the_same_while_the_clock_is_ahead(
    stored: RequestTable, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    first = await rows_of_call(stored)
    with monkeypatch.context() as patch:
        put_clock(patch, timedelta(days=days))
        assert await rows_of_call(stored) == first
    assert await rows_of_call(stored) == first
