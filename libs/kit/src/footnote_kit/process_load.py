"""How busy the services of this machine are, in files that others look at: what holds up one holds up its callers.

A service's loop writes ten times a second how late it comes. Edge looks before it decides who goes first, which costs a
look at memory in place of a call. Of services on other machines nothing is known here.
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

from footnote_kit import loop_lag

_FOLDER = "load"
_RECORD = struct.Struct("=qddd")  # process, seconds late on average, at worst, and when that was written
_FRESH_SECONDS = 0.02
"""What was read so lately is not read again."""
_SILENT_SECONDS = 3 * loop_lag.EVERY
"""A loop that has written nothing for longer is held up right now."""
_GONE_SECONDS = 60.0
"""Nobody writes there any more."""


@dataclass(frozen=True, slots=True)
class Load:
    """One service's; seconds."""

    process: int
    average: float
    worst: float


class LoadFile:
    """The writer's side."""

    def __init__(self, data_dir: Path, service: str) -> None:
        """Begin to write for a service of this process."""
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
        """Write how late the loop is."""
        self._shared[:] = _RECORD.pack(self._process, lag.average, lag.worst, time.monotonic())

    def close(self) -> None:
        """Write no more."""
        self._shared[:] = bytes(_RECORD.size)
        self._shared.close()


class ProcessLoads:
    """The readers' side, for the services named; they may start later, elsewhere or never."""

    def __init__(self, data_dir: Path, services: Iterable[str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._paths = {service: path_of(data_dir, service) for service in services}
        self._files: dict[str, mmap.mmap] = {}
        self._clock = clock
        self._read: dict[str, Load] = {}
        self._at = float("-inf")
        self._spent: dict[int, float] = {}
        self._sum = 0.0

    def of(self, service: str) -> Load | None:
        """Return a service's load; None where it is not known."""
        return self._now().get(service)

    def lag(self) -> float:
        """Return the seconds that the most held up of the loops comes late lately, this process's own among them."""
        return max((load.average for load in self._now().values()), default=0.0)

    def processor(self) -> float:
        """Return a count of seconds of processor time that this process and those of the services have taken."""
        processes = {load.process for load in self._now().values()} | {os.getpid()}
        for process in processes:
            spent = _spent(process)
            self._sum += max(0.0, spent - self._spent.get(process, spent))
            self._spent[process] = spent
        for gone in self._spent.keys() - processes:
            del self._spent[gone]
        return self._sum

    async def close(self) -> None:
        """Let go of the files."""
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
    """Return where a service that is served on this machine writes its load."""
    return data_dir / _FOLDER / service


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def _spent(process: int) -> float:
    """Return the processor time of a process, 0 for one that has ended or where the system does not tell."""
    if process == os.getpid():
        return time.process_time()
    try:
        return time.clock_gettime((~process << 3) | 2)  # the kernel's name of another process's clock
    except (OSError, AttributeError):
        return 0.0
