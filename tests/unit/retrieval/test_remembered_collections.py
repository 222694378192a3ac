"""Answers of indexing are used again in their epoch only, for the same caller and names, and only so many are kept.

While indexing does not answer, one of an older epoch is taken too, if no collection and no right was changed since.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator
from pathlib import Path
from typing import Any

import grpc
import pytest
from footnote.internal.indexing.v1alpha1.layout_service_pb2 import LocateCollectionsResponse
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.epochs import Epoch, EpochReader
from footnote_kit.errors import DeadlineExceeded, FootnoteError, NotFound, Unavailable
from footnote_retrieval.adapters import collections
from footnote_retrieval.adapters.collections import IndexingCollections
from support.doubles.clock import Clock
from support.doubles.epoch_calls import Answered

ANN, BOB = Scope(tenant_id="t", user_id="ann"), Scope(tenant_id="t", user_id="bob")


class Indexing:
    """Answers with a given epoch, and counts its calls."""

    def __init__(self, epoch: Epoch, of_collections: Epoch) -> None:
        self.epoch = epoch
        self.of_collections = of_collections
        self.fails: FootnoteError | None = None
        self.asked = 0
        self.named: str | None = None
        self.inexact = False
        self.meanwhile = lambda: None

    def LocateCollections(self, request: Any) -> Answered[LocateCollectionsResponse]:
        if self.fails is not None:
            raise self.fails
        self.asked += 1
        response = LocateCollectionsResponse()
        response.collections.add(space=f"answer {self.asked}")
        answer = Answered(
            response,
            epoch="" if self.inexact else self.epoch.name if self.named is None else self.named,
            collections=self.of_collections.name if self.named is None else self.named,
        )
        self.meanwhile()
        return answer


@pytest.fixture
def indexing(tmp_path: Path) -> Indexing:
    """Indexing's double, with two epochs that a test turns."""
    return Indexing(Epoch(tmp_path / "epoch"), Epoch(tmp_path / "collections"))


@pytest.fixture
async def remembered(indexing: Indexing, tmp_path: Path) -> AsyncIterator[IndexingCollections]:
    """The cache of collections before that double."""
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        made = IndexingCollections(channel, EpochReader(tmp_path / "epoch"), EpochReader(tmp_path / "collections"))
        made._stub = indexing
        yield made


async def test_an_answer_is_used_until_something_is_written(
    indexing: Indexing, remembered: IndexingCollections
) -> None:
    assert remembered.known(ANN, []) is None
    first = await remembered.resolve(ANN, [])
    assert remembered.known(ANN, []) is (await remembered.resolve(ANN, [])).visible is first.visible
    assert indexing.asked == 1
    indexing.epoch.advance()
    assert remembered.known(ANN, []) is None
    assert (await remembered.resolve(ANN, [])).visible[0].space == "answer 2"


async def test_each_caller_and_each_list_of_names_has_an_answer_of_its_own(
    indexing: Indexing, remembered: IndexingCollections
) -> None:
    await remembered.resolve(ANN, ["a"])
    others = [(BOB, ["a"]), (ANN, ["b"]), (ANN, []), (Scope(tenant_id="t", user_id="ann", groups=["g"]), ["a"])]
    for number, (who, names) in enumerate(others, 2):
        assert remembered.known(who, names) is None
        assert (await remembered.resolve(who, names)).visible[0].space == f"answer {number}"


async def test_what_was_written_while_indexing_answered_is_asked_for_again(
    indexing: Indexing, remembered: IndexingCollections
) -> None:
    indexing.meanwhile = indexing.epoch.advance
    await remembered.resolve(ANN, [])
    assert remembered.known(ANN, []) is None


@pytest.mark.parametrize("named", ["elsewhere", ""])
async def test_an_answer_of_another_epoch_or_of_none_is_not_kept(
    indexing: Indexing, remembered: IndexingCollections, named: str
) -> None:
    indexing.named = named
    await remembered.resolve(ANN, [])
    assert remembered.known(ANN, []) is None


