"""Divides a question's time between the stages; records their durations, and the answer's degradations.

A stage may take its share of the time left when it begins, up to its cap; generation gets all the rest. So a stage that
hangs costs its share and degrades the answer, and the model keeps most of the time.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from footnote.edge.v1.answers_pb2 import AskResponse, StageEvent
from footnote.types.v1.answer_pb2 import (
    PIPELINE_STAGE_AUGMENTATION,
    PIPELINE_STAGE_EDGE,
    PIPELINE_STAGE_RETRIEVAL,
    Degradation,
    PipelineStage,
)
from footnote_kit import names
from footnote_kit.degradations import Reason, degradation, word
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Internal, ResourceExhausted, Unavailable
from footnote_kit.logs import get_logger
from footnote_kit.printable import enum_word
from footnote_kit.telemetry import counter
from footnote_kit.timings import Stopwatch
from opentelemetry import trace

_log = get_logger(__name__)

SHARES: dict[PipelineStage.ValueType, tuple[float, float]] = {
    PIPELINE_STAGE_EDGE: (0.10, 2.0),  # lookups: settings, what answers, the plan, which augmentation makes
    PIPELINE_STAGE_RETRIEVAL: (0.40, 15.0),  # search; beside it memory and the rewriting by the model; table queries
    PIPELINE_STAGE_AUGMENTATION: (0.40, 15.0),  # the prompt
}
"""Share of the remaining time, and cap in seconds, of the work in each part of a question; a stage without one may take
all that is left."""

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


def degrades(error: FootnoteError) -> bool:
    """Return whether the answer continues without the failed part; a caller's own error is raised instead."""
    return isinstance(error, Unavailable | DeadlineExceeded | Internal | ResourceExhausted)


class QuestionTimings(Stopwatch):
    """Times and degradations of one question, counted from its arrival."""

    def __init__(self) -> None:
        super().__init__()
        self.degradations: list[Degradation] = []
        self.first_token: float | None = None

    def degrade(
        self, stage: PipelineStage.ValueType, reason: Reason, effect: str, error: FootnoteError | None = None
    ) -> None:
        """Note a failure and its effect on the answer."""
        self.report([degradation(stage, reason, effect, error.message if error else "")])

    def report(self, degradations: Sequence[Degradation]) -> None:
        """Report degradations in the answer, on the span, as a metric and in the log; those of a second search once.

        The log gets no effect or detail: they may hold words of the question.
        """
        for one in degradations:
            if one in self.degradations:
                continue
            self.degradations.append(one)
            stage = enum_word(PipelineStage.DESCRIPTOR, one.stage).lower()
            counter("footnote.edge.degradations").add(1, {"stage": stage, "reason": word(one)})
            _log.warning("answer_degraded", stage=stage, reason=word(one))
        if degradations:
            reasons = [word(one) for one in self.degradations]
            trace.get_current_span().set_attribute(names.DEGRADATIONS, reasons)

    def withdraw(self, effect: str) -> None:
        """Take out of the answer what turned out to have no effect on it."""
        self.degradations[:] = [one for one in self.degradations if one.effect != effect]

    def saw_token(self) -> None:
        """Note the time of the first token."""
        if self.first_token is None:
            self.first_token = self.elapsed()

    def stage_ended(self, stage: PipelineStage.ValueType) -> AskResponse:
        """Return the event that a stage has ended, with its duration."""
        return AskResponse(stage=StageEvent(stage=stage, finished=True, duration=self.duration_of(stage)))


def stage_began(stage: PipelineStage.ValueType) -> AskResponse:
    """Return the event that a stage begins."""
    return AskResponse(stage=StageEvent(stage=stage))
