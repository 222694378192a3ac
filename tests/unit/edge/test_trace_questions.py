"""Replicas of edge ask one another for spans: under the caller's scope, for seconds, and who is silent is told."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from footnote.telemetry.v1.telemetry_service_pb2 import GetTraceRequest, GetTraceResponse, TraceSpan
from footnote.types.v1.scope_pb2 import Scope
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import TraceQuestionRow
from footnote_edge.system import trace_questions
from footnote_edge.system.trace_questions import TraceQuestions
from footnote_kit.errors import InvalidArgument, NotFound

ASKED = GetTraceRequest(scope=Scope(tenant_id="acme", user_id="ann"), trace_id="ab" * 16)


class Own:
    """The spans of one process, of which a caller sees those of its own user."""

    def __init__(self, *users: str, broken: bool = False) -> None:
        self._users, self._broken = users, broken

    async def GetTrace(self, request: GetTraceRequest, context: Any) -> GetTraceResponse:
        if self._broken:
            raise InvalidArgument("no such thing")
        seen = [TraceSpan(name=user) for user in self._users if user == request.scope.user_id]
        if not seen:
            raise NotFound("none", reason="TRACE_NOT_FOUND")
        return GetTraceResponse(spans=seen)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(f"sqlite:///{tmp_path / 'edge.db'}")
    await opened.migrate()
    yield opened
    await opened.close()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_questions, "TIMEOUT", 0.6)


def replica(database: Database, name: str, own: Own, *others: str) -> TraceQuestions:
    return TraceQuestions(database, name, own, lambda: others)  # type: ignore[arg-type]


async def asked(asker: TraceQuestions, *answering: TraceQuestions) -> list[list[str] | None]:
    """Ask while the others look now and then; return the names of the spans that each told."""

    async def look() -> None:
        while True:
            for one in answering:
                await one.answer()
            await asyncio.sleep(0.02)

    looking = asyncio.create_task(look())
    try:
        told = await asker.ask(ASKED)
    finally:
        looking.cancel()
    return [None if spans is None else [span.name for span in spans] for spans in told]


async def left(database: Database) -> int:
    async with database.read() as connection:
        return int((await connection.execute(sa.select(sa.func.count()).select_from(TraceQuestionRow))).scalar_one())


async def test_others_tell_what_the_caller_may_see_and_nothing_is_left(database: Database) -> None:
    asker = replica(database, "a", Own(), "b", "c", "d")
    others = [
        replica(database, "b", Own("ann", "bob"), "a", "c", "d"),
        replica(database, "c", Own("bob"), "a", "b", "d"),
        replica(database, "d", Own(), "a", "b", "c"),
    ]
    assert sorted(await asked(asker, *others), key=str) == [["ann"], [], []]
    assert await left(database) == 0


@pytest.mark.parametrize("broken", [True, False], ids=["refuses", "is silent"])
async def test_who_does_not_tell_is_said(database: Database, broken: bool) -> None:
    asker = replica(database, "a", Own(), "b", "c")
    answering = [replica(database, "b", Own("ann"), "a", "c")]
    if broken:
        answering.append(replica(database, "c", Own(broken=True), "a", "b"))
    assert await asked(asker, *answering) == [["ann"], None]


async def test_one_alone_asks_nobody_and_looks_at_nothing(database: Database) -> None:
    await database.close()
    alone = replica(database, "a", Own("ann"))
    assert await alone.ask(ASKED) == []
    assert await alone.answer() == 0


async def test_more_than_are_asked_are_said(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_questions, "MOST", 1)
    asker = replica(database, "a", Own(), "b", "c")
    assert await asked(asker, replica(database, "b", Own("ann"), "a")) == [["ann"], None]


async def test_what_was_not_answered_is_swept(database: Database) -> None:
    asker = replica(database, "a", Own(), "b")
    assert await asked(asker) == [None]
    await asker.sweep()
    assert await left(database) == 1
    async with database.write() as connection:
        await connection.execute(sa.update(TraceQuestionRow).values(asked=datetime.now(UTC) - timedelta(minutes=2)))
    await asker.sweep()
    assert await left(database) == 0
