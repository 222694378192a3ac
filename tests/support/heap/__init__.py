"""What holds the memory of a deployment's processes: by process, by mapped file, and by Python's types and packages."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from support.deployment import PART

_ANONYMOUS = "anonymous"
_PATIENCE = 60.0


def environment(folder: Path) -> dict[str, str]:
    """Return the variables under which a deployment's Python processes write reports into a folder."""
    return {
        "FOOTNOTE_HEAP": str(folder),
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
    }


@dataclass
class Held:
    """What one process holds, in MB; pages shared with other processes count by their share (PSS)."""

    name: str
    pid: int
    mappings: Counter[str] = field(default_factory=Counter)
    """By file name; "anonymous" is all else."""
    malloc: dict[str, float] = field(default_factory=dict)
    types: Counter[str] = field(default_factory=Counter)
    packages: Counter[str] = field(default_factory=Counter)
    modules: int = 0

    @property
    def total(self) -> float:
        """All of it."""
        return sum(self.mappings.values())

    @property
    def anonymous(self) -> float:
        """What is no file's: heaps, Python's arenas, stacks."""
        return float(self.mappings[_ANONYMOUS])

    @property
    def objects(self) -> float:
        """The sizes of all Python objects, as they say them."""
        return float(sum(self.types.values()))


def held(processes: Iterable[psutil.Process], folder: Path | None = None) -> list[Held]:
    """Return what each process holds, the largest first; with a folder of reports also Python's part."""
    found = []
    for one in processes:
        with suppress(psutil.Error, OSError):  # it has ended
            each = Held(_name(one), one.pid, _mappings(one.pid))
            if folder is not None and _reports(one.pid):
                _add(each, _asked(one.pid, folder))
            found.append(each)
    return sorted(found, key=lambda each: -each.total)


def _name(process: psutil.Process) -> str:
    line = process.cmdline()
    if process.name() == PART:
        return "part"
    if line and line[0].endswith("/milvus"):
        return "engine"
    for word in line:
        if word.startswith("footnote_"):
            return word.removeprefix("footnote_")
    return process.name()


def _mappings(pid: int) -> Counter[str]:
    """Read /proc/PID/smaps."""
    found: Counter[str] = Counter()
    name = _ANONYMOUS
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        first, _, rest = line.partition(" ")
        if not first.endswith(":"):
            parts = rest.split(maxsplit=4)
            path = parts[4] if len(parts) > 4 else ""
            name = Path(path).name if path.startswith("/") else _ANONYMOUS
        elif first == "Pss:":
            found[name] += int(rest.split()[0]) * 1024 / 1e6
    return found


def _reports(pid: int) -> bool:
    """Return whether a process handles the signal: it would end any other."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (signal.SIGUSR2 - 1) & 1)
    return False


def _asked(pid: int, folder: Path) -> dict[str, Any]:
    """Return a process's report on its Python objects."""
    path, deadline = folder / f"{pid}.json", time.monotonic() + _PATIENCE
    path.unlink(missing_ok=True)
    os.kill(pid, signal.SIGUSR2)
    while not path.exists():
        if time.monotonic() > deadline:
            raise RuntimeError(f"process {pid} wrote no report on its memory")
        time.sleep(0.05)
    report: dict[str, Any] = json.loads(path.read_text())
    return report


def _add(each: Held, report: dict[str, Any]) -> None:
    each.malloc = {name: size / 1e6 for name, size in report["malloc"].items()}
    each.types = Counter({name: size / 1e6 for name, size in report["types"].items()})
    each.packages = Counter({name: size / 1e6 for name, size in report["packages"].items()})
    each.modules = report["modules"]
