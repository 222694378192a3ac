"""What holds for every test."""

from collections.abc import Iterator

import pytest
from hypothesis import settings
from support import postgres

# A slow machine is no failure, and a change fails by what it changed: the same examples each time.
# `pytest --hypothesis-profile=default` looks for new ones.
settings.register_profile("footnote", deadline=None, derandomize=True)
settings.load_profile("footnote")


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server for all tests that want one; each makes databases of its own in it."""
    if (reason := postgres.why_not()) is not None:
        pytest.skip(reason)
    with postgres.server() as url:
        yield url
