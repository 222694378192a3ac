"""SQLite files that forget: what is deleted is overwritten, and the write-ahead log does not keep it either."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from footnote_kit.logs import get_logger

FORGET = "secure_delete=ON"
"""Pragma for every connection: bytes of deleted rows are overwritten with zeros, in the file and in its log."""
EVERY = 15.0
"""Seconds between looks at the logs; what was deleted has left them within twice that."""
_BUSY = 2.0

_log = get_logger("footnote.sqlite")


class LogKeeper:
    """Empties the write-ahead logs of some files now and then: until it is reused, a log keeps old pages.

    Files that are not there are left alone, so that those of other databases may be named as well.
    """

    def __init__(self, *paths: Path) -> None:
        self._paths = paths
        self._sizes: dict[Path, tuple[int, int]] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._loop(), name="sqlite-log-keeper")

    async def stop(self) -> None:
        """End."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def _loop(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            await asyncio.to_thread(empty_logs, self._paths)


def empty_logs(paths: Sequence[Path]) -> None:
    """Move what is in the write-ahead logs of these files into them and cut the logs to nothing.

    A log that a reader holds on to is left for the next time.
    """
    for path in paths:
        log = path.with_name(path.name + "-wal")
        try:
            if not log.exists() or log.stat().st_size == 0:
                continue
            with contextlib.closing(sqlite3.connect(path, timeout=_BUSY)) as connection:
                connection.execute(f"PRAGMA {FORGET}")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except (sqlite3.Error, OSError) as error:
            _log.warning("sqlite_log_not_emptied", file=path.name, error=type(error).__name__)


def file_of(url: str) -> Path | None:
    """Return the file that a SQLAlchemy URL of SQLite names; None for another database or one in memory."""
    kind, found, rest = url.partition(":///")
    return Path(rest.partition("?")[0]) if found and kind.startswith("sqlite") and rest else None
