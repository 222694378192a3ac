"""Freezes a process (SIGSTOP): to its callers it hangs."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

STOPPED = ("T", "t", "Z", "X")


def freeze(pid: int, patience: float = 10) -> None:
    """Stop a process, and return when all of its threads are stopped.

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
    """Return the state of each thread; empty on systems without /proc."""
    found = []
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            text = stat.read_text()
        except OSError:  # a thread that has just ended
            continue
        found.append(text.rpartition(")")[2].split()[0])
    return found


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Stop a process for the time."""
    freeze(pid)
    try:
        yield
    finally:
        thaw(pid)


@contextmanager
def halting(pid: int, stopped: float, going: float) -> Iterator[None]:
    """Stop a process again and again; seconds."""
    over = threading.Event()

    def halt() -> None:
        while not over.is_set():
            with frozen(pid):
                over.wait(stopped)
            over.wait(going)

    thread = threading.Thread(target=halt)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


FAULTS: dict[str, Callable[[int], AbstractContextManager[None]]] = {
    "frozen": frozen,
    "slow": lambda pid: halting(pid, 0.5, 0.05),
    "flapping": lambda pid: halting(pid, 3.0, 2.0),
}
"""What may be wrong with a process, by name."""
