"""Ends a long run in time: what would begin later than `FOOTNOTE_TEST_END` is skipped, counted and said.

A build that is cut off in the midst tells nothing, and nothing lands. Files that may take longest begin first, so that
none is left running alone at the end; the others come in an order drawn by `FOOTNOTE_TEST_ORDER`, so that a slow
machine leaves out others in each build.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import defaultdict

import pytest

END, ORDER = "FOOTNOTE_TEST_END", "FOOTNOTE_TEST_ORDER"
REASON = "the time of this run is over; `make test-all` without a limit runs it"


def pytest_runtest_setup() -> None:
    """Skip a test that begins too late."""
    if time.time() > float(os.environ.get(END, "inf")):
        pytest.skip(REASON)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order files by the longest time that one of their tests may take, then by draw, or as they were without one."""
    longest: defaultdict[str, float] = defaultdict(float)
    for item in items:
        mark = item.get_closest_marker("timeout")
        longest[_file(item)] = max(longest[_file(item)], mark.args[0] if mark else 0.0)
    drawn = os.environ.get(ORDER, "")

    def place(item: pytest.Item) -> tuple[float, bytes]:
        file = _file(item)
        return -longest[file], hashlib.sha256(f"{drawn} {file}".encode()).digest() if drawn else b""

    items.sort(key=place)


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
