from footnote.types.v1.answer_pb2 import (
    PIPELINE_STAGE_AUGMENTATION,
    PIPELINE_STAGE_EDGE,
    PIPELINE_STAGE_GENERATION,
    PIPELINE_STAGE_RETRIEVAL,
)
from footnote_edge.asking.timings import LEAST, Deadline
from support.doubles.clock import Clock


def test_a_stage_gets_its_share_of_what_is_left_and_generation_the_rest() -> None:
    clock = Clock(100.0)
    deadline = Deadline.after(10, clock)
    assert deadline.share(PIPELINE_STAGE_EDGE) == 1.0
    assert deadline.share(PIPELINE_STAGE_RETRIEVAL) == 4.0
    clock.now += 4
    assert deadline.share(PIPELINE_STAGE_AUGMENTATION) == 6 * 0.4
    assert deadline.share(PIPELINE_STAGE_GENERATION) == 6


def test_a_share_never_exceeds_its_cap() -> None:
    deadline = Deadline.after(3600, Clock(100.0))
    assert deadline.share(PIPELINE_STAGE_EDGE) == 2.0
    assert deadline.share(PIPELINE_STAGE_RETRIEVAL) == 15.0


def test_little_time_is_not_cut_to_nothing() -> None:
    deadline = Deadline.after(0.2, Clock(100.0))
    assert deadline.share(PIPELINE_STAGE_EDGE) == LEAST


def test_nothing_is_left_after_the_end() -> None:
    clock = Clock(100.0)
    deadline = Deadline.after(1, clock)
    clock.now += 2
    assert deadline.remaining() == 0
    assert deadline.share(PIPELINE_STAGE_RETRIEVAL) == 0
