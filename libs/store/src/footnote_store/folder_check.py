"""Checks, before the engine opens its folder, that the folder is sound and belongs to the data folder.

Both folders have a file with the installation's unique name, created at the first start. A folder copied from another
installation has that one's name. Its rows would belong to no known collection and would be removed.
"""

import contextlib
from pathlib import Path

from footnote_database import integrity
from footnote_database.parts import NAME, Part, Parts
from footnote_kit.errors import FailedPrecondition

PART = Part("vectors", "own vectors, remembered messages, and chunks that are indexed again from their documents")

RESTORE = "put back a copy of it, or restore a whole backup into another folder"
_REPAIR = (
    "or stop the services and run `footnote admin doctor --repair`: the folder is put aside, and documents are indexed "
    "again at the next start. Own vectors and remembered messages come back from a backup only."
)


def check(folder: Path, database: Path, parts: Parts | None = None) -> None:
    """Raise FailedPrecondition for a missing or damaged file, or a folder of another installation.

    A folder without a name, new or from an earlier release, gets that of the data folder. Only with `parts` does the
    check detect that an earlier file is missing.
    """
    if parts is not None:
        parts.check(PART, f"store's file {database}", database.exists(), RESTORE)
    try:
        integrity.check_file(database, "vector", discards=True)
    except FailedPrecondition:
        raise FailedPrecondition(f"The store's file {database} is damaged: put back a copy of it, {_REPAIR}") from None
    if not is_of(folder) and not (parts is not None and parts.accepts(PART)):
        raise foreign(folder)
    if parts is not None:
        parts.begin(PART)
    name = Parts(folder.parent).name()
    if _read(folder) != name:
        _write(folder, name)


def foreign(folder: Path) -> FailedPrecondition:
    """Return the error for a folder of another installation."""
    return FailedPrecondition(
        f"The store folder {folder} is of another installation: put back the one that belongs to {folder.parent}, "
        f"{_REPAIR}"
    )


def is_of(folder: Path) -> bool:
    """Return whether a folder may belong to the data folder that contains it."""
    return len({_read(folder), _read(folder.parent)} - {""}) <= 1


def _read(folder: Path) -> str:
    try:
        return (folder / NAME).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _write(folder: Path, name: str) -> None:
    with contextlib.suppress(OSError):  # a data folder that this user may not write to
        (folder / NAME).write_text(name + "\n", "utf-8")
        (folder / NAME).chmod(0o600)
