"""Rankings stay as they were, to the last digits of every score: a change of how they are computed shows here.

`golden_ranking.json` holds the outcomes that the objects of the release before gave, one step after the other. A change
that is meant to change results writes it again: `python -m support.golden_ranking > …/golden_ranking.json`.
"""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from support.golden_ranking import SEEDS, drawn, outcome

GOLDEN = json.loads((Path(__file__).parent / "golden_ranking.json").read_text())
_SAME = 1e-12
"""Relative: linear algebra of another processor may round the last digit differently."""


def assert_same(found: Any, golden: Any, place: str) -> None:
    if isinstance(golden, float):
        assert math.isclose(found, golden, rel_tol=_SAME, abs_tol=_SAME), place
    elif isinstance(golden, list):
        assert len(found) == len(golden), place
        for at, (one, other) in enumerate(zip(found, golden, strict=True)):
            assert_same(one, other, f"{place}[{at}]")
    elif isinstance(golden, dict):
        assert found.keys() == golden.keys(), place
        for key in golden:
            assert_same(found[key], golden[key], f"{place}.{key}")
    else:
        assert found == golden, place


@pytest.mark.parametrize("seed", SEEDS)
def test_the_outcome_is_as_it_was(seed: int) -> None:
    assert_same(outcome(drawn(seed)), GOLDEN[seed], f"seed {seed}")


def test_the_rankings_drawn_differ() -> None:
    assert len({json.dumps(one) for one in GOLDEN if one["results"]}) > 25
    assert len({change[0] for one in GOLDEN for result in one["results"] for change in result[3]}) >= 5
