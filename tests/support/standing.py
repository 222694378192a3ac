"""What a deployment holds at a moment: memory, descriptors and threads of each process, and sizes on disk."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psutil

from support.deployment import PART, Deployment

MIB = 2**20


@dataclass(slots=True)
class Standing:
    """A moment."""

    memory: dict[str, float] = field(default_factory=dict)
    """MiB of each process, by the service it runs; of several that run the same, the sum."""
    descriptors: dict[str, int] = field(default_factory=dict)
    threads: dict[str, int] = field(default_factory=dict)


def standing(running: Deployment) -> Standing:
    """Look at the processes now; those that end meanwhile are left out."""
    memory: Counter[str] = Counter()
    descriptors: Counter[str] = Counter()
    threads: Counter[str] = Counter()
    for target, first in running.processes.items():
        parent = psutil.Process(first.pid)
        for one in (parent, *parent.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                name = _name(target, parent, one)
                memory[name] += one.memory_info().rss
                descriptors[name] += one.num_fds()
                threads[name] += one.num_threads()
    return Standing({name: size / MIB for name, size in memory.items()}, dict(descriptors), dict(threads))


def _name(target: str, parent: psutil.Process, one: psutil.Process) -> str:
    line = one.cmdline()
    if one == parent:
        return target
    if line and line[0].endswith("/milvus"):
        return "engine"
    return f"{target}, part" if one.name() == PART else f"{target}, parsers"


def middle(several: list[Standing]) -> Standing:
    """Return the median of each figure, of the processes that most of them saw."""
    names = [
        name
        for name, seen in Counter(name for one in several for name in one.memory).items()
        if seen * 2 > len(several)
    ]
    return Standing(
        {name: median(one.memory.get(name, 0.0) for one in several) for name in names},
        {name: int(median(one.descriptors.get(name, 0) for one in several)) for name in names},
        {name: int(median(one.threads.get(name, 0) for one in several)) for name in names},
    )


def on_disk(folder: Path) -> dict[str, float]:
    """Return MiB of each database, its journal included, and of each folder of files."""
    sizes: Counter[str] = Counter()
    for path in folder.rglob("*"):
        with suppress(OSError):
            if not path.is_file() or path.suffix == ".log":
                continue
            where = path.relative_to(folder)
            database = where.name.removesuffix("-wal").removesuffix("-shm")
            sizes[str(where.parent / database) if database.endswith(".db") else "/".join(where.parts[:2])] += (
                path.stat().st_size
            )
    return {name: size / MIB for name, size in sizes.items()}


def rows(folder: Path) -> dict[str, int]:
    """Return the rows of each table of each SQLite database."""
    found = {}
    for path in sorted(folder.rglob("*.db")):
        with (
            suppress(sqlite3.Error),
            closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20)) as connection,
        ):
            tables = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
            for (table,) in tables.fetchall():
                with suppress(sqlite3.Error):
                    [(count,)] = connection.execute(f'SELECT count(*) FROM "{table}"').fetchall()
                    found[f"{path.stem}.{table}"] = count
    return found
