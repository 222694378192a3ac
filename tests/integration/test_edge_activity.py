"""What was done by the hour and used by the day: counted once, of one tenant, for its administrators."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog
from footnote.edge.v1 import system_pb2 as pb
from footnote.edge.v1.answers_pb2 import (
    RATING_DOWN,
    RATING_UP,
    AskRequest,
    CreateFeedbackRequest,
    ReplayAnswerRequest,
    SearchRequest,
)
from footnote.edge.v1.documents_pb2 import UploadDocumentRequest, UploadMetadata, WatchDocumentRequest
from footnote.types.v1.answer_pb2 import FINISH_REASON_NO_RELEVANT_CONTENT
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.usage import ActivityTable
from footnote_edge.app import build
from footnote_edge.offline import keys as offline
from footnote_edge.system import activity
from footnote_edge.system.activity import ActivityCounter
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import InvalidArgument, PermissionDenied, Unavailable
from footnote_kit.testing import serve_app
from support.doubles.stages import World, serve_doubles

pytestmark = pytest.mark.full

PEOPLE = {"chief": ("acme", ROLE_ADMIN), "eve": ("acme", ROLE_READER), "rival": ("other", ROLE_ADMIN)}


class Place:
    """A served edge, and its people's keys."""

    def __init__(self, served: Any, keys: dict[str, str], world: World) -> None:
        self.world = world
        self.stub = EdgeStub(served.channel)
        self.http = f"http://{served.runtime.announced['http']}"
        self.keys = keys

    def as_(self, who: str) -> Any:
        return (("authorization", f"Bearer {self.keys[who]}"),)

    async def activity(self, who: str = "chief", hours: int = 0) -> pb.GetActivityResponse:
        request = pb.GetActivityRequest(hours=hours)
        answer: pb.GetActivityResponse = await self.stub.GetActivity(request, metadata=self.as_(who), timeout=20)
        return answer

    async def now(self, who: str = "chief") -> pb.ActivityHour:
        """Return all of the last two hours together: the hour may turn while a test runs."""
        first, last = (await self.activity(who, 2)).hours
        for name in ("searches", "searches_without_passage", "answers", "claims_supported", "ratings_up"):
            setattr(last, name, getattr(first, name) + getattr(last, name))
        return last

    async def upload(self, who: str, text: bytes) -> None:
        head = UploadMetadata(collection="default", filename="tea.txt")
        parts = [UploadDocumentRequest(metadata=head), UploadDocumentRequest(data=text)]
        done = await self.stub.UploadDocument(iter(parts), metadata=self.as_(who))
        watch = WatchDocumentRequest(document_id=done.document.id)
        async for _ in self.stub.WatchDocument(watch, metadata=self.as_(who), timeout=30):
            pass

    async def search(self, who: str) -> None:
        await self.stub.Search(SearchRequest(query="tea ?"), metadata=self.as_(who), timeout=30)

    async def ask(self, who: str, question: str = "tea ?") -> Any:
        asked = self.stub.Ask(AskRequest(question=question), metadata=self.as_(who), timeout=30)
        return [event async for event in asked][-1].completed


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    """Edge with people of two tenants, and the doubles behind it."""
    monkeypatch.setenv("FOOTNOTE_EDGE_AUTH", "keys")
    database, keys = await offline(tmp_path)
    made = {}
    for name, (tenant, role) in PEOPLE.items():
        _, made[name] = await keys.create(name, tenant, name, role)
    await database.close()
    world = World()
    async with serve_doubles(world) as stages, serve_app(build, addresses=stages, data_dir=tmp_path) as served:
        yield Place(served, made, world)


