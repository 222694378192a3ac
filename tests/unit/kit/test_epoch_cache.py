"""Answers that are good for an epoch."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote_kit.epoch_cache import EpochCache
from footnote_kit.epochs import Epoch, EpochReader


@pytest.fixture
def epoch(tmp_path: Path) -> Epoch:
    return Epoch(tmp_path / "epoch")


@pytest.fixture
def reader(tmp_path: Path) -> EpochReader:
    return EpochReader(tmp_path / "epoch")


def test_an_answer_is_good_until_the_next_epoch(epoch: Epoch, reader: EpochReader) -> None:
    told: EpochCache[str, int] = EpochCache(reader, 3)
    told.keep("a", epoch.name, 1)
    assert told.get("a") == 1
    epoch.advance()
    assert told.get("a") is None
    told.keep("a", epoch.name, 2)
    assert told.get("a") == 2


@pytest.mark.parametrize("named", ["", "another"])
def test_an_answer_of_no_epoch_that_is_known_here_takes_the_older_ones_place(
    epoch: Epoch, reader: EpochReader, named: str
) -> None:
    told: EpochCache[str, int] = EpochCache(reader, 3)
    told.keep("a", epoch.name, 1)
    told.keep("a", named, 2)
    assert told.get("a") is None
    assert len(told) == 0


def test_an_answer_of_nothing_is_one(epoch: Epoch, reader: EpochReader) -> None:
    told: EpochCache[str, tuple[int, ...]] = EpochCache(reader, 3, parts=len)
    told.keep("a", epoch.name, ())
    assert told.get("a") == ()


def test_without_a_writer_nothing_is_kept(reader: EpochReader) -> None:
    told: EpochCache[str, int] = EpochCache(reader, 3)
    told.keep("a", "an epoch", 1)
    assert told.get("a") is None


def test_what_was_used_longest_ago_goes_first(epoch: Epoch, reader: EpochReader) -> None:
    told: EpochCache[str, int] = EpochCache(reader, 2)
    for question in ("a", "b"):
        told.keep(question, epoch.name, 1)
    told.get("a")
    told.keep("c", epoch.name, 1)
    assert [question for question in "abc" if told.get(question) is not None] == ["a", "c"]


def test_the_parts_of_all_answers_are_bounded(epoch: Epoch, reader: EpochReader) -> None:
    told: EpochCache[str, list[int]] = EpochCache(reader, 10, most_parts=5, parts=len)
    told.keep("a", epoch.name, [1, 2])
    told.keep("a", epoch.name, [1, 2, 3])
    told.keep("b", epoch.name, [1, 2])
    assert (told.get("a"), told.get("b")) == ([1, 2, 3], [1, 2])
    told.keep("c", epoch.name, [1])
    assert (told.get("a"), told.get("b"), told.get("c")) == (None, [1, 2], [1])
    told.keep("d", epoch.name, [1] * 6)
    assert len(told) == 0
