"""What indexing told a moment ago, where no epoch tells whether anything was written since."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

from footnote_retrieval.ports import Searchable


class Recent:
    """Keeps answers for some seconds from when they were asked for; using one makes it no younger.

    `most` bounds the answers, `most_collections` the collections in all of them; the oldest go first.
    """

    def __init__(self, seconds: float, most: int, most_collections: int, clock: Callable[[], float]) -> None:
        self._seconds = seconds
        self._most = most
        self._most_collections = most_collections
        self._clock = clock
        self._kept: OrderedDict[Hashable, tuple[float, Sequence[Searchable]]] = OrderedDict()
        self._sum = 0

    def keep(self, question: Hashable, asked: float, visible: Sequence[Searchable]) -> None:
        """Remember an answer to a question `asked` then, in place of an older one."""
        self.forget(question)
        self._kept[question] = (asked, visible)
        self._sum += len(visible)
        while len(self._kept) > self._most or self._sum > self._most_collections:
            self.forget(next(iter(self._kept)))

    def forget(self, question: Hashable) -> None:
        """Remember nothing of a question any more."""
        _, visible = self._kept.pop(question, (0.0, ()))
        self._sum -= len(visible)

    def get(self, question: Hashable) -> Sequence[Searchable] | None:
        """Return what was told, None where nothing was that is young enough."""
        asked, visible = self._kept.get(question, (0.0, None))
        if visible is not None and self._clock() - asked >= self._seconds:
            self.forget(question)
            return None
        return visible
