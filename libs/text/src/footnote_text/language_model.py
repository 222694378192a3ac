"""The model that tells languages, its tables in files that all processes of this user share.

Unpacked it takes 74 MB and most of a second in each process. As files in the user's cache folder its tables are mapped:
whoever comes second finds them, and they are in memory once, as far as they are looked at. Where the folder cannot be
written or holds something else, the process unpacks them for itself.
"""

from __future__ import annotations

import mmap
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Table: TypeAlias = NDArray[Any]
_TABLES = ("likelihoods", "priors", "labels", "moves", "rows", "features")
_FORM = 1
"""Of the files; what they hold or how they are read has changed where this has."""


def cache_folder() -> Path:
    """Return the user's folder for what can be made again."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "footnote"


def identifier() -> Any:
    """Return py3langid's identifier over shared tables, or over its own where they cannot be shared; for threads."""
    # Imported late: a process that never asks need not pay.
    from py3langid import langid

    packed = langid.MODEL_DIR / langid.MODEL_FILE
    try:
        tables = _mapped(_place(packed)) or _made(packed)
    except (OSError, RuntimeError, ValueError):  # no home, no room, no right to write, files cut short
        return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    return langid.LanguageIdentifier(
        tables["likelihoods"],
        tables["priors"],
        tables["labels"].tolist(),
        # As memory and not as array: its items are plain numbers then, and the walk through a text takes one a byte.
        tables["moves"].data,
        tables["features"].tolist(),
        norm_probs=True,
        tk_row=tables["rows"].tolist(),
    )


def _place(packed: Path) -> Path:
    """Return where the tables of a packed model are, or will be; another release of the model has another place."""
    found = packed.stat()
    return cache_folder() / f"languages-{found.st_size:x}-{int(found.st_mtime):x}-{_FORM}"


def _mapped(folder: Path) -> Mapping[str, Table] | None:
    """Return the tables of a folder that only this user can have written, None where there is none."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise PermissionError(f"{folder} is not this user's alone")
    return {name: _table(folder / f"{name}.npy") for name in _TABLES}


def _table(path: Path) -> Table:
    mapped = np.lib.format.open_memmap(path, mode="r")
    if isinstance(mapped.base, mmap.mmap) and hasattr(mmap, "MADV_RANDOM"):
        # A text looks at few places, far from one another: what lies around them need not come along.
        mapped.base.madvise(mmap.MADV_RANDOM)
    return np.asarray(mapped)


def _made(packed: Path) -> Mapping[str, Table]:
    """Unpack the tables beside their place, move them there whole, and return them; OSError where that fails."""
    from py3langid import modelio

    place = _place(packed)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _beside(place) as folder:
        for name, table in zip(_TABLES, modelio.load_model(packed), strict=True):
            with (folder / f"{name}.npy").open("xb") as file:
                np.save(file, np.asarray(table), allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())  # before the folder has its name: what is there is whole after a power cut too
        try:
            folder.rename(place)
        except OSError:  # another process was quicker
            if not place.is_dir():
                raise
    mapped = _mapped(place)
    if mapped is None:
        raise FileNotFoundError(place)
    return mapped


@contextmanager
def _beside(place: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=".making-", dir=place.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
