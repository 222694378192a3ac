"""Near-duplicate detection: passages that share most of their runs of three words (shingles)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

RUN = 3
_OWN_SHARE = 4  # a passage this many times shorter than another one
_OWN_RUNS = 8  # and with fewer runs than this is not a duplicate

T = TypeVar("T")
Runs = frozenset[tuple[str, ...]]
Same = Callable[[Runs, Runs], bool]
"""Returns whether two passages are near duplicates."""


def runs(words: Sequence[str], whole_below: int = RUN) -> Runs:
    """Return the three-word runs of a passage; one of fewer than `whole_below` words is a single run."""
    if len(words) < max(whole_below, RUN):
        return frozenset([tuple(words)])
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def alike(least: float) -> Same:
    """Return a test for similar passages; `least`, 0 to 1, is the minimum Jaccard index of their runs."""

    def same(left: Runs, right: Runs) -> bool:
        smaller, larger = sorted((len(left), len(right)))
        if smaller < least * larger:
            return False
        common = len(left & right)
        return common >= least * (len(left) + len(right) - common)

    return same


def contained(least: float) -> Same:
    """Return a test for a smaller passage inside a larger one; `least`, 0 to 1, is the minimum share of its runs."""

    def same(left: Runs, right: Runs) -> bool:
        smaller, larger = sorted((len(left), len(right)))
        # A very short passage inside a long one is a heading or table row, not a repetition that may be dropped.
        if smaller * _OWN_SHARE < larger and smaller < _OWN_RUNS:
            return False
        return len(left & right) >= least * smaller

    return same


class Absence:
    """Rules out that a text is `alike` an original without taking its words: too many of the original's are absent."""

    def __init__(self, words: Sequence[str], own: Runs, least: float) -> None:
        """Take the original's words and runs, and the share that `alike` takes.

        No run holds two of every third word, so each of these that a text lacks takes three places of runs from it.
        """
        # Long words first: few other texts have them.
        self._words = sorted(set(words[RUN - 1 : 1 - RUN : RUN]), key=len, reverse=True)
        places, self._enough = len(words) - RUN + 1, 1
        while places - RUN * self._enough >= least * len(own):
            self._enough += 1

    def rules_out(self, text: str) -> bool:
        """Return True only if a text is not alike; it is folded as the original's words are."""
        left = self._enough
        for word in self._words:
            if word not in text:
                left -= 1
                if not left:
                    return True
        return False


class Originals(Generic[T]):
    """Keeps new items, and finds the original of each repetition."""

    def __init__(self, same: Same, whole_below: int = RUN, least_alike: float | None = None) -> None:
        """Take a test for repetitions; `least_alike` is the share of an `alike` one, for `rules_out`."""
        self._same = same
        self._whole_below = whole_below
        self._least_alike = least_alike
        self._originals: list[tuple[T, Runs]] = []
        self._absences: list[Absence] = []

    def __len__(self) -> int:
        return len(self._originals)

    @property
    def kept(self) -> list[T]:
        """The new items, in order of arrival."""
        return [item for item, _ in self._originals]

    def of(
        self, item: T, words: Sequence[str], counts: Callable[[T], bool] = lambda _: True, *, keep: bool = True
    ) -> T | None:
        """Return the kept item that `item`, a passage of these words, repeats; None after keeping it as new.

        Items for which `counts` is false are not considered as originals. Without `keep` a new one is not kept.
        """
        mine = runs(words, self._whole_below)
        for other, theirs in self._originals:
            if self._same(mine, theirs) and counts(other):
                return other
        if keep:
            self._originals.append((item, mine))
            if self._least_alike is not None:
                self._absences.append(Absence(words, mine, self._least_alike))
        return None

    def rules_out(self, text: str) -> bool:
        """Return True only if a text, folded like the words, repeats no kept item; several times cheaper than `of`."""
        return self._least_alike is not None and all(absence.rules_out(text) for absence in self._absences)
