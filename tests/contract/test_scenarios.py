"""Every scenario of the product's origins that ends at an API has a test of its name; this is the list of them."""

import re
from pathlib import Path

import pytest
from support import code
from support.scenarios import INSIDE, MEMORY, SCENARIOS
from support.shared import shared_dir

TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("test", sorted({*SCENARIOS.values(), *INSIDE.values(), *MEMORY.values()}))
def test_there_is_such_a_test(test: str) -> None:
    file, _, name = test.partition("::")
    assert name in code.facts(TESTS / file).functions


@pytest.mark.slow
def test_no_scenario_is_forgotten() -> None:
    shared = shared_dir()
    if shared is None:
        pytest.skip("the scenarios are not beside the checkout (FOOTNOTE_SHARED names their folder)")
    texts = [file.read_text(encoding="utf-8", errors="replace") for file in sorted((shared / "seeds").glob("*.txt"))]
    titles = {title.strip() for text in texts for title in re.findall(r"^#### Scenario: (.+)$", text, re.MULTILINE)}
    assert titles == SCENARIOS.keys() | INSIDE.keys()
    rows = {row for text in texts for row in MEMORY if f"| {row} |" in text}
    assert rows == MEMORY.keys()
