"""Processor time and memory of a deployment's processes, from outside."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import psutil
from support.deployment import PART, Deployment


@dataclass(frozen=True)
class Spent:
    """Seconds of processor time: of the services' processes, of the engine's, of all others (parsers, workers)."""

    services: float = 0.0
    engine: float = 0.0
    others: float = 0.0

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.services - other.services, self.engine - other.engine, self.others - other.others)

    @property
    def total(self) -> float:
        """Return all of it."""
        return self.services + self.engine + self.others


def tree(running: Deployment) -> list[psutil.Process]:
    """Return all processes of a deployment, its engine and parsers included."""
    found = []
    for process in running.processes.values():
        first = psutil.Process(process.pid)
        found += [first, *first.children(recursive=True)]
    return found


def spent(running: Deployment) -> Spent:
    """Return what a deployment has spent so far; a child that has ended counts with its parent."""
    services = engine = others = 0.0
    firsts = {process.pid for process in running.processes.values()}
    for one in tree(running):
        with suppress(psutil.Error):
            times, line = one.cpu_times(), one.cmdline()
            own = times.user + times.system
            ended = times.children_user + times.children_system
            if one.pid in firsts or one.name() == PART:
                services += own
                others += ended
            elif line and line[0].endswith("/milvus"):
                engine += own
            else:
                others += own + ended
    return Spent(services, engine, others)


def megabytes(running: Deployment) -> float:
    """Return the memory of all of a deployment's processes in MB, pages that several share counted once each."""
    total = 0
    for one in tree(running):
        with suppress(psutil.Error):
            total += one.memory_full_info().pss
    return total / 1e6