async def test_a_miss_is_the_same_for_log_metric_and_counts_and_small_talk_is_none(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs: list[str] = []
    counts: dict[str, int] = {}

    class Amount:
        def __init__(self, name: str) -> None:
            self.name = name

        def add(self, amount: int) -> None:
            counts[self.name] = counts.get(self.name, 0) + amount

    everything = structlog.make_filtering_bound_logger(0)
    keep = [lambda _, __, entry: logs.append(entry["event"]) or ""]
    logger = structlog.wrap_logger(structlog.ReturnLogger(), processors=keep, wrapper_class=everything)
    monkeypatch.setattr(activity, "_log", logger)
    monkeypatch.setattr(activity, "counter", Amount)
    await place.search("eve")
    await place.ask("eve")
    await place.ask("eve", "Hello!")
    await place.upload("chief", b"Tea is green.")
    await place.ask("eve")
    place.world.finish_reason = FINISH_REASON_NO_RELEVANT_CONTENT
    done = await place.ask("eve")
    assert done.answer.finish_reason == FINISH_REASON_NO_RELEVANT_CONTENT
    place.world.failures["Retrieve"] = Unavailable("away")
    await place.ask("eve")
    found = await place.now()
    assert (found.searches, found.searches_without_passage, found.answers) == (4, 3, 5)
    assert counts == {"footnote.edge.searches": 4, "footnote.edge.misses": 3}
    assert logs.count("rag_miss") == 3


async def test_searches_answers_and_ratings_are_counted_once_for_their_tenant(place: Place) -> None:
    await place.search("eve")
    empty = await place.now()
    assert (empty.searches, empty.searches_without_passage) == (1, 1)
    await place.upload("chief", b"Tea is green.")
    await place.search("eve")
    await place.search("rival")
    done = await place.ask("eve")
    for rating in (RATING_DOWN, RATING_UP):
        request = CreateFeedbackRequest(answer_id=done.answer.id, rating=rating)
        await place.stub.CreateFeedback(request, metadata=place.as_("eve"))
    await place.stub.ReplayAnswer(ReplayAnswerRequest(answer_id=done.answer.id), metadata=place.as_("eve"), timeout=30)
    found = await place.now()
    assert (found.searches, found.searches_without_passage, found.answers) == (3, 1, 1)
    assert sum(found.searches_by_time) in (2, 3)
    claims = (found.claims_supported, found.claims_not_confirmed, found.claims_unsupported, found.claims_uncited)
    assert sum(claims) == len([one for one in done.answer.claims if one.support in activity.VERDICTS])
    assert (found.ratings_up, found.ratings_down) == (1, 1)
    other = await place.now("rival")
    assert (other.searches, other.answers, other.ratings_up) == (1, 0, 0)


async def test_hours_and_days_come_whole_and_in_order(place: Place) -> None:
    await place.ask("eve")
    found = await place.activity(hours=49)
    starts = [one.start_time.ToDatetime(UTC) for one in found.hours]
    assert len(starts) == 49
    assert all(later - sooner == timedelta(hours=1) for sooner, later in pairwise(starts))
    assert timedelta() <= datetime.now(UTC) - starts[-1] < timedelta(hours=1, minutes=1)
    days = [one.start_time.ToDatetime(UTC) for one in found.days]
    assert days[0] == starts[0].replace(hour=0)
    assert days[-1] == starts[-1].replace(hour=0)
    assert len(days) in (3, 4)
    used = await place.stub.GetUsage(pb.GetUsageRequest(), metadata=place.as_("chief"))
    assert found.days[-1].tokens == used.tenant.tokens_today
    assert len(found.search_bounds) + 1 == len(found.hours[0].searches_by_time)
    bounds = [one.ToTimedelta() for one in found.search_bounds]
    assert bounds == sorted(bounds)
    assert (bounds[0], bounds[-1]) == (timedelta(milliseconds=25), timedelta(seconds=10))
    assert len((await place.activity()).hours) == 24


@pytest.mark.parametrize("hours", [-1, 745])
async def test_more_hours_than_are_kept_are_refused(place: Place, hours: int) -> None:
    with pytest.raises(InvalidArgument, match="hours"):
        await place.activity(hours=hours)


async def test_it_is_for_administrators_and_over_http_too(place: Place) -> None:
    with pytest.raises(PermissionDenied):
        await place.activity("eve")
    await place.search("chief")
    async with httpx2.AsyncClient(base_url=place.http, headers={"x-api-key": place.keys["chief"]}) as http:
        found = (await http.get("/v1/activity?hours=2")).json()
        assert sum(int(one["searches"]) for one in found["hours"]) == 1


async def test_what_is_counted_outlives_a_restart_and_goes_after_a_month(tmp_path: Path) -> None:
    database = Database(f"sqlite+aiosqlite:///{tmp_path / 'edge.db'}")
    await database.migrate()
    book = ActivityTable(database)
    now = datetime.now(UTC)
    old = now - timedelta(days=32)
    first, second = ActivityCounter(book), ActivityCounter(book)
    for counted in (first, second):
        counted.add("acme", {"searches": 2}, now)
        counted.add("acme", {"searches": 1}, old)
        await counted.flush()
        await counted.flush()
    assert await book.since("acme", old) == {activity.hour(now): {"searches": 4}, activity.hour(old): {"searches": 2}}
    await book.sweep()
    assert await book.since("acme", old) == {activity.hour(now): {"searches": 4}}
    assert await book.since("other", old) == {}
    await database.close()


async def test_what_cannot_be_written_is_kept_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(f"sqlite+aiosqlite:///{tmp_path / 'edge.db'}")  # without its tables
    counted = ActivityCounter(ActivityTable(database))
    monkeypatch.setattr(activity, "MOST_PENDING", 3)
    counted.add("acme", {"searches": 1, "answers": 1})
    with pytest.raises(Exception, match="activity_hours"):
        await counted.flush()
    counted.add("acme", {"searches": 1})
    counted.add("acme", {"ratings_up": 1})
    counted.add("other", {"searches": 1})
    await database.migrate()
    await asyncio.gather(counted.flush(), counted.flush())
    long_ago = datetime.now(UTC) - timedelta(hours=2)
    found = await ActivityTable(database).since("acme", long_ago)
    assert list(found.values()) == [{"searches": 2, "answers": 1, "ratings_up": 1}]
    assert await ActivityTable(database).since("other", long_ago) == {}
    await database.close()