async def asked_slowly(indexing: Indexing, remembered: IndexingCollections) -> tuple[asyncio.Task[Any], asyncio.Event]:
    """Ask of ANN's "a"; the response, with no collection and of now, arrives once the event is set."""
    arrives = asyncio.Event()

    class Late(Answered[LocateCollectionsResponse]):
        def __await__(self) -> Generator[Any, None, LocateCollectionsResponse]:
            yield from arrives.wait().__await__()
            return self._response

    epochs = {"epoch": indexing.epoch.name, "collections": indexing.of_collections.name}
    late = Late(LocateCollectionsResponse(), **(epochs if indexing.named is None else {}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexing, "LocateCollections", lambda _: late)
        task = asyncio.create_task(remembered.resolve(ANN, ["a"]))
        await asyncio.sleep(0.01)
    return task, arrives


async def test_an_answer_that_was_overtaken_replaces_none(indexing: Indexing, remembered: IndexingCollections) -> None:
    overtaken, arrives = await asked_slowly(indexing, remembered)
    indexing.epoch.advance()
    newer = await remembered.resolve(ANN, ["a"])
    arrives.set()
    await overtaken
    assert remembered.known(ANN, ["a"]) is newer.visible


@pytest.fixture
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache keeps as few as the parameter says."""
    for name, most in request.param.items():
        monkeypatch.setattr(collections, name, most)


@pytest.mark.parametrize("few", [{"_MOST_ANSWERS": 3}, {"_MOST_COLLECTIONS": 3}], indirect=True)
@pytest.mark.usefixtures("few")
async def test_only_so_many_are_kept(remembered: IndexingCollections) -> None:
    for name in "abcd":
        await remembered.resolve(ANN, [name])
    assert [name for name in "abcd" if remembered.known(ANN, [name]) is not None] == ["b", "c", "d"]


@pytest.mark.parametrize("error", [Unavailable("away"), DeadlineExceeded("away")])
async def test_while_indexing_is_away_documents_are_taken_as_last_known(
    indexing: Indexing, remembered: IndexingCollections, error: FootnoteError
) -> None:
    first = await remembered.resolve(ANN, ["a"])
    indexing.epoch.advance()
    indexing.fails = error
    last = await remembered.resolve(ANN, ["a"], stale_too=True)
    assert last.stale
    assert last.visible is first.visible
    with pytest.raises(type(error)):
        await remembered.resolve(ANN, ["a"])
    with pytest.raises(type(error)):
        await remembered.resolve(BOB, ["a"], stale_too=True)
    indexing.fails = None
    assert await remembered.resolve(ANN, ["a"], stale_too=True) != last


async def test_what_collections_were_is_never_taken_for_what_they_are(
    indexing: Indexing, remembered: IndexingCollections
) -> None:
    await remembered.resolve(ANN, ["a"])
    indexing.epoch.advance()
    indexing.of_collections.advance()
    indexing.fails = Unavailable("away")
    with pytest.raises(Unavailable):
        await remembered.resolve(ANN, ["a"], stale_too=True)


async def test_an_answer_that_refuses_is_not_replaced_by_an_older_one(
    indexing: Indexing, remembered: IndexingCollections
) -> None:
    await remembered.resolve(ANN, ["a"])
    indexing.epoch.advance()
    indexing.fails = NotFound("Collection 'a' not found", reason="COLLECTION_NOT_FOUND")
    with pytest.raises(NotFound):
        await remembered.resolve(ANN, ["a"], stale_too=True)


async def test_what_documents_wrote_while_indexing_answered_leaves_an_answer_for_later(
    indexing: Indexing, remembered: IndexingCollections
) -> None:
    indexing.meanwhile = indexing.epoch.advance
    await remembered.resolve(ANN, [])
    assert remembered.known(ANN, []) is None
    indexing.fails = Unavailable("away")
    assert (await remembered.resolve(ANN, [], stale_too=True)).stale


async def test_an_answer_that_holds_for_no_epoch_is_not_taken_after_collections_changed(
    indexing: Indexing, remembered: IndexingCollections
) -> None:
    indexing.inexact = True
    await remembered.resolve(ANN, [])
    assert remembered.known(ANN, []) is None
    indexing.fails = Unavailable("away")
    assert (await remembered.resolve(ANN, [], stale_too=True)).stale
    indexing.of_collections.advance()
    with pytest.raises(Unavailable):
        await remembered.resolve(ANN, [], stale_too=True)


@pytest.fixture
async def shared(indexing: Indexing, tmp_path: Path) -> AsyncIterator[tuple[IndexingCollections, Clock]]:
    """Yield the cache for an indexing without an epoch, as on PostgreSQL, where other processes may write."""
    clock = Clock(1000.0)
    indexing.named = ""
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        made = IndexingCollections(channel, EpochReader(tmp_path / "none"), EpochReader(tmp_path / "none"), clock=clock)
        made._stub = indexing
        yield made, clock


@pytest.mark.parametrize("error", [Unavailable("away"), DeadlineExceeded("away")])
async def test_without_an_epoch_what_was_told_a_moment_ago_is_taken_and_nothing_older(
    indexing: Indexing, shared: tuple[IndexingCollections, Clock], error: FootnoteError
) -> None:
    remembered, clock = shared
    first = await remembered.resolve(ANN, ["a"])
    indexing.fails = error
    clock.now += collections.RECENT_SECONDS - 0.1
    last = await remembered.resolve(ANN, ["a"], stale_too=True)
    assert last.stale
    assert last.visible == first.visible
    again = await remembered.resolve(ANN, ["a"], stale_too=True)
    assert again == last
    for who, names in ((BOB, ["a"]), (ANN, ["b"]), (Scope(tenant_id="t", user_id="ann", groups=["g"]), ["a"])):
        with pytest.raises(type(error)):
            await remembered.resolve(who, names, stale_too=True)
    with pytest.raises(type(error)):
        await remembered.resolve(ANN, ["a"])
    clock.now += 0.2  # being used has not made it any younger
    with pytest.raises(type(error)):
        await remembered.resolve(ANN, ["a"], stale_too=True)


async def test_without_an_epoch_what_was_refused_since_is_not_taken_any_more(
    indexing: Indexing, shared: tuple[IndexingCollections, Clock]
) -> None:
    remembered, _ = shared
    await remembered.resolve(ANN, ["a"])
    indexing.fails = NotFound("Collection 'a' not found", reason="COLLECTION_NOT_FOUND")
    with pytest.raises(NotFound):
        await remembered.resolve(ANN, ["a"], stale_too=True)
    indexing.fails = Unavailable("away")
    with pytest.raises(Unavailable):
        await remembered.resolve(ANN, ["a"], stale_too=True)


@pytest.mark.parametrize("refused", [True, False])
async def test_without_an_epoch_an_answer_that_was_overtaken_is_not_taken(
    indexing: Indexing, shared: tuple[IndexingCollections, Clock], refused: bool
) -> None:
    remembered, clock = shared
    await remembered.resolve(ANN, ["a"])
    overtaken, arrives = await asked_slowly(indexing, remembered)
    clock.now += 1
    if refused:
        indexing.fails = NotFound("Collection 'a' not found", reason="COLLECTION_NOT_FOUND")
        with pytest.raises(NotFound):
            await remembered.resolve(ANN, ["a"])
    else:
        newer = await remembered.resolve(ANN, ["a"])
    arrives.set()
    await overtaken
    indexing.fails = Unavailable("away")
    if refused:
        with pytest.raises(Unavailable):
            await remembered.resolve(ANN, ["a"], stale_too=True)
    else:
        assert (await remembered.resolve(ANN, ["a"], stale_too=True)).visible == newer.visible


async def test_without_an_epoch_one_that_says_nothing_is_waited_for_once_and_asked_again_later(
    indexing: Indexing, shared: tuple[IndexingCollections, Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collections, "ASK_SECONDS", 0.05)
    remembered, clock = shared
    await remembered.resolve(ANN, ["a"])
    answers, calls = indexing.LocateCollections, []

    async def silent(_: Any) -> LocateCollectionsResponse:
        calls.append(1)
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(indexing, "LocateCollections", silent)
    for _ in range(3):
        async with asyncio.timeout(5):
            assert (await remembered.resolve(ANN, ["a"], stale_too=True)).stale
    assert len(calls) == 1
    monkeypatch.setattr(indexing, "LocateCollections", answers)
    clock.now += collections.PAUSE_SECONDS + 0.1
    assert not (await remembered.resolve(ANN, ["a"], stale_too=True)).stale


@pytest.mark.parametrize("few", [{"_MOST_ANSWERS": 2}, {"_MOST_COLLECTIONS": 2}], indirect=True)
@pytest.mark.usefixtures("few")
async def test_without_an_epoch_only_so_many_are_kept(
    indexing: Indexing, shared: tuple[IndexingCollections, Clock]
) -> None:
    remembered, _ = shared
    for name in "abc":
        await remembered.resolve(ANN, [name])
    indexing.fails = Unavailable("away")
    with pytest.raises(Unavailable):
        await remembered.resolve(ANN, ["a"], stale_too=True)
    assert (await remembered.resolve(ANN, ["c"], stale_too=True)).stale
