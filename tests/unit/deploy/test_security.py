"""SECURITY.md names tests that exist."""

import re
from pathlib import Path

import pytest
from support import code

ROOT = Path(__file__).resolve().parents[3]
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@pytest.mark.slow
def test_every_promise_names_a_test_that_there_is() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    table = text.partition("## Promise and test")[2]
    lines = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert len(lines) > 30
    for line in lines:
        found = _NAMED.search(line)
        assert found, f"no test: {line}"
        assert found[2] in code.facts(ROOT / found[1]).functions, line
