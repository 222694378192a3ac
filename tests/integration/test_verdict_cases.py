"""What verdicts promise, on answers written without sight of the code: the real service, and readers that err."""

from pathlib import Path

import pytest
from support.verdict_cases.running import load, run

OPEN = Path(__file__).parents[1] / "support" / "verdict_cases" / "open.jsonl"


@pytest.mark.slow
async def test_without_a_reader_nothing_false_is_supported_and_nothing_true_called_wrong() -> None:
    found = await run(load(OPEN))
    assert found.count("false", "SUPPORTED") <= 0.01 * found.expected["false"], found.failed
    assert found.count("true", "UNSUPPORTED") <= 0.01 * found.expected["true"], found.failed
    assert found.count("verbatim", "SUPPORTED") >= 0.99 * found.expected["verbatim"], found.failed


@pytest.mark.slow
@pytest.mark.parametrize("errs", [0.0, *(pytest.param(errs, marks=pytest.mark.full) for errs in (0.05, 0.1))])
async def test_with_a_reader_no_more_is_wrong_than_it_errs(errs: float) -> None:
    found = await run(load(OPEN), errs)
    assert found.count("false", "SUPPORTED") <= errs * found.expected["false"]
    assert found.count("true", "SUPPORTED") >= (0.95 - errs) * found.expected["true"]
    assert found.count("true", "UNSUPPORTED") <= 0.01 * found.expected["true"]
