"""Near-duplicate detection: passages that share most of their runs of three words (shingles)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

RUN = 3
_OWN_SHARE = 4  # a passage this many times shorter than another one
_OWN_RUNS = 8  # and with fewer runs than this is not a duplicate
_SPARE, _BETWEEN = 5, 2  # words that a part of a text has more than needed, and characters between two

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
        """Take a test for repetitions; `least_alike` is the share of an `alike` one, for `rules_out`."""
        self._same = same
        self._whole_below = whole_below
        self._least_alike = least_alike
        self._originals: list[tuple[T, Runs]] = []
        self._known: set[tuple[str, ...]] = set()
        self._most = self._part = 0

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
                self._learn(words, mine, self._least_alike)
        return None

    def _learn(self, words: Sequence[str], own: Runs, least: float) -> None:
        """Note an original's runs, and how many characters have as many runs as a repetition may have of its own."""
        self._known |= own
        self._most = max(self._most, len(own))
        enough = max(int(len(own) * (1 - least) / least) + _SPARE, self._whole_below + 1)
        self._part = max(self._part, enough * (sum(map(len, words)) // max(len(words), 1) + _BETWEEN))

    def rules_out(self, text: str) -> bool:
        """Return True only if a text, of words by `words_of`, repeats no kept item; several times cheaper than `of`.

        The runs of its beginning, and if need be of its end, are sought among those of all kept items. Each that is new
        counts against every item, and most passages have too many of them in their first words.
        """
        if self._least_alike is None:
            return False
        part = self._part
        whole = len(text) <= 2 * part
        words = words_of(text if whole else text[:part])
        if not whole:
            del words[-1:]  # it may be cut
        if len(words) < max(self._whole_below, RUN):
            return False
        new = _threes(words) - self._known
        if not whole and not self._too_many(new):
            new |= _threes(words_of(text[-part:])[1:]) - self._known
        return self._too_many(new)

    def _too_many(self, new: Runs) -> bool:
        """Return whether a passage with these runs, which no kept item has, is `alike` none of them."""
        return self._least_alike is not None and self._most < self._least_alike * (self._most + len(new))


def _threes(words: Sequence[str]) -> Runs:
    return frozenset(zip(words, words[1:], words[2:], strict=False))
