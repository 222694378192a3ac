"""Times in a database: either unix milliseconds, or moments in UTC."""

from datetime import UTC, datetime
from time import time


def now_ms() -> int:
    """Return the time in unix milliseconds."""
    return int(time() * 1000)


def utc(moment: datetime) -> datetime:
    """Return a time from the database with its zone: all are written in UTC, and SQLite hands them back bare."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
