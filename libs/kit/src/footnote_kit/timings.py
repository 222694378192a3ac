"""Measures how long the stages and steps of one request take, as reported in responses."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_UNSPECIFIED, PipelineStage, StageTiming
from google.protobuf.duration_pb2 import Duration


def duration(seconds: float) -> Duration:
    """Return seconds as a protobuf duration."""
    nanos = round(seconds * 1e9)
    if nanos >= 0:
        whole, rest = divmod(nanos, 1_000_000_000)
        return Duration(seconds=whole, nanos=rest)
    result = Duration()
    result.FromNanoseconds(nanos)
    return result


class _Step:
    """The measurement of one block; as a generator it would take twice the time, in each of a search's ten steps."""

    __slots__ = ("_began", "_name", "_stage", "_watch")

    def __init__(self, watch: Stopwatch, stage: PipelineStage.ValueType, name: str) -> None:
        self._watch, self._stage, self._name = watch, stage, name
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = perf_counter()

    def __exit__(self, *_: object) -> None:
        self._watch._add(self._stage, self._name, self._began, perf_counter())


class Stopwatch:
    """Measures the steps of one request, in seconds since its creation; `stage` owns the steps."""

    def __init__(self, stage: PipelineStage.ValueType = PIPELINE_STAGE_UNSPECIFIED) -> None:
        self._stage = stage
        self._started = perf_counter()
        self.timings: list[StageTiming] = []

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return perf_counter() - self._started

    def step(self, name: str) -> _Step:
        """Record how long the block takes, as a step of this watch's stage."""
        return _Step(self, self._stage, name)

    def timed(self, stage: PipelineStage.ValueType, step: str = "") -> _Step:
        """Record how long the block takes, even when it raises; without a `step` it is the whole stage."""
        return _Step(self, stage, step)

    def record(self, step: str, began: float, ended: float) -> None:
        """Record a step measured elsewhere, in `perf_counter` seconds."""
        self._add(self._stage, step, began, ended)

    def include(self, timings: Sequence[StageTiming], offset: float) -> None:
        """Add the timings that a stage reported for its call, which began `offset` seconds after the start.

        The stage's total becomes its step "total".
        """
        for timing in timings:
            moved = StageTiming(stage=timing.stage, step=timing.step or "total", duration=timing.duration)
            moved.start.FromNanoseconds(timing.start.ToNanoseconds() + int(offset * 1e9))
            self.timings.append(moved)

    def duration_of(self, stage: PipelineStage.ValueType) -> Duration:
        """Return how long a whole stage took; zero while it has not ended."""
        found = [timing.duration for timing in self.timings if timing.stage == stage and not timing.step]
        return found[-1] if found else Duration()

    def fork(self) -> Stopwatch:
        """Return a watch with the same start, for a part of the request that may be discarded."""
        watch = Stopwatch(self._stage)
        watch._started = self._started
        return watch

    def finish(self) -> list[StageTiming]:
        """Record the whole request from its start, and return all timings."""
        self.record("", self._started, perf_counter())
        return self.timings

    def _add(self, stage: PipelineStage.ValueType, step: str, began: float, ended: float) -> None:
        start, took = max(0.0, began - self._started), max(0.0, ended - began)
        self.timings.append(StageTiming(stage=stage, step=step, start=duration(start), duration=duration(took)))
