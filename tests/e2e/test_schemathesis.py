"""Schemathesis, which knows nothing of us but the OpenAPI document, against everything with keys switched on."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.deployment import Deployment, deployment

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(600)]

PHASES = os.environ.get("FOOTNOTE_TEST_SCHEMATHESIS_PHASES", "examples,coverage,fuzzing,stateful")
EXAMPLES = os.environ.get("FOOTNOTE_TEST_SCHEMATHESIS_EXAMPLES", "5")
# All checks but two: by protobuf's rules for JSON a null, a number in quotes and an enum's number are accepted, and
# some rules (a filter's syntax, what may be combined) are told in words that no schema holds.
UNCHECKED = "positive_data_acceptance,negative_data_rejection"


def command() -> str:
    """Return the schemathesis to run; skips where there is none."""
    beside = Path(sys.executable).with_name("schemathesis")
    named = os.environ.get("FOOTNOTE_TEST_SCHEMATHESIS")
    found = named or (str(beside) if beside.exists() else shutil.which("schemathesis"))
    if not found:
        pytest.skip("schemathesis is not installed (FOOTNOTE_TEST_SCHEMATHESIS may name its command)")
    return found


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment in one process that wants keys."""
    command()
    with deployment(tmp_path_factory.mktemp("guarded"), env={"FOOTNOTE_EDGE_AUTH": "keys"}) as running:
        yield running


def new_key(running: Deployment) -> str:
    """Return the text of a new administrator's key."""
    made = subprocess.run(
        [sys.executable, "-m", "footnote_cli.main", "keys", "create", "fuzz", "--role", "admin", "--json",
         "--data-dir", str(running.folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return str(json.loads(made.stdout)["key"])


@pytest.mark.parametrize(
    ("operations", "seconds"),
    [
        (("--exclude-operation-id", "WatchDocuments"), "10"),
        # It lasts until its time is over; the others would wait for it most of theirs.
        (("--include-operation-id", "WatchDocuments"), "0.2"),
    ],
)
def test_no_request_breaks_the_service_or_its_contract(
    guarded: Deployment, tmp_path: Path, operations: tuple[str, str], seconds: str
) -> None:
    program = command()
    done = subprocess.run(
        [
            program, "run", f"http://{guarded.address('http')}/openapi.json", *operations,
            "--header", f"x-api-key: {new_key(guarded)}",
            "--header", f"x-footnote-timeout: {seconds}",
            "--exclude-checks", UNCHECKED,
            "--phases", PHASES, "--max-examples", EXAMPLES, "--seed", "7", "--generation-database", "none",
            "--request-timeout", "30", "--continue-on-failure", "--suppress-health-check", "all",
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=580, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    faults = [line for line in guarded.log().splitlines() if '"level": "error"' in line]
    assert not faults
