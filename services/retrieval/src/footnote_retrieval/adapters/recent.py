"""A cache by age of indexing's answers, for deployments where no epoch shows whether anything was written since."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

from footnote_retrieval.ports import Searchable


class Recent:
    """Keeps answers for some seconds from the time of the request; using one does not extend its life.

    `most` limits the answers, `most_collections` the collections in all of them; the oldest go first.
    """

    def __init__(self, seconds: float, most: int, most_collections: int, clock: Callable[[], float]) -> None:
        self._seconds = seconds
        self._most = most
        self._most_collections = most_collections
        self._clock = clock
        self._kept: OrderedDict[Hashable, tuple[float, Sequence[Searchable]]] = OrderedDict()
        self._sum = 0

    def keep(self, question: Hashable, asked: float, visible: Sequence[Searchable]) -> None:
        """Store the answer to a question `asked` at that time, replacing an older one."""
        self.forget(question)
        self._kept[question] = (asked, visible)
        self._sum += len(visible)
        while len(self._kept) > self._most or self._sum > self._most_collections:
            self.forget(next(iter(self._kept)))

    def forget(self, question: Hashable) -> None:
        """Remove the answer to a question."""
        _, visible = self._kept.pop(question, (0.0, ()))
        self._sum -= len(visible)

    def get(self, question: Hashable) -> Sequence[Searchable] | None:
        """Return the answer, None if there is none that is young enough."""
        asked, visible = self._kept.get(question, (0.0, None))
        if visible is not None and self._clock() - asked >= self._seconds:
            self.forget(question)
            return None
        return visible
