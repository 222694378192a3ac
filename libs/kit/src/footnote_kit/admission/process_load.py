"""Shares the load of this machine's services through memory-mapped files.

Each service writes its event loop lag ten times a second. Edge reads it before it schedules calls, because a blocked
service blocks its callers; this is a memory read instead of a call. Services on other machines are not covered.
"""

from __future__ import annotations

import mmap
import os
import stat
import struct
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from footnote_kit.admission import loop_lag

_FOLDER = "load"
_RECORD = struct.Struct("=qddd")  # process id, average lag and worst lag in seconds, and the time of writing
_FRESH_SECONDS = 0.02
"""Minimum age of a reading before it is read again."""
_SILENT_SECONDS = 3 * loop_lag.EVERY
"""A loop that has not written for longer is blocked at this moment."""
_GONE_SECONDS = 60.0
"""After this time the writer is gone."""


@dataclass(frozen=True, slots=True)
class Load:
    """One service's load, in seconds."""

    process: int
    average: float
    worst: float


class LoadFile:
    """The writer's side."""

    def __init__(self, data_dir: Path, service: str) -> None:
        """Start to write for a service of this process."""
        path = path_of(data_dir, service)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(descriptor, _RECORD.size)
            self._shared = mmap.mmap(descriptor, _RECORD.size)
        finally:
            os.close(descriptor)
        self._process = os.getpid()

    def write(self, lag: loop_lag.LoopLag) -> None:
        """Write the loop's lag."""
        self._shared[:] = _RECORD.pack(self._process, lag.average, lag.worst, time.monotonic())

    def close(self) -> None:
        """Stop writing and mark the file as abandoned."""
        self._shared[:] = bytes(_RECORD.size)
        self._shared.close()


class ProcessLoads:
    """The reader's side, for the named services; they may start later, on another machine, or never."""

    def __init__(self, data_dir: Path, services: Iterable[str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._paths = {service: path_of(data_dir, service) for service in services}
        self._files: dict[str, mmap.mmap] = {}
        self._clock = clock
        self._read: dict[str, Load] = {}
        self._at = float("-inf")
        self._spent: dict[int, float] = {}
        self._sum = 0.0
        self._counted: dict[str, Load] | None = None
        """The reading that `_sum` is of."""

    def of(self, service: str) -> Load | None:
        """Return a service's load; None when it is unknown."""
        return self._now().get(service)

    def lag(self) -> float:
        """Return the largest recent lag in seconds among the services."""
        return max((load.average for load in self._now().values()), default=0.0)

    def processor(self) -> float:
        """Return a running count of processor seconds used by this process and the services' processes.

        It is as old as the loads: asking the kernel at both ends of each call took a fifth of edge's time.
        """
        loads = self._now()
        if loads is self._counted:
            return self._sum
        self._counted = loads
        processes = {load.process for load in loads.values()} | {os.getpid()}
        for process in processes:
            spent = _spent(process)
            self._sum += max(0.0, spent - self._spent.get(process, spent))
            self._spent[process] = spent
        for gone in self._spent.keys() - processes:
            del self._spent[gone]
        return self._sum

    async def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _now(self) -> dict[str, Load]:
        now = self._clock()
        if now - self._at > _FRESH_SECONDS:
            found = ((service, self._look(service, now)) for service in self._paths)
            self._read = {service: load for service, load in found if load is not None}
            self._at = now
        return self._read

    def _look(self, service: str, now: float) -> Load | None:
        if service not in self._files and not self._open(service):
            return None
        process, average, worst, at = _RECORD.unpack(self._files[service][:])
        silent = now - at
        if not process or silent > _GONE_SECONDS:
            return None
        if silent > _SILENT_SECONDS and not _lives(process):
            return None
        held = silent if silent > _SILENT_SECONDS else 0.0
        return Load(process, max(average, held), max(worst, held))

    def _open(self, service: str) -> bool:
        try:
            descriptor = os.open(self._paths[service], os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            found = os.fstat(descriptor)
            own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_size == _RECORD.size
            if own:
                self._files[service] = mmap.mmap(descriptor, _RECORD.size, access=mmap.ACCESS_READ)
            return own
        finally:
            os.close(descriptor)


def path_of(data_dir: Path, service: str) -> Path:
    """Return the path of a local service's load file."""
    return data_dir / _FOLDER / service


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def _spent(process: int) -> float:
    """Return a process's processor time; 0 when it has ended or the system does not report it."""
    if process == os.getpid():
        return time.process_time()
    try:
        return time.clock_gettime((~process << 3) | 2)  # the kernel's clock id for another process
    except (OSError, AttributeError):
        return 0.0
