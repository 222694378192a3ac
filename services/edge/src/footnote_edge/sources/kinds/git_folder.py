"""Checks that a repository on the server lies within the folders that a source may read.

Git follows links, `gitdir:` files and alternate object stores to wherever they lead. They are checked when the
repository is opened; one changed during the run is not noticed.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from footnote_edge.sources.opened_file import regular

_READ = ("HEAD", "commondir", "config", "info", "objects", "packed-refs", "refs", "reftable", "shallow")
"""The parts of a control folder that are read."""
_LONGEST = 64 * 1024


def leads_out(repository: Path, permitted: Callable[[Path], bool]) -> bool:
    """Return whether parts of a repository lie outside the permitted folders, or are no files; raises OSError."""
    return any(not _within(place, permitted, set()) for place in _places(repository))


def _places(repository: Path) -> Iterator[Path]:
    hidden = repository / ".git"
    control = hidden if hidden.is_dir() else repository
    if hidden.is_file():
        yield hidden
        control = repository / _text(hidden).removeprefix("gitdir: ")
    yield from (control / name for name in _READ)
    common = control
    if (control / "commondir").is_file():
        common = control / _text(control / "commondir")
        yield from (common / name for name in _READ)
    stores, seen = [common / "objects"], set()
    while stores:
        store = stores.pop().resolve()
        if store not in seen:
            seen.add(store)
            yield store
            if (store / "info" / "alternates").is_file():
                lines = _text(store / "info" / "alternates").split("\n")
                stores += [store / line for line in lines if line and not line.startswith("#")]


def _within(place: Path, permitted: Callable[[Path], bool], seen: set[Path]) -> bool:
    waiting = [place]
    while waiting:
        real = waiting.pop().resolve()
        if real in seen:
            continue
        seen.add(real)
        if not permitted(real) or (real.exists() and not real.is_dir() and not real.is_file()):
            return False
        try:
            with os.scandir(real) as entries:
                waiting += [Path(entry.path) for entry in entries if not entry.is_file(follow_symlinks=False)]
        except (FileNotFoundError, NotADirectoryError):
            continue
    return True


def _text(path: Path) -> str:
    with regular(path) as file:
        return os.fsdecode(file.read(_LONGEST)).rstrip("\r\n")
