"""Near-duplicate detection: passages that share most of their runs of three words (shingles)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

RUN = 3
_OWN_SHARE = 4  # a passage this many times shorter than another one
_OWN_RUNS = 8  # and with fewer runs than this is not a duplicate
_SPARE, _BETWEEN = 8, 2  # words that a part of a text has more than needed, and characters between two

_WORD = re.compile(r"\w+")
_FOLDED = {at: at.casefold() if _WORD.match(at) else " " for at in map(chr, range(128))}
_ASCII = str.maketrans(_FOLDED)

T = TypeVar("T")
Runs = frozenset[tuple[str, ...]]
Same = Callable[[Runs, Runs], bool]
"""Returns whether two passages are near duplicates."""


def words_of(text: str) -> list[str]:
    """Return the words of a text, folded: runs of letters, digits and underscores."""
    # The same for ASCII, in a third of the time.
    return text.translate(_ASCII).split() if text.isascii() else _WORD.findall(text.casefold())


def runs(words: Sequence[str], whole_below: int = RUN) -> Runs:
    """Return the three-word runs of a passage; one of fewer than `whole_below` words is a single run."""
    if len(words) < max(whole_below, RUN):
        return frozenset([tuple(words)])
    return _threes(words)


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


class Originals(Generic[T]):
    """Keeps new items, and finds the original of each repetition."""

    def __init__(self, same: Same, whole_below: int = RUN, least_alike: float | None = None) -> None:
        """Take a test for repetitions; `least_alike` is the share of an `alike` one, which makes it quicker."""
        self._same = same
        self._whole_below = whole_below
        self._least_alike = least_alike
        self._shortest = max(whole_below, RUN)
        self._originals: list[tuple[T, Sequence[str], Runs]] = []
        self._known: set[tuple[str, ...]] = set()
        self._most = self._part = 0

    def __len__(self) -> int:
        return len(self._originals)

    @property
    def kept(self) -> list[T]:
        """The new items, in order of arrival."""
        return [item for item, _, _ in self._originals]

    def of(
        self, item: T, words: Sequence[str], counts: Callable[[T], bool] = lambda _: True, *, keep: bool = True
    ) -> T | None:
        """Return the kept item that `item`, a passage of these words, repeats; None after keeping it as new.

        Items for which `counts` is false are not considered as originals. Without `keep` a new one is not kept.
        """
        mine: Runs | None = None
        for other, their_words, theirs in self._originals:
            same = self._surely_alike(words, their_words, len(theirs))
            if not same:
                if mine is None:
                    mine = runs(words, self._whole_below)
                    if self._too_new(mine):
                        break
                same = self._same(mine, theirs)
            if same and counts(other):
                return other
        if keep:
            mine = runs(words, self._whole_below) if mine is None else mine
            self._originals.append((item, words, mine))
            if self._least_alike is not None:
                self._learn(words, mine, self._least_alike)
        return None

    def _surely_alike(self, words: Sequence[str], original: Sequence[str], own: int) -> bool:
        """Return True only if a passage is `alike` an original of `own` runs: all but their first or last words agree.

        With `i` and `j` words left out, they share at least own - i runs, and have at most own + j in all.
        """
        least, longer = self._least_alike, len(words) - len(original)
        if least is None or min(len(words), len(original)) < self._shortest:
            return False
        i = int((own * (1 - least) - least * longer) / (1 + least))
        j = i + longer
        if i < 0 or j < 0 or own - i < least * (own + j):
            return False
        return original[i:] == words[j:] or original[: len(original) - i] == words[: len(words) - j]

    def _learn(self, words: Sequence[str], own: Runs, least: float) -> None:
        """Note an original's runs, and how many characters have as many runs as a repetition may have of its own."""
        self._known |= own
        self._most = max(self._most, len(own))
        enough = max(int(len(own) * (1 - least) / least) + _SPARE, self._whole_below + 1)
        self._part = max(self._part, enough * (sum(map(len, words)) // max(len(words), 1) + _BETWEEN))

    def possible(self, texts: Sequence[str]) -> list[int]:
        """Return the places of the texts, of words by `words_of`, that may repeat a kept item; all that do are there.

        Several times cheaper than `of`: the runs of a text's beginning, and if need be of its end, are sought among
        those of all kept items. Each that is new counts against every item, and most texts have too many of them in
        their first words.
        """
        if self._least_alike is None:
            return list(range(len(texts)))
        part, known, least = self._part, self._known, self._least_alike
        # Each word that differs from those before begins another run, but for the last two.
        enough = max(self._shortest, int(self._most * (1 - least) / least))
        while not self._too_many(enough - 2):
            enough += 1
        found = []
        for at, text in enumerate(texts):
            words = words_of(text[:part])
            del words[-1:]  # it may be cut
            if len(set(words)) >= enough and known.isdisjoint(zip(words, words[1:], words[2:], strict=False)):
                continue
            if not self._rules_out(text, words):
                found.append(at)
        return found

    def _rules_out(self, text: str, beginning: Sequence[str]) -> bool:
        part = self._part
        whole = len(text) <= 2 * part
        words = words_of(text) if whole else beginning
        if len(words) < self._shortest:
            return False
        seen = _threes(words)
        if not whole and not self._too_new(seen):
            seen |= _threes(words_of(text[-part:])[1:])
        return self._too_new(seen)

    def _too_new(self, some: Runs) -> bool:
        """Return whether a passage with these runs, all or some of its own, is `alike` no kept item."""
        return self._too_many(len(some) - len(some & self._known))

    def _too_many(self, new: int) -> bool:
        """Return whether a passage with so many runs that no kept item has is `alike` none of them."""
        return self._least_alike is not None and self._most < self._least_alike * (self._most + new)


def _threes(words: Sequence[str]) -> Runs:
    return frozenset(zip(words, words[1:], words[2:], strict=False))
