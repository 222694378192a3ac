"""Whether an engine's folder is sound, and of the data folder that it stands in: told before the engine touches it.

Each of the two folders has a file with a name that no other installation has, made at the first start. A folder that
was put in the place of another's has that one's, and what it holds would be taken for rows of nobody and removed.
"""

import contextlib
from pathlib import Path

from footnote_database import soundness
from footnote_database.parts import NAME, Part, Parts
from footnote_kit.errors import FailedPrecondition

PART = Part("vectors", "own vectors, remembered messages, and chunks that are indexed again from their documents")

RESTORE = "put back a copy of it, or restore a whole backup into another folder"
_REPAIR = (
    "or stop the services and run `footnote admin doctor --repair`: the folder is put aside, and documents are indexed "
    "again at the next start. Own vectors and remembered messages come back from a backup only."
)


def check(folder: Path, database: Path, parts: Parts | None = None) -> None:
    """Raise FailedPrecondition, in a sentence, for a missing or damaged file, or a folder of another installation.

    A folder without a name, new or of an earlier release, gets that of the data folder. Only with `parts` is a file
    missed that was there before.
    """
    if parts is not None:
        parts.check(PART, f"store's file {database}", database.exists(), RESTORE)
    try:
        soundness.check_file(database, "vector")
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
    """Tell whether a folder may be of the data folder that it stands in."""
    return len({_read(folder), _read(folder.parent)} - {""}) <= 1


def _read(folder: Path) -> str:
    try:
        return (folder / NAME).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _write(folder: Path, name: str) -> None:
    with contextlib.suppress(OSError):  # a data folder that is not ours to write to
        (folder / NAME).write_text(name + "\n", "utf-8")
        (folder / NAME).chmod(0o600)
