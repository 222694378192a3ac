"""Answers of another service, taken again for as long as the epoch lasts that it gave them in."""

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
    """Remembers answers with their epochs; what was used longest ago goes first.

    `most` bounds the answers, `most_parts` what they are made of, as `parts` counts it in each.
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
        """Return how many answers are kept, good or not."""
        return len(self._kept)

    def get(self, question: Question) -> Answer | None:
        """Return what was answered in the current epoch; None for what has to be asked."""
        kept = self._kept.get(question)
        if kept is None or kept[0] != self._epochs.current():
            return None
        self._kept.move_to_end(question)
        return kept[1]

    def keep(self, question: Question, epoch: str, answer: Answer) -> None:
        """Remember an answer in place of an older one, unless its epoch is over or none that can be looked up here.

        A file that a service left here which is elsewhere now names another epoch than its answers.
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
