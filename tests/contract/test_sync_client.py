"""The Python client for threads is generated from the one for an event loop, and it is current."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from footnote.client import AsyncClient, Client

ROOT = Path(__file__).resolve().parents[2]


def test_the_client_for_threads_is_what_its_source_gives() -> None:
    command = [sys.executable, ROOT / "libs/contracts/sync_client.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_both_clients_take_the_same_arguments() -> None:
    for name in ("__init__", "ask", "answer", "upload", "watch"):
        given = [list(inspect.signature(getattr(one, name)).parameters) for one in (Client, AsyncClient)]
        assert given[0] == given[1], name
