"""Answers of indexing are used again in their epoch only, for the same caller and names, and only so many are kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from footnote.indexing.v1.indexing_service_pb2 import ResolveCollectionsResponse
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.epochs import Epoch, EpochReader
from footnote_retrieval.adapters import collections
from footnote_retrieval.adapters.collections import IndexingCollections

ANN, BOB = Scope(tenant_id="t", user_id="ann"), Scope(tenant_id="t", user_id="bob")


class Indexing:
    """Answers with the epoch it is told to, and counts."""

    def __init__(self, epoch: Epoch) -> None:
        self.epoch = epoch
        self.asked = 0
        self.named: str | None = None
        self.meanwhile = lambda: None

    async def ResolveCollections(self, request: Any) -> ResolveCollectionsResponse:
        self.asked += 1
        answer = ResolveCollectionsResponse(epoch=self.epoch.name if self.named is None else self.named)
        answer.collections.add(space=f"answer {self.asked}")
        self.meanwhile()
        return answer


@pytest.fixture
def indexing(tmp_path: Path) -> Indexing:
    return Indexing(Epoch(tmp_path / "epoch"))


@pytest.fixture
async def remembered(indexing: Indexing, tmp_path: Path) -> AsyncIterator[IndexingCollections]:
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        made = IndexingCollections(channel, EpochReader(tmp_path / "epoch"))
        made._stub = indexing
        yield made


async def test_an_answer_is_used_until_something_is_written(
    indexing: Indexing, remembered: IndexingCollections
) -> None:
    assert remembered.known(ANN, []) is None
    first = await remembered.resolve(ANN, [])
    assert remembered.known(ANN, []) is await remembered.resolve(ANN, []) is first
    assert indexing.asked == 1
    indexing.epoch.advance()
    assert remembered.known(ANN, []) is None
    assert (await remembered.resolve(ANN, []))[0].space == "answer 2"


async def test_each_caller_and_each_list_of_names_has_an_answer_of_its_own(
    indexing: Indexing, remembered: IndexingCollections
) -> None:
    await remembered.resolve(ANN, ["a"])
    others = [(BOB, ["a"]), (ANN, ["b"]), (ANN, []), (Scope(tenant_id="t", user_id="ann", groups=["g"]), ["a"])]
    for number, (who, names) in enumerate(others, 2):
        assert remembered.known(who, names) is None
        assert (await remembered.resolve(who, names))[0].space == f"answer {number}"


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


async def test_only_so_many_are_kept(
    indexing: Indexing, remembered: IndexingCollections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collections, "_MOST_ANSWERS", 3)
    for name in "abcd":
        await remembered.resolve(ANN, [name])
    assert [name for name in "abcd" if remembered.known(ANN, [name]) is not None] == ["b", "c", "d"]
    monkeypatch.setattr(collections, "_MOST_COLLECTIONS", 1)
    await remembered.resolve(ANN, ["e"])
    assert remembered.known(ANN, ["d"]) is None
    assert remembered.known(ANN, ["e"]) is not None
