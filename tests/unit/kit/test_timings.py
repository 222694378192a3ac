import time

import pytest
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_AUGMENTATION, PIPELINE_STAGE_RETRIEVAL, StageTiming
from footnote_kit.timings import Stopwatch, duration


def test_a_stages_own_times_are_moved_to_the_questions_clock() -> None:
    watch = Stopwatch()
    with watch.timed(PIPELINE_STAGE_RETRIEVAL):
        pass
    inner = StageTiming(stage=PIPELINE_STAGE_RETRIEVAL, step="embed", start=duration(0.5), duration=duration(0.25))
    watch.include([inner], offset=2.0)
    moved = watch.timings[-1]
    assert (moved.step, moved.start.ToMilliseconds(), moved.duration.ToMilliseconds()) == ("embed", 2500, 250)
    assert watch.duration_of(PIPELINE_STAGE_RETRIEVAL) == watch.timings[0].duration
    assert watch.duration_of(PIPELINE_STAGE_AUGMENTATION).ToNanoseconds() == 0


def test_steps_are_of_the_watch_s_stage_and_the_whole_comes_last() -> None:
    watch = Stopwatch(PIPELINE_STAGE_AUGMENTATION)
    with watch.step("first"):
        time.sleep(0.01)
    with watch.step("second"):
        pass
    first, second, whole = watch.finish()
    assert [one.step for one in (first, second, whole)] == ["first", "second", ""]
    assert {one.stage for one in watch.timings} == {PIPELINE_STAGE_AUGMENTATION}
    assert first.duration.ToMilliseconds() >= 10
    assert second.start.ToNanoseconds() >= first.start.ToNanoseconds() + first.duration.ToNanoseconds()
    assert whole.start.ToNanoseconds() == 0
    assert whole.duration.ToNanoseconds() >= second.start.ToNanoseconds() + second.duration.ToNanoseconds()


def test_a_step_that_fails_is_recorded_too() -> None:
    watch = Stopwatch(PIPELINE_STAGE_RETRIEVAL)
    with pytest.raises(ValueError, match="no"), watch.step("broken"):
        raise ValueError("no")
    assert [one.step for one in watch.timings] == ["broken"]


def test_a_fork_counts_from_the_same_start_and_keeps_its_steps_to_itself() -> None:
    watch = Stopwatch(PIPELINE_STAGE_RETRIEVAL)
    time.sleep(0.01)
    fork = watch.fork()
    with fork.step("search"):
        pass
    assert watch.timings == []
    assert fork.timings[0].start.ToMilliseconds() >= 10
    assert fork.timings[0].stage == PIPELINE_STAGE_RETRIEVAL


def test_a_step_measured_elsewhere_never_begins_before_the_start() -> None:
    began = time.perf_counter()
    watch = Stopwatch(PIPELINE_STAGE_RETRIEVAL)
    watch.record("early", began - 5, began - 6)
    assert (watch.timings[0].start.ToNanoseconds(), watch.timings[0].duration.ToNanoseconds()) == (0, 0)
