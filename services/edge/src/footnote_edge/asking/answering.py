"""What is gathered while one question is answered: times, degradations, and at the end the manifest."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from footnote.types.v1.answer_pb2 import (
    Degradation,
    PipelineStage,
    StageTiming,
)
from footnote_kit import names
from footnote_kit.degradations import Reason, degradation, word
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Internal, ResourceExhausted, Unavailable
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import counter
from google.protobuf.duration_pb2 import Duration
from opentelemetry import trace

_log = get_logger(__name__)


def degrades(error: FootnoteError) -> bool:
    """Tell whether an answer goes on without what failed; a caller's own mistake is told to the caller instead."""
    return isinstance(error, Unavailable | DeadlineExceeded | Internal | ResourceExhausted)


def duration(seconds: float) -> Duration:
    """Return seconds as a protobuf duration."""
    result = Duration()
    result.FromNanoseconds(int(seconds * 1e9))
    return result


@dataclass(slots=True)
class Ledger:
    """Times and degradations of one question, counted from its arrival."""

    started: float = field(default_factory=time.perf_counter)
    timings: list[StageTiming] = field(default_factory=list)
    degradations: list[Degradation] = field(default_factory=list)
    first_token: float | None = None

    def elapsed(self) -> float:
        """Return the seconds since the question arrived."""
        return time.perf_counter() - self.started

    @contextmanager
    def timed(self, stage: PipelineStage.ValueType, step: str = "") -> Iterator[None]:
        """Record how long the block takes."""
        begun = self.elapsed()
        try:
            yield
        finally:
            self.timings.append(
                StageTiming(stage=stage, step=step, start=duration(begun), duration=duration(self.elapsed() - begun))
            )

    def duration_of(self, stage: PipelineStage.ValueType) -> Duration:
        """Return how long a stage as a whole took, zero while it has not ended."""
        found = [timing.duration for timing in self.timings if timing.stage == stage and not timing.step]
        return found[-1] if found else Duration()

    def include(self, timings: Sequence[StageTiming], offset: float) -> None:
        """Add a stage's own timings, which it counts from its call `offset` seconds after the question."""
        for timing in timings:
            moved = StageTiming(stage=timing.stage, step=timing.step or "total", duration=timing.duration)
            moved.start.FromNanoseconds(timing.start.ToNanoseconds() + int(offset * 1e9))
            self.timings.append(moved)

    def degrade(
        self, stage: PipelineStage.ValueType, reason: Reason, effect: str, error: FootnoteError | None = None
    ) -> None:
        """Note that something did not work, and what that does to the answer."""
        self.report([degradation(stage, reason, effect, error.message if error else "")])

    def report(self, degradations: Sequence[Degradation]) -> None:
        """Note degradations: in the answer, on the span, as a metric and in the log."""
        for one in degradations:
            self.degradations.append(one)
            stage = PipelineStage.Name(one.stage).removeprefix("PIPELINE_STAGE_").lower()
            counter("footnote.edge.degradations").add(1, {"stage": stage, "reason": word(one)})
            _log.warning("answer_degraded", stage=stage, reason=word(one), effect=one.effect, detail=one.detail)
        if degradations:
            reasons = [word(one) for one in self.degradations]
            trace.get_current_span().set_attribute(names.DEGRADATIONS, reasons)

    def saw_token(self) -> None:
        """Note the moment of the first words."""
        if self.first_token is None:
            self.first_token = self.elapsed()
