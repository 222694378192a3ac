"""A run that breaks off is no run with a few failures: it fails, and so does the repetition of its failures."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TWO = "def test_one() -> None:\n    pass\n\n\ndef test_two() -> None:\n    assert {two}\n"


def ran(folder: Path, *options: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-p", "support.whole_run", "-p", "cacheprovider", str(folder), *options]
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


AGAIN = ("--last-failed", "--last-failed-no-failures", "none")


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_whole_run_ends_as_it_did_and_its_failures_may_pass_alone(folder: Path, workers: tuple[str, ...]) -> None:
    write(folder, "not __import__('pathlib').Path('fails').exists()")
    (folder / "fails").touch()
    assert ran(folder, *workers)[0] == 1
    (folder / "fails").unlink()
    assert ran(folder, *AGAIN)[0] == 0
    assert ran(folder, *workers)[0] == 0
    assert ran(folder, *AGAIN)[0] in (0, 5)


@pytest.mark.parametrize("workers", [(), ("-n", "2", "--max-worker-restart", "0")])
def test_a_run_that_breaks_off_fails_and_so_does_its_repetition(folder: Path, workers: tuple[str, ...]) -> None:
    write(folder, "__import__('os')._exit(9)" if workers else "__import__('pytest').exit('over', 1)")
    for number in range(40 if workers else 1):
        (folder / f"test_later{number}.py").write_text("def test_later() -> None:\n    pass\n")
    code, said = ran(folder, *workers)
    assert code not in (0, 1), said
    assert "the run broke off" in said
    write(folder, "True")
    code, said = ran(folder, *AGAIN)
    assert code == 3, said
    assert "not all tests have run" in said
    assert ran(folder)[0] == 0
    assert ran(folder, *AGAIN)[0] in (0, 5)


def test_a_killed_run_was_no_whole_one(folder: Path) -> None:
    write(folder, "__import__('os')._exit(0)")
    assert ran(folder)[0] == 0  # nothing is left that could say otherwise
    assert ran(folder, *AGAIN)[0] == 3


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for tests of one's own."""
    return tmp_path


def write(folder: Path, two: str) -> None:
    (folder / "test_first.py").write_text(TWO.format(two=two))
