"""Processes of the tests get their environment in one place: an embedder that is installed must not change results."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support import base_environment, starting
from support.deployment import Deployment

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


@pytest.mark.parametrize(
    ("test", "env", "forked"),
    [
        ("tests/e2e/test_path.py::test_x (setup)", {"FOOTNOTE_EDGE_AUTH": "keys"}, True),
        ("tests/e2e/test_path.py::test_x (setup)", {"FOOTNOTE_EDGE_AUTH": "keys", "LD_PRELOAD": "x.so"}, False),
        ("tests/bench/test_bench_start.py::test_x (call)", {}, False),
        ("", {}, False),
    ],
)
def test_what_loads_code_differently_is_not_forked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, test: str, env: dict[str, str], forked: bool
) -> None:
    """Benches, scripts and deployments with variables that an interpreter or a library reads start by themselves."""
    one = object()
    with monkeypatch.context() as patch:
        patch.setattr(starting, "shared", lambda: one)
        patch.setenv("PYTEST_CURRENT_TEST", test)
        assert (Deployment(tmp_path, env=env)._starter is one) == forked
