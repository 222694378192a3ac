"""Processes of the tests get their environment in one place: an embedder that is installed must not change results."""

from __future__ import annotations

import os
from pathlib import Path

from support import base_environment

TESTS = Path(__file__).resolve().parents[1]


def test_the_tests_name_their_embedder() -> None:
    assert base_environment.NAMED.items() <= os.environ.items()
    assert base_environment.NAMED.items() <= base_environment.inherited().items()


def test_nobody_makes_an_environment_without_it() -> None:
    own = [
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("*.py")
        if path.name not in ("base_environment.py", Path(__file__).name)
        and 'startswith("FOOTNOTE_")' in (text := path.read_text("utf-8"))
        and "os.environ.items()" in text
    ]
    assert own == []
