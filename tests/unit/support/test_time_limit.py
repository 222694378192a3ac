"""Tests that come too late are skipped with the reason, and run without a limit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import time_limit


@pytest.mark.parametrize(("until", "summary"), [("1", "1 skipped"), ("9999999999", "1 passed"), ("", "1 passed")])
def test_a_test_after_the_limit_is_skipped(tmp_path: Path, until: str, summary: str) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-p", "support.time_limit", "-p", "no:cacheprovider", "test_it.py"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), time_limit.UNTIL: until},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert summary in run.stdout
    assert (time_limit.REASON in run.stdout) == (summary == "1 skipped")
