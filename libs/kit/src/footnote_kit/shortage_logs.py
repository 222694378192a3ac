"""Logs a shortage of descriptors or memory as a sentence now and then: it makes every connection fail alike."""

import errno
import logging
import os
import time
from collections.abc import Callable

PAUSE_SECONDS = 60.0
"""Seconds between two such lines of a process."""
_SHORTAGES = {
    errno.EMFILE: "This process has as many files and connections open as it may; raise its limit (ulimit -n)",
    errno.ENFILE: "This machine has as many files and connections open as it may; raise fs.file-max",
    errno.ENOMEM: "This machine has no memory left for what this process asks",
}
_MOST_CAUSES = 10


class Shortages(logging.Filter):
    """Replaces the traceback of such a record by what to do, and counts the records until the next line."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._next = float("-inf")
        self._held = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is shown."""
        error = record.exc_info[1] if record.exc_info else None
        number = _shortage(error)
        if number is None:
            return True
        now = self._clock()
        if now < self._next:
            self._held += 1
            return False
        more = f"; {self._held} more such errors since the last line" if self._held else ""
        record.msg, record.args = f"{_SHORTAGES[number]}: {os.strerror(number)}{more}", ()
        record.exc_info = record.exc_text = None
        self._next, self._held = now + PAUSE_SECONDS, 0
        return True


def _shortage(error: BaseException | None) -> int | None:
    """Return the error number of a shortage, which may be the cause of an error."""
    for _ in range(_MOST_CAUSES):
        if error is None:
            return None
        if isinstance(error, OSError) and error.errno in _SHORTAGES:
            return error.errno
        error = error.__cause__ or error.__context__
    return None
