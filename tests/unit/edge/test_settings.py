"""Which databases the settings name."""

from pathlib import Path

import pytest
from footnote_edge.database import Database
from footnote_edge.settings import Settings


@pytest.mark.parametrize(
    ("own", "jobs", "expected"),
    [
        ("", "", "sqlite:///folder/jobs.db"),
        ("sqlite+aiosqlite:///x.db", "", "sqlite:///folder/jobs.db"),
        ("postgresql://u@h/d", "", "postgresql://u@h/d"),
        ("postgresql+asyncpg://u@h/d", "", "postgresql://u@h/d"),
        ("postgresql://u@h/d", "postgresql+asyncpg://u@h/jobs", "postgresql://u@h/jobs"),
        ("postgresql://u@h/d", "sqlite:///jobs.db", "sqlite:///jobs.db"),
    ],
)
def test_jobs_are_kept_with_the_rest_unless_told_otherwise(own: str, jobs: str, expected: str) -> None:
    assert Settings(database_url=own, jobs_database_url=jobs).dbos_url(Path("folder")) == expected


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("sqlite:///x.db", "aiosqlite"),
        ("postgresql://u@h/d", "asyncpg"),
        ("postgres://u@h/d", "asyncpg"),
        ("postgresql+psycopg://u@h/d", "asyncpg"),
    ],
)
async def test_the_driver_is_ours_whatever_the_url_names(url: str, driver: str) -> None:
    database = Database(url)
    assert database.engine.dialect.driver == driver
    await database.close()
