"""Runs of golden questions: who keeps and reads them, how many, how long, and that they go with their collection."""

import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from footnote.edge.v1 import evaluations_pb2 as pb
from footnote.edge.v1.collections_pb2 import (
    CreateCollectionRequest,
    DeleteCollectionRequest,
    UpdateCollectionRequest,
)
from footnote.edge.v1.operations_pb2 import WatchOperationRequest
from footnote.types.v1.collection_pb2 import VISIBILITY_PRIVATE, Collection
from footnote_edge.adapters import evaluations as table
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.evaluations import EvaluationTable
from footnote_edge.adapters.forgetting import ForgettingTable
from footnote_edge.adapters.tables import EvaluationRow
from footnote_edge.app import build
from footnote_edge.collections import evaluations
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import InvalidArgument, NotFound, PermissionDenied
from footnote_kit.testing import serve_app
from sqlalchemy import select
from support import postgres
from support.doubles.stages import World, serve_doubles
from support.edge_client import EdgeClient

READER = (("x-footnote-user", "rita"), ("x-footnote-role", "reader"))
WRITER = (("x-footnote-user", "wim"), ("x-footnote-role", "writer"))
ELSEWHERE = (("x-footnote-tenant", "rival"),)
RIGHT, WRONG = pb.EVALUATION_GRADE_RIGHT, pb.EVALUATION_GRADE_WRONG


