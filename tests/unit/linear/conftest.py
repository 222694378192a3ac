"""Prints the table at the end."""

from collections.abc import Iterator

import pytest
from support.linear import report


@pytest.fixture(scope="session", autouse=True)
def _table() -> Iterator[None]:
    """Prints the table of timings at the end."""
    yield
    if rows := report.table():
        print(f"\n{rows}")
