"""PostgreSQL that is lost between edge's migration and the launch of its jobs: edge waits for it."""

import subprocess
import sys
from pathlib import Path

import pytest
from support import launching_edge, postgres

pytestmark = [pytest.mark.full, pytest.mark.skipif(postgres.why_not() is not None, reason=str(postgres.why_not()))]


def launched(back: float, wait_seconds: float) -> str:
    script = Path(launching_edge.__file__)
    done = subprocess.run(
        [sys.executable, script, str(back), str(wait_seconds)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout, done.stderr[-2000:]
    return done.stdout.splitlines()[-1]


def test_edge_waits_until_it_is_back() -> None:
    assert launched(3.0, 60.0) == "Tea is brewed at 80 degrees. [1]"


def test_edge_ends_where_it_stays_away() -> None:
    assert launched(0, 2.0) == "OperationalError"
