"""What this process keeps to itself: its memory and environment, and every file that it writes."""

import ctypes
import os
import stat
import sys
from pathlib import Path

from footnote_kit.logs import get_logger

_UMASK = 0o077
_OTHERS = 0o077
_PR_SET_DUMPABLE = 4
_log = get_logger("footnote.private")


def keep() -> None:
    """Write files as 0600 and folders as 0700 from now on, and close memory and environment to this user's others.

    On Linux `/proc/PID/environ`, where keys are, and the memory of a process are open to every process of the same
    user unless it says otherwise. Children say so for themselves.
    """
    os.umask(_UMASK)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def tighten(folder: Path) -> None:
    """Take a folder that others may enter, made by an earlier version or by hand, and all in it from them.

    What is not ours stays as it is; either is logged. Links are not followed.
    """
    mode = folder.stat().st_mode
    if not mode & _OTHERS:
        return
    changed, foreign = 0, 0
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            done = _close(Path(parent) / name)
            changed += done is True
            foreign += done is False
    # The folder itself last: what is cut off in between begins again with the next start.
    foreign += _close(folder) is False
    _log.warning("data_folder_was_open", folder=str(folder), mode=oct(stat.S_IMODE(mode)), closed=changed)
    if foreign:
        _log.warning("data_folder_stays_open", folder=str(folder), not_ours=foreign)


def _close(path: Path) -> bool | None:
    """Take a path from others; False when it is not ours to change, None when there was nothing to do."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode) or not found.st_mode & _OTHERS:
        return None
    try:
        path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)
    except PermissionError:
        return False
    return True
