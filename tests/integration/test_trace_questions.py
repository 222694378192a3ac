"""Replicas of edge ask each other for spans: under the caller's scope, within seconds; silent replicas are reported."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from footnote.stages.v1.scope_pb2 import Scope
from footnote.telemetry.v1.telemetry_service_pb2 import GetTraceRequest, GetTraceResponse, TraceSpan
from footnote.types.v1.role_pb2 import ROLE_ADMIN
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.replica_tables import TraceQuestionRow
from footnote_edge.adapters.trace_questions import TraceQuestionTable
from footnote_edge.system import trace_questions
from footnote_edge.system.trace_questions import TraceQuestions
from footnote_kit import telemetry
from footnote_kit.context import detached
from footnote_kit.errors import InvalidArgument, NotFound, Unavailable
from footnote_kit.telemetry import TelemetryServicer

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
    """An empty SQLite database of edge."""
    opened = Database(f"sqlite:///{tmp_path / 'edge.db'}")
    await opened.migrate()
    yield opened
    await opened.close()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait long for those that answer: the machine may be crowded."""
    monkeypatch.setattr(trace_questions, "TIMEOUT", 60.0)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch, patient: None) -> None:
    """Wait short for those that answer nothing."""
    monkeypatch.setattr(trace_questions, "TIMEOUT", 0.6)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch, patient: None) -> None:
    """Wait for a replica that answers while another does not."""
    monkeypatch.setattr(trace_questions, "TIMEOUT", 4.0)


def replica(database: Database, name: str, own: Any, *others: str) -> TraceQuestions:
    return TraceQuestions(TraceQuestionTable(database), name, own, lambda: others)


async def asked(
    asker: TraceQuestions, *answering: TraceQuestions, request: GetTraceRequest = ASKED
) -> list[list[str] | None]:
    """Ask while the others poll; return the names of each one's spans."""

    async def look() -> None:
        while True:
            for one in answering:
                await one.answer()
            await asyncio.sleep(0.02)

    looking = asyncio.create_task(look())
    try:
        told = await asker.ask(request)
    finally:
        looking.cancel()
    return [None if spans is None else [span.name for span in spans] for spans in told]


async def emptied(database: Database) -> None:
    """Wait until nothing is left; TimeoutError where something is."""
    async with asyncio.timeout(240):
        while await left(database):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


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
    await emptied(database)


@pytest.mark.parametrize("broken", [True, False], ids=["refuses", "is silent"])
async def test_who_does_not_tell_is_said(database: Database, broken: bool, later: None) -> None:
    asker = replica(database, "a", Own(), "b", "c")
    answering = [replica(database, "b", Own("ann"), "a", "c")]
    if broken:
        answering.append(replica(database, "c", Own(broken=True), "a", "b"))
    assert await asked(asker, *answering) == [["ann"], None]
    await emptied(database)


async def test_one_alone_asks_nobody_and_looks_at_nothing(database: Database) -> None:
    await database.close()
    alone = replica(database, "a", Own("ann"))
    assert await alone.ask(ASKED) == []
    assert await alone.answer() == 0


async def test_more_than_are_asked_are_said(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_questions, "MOST", 1)
    asker = replica(database, "a", Own(), "b", "c")
    assert await asked(asker, replica(database, "b", Own("ann"), "a")) == [["ann"], None]


async def test_what_an_asker_left_is_swept_and_what_is_young_is_not(database: Database) -> None:
    one = replica(database, "a", Own(), "b")
    await one._exchange.put("old", ["b", "c"], ASKED.SerializeToString())
    await one.sweep()
    await one._exchange.put("young", ["b"], ASKED.SerializeToString())
    await one.sweep()
    assert await left(database) == 1
    await one.sweep()
    assert await left(database) == 0


async def test_a_caller_that_goes_leaves_nothing(database: Database) -> None:
    asking = asyncio.create_task(replica(database, "a", Own(), "b").ask(ASKED))
    async with asyncio.timeout(240):
        while not await left(database):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await emptied(database)


async def test_questions_at_once_are_bounded(database: Database, soon: None) -> None:
    one = replica(database, "a", Own(), "silent")
    asking = [asyncio.create_task(one.ask(ASKED)) for _ in range(5 * trace_questions.AT_ONCE)]
    most = 0
    while not all(task.done() for task in asking):
        most = max(most, await left(database))
        await asyncio.sleep(0.02)
    assert {str(await task) for task in asking} == {"[None]"}
    assert 0 < most < len(asking)  # those that ended are taken back beside those that begin
    await emptied(database)


async def test_what_is_no_question_holds_up_no_other(database: Database) -> None:
    async with database.write() as connection:
        row = {"question": "none", "addressee": "b", "request": b"\xff\xff"}
        await connection.execute(sa.insert(TraceQuestionRow), [row])
    assert await asked(replica(database, "a", Own(), "b"), replica(database, "b", Own("ann"), "a")) == [["ann"]]
    await emptied(database)


async def test_what_is_too_long_is_not_told(database: Database, monkeypatch: pytest.MonkeyPatch, soon: None) -> None:
    monkeypatch.setattr(trace_questions, "LONGEST", 2)
    assert await asked(replica(database, "a", Own(), "b"), replica(database, "b", Own("ann"), "a")) == [None]


async def test_a_database_that_is_away_leaves_the_others_unheard() -> None:
    class Away:
        def write(self) -> Any:
            raise Unavailable("away")

    assert await replica(Away(), "a", Own(), "b").ask(ASKED) == [None]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scope", "sees"),
    [
        (Scope(tenant_id="acme", user_id="ann"), True),
        (Scope(tenant_id="acme", user_id="bob"), False),
        (Scope(tenant_id="acme", user_id="bob", roles=[ROLE_ADMIN]), True),
        (Scope(tenant_id="other", user_id="ann"), False),
        (Scope(tenant_id="other", user_id="ann", roles=[ROLE_ADMIN]), False),
    ],
    ids=["own", "another's", "an administrator", "another tenant's", "another tenant's administrator"],
)
async def test_no_span_is_told_that_the_askers_scope_does_not_cover(
    database: Database, scope: Scope, sees: bool
) -> None:
    with detached("edge", Scope(tenant_id="acme", user_id="ann")), telemetry.span("asked"):
        request = GetTraceRequest(scope=scope, trace_id=telemetry.current_trace_id())
    answering = replica(database, "b", TelemetryServicer(), "a")
    told = await asked(replica(database, "a", Own(), "b"), answering, request=request)
    assert told == [["asked"] if sees else []]
