"""Finds child processes by what they run, because other tests' servers may be children too."""

from __future__ import annotations

from contextlib import suppress

import psutil

FORK_SERVER = "footnote_ingestion.worker.fork_server"
"""What parsers' workers are forked from."""


def running(module: str) -> list[psutil.Process]:
    """Return the living children of this process that run a module, oldest first."""
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # it has just ended
            if module in child.cmdline():
                found.append(child)
    return found


def family(module: str) -> set[psutil.Process]:
    """Return the living children of this process that run a module, with all that these have started."""
    found = set()
    for child in running(module):
        found.add(child)
        with suppress(psutil.Error):
            found.update(child.children(recursive=True))
    return found
