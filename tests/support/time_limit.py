"""Skips tests that have not begun by a moment, with the reason: a build that is cut off reports nothing at all.

A pytest plugin for slow machines. What is skipped stands in the summary with its number.
"""

from __future__ import annotations

import os
import time

import pytest

UNTIL = "FOOTNOTE_TESTS_UNTIL"
"""The variable with the moment, in seconds since 1970; no limit without it."""
REASON = f"out of time on this machine (unset {UNTIL})"


@pytest.hookimpl(tryfirst=True)  # before fixtures are set up
def pytest_runtest_setup() -> None:
    """Skip a test that comes too late."""
    if time.time() > float(os.environ.get(UNTIL) or "inf"):
        pytest.skip(REASON)
