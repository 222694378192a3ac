"""How much an installation weighs on the disk."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def needed(name: str, extras: tuple[str, ...] = ()) -> set[str]:
    """Return the distributions that one brings with it, itself included, by name as it is normalised."""
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    line = [(name, extra) for extra in ("", *extras)]
    while line:
        here, extra = line.pop()
        key = (canonicalize_name(here), extra)
        if key in seen:
            continue
        seen.add(key)
        try:
            requires = metadata.requires(here) or []
        except metadata.PackageNotFoundError:
            continue  # for another system, or an option that nobody chose
        found.add(key[0])
        for text in requires:
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                line += [(wanted.name, one) for one in ("", *wanted.extras)]
    return found


def megabytes(names: set[str]) -> float:
    """Return what the files of distributions take in MB; what is imported from a checkout counts nothing."""
    total = 0
    for name in names:
        for file in metadata.files(name) or []:
            path = Path(str(file.locate()))
            total += path.stat().st_size if path.is_file() else 0
    return total / 1e6
