"""Passages that say nearly the same as one before, told by the runs of three words that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

RUN = 3
_OWN_SHARE = 4  # a passage this many times shorter than another
_OWN_RUNS = 8  # and of fewer runs than this says something of its own

T = TypeVar("T")
Runs = frozenset[tuple[str, ...]]
Same = Callable[[Runs, Runs], bool]
"""Tells whether two passages say nearly the same."""


def runs(words: Sequence[str], whole_below: int = RUN) -> Runs:
    """Return the runs of three words of a passage; one of fewer than `whole_below` words is a single run."""
    if len(words) < max(whole_below, RUN):
        return frozenset([tuple(words)])
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def alike(least: float) -> Same:
    """Return a test for passages that are alike as wholes: `least`, 0..1, is the Jaccard index of their runs."""

    def same(left: Runs, right: Runs) -> bool:
        smaller, larger = sorted((len(left), len(right)))
        if smaller < least * larger:
            return False
        common = len(left & right)
        return common >= least * (len(left) + len(right) - common)

    return same


def contained(least: float) -> Same:
    """Return a test for passages of which the smaller stands in the other: `least`, 0..1, is the share of its runs."""

    def same(left: Runs, right: Runs) -> bool:
        smaller, larger = sorted((len(left), len(right)))
        # A very short passage inside a long one is a heading or a row of its own, not a repetition worth losing.
        if smaller * _OWN_SHARE < larger and smaller < _OWN_RUNS:
            return False
        return len(left & right) >= least * smaller

    return same


class Originals(Generic[T]):
    """Keeps what is new, and finds for what is not the first that it repeats."""

    def __init__(self, same: Same, whole_below: int = RUN) -> None:
        self._same = same
        self._whole_below = whole_below
        self._kept: list[tuple[T, Runs]] = []

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def kept(self) -> list[T]:
        """What was new, in the order in which it came."""
        return [item for item, _ in self._kept]

    def of(self, item: T, words: Sequence[str], counts: Callable[[T], bool] = lambda _: True) -> T | None:
        """Return what was kept before and `item`, a passage of these words, repeats; None after keeping it as new.

        What `counts` is false of is no original of this item.
        """
        mine = runs(words, self._whole_below)
        for other, theirs in self._kept:
            if self._same(mine, theirs) and counts(other):
                return other
        self._kept.append((item, mine))
        return None
