"""Forces files and changes of folders to the disk, so that they outlive a power cut."""

import contextlib
import os
from pathlib import Path


def sync(*paths: Path) -> None:
    """Force what is written of these files, and what is in these folders, to the disk; skips what cannot be opened."""
    for path in paths:
        with contextlib.suppress(OSError):  # it is not there, or its file system cannot do it
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
