"""A question's collections are asked for once in an epoch, and what is written counts for the next question."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cachetools import LRUCache
from footnote.indexing.v1.indexing_service_pb2 import GetCollectionResponse, ResolveCollectionsResponse
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import (
    ACCESS_READ,
    VISIBILITY_PRIVATE,
    VISIBILITY_SHARED,
    Collection,
    CollectionSettings,
    Grant,
)
from footnote_edge.collections import bounds as module
from footnote_edge.collections.bounds import UNKNOWN, CollectionBounds
from footnote_kit.access import system_scope
from footnote_kit.epochs import Epoch, EpochReader
from footnote_kit.errors import InvalidArgument, Unavailable
from support.doubles.epoch_calls import Answered

ANN, BOB = Scope(tenant_id="t", user_id="ann"), Scope(tenant_id="t", user_id="bob")


class Indexing:
    """Collections that keep their texts here or not, under the epoch that holds."""

    def __init__(self, epoch: Epoch) -> None:
        self.epoch = epoch
        self.local_only = False
        self.asked: list[str] = []
        self.down = False
        self.meanwhile: Callable[[], None] = lambda: None

    def GetCollection(self, request: Any, timeout: float) -> Answered[GetCollectionResponse]:
        if self.down:
            raise Unavailable("down")
        self.asked.append(request.collection)
        response = GetCollectionResponse(collection=self._made(request.collection))
        answer = Answered(response, collections=self.epoch.name)
        self.meanwhile()
        return answer

    def ResolveCollections(self, request: Any, timeout: float) -> Answered[ResolveCollectionsResponse]:
        self.asked.append("*")
        answer = ResolveCollectionsResponse()
        answer.collections.append(self._made("all"))
        return Answered(answer, collections=self.epoch.name)

    def _made(self, name: str) -> Collection:
        return Collection(name=name, settings=CollectionSettings(local_only=self.local_only))


@pytest.fixture
def indexing(tmp_path: Path) -> Indexing:
    """Indexing's double with an epoch that a test turns."""
    return Indexing(Epoch(tmp_path / "epoch"))


@pytest.fixture
def bounds(indexing: Indexing, tmp_path: Path) -> CollectionBounds:
    """The cache of collections before that double."""
    stages: Any = SimpleNamespace(indexing=indexing)
    return CollectionBounds(stages, EpochReader(tmp_path / "epoch"), 1.0)


@pytest.mark.parametrize("names", [[], ["a"], ["a", "b"]])
async def test_one_epoch_is_asked_once_and_the_next_counts_at_once(
    indexing: Indexing, bounds: CollectionBounds, names: list[str]
) -> None:
    for _ in range(3):
        found, bound = await bounds.find(ANN, names)
        assert [one.name for one in found] == (names or ["all"])
        assert not bound.local_only
    assert indexing.asked == (names or ["*"])
    indexing.local_only = True
    indexing.epoch.advance()
    assert (await bounds.find(ANN, names))[1].local_only


async def test_nobody_gets_another_callers_answer(indexing: Indexing, bounds: CollectionBounds) -> None:
    await bounds.find(ANN, ["a"])
    await bounds.find(BOB, ["a"])
    assert indexing.asked == ["a", "a"]


async def test_answers_of_two_epochs_are_not_kept(indexing: Indexing, bounds: CollectionBounds) -> None:
    indexing.meanwhile = indexing.epoch.advance
    await bounds.find(ANN, ["a", "b"])
    await bounds.find(ANN, ["a", "b"])
    assert indexing.asked == ["a", "b"] * 2


async def test_what_bound_is_remembered_while_indexing_is_down(indexing: Indexing, bounds: CollectionBounds) -> None:
    assert bounds.last_known(ANN, ["a"]) == UNKNOWN
    _, bound = await bounds.find(ANN, ["a"])
    indexing.epoch.advance()
    indexing.down = True
    with pytest.raises(Unavailable):
        await bounds.find(ANN, ["a"])
    assert bounds.last_known(ANN, ["a"]) == bound


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache keeps three collections."""
    monkeypatch.setattr(module, "_MOST_COLLECTIONS", 3)


@pytest.mark.usefixtures("few")
async def test_only_so_many_are_kept(indexing: Indexing, bounds: CollectionBounds) -> None:
    for names in (["a", "b"], ["c"], ["d"]):
        await bounds.find(ANN, names)
    indexing.asked.clear()
    await bounds.find(ANN, ["d"])
    await bounds.find(ANN, ["a", "b"])
    assert indexing.asked == ["a", "b"]


async def test_only_so_many_are_last_known(bounds: CollectionBounds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "_last", LRUCache(2))
    for name in ("a", "b", "c"):
        await bounds.find(ANN, [name])
    assert [name for name in "abc" if bounds.last_known(ANN, [name]) == UNKNOWN] == ["a"]


async def test_an_empty_name_is_refused(bounds: CollectionBounds) -> None:
    with pytest.raises(InvalidArgument):
        await bounds.find(ANN, [""])


@pytest.mark.parametrize(
    ("local", "counts"),
    [
        (Collection(visibility=VISIBILITY_PRIVATE, owner_id="bob"), False),
        (Collection(visibility=VISIBILITY_PRIVATE, owner_id="ann"), True),
        (Collection(visibility=VISIBILITY_SHARED, owner_id="bob"), True),
        (Collection(visibility=VISIBILITY_PRIVATE, owner_id="bob", grants=[Grant(user_id="ann")]), True),
        (Collection(visibility=VISIBILITY_PRIVATE, owner_id="bob", grants=[Grant(user_id="cleo")]), False),
        (Collection(visibility=VISIBILITY_PRIVATE, owner_id="bob", grants=[Grant(group="hers, perhaps")]), True),
    ],
)
async def test_a_users_texts_are_not_bound_by_what_only_others_see(
    indexing: Indexing, bounds: CollectionBounds, monkeypatch: pytest.MonkeyPatch, local: Collection, counts: bool
) -> None:
    local.tenant_id, local.name, local.settings.local_only = "t", "here", True
    for grant in local.grants:
        grant.access = ACCESS_READ
    monkeypatch.setattr(indexing, "_made", lambda name: local)
    assert (await bounds.every(system_scope("t", "ann"))).local_only == counts
