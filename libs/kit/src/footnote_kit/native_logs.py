"""Turns what C libraries print to descriptor 2, above all gRPC's core, into log lines.

gRPC's core logs its own text, past Python's logging. In a process that logs JSON, descriptor 2 becomes a pipe, and a
thread turns each of its lines into an event. Our own lines go to the original descriptor. Lines that are JSON already,
from child processes, pass unchanged.

The pipe is bounded and never blocks its writers: lines that do not fit are lost. The last lines of a library that
aborts the process are lost too; a traceback of all threads is printed then.
"""

import faulthandler
import io
import os
import re
import sys
import threading
from contextlib import suppress

from footnote_kit import context
from footnote_kit.logs import get_logger

_ABSL = re.compile(r"([IWEF])\d{4} [\d:.]+ +\d+ ([\w./-]{1,200}:\d+)\] (.*)", re.DOTALL)
"""The prefix of Abseil's log, which gRPC's core uses: level, date, time, thread, file and line."""
_NOTE = "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR"
"""Abseil prints it once, before its first line."""
_LEVELS = {"I": "info", "W": "warning", "E": "error", "F": "critical"}
_MOST_BYTES = 16 * 1024
"""Longer lines are cut in pieces."""
_grpc, _other = get_logger("grpc.core"), get_logger("stderr")


_own = 2


def stderr() -> int:
    """Return the descriptor for our own log lines, for child processes."""
    return _own


class NativeLogs:
    """Takes over descriptor 2 until it is closed; one at a time in a process."""

    def __init__(self, service: str) -> None:
        """Start; `service` is in every line."""
        global _own
        self._before = _own = os.dup(2)
        reading, writing = os.pipe()
        os.set_blocking(writing, False)  # a full pipe must not stop a library that holds the interpreter's lock
        os.dup2(writing, 2)
        os.close(writing)
        sys.stderr = io.TextIOWrapper(
            os.fdopen(os.dup(self._before), "wb"), encoding="utf-8", errors="backslashreplace", line_buffering=True
        )
        faulthandler.enable(self._before)
        self._thread = threading.Thread(target=_forward, args=(reading, service), name="native-logs", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Log the rest of the pipe, and restore descriptor 2; our own lines are unaffected."""
        os.dup2(self._before, 2)
        self._thread.join(timeout=1.0)  # passes only where another process still holds the pipe


def _forward(reading: int, service: str) -> None:
    context.bind_service(service)
    with os.fdopen(reading, "rb", buffering=_MOST_BYTES) as lines:
        while line := lines.readline(_MOST_BYTES):
            with suppress(OSError, ValueError):  # stderr itself is gone
                _write(line.decode("utf-8", errors="backslashreplace").rstrip())


def _write(line: str) -> None:
    if line.startswith("{") and line.endswith("}"):
        sys.stderr.write(f"{line}\n")
    elif found := _ABSL.fullmatch(line):
        level, place, message = found.groups()
        getattr(_grpc, _LEVELS[level])(message, at=place)
    elif line and line != _NOTE:
        _other.warning(line)
