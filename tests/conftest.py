"""What holds for every test."""

import gc
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from support import base_environment, postgres, schemas

pytest_plugins = ["support.run_report", "support.time_limit", "support.whole_run"]

# A slow machine is no failure, and a change fails by what it changed: the same examples each time.
# `pytest --hypothesis-profile=default` looks for new ones.
settings.register_profile("footnote", deadline=None, derandomize=True)
settings.load_profile("footnote")

# Of the services that run in the tests' own process, and of processes that inherit its surroundings.
os.environ.update(base_environment.NAMED)
schemas.reuse()

# Thousands of collected tests live to the end: while they are made there is nothing to find, and looked through anew
# with every later collection they cost more than the tests. What the tests themselves leave is found as ever.
gc.disable()

LEFT_OUT = re.compile(r"^pytestmark = .*\bmark\.full\b", re.MULTILINE)
"""A module all of whose tests `make test-all` runs."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import modules of which `-m "... not full"` runs nothing: each worker collects every test."""
    if "not full" not in config.option.markexpr or collection_path.suffix != ".py":
        return None
    return True if LEFT_OUT.search(collection_path.read_text(encoding="utf-8")) else None


@pytest.hookimpl(tryfirst=True)  # before markers choose what runs
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `make test-all` the second run, on PostgreSQL, of what `make test` runs on SQLite."""
    for item in items:
        given = getattr(getattr(item, "callspec", None), "params", {}).values()
        if any(isinstance(one, str) and one in ("postgres", "postgresql") for one in given):  # arrays compare to arrays
            item.add_marker("full")


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server for all tests that want one; each makes databases of its own in it."""
    if (reason := postgres.why_not()) is not None:
        pytest.skip(reason)
    with postgres.server() as url:
        yield url


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real vector engine that one module has for itself."""
    from support.engine import running_engine

    with running_engine(tmp_path_factory.mktemp("engine")) as address:
        yield address
