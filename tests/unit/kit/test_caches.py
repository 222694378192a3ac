"""Caches: bounds by number, size and age, and answers that are good for an epoch."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote_kit.caches import AgedCache, BoundedCache, EpochCache
from footnote_kit.epochs import Epoch, EpochReader


@pytest.fixture
def epoch(tmp_path: Path) -> Epoch:
    """The epoch as its owner writes it."""
    return Epoch(tmp_path / "epoch")


@pytest.fixture
def reader(tmp_path: Path) -> EpochReader:
    """The same epoch as another process reads it."""
    return EpochReader(tmp_path / "epoch")


def test_an_answer_is_good_until_the_next_epoch(epoch: Epoch, reader: EpochReader) -> None:
    cache: EpochCache[str, int] = EpochCache(reader, 3)
    cache.keep("a", epoch.name, 1)
    assert cache.get("a") == 1
    epoch.advance()
    assert cache.get("a") is None
    cache.keep("a", epoch.name, 2)
    assert cache.get("a") == 2


@pytest.mark.parametrize("named", ["", "another"])
def test_an_answer_of_no_epoch_that_is_known_here_takes_the_older_ones_place(
    epoch: Epoch, reader: EpochReader, named: str
) -> None:
    cache: EpochCache[str, int] = EpochCache(reader, 3)
    cache.keep("a", epoch.name, 1)
    cache.keep("a", named, 2)
    assert cache.get("a") is None
    assert len(cache) == 0


def test_an_answer_of_nothing_is_one(epoch: Epoch, reader: EpochReader) -> None:
    cache: EpochCache[str, tuple[int, ...]] = EpochCache(reader, 3, parts=len)
    cache.keep("a", epoch.name, ())
    assert cache.get("a") == ()


def test_without_a_writer_nothing_is_kept(reader: EpochReader) -> None:
    cache: EpochCache[str, int] = EpochCache(reader, 3)
    cache.keep("a", "an epoch", 1)
    assert cache.get("a") is None


def test_what_was_used_longest_ago_goes_first(epoch: Epoch, reader: EpochReader) -> None:
    cache: EpochCache[str, int] = EpochCache(reader, 2)
    for question in ("a", "b"):
        cache.keep(question, epoch.name, 1)
    cache.get("a")
    cache.keep("c", epoch.name, 1)
    assert [question for question in "abc" if cache.get(question) is not None] == ["a", "c"]


def test_the_parts_of_all_answers_are_bounded(epoch: Epoch, reader: EpochReader) -> None:
    cache: EpochCache[str, list[int]] = EpochCache(reader, 10, most_parts=5, parts=len)
    cache.keep("a", epoch.name, [1, 2])
    cache.keep("a", epoch.name, [1, 2, 3])
    cache.keep("b", epoch.name, [1, 2])
    assert (cache.get("a"), cache.get("b")) == ([1, 2, 3], [1, 2])
    cache.keep("c", epoch.name, [1])
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (None, [1, 2], [1])
    cache.keep("d", epoch.name, [1] * 6)
    assert (cache.get("b"), cache.get("c"), cache.get("d")) == ([1, 2], [1], None), "too large: evicts no others"


async def test_a_response_is_asked_for_once_per_epoch(epoch: Epoch, reader: EpochReader) -> None:
    cache: EpochCache[str, int] = EpochCache(reader, 3)
    asked: list[str] = []

    async def ask() -> tuple[str, int]:
        asked.append(epoch.name)
        return epoch.name, len(asked)

    assert [await cache.get_or_ask("a", ask), await cache.get_or_ask("a", ask)] == [1, 1]
    epoch.advance()
    assert [await cache.get_or_ask("a", ask), await cache.get_or_ask("a", ask)] == [2, 2]


def test_entries_expire_at_the_time_of_their_value() -> None:
    now = 0.0
    cache: AgedCache[str, tuple[float, int]] = AgedCache(2, 10, lambda v: v[1], lambda v: v[0], lambda: now)
    cache["a"] = (5.0, 1)
    cache["b"] = (7.0, 1)
    now = 5.0
    assert (cache.get("a"), cache.get("b")) == (None, (7.0, 1))
    cache["c"] = (9.0, 10)
    assert (cache.get("b"), cache.get("c")) == (None, (9.0, 10)), "the sizes of all are bounded"
    cache["d"] = (9.0, 11)
    assert (cache.get("c"), cache.get("d")) == ((9.0, 10), None), "too large: evicts no others"
    for name in "efg":
        cache[name] = (9.0, 0)
    assert len(cache) == 2


def test_a_new_value_counts_instead_of_the_one_before() -> None:
    cache: BoundedCache[str, int] = BoundedCache(3, 10, lambda v: v)
    for value in (4, 9, 11):
        cache["a"] = value
        assert cache.currsize == (value if value < 10 else 0)
    for name in "abcd":
        cache[name] = 1
    assert sorted(cache) == ["b", "c", "d"]
