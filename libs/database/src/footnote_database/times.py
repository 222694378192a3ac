"""Times in a database: either unix milliseconds or UTC datetimes."""

from datetime import UTC, datetime
from time import time


def now_ms() -> int:
    """Return the current time in unix milliseconds."""
    return int(time() * 1000)


def utc(moment: datetime) -> datetime:
    """Return a time from the database with its UTC zone, which SQLite drops."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
