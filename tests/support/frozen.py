"""A process stopped where it stands, as a hanging one is to those that call it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

STOPPED = ("T", "t", "Z", "X")


def freeze(pid: int, patience: float = 10) -> None:
    """Stop a process, and return when each of its threads stands still.

    The signal alone is not enough: threads go on until each has been scheduled to take it, which on a busy machine is
    long enough to answer a call.
    """
    os.kill(pid, signal.SIGSTOP)
    ends = time.monotonic() + patience
    while not all(state in STOPPED for state in states(pid)):
        if time.monotonic() > ends:
            raise TimeoutError(f"process {pid} goes on: {states(pid)}")
        time.sleep(0.002)


def thaw(pid: int) -> None:
    """Let a process go on."""
    os.kill(pid, signal.SIGCONT)


def states(pid: int) -> list[str]:
    """Return the state of each thread; none where the system does not tell (/proc)."""
    found = []
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            text = stat.read_text()
        except OSError:  # a thread that has just ended
            continue
        found.append(text.rpartition(")")[2].split()[0])
    return found
