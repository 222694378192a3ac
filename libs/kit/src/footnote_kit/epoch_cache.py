"""Caches another service's responses until that service's epoch changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from footnote_kit.epochs import EpochReader

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")


def _one(_: object) -> int:
    return 1


class EpochCache(Generic[Question, Answer]):
    """An LRU cache of responses, each with its epoch.

    `most` bounds the number of responses; `most_parts` bounds the sum of their sizes, which `parts` returns for each.
    """

    def __init__(
        self,
        epochs: EpochReader,
        most: int,
        *,
        most_parts: int | None = None,
        parts: Callable[[Answer], int] = _one,
    ) -> None:
        self._epochs = epochs
        self._most = most
        self._most_parts = most if most_parts is None else most_parts
        self._parts = parts
        self._kept: OrderedDict[Question, tuple[str, Answer]] = OrderedDict()
        self._sum = 0

    def __len__(self) -> int:
        """Return the number of cached responses, valid or not."""
        return len(self._kept)

    def get(self, question: Question) -> Answer | None:
        """Return the response cached in the current epoch; None when the caller has to ask the service."""
        kept = self._kept.get(question)
        if kept is None or kept[0] != self._epochs.current():
            return None
        self._kept.move_to_end(question)
        return kept[1]

    def keep(self, question: Question, epoch: str, answer: Answer) -> None:
        """Cache a response, unless its epoch has ended or cannot be read on this machine.

        A service that moved to another machine may leave an old epoch file behind, whose epoch differs from its
        responses.
        """
        before = self._kept.pop(question, None)
        if before is not None:
            self._sum -= self._parts(before[1])
        if not epoch or epoch != self._epochs.current():
            return
        self._kept[question] = (epoch, answer)
        self._sum += self._parts(answer)
        while len(self._kept) > self._most or self._sum > self._most_parts:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._sum -= self._parts(oldest)
