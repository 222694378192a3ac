"""Processes of the tests get their environment in one place: an embedder that is installed must not change results."""

from __future__ import annotations

import os
from pathlib import Path

from support import surroundings

TESTS = Path(__file__).resolve().parents[1]


def test_the_tests_name_their_embedder() -> None:
    assert surroundings.NAMED.items() <= os.environ.items()
    assert surroundings.NAMED.items() <= surroundings.inherited().items()


def test_nobody_makes_an_environment_without_it() -> None:
    own = [
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("*.py")
        if path.name not in ("surroundings.py", Path(__file__).name)
        and 'startswith("FOOTNOTE_")' in (text := path.read_text("utf-8"))
        and "os.environ.items()" in text
    ]
    assert own == []
