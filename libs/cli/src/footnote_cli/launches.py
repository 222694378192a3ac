"""Which process serves from a data folder, and whether it is still running."""

import os
from pathlib import Path

_PROCESSES = Path("/proc")


def mark() -> str:
    """Return a unique mark of this process: its id and start time."""
    return f"{os.getpid()} {_started(os.getpid())}"


def pid_of(text: str) -> str:
    """Return the process id in a mark; empty for none."""
    return text.split()[0] if text.split() else ""


def lives(text: str) -> bool:
    """Return whether the process with a mark is running, as this user."""
    pid, _, started = text.strip().partition(" ")
    if not pid.isascii() or not pid.isdigit():
        return False
    try:
        if not _PROCESSES.is_dir():
            os.kill(int(pid), 0)
            return True
        return (_PROCESSES / pid).stat().st_uid == os.geteuid() and _started(int(pid)) == started
    except (OSError, OverflowError):
        return False


def _started(pid: int) -> str:
    """Return when a process started, in kernel ticks; "-" if the system does not say."""
    try:
        # The program name, in parentheses, may hold anything; the start time is the twentieth field after it.
        return (_PROCESSES / str(pid) / "stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "-"
