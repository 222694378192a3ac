"""Divides a question's time between the stages.

A stage may take its share of the time left when it begins, up to its cap; generation gets all the rest. So a stage that
hangs costs its share and degrades the answer, and the model keeps most of the time.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from footnote.types.v1.answer_pb2 import (
    PIPELINE_STAGE_AUGMENTATION,
    PIPELINE_STAGE_EDGE,
    PIPELINE_STAGE_RETRIEVAL,
    PipelineStage,
)

SHARES: dict[PipelineStage.ValueType, tuple[float, float]] = {
    PIPELINE_STAGE_EDGE: (0.10, 2.0),  # planning the query, looking up settings
    PIPELINE_STAGE_RETRIEVAL: (0.40, 15.0),  # search, and memory search concurrently
    PIPELINE_STAGE_AUGMENTATION: (0.40, 15.0),
}
"""Share of the remaining time, and cap in seconds, by stage."""

LEAST = 0.05
"""Minimum seconds for any stage while time is left; less would fail even the fastest."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time by which the whole answer must be complete."""

    at: float
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> "Deadline":
        """Return the deadline `seconds` from now."""
        return cls(clock() + seconds, clock)

    def remaining(self) -> float:
        """Return the seconds left, never negative."""
        return max(0.0, self.at - self.clock())

    def share(self, stage: PipelineStage.ValueType) -> float:
        """Return the seconds that `stage` may take if it begins now."""
        remaining = self.remaining()
        if stage not in SHARES:
            return remaining
        share, cap = SHARES[stage]
        return min(remaining, max(LEAST, min(remaining * share, cap)))
