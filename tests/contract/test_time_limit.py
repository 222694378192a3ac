"""A long run ends in time: what would begin too late is skipped and said, and the long files begin first."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import time_limit

SHORT = "def test_one() -> None:\n    pass\n"
LONG = "import pytest\n\n\n@pytest.mark.timeout(900)\ndef test_one() -> None:\n    pass\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files with a test each, of which the last may take long."""
    for name, text in (("a", SHORT), ("b", SHORT), ("c", LONG)):
        (tmp_path / f"test_{name}.py").write_text(text)
    return tmp_path


def ran(folder: Path, **environment: str) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "support.time_limit", "-v", "-rs", str(folder)]
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    done = subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_what_would_begin_after_the_end_is_skipped_and_said(folder: Path) -> None:
    said = ran(folder, **{time_limit.END: str(time.time() - 1)})
    assert "3 skipped" in said
    assert time_limit.REASON in said
    assert "3 passed" in ran(folder, **{time_limit.END: str(time.time() + 600)})


@pytest.mark.slow
def test_what_may_take_long_begins_first_and_the_rest_by_draw(folder: Path) -> None:
    orders = set()
    for drawn in ("", "1", "2"):
        lines = ran(folder, **{time_limit.ORDER: drawn}).splitlines()
        files = [line.partition("::")[0] for line in lines if "PASSED" in line]
        assert files[0] == "test_c.py"
        assert drawn or files == ["test_c.py", "test_a.py", "test_b.py"]
        orders.add(tuple(files))
    assert len(orders) == 2
