"""The language identification model, with its tables in files that all processes of this user share.

Unpacked in memory it takes 74 MB and most of a second in each process. This module stores its tables in the user's
cache folder and maps them. Later processes find them there, and the pages in use are in memory once. If the folder is
not writable or has unexpected content, the process unpacks the tables in its own memory.
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
"""The version of the files; a change of their content or reading needs a new one."""


def cache_folder() -> Path:
    """Return the user's folder for data that can be recreated."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "footnote"


def identifier() -> Any:
    """Return py3langid's identifier with shared tables, or private ones if sharing fails; run it on a thread."""
    # Imported late, so that a process that never uses it does not pay for it.
    from py3langid import langid

    from footnote_text import language_walk

    packed = langid.MODEL_DIR / langid.MODEL_FILE
    try:
        tables = _mapped(_place(packed)) or _made(packed)
    except (OSError, RuntimeError, ValueError):  # no home, no room, no permission to write, truncated files
        return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    return language_walk.Identifier(tables)


def _place(packed: Path) -> Path:
    """Return the folder of a packed model's tables, whether it exists or not; each release of the model has its own."""
    found = packed.stat()
    return cache_folder() / f"languages-{found.st_size:x}-{int(found.st_mtime):x}-{_FORM}"


def _mapped(folder: Path) -> Mapping[str, Table] | None:
    """Return the tables of a folder that only this user can have written; None when the folder is missing."""
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
        # A text uses few and distant places; reading ahead around them is useless.
        mapped.base.madvise(mmap.MADV_RANDOM)
    return np.asarray(mapped)


def _made(packed: Path) -> Mapping[str, Table]:
    """Unpack the tables into a temporary folder, rename it, and return them; OSError on failure."""
    from py3langid import modelio

    place = _place(packed)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _beside(place) as folder:
        for name, table in zip(_TABLES, modelio.load_model(packed), strict=True):
            with (folder / f"{name}.npy").open("xb") as file:
                np.save(file, np.asarray(table), allow_pickle=False)
                file.flush()
                # before the rename, so that a folder with the final name is complete even after a power cut
                os.fsync(file.fileno())
        try:
            folder.rename(place)
        except OSError:  # another process was faster
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


if __name__ == "__main__":  # for image builds: OSError where the tables cannot be written
    from py3langid import langid as _langid

    _made(_langid.MODEL_DIR / _langid.MODEL_FILE)
