"""The way of a question: the steps that ARCHITECTURE.md names are those that run, in that order."""

import re
from pathlib import Path

from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_AUGMENTATION, PIPELINE_STAGE_RETRIEVAL
from footnote_edge.asking.steps import STEPS

ARCHITECTURE = Path(__file__).resolve().parents[4] / "ARCHITECTURE.md"


def test_architecture_names_the_steps_in_their_order() -> None:
    named = re.search(r"the steps of `asking/steps.py`\s+\(([^)]*)\)", ARCHITECTURE.read_text())
    assert named is not None
    assert named[1].split(", ") == [step.name for step in STEPS]


def test_callers_see_two_stages_before_the_models() -> None:
    stages = [step.stage for step in STEPS if step.stage is not None]
    assert stages == [PIPELINE_STAGE_RETRIEVAL, PIPELINE_STAGE_AUGMENTATION]