@pytest.fixture(params=["sqlite", "postgres"])
async def url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> str:
    """The database of edge: SQLite, then a new one of PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'edge.db'}"
    made = str(await postgres.migrated_database(request.getfixturevalue("postgres_url"), "edge"))
    monkeypatch.setenv("FOOTNOTE_EDGE_DATABASE_URL", made)
    monkeypatch.setenv("FOOTNOTE_EDGE_EXECUTOR_ID", "edge-0")
    return made


@pytest.fixture
async def edge(url: str) -> AsyncIterator[EdgeStub]:
    """Edge over doubles of the stages, with one collection."""
    async with serve_doubles(World()) as addresses, serve_app(build, addresses=addresses) as served:
        await EdgeClient(served.channel).put(b"Tea is brewed at 80 degrees.", "tea.txt")
        yield EdgeStub(served.channel)


def run(label: str = "builtin", **grades: pb.EvaluationGrade.ValueType) -> pb.EvaluationRun:
    questions = [pb.EvaluatedQuestion(id=id, question=f"How is {id}?", grade=grade) for id, grade in grades.items()]
    return pb.EvaluationRun(label=label, filename="golden.jsonl", questions=questions)


async def keep(edge: EdgeStub, one: pb.EvaluationRun, metadata: Any = WRITER, **more: str) -> pb.EvaluationRun:
    request = pb.CreateEvaluationRunRequest(**{"collection": "default", **more}, run=one)
    kept: pb.EvaluationRun = (await edge.CreateEvaluationRun(request, metadata=metadata)).run
    return kept


async def listed(edge: EdgeStub, metadata: Any = READER, **more: Any) -> pb.ListEvaluationRunsResponse:
    request = pb.ListEvaluationRunsRequest(**{"collection": "default", **more})
    found: pb.ListEvaluationRunsResponse = await edge.ListEvaluationRuns(request, metadata=metadata)
    return found


async def read(edge: EdgeStub, run_id: str, metadata: Any = READER) -> pb.EvaluationRun:
    found: pb.EvaluationRun = (
        await edge.GetEvaluationRun(pb.GetEvaluationRunRequest(run_id=run_id), metadata=metadata)
    ).run
    return found


async def remove(edge: EdgeStub, run_id: str, metadata: Any = WRITER, **more: bool) -> None:
    await edge.DeleteEvaluationRun(pb.DeleteEvaluationRunRequest(run_id=run_id, **more), metadata=metadata)


async def missing(edge: EdgeStub, run_id: str, metadata: Any = READER) -> str:
    with pytest.raises(NotFound) as caught:
        await read(edge, run_id, metadata)
    assert caught.value.reason == "EVALUATION_RUN_NOT_FOUND"
    return str(caught.value)


async def hide(edge: EdgeStub) -> None:
    change = UpdateCollectionRequest(collection="default", resource=Collection(visibility=VISIBILITY_PRIVATE))
    change.update_mask.paths.append("visibility")
    await edge.UpdateCollection(change)


@pytest.mark.full
async def test_a_run_is_kept_with_what_it_says_and_nothing_more(edge: EdgeStub) -> None:
    wanted = run(tea=RIGHT, milk=WRONG, salt=RIGHT)
    made = await keep(edge, wanted)
    assert not made.questions
    assert made.user_id == "wim"
    assert [(one.grade, one.count) for one in made.counts] == [(RIGHT, 2), (WRONG, 1)]
    assert made.expire_time.ToDatetime() - made.create_time.ToDatetime() == timedelta(days=365)
    found = await read(edge, made.id)
    assert list(found.questions) == list(wanted.questions)
    found.ClearField("questions")
    assert found == made
    assert list((await listed(edge)).runs) == [made]
    newer = await keep(edge, run("other", tea=WRONG))
    page = await listed(edge, page_size=1)
    assert (list(page.runs), page.total_size) == ([newer], 2)
    assert list((await listed(edge, page_size=1, page_token=page.next_page_token)).runs) == [made]


async def test_only_writers_keep_and_delete_runs(edge: EdgeStub) -> None:
    made = await keep(edge, run(tea=RIGHT))
    for call in (lambda: keep(edge, run(tea=RIGHT), READER), lambda: remove(edge, made.id, READER)):
        with pytest.raises(PermissionDenied):
            await call()
    await missing(edge, made.id, ELSEWHERE)
    with pytest.raises(NotFound):
        await remove(edge, made.id, ELSEWHERE)
    await remove(edge, made.id)
    assert (await missing(edge, made.id)).replace(made.id, "none") == await missing(edge, "none")
    with pytest.raises(NotFound):
        await remove(edge, made.id)
    await remove(edge, made.id, allow_missing=True)


async def test_who_may_not_read_the_collection_learns_nothing(edge: EdgeStub) -> None:
    made = await keep(edge, run(tea=RIGHT))
    # A collection of one's own whose name is the other's id opens nothing.
    own = Collection(name=made.collection_id, visibility=VISIBILITY_PRIVATE)
    await edge.CreateCollection(CreateCollectionRequest(collection=own), metadata=WRITER)
    await hide(edge)
    absent = await missing(edge, "none", WRITER)
    for metadata in (READER, WRITER):
        assert (await missing(edge, made.id, metadata)).replace(made.id, "none") == absent
    with pytest.raises(NotFound):
        await remove(edge, made.id)
    with pytest.raises(NotFound):
        await listed(edge)
    with pytest.raises(NotFound):
        await keep(edge, run(tea=RIGHT))
    assert (await read(edge, made.id, metadata=())).label == "builtin", "an administrator may"


@pytest.mark.full
async def test_what_makes_no_run_is_refused(edge: EdgeStub) -> None:
    twice = run(tea=RIGHT)
    twice.questions.add(id="tea", question="Again?", grade=WRONG)
    long = run(**{f"q{number}": RIGHT for number in range(11)})
    for one in long.questions:
        one.question = "x" * 99_000
    many = run(**{f"q{number}": RIGHT for number in range(1001)})
    for wrong in (pb.EvaluationRun(), run(tea=pb.EVALUATION_GRADE_UNSPECIFIED), twice, long, many):
        with pytest.raises(InvalidArgument):
            await keep(edge, wrong)
    for call in (lambda: read(edge, ""), lambda: remove(edge, "")):
        with pytest.raises(InvalidArgument):
            await call()
    assert not (await listed(edge)).runs


@pytest.mark.full
async def test_a_run_of_too_many_bytes_is_refused(edge: EdgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    long = run(tea=RIGHT)
    monkeypatch.setattr(evaluations, "MOST_BYTES", long.ByteSize())
    await keep(edge, long)
    long.questions[0].id += "a"
    with pytest.raises(InvalidArgument, match="bytes"):
        await keep(edge, long)


@pytest.mark.full
async def test_a_long_run_is_copied_off_the_event_loop(edge: EdgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []

    def count(items: Iterable[Any]) -> Counter[Any]:
        threads.append(threading.current_thread().name)
        return Counter(items)

    monkeypatch.setattr(evaluations, "Counter", count)
    await keep(edge, run(**{f"q{number}": RIGHT for number in range(1000)}))
    assert threads
    assert all(name.startswith("texts") for name in threads)


@pytest.mark.full
async def test_a_call_under_one_id_keeps_one_run(edge: EdgeStub) -> None:
    first, second = [await keep(edge, run(tea=RIGHT), request_id="one") for _ in range(2)]
    assert first == second
    with pytest.raises(InvalidArgument):
        await keep(edge, run(tea=WRONG), request_id="one")
    await remove(edge, first.id)
    assert (await keep(edge, run(tea=RIGHT), request_id="one")).id != first.id


@pytest.mark.full
async def test_the_oldest_runs_make_room(edge: EdgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MOST_RUNS", 2)
    await edge.CreateCollection(CreateCollectionRequest(collection=Collection(name="other")))
    elsewhere = await keep(edge, run(tea=RIGHT), metadata=(), collection="other")
    made = [await keep(edge, run(str(number), tea=RIGHT)) for number in range(4)]
    assert [one.id for one in (await listed(edge)).runs] == [made[3].id, made[2].id]
    assert [one.id for one in (await listed(edge, collection="other")).runs] == [elsewhere.id]


@pytest.mark.full
async def test_runs_go_with_their_collection(edge: EdgeStub) -> None:
    made = await keep(edge, run(tea=RIGHT))
    begun = await edge.DeleteCollection(DeleteCollectionRequest(collection="default"))
    async for _ in edge.WatchOperation(WatchOperationRequest(operation_id=begun.operation.id), timeout=30):
        pass
    await missing(edge, made.id, metadata=())


@pytest.mark.full
async def test_questions_are_stored_in_about_their_own_bytes_whatever_their_script(url: str) -> None:
    database = Database(url)
    await database.migrate()
    runs = EvaluationTable(database)
    kept = pb.EvaluationRun(id="a", collection_id="c", user_id="u", label="чай\0", filename="чай.jsonl")
    kept.questions.add(id="чай", question="Как заварить чай?" * 100 + '\0\n\u2028"🍵', grade=RIGHT)
    kept.create_time.FromDatetime(datetime.now(UTC))
    await runs.add("t", kept)
    assert await runs.get("t", "a") == kept
    async with database.sessions() as session:
        stored = await session.scalar(select(EvaluationRow.questions))
    assert stored is not None
    assert len(stored.encode()) < kept.ByteSize() + 50
    await database.close()


@pytest.mark.full
async def test_a_run_that_is_kept_while_its_collection_is_deleted_is_not_kept(url: str) -> None:
    database = Database(url)
    await database.migrate()
    runs, forgetting = EvaluationTable(database), ForgettingTable(database)
    kept = pb.EvaluationRun(id="a", collection_id="c", user_id="u", questions=run(tea=RIGHT).questions)
    kept.create_time.FromDatetime(datetime.now(UTC))
    assert await runs.add("t", kept) == kept
    assert (await runs.get("t", "a")) == kept
    await forgetting.collection("c")
    assert await runs.get("t", "a") is None
    with pytest.raises(NotFound):
        await runs.add("t", kept)
    assert await runs.get("t", "a") is None
    kept.collection_id = "d"
    await runs.add("t", kept)
    assert await runs.sweep(datetime.now(UTC) - timedelta(days=1)) == 0
    assert await runs.sweep(datetime.now(UTC) + timedelta(days=1)) == 1
    assert await runs.get("t", "a") is None
    await database.close()
