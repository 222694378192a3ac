"""What this process keeps to itself: its memory and environment, and every file that it writes."""

import contextlib
import ctypes
import os
import secrets
import socket
import stat
import sys
import tempfile
import time
from pathlib import Path

from footnote_kit.errors import FailedPrecondition
from footnote_kit.logs import get_logger

_UMASK = 0o077
_OTHERS = 0o077
_PR_SET_DUMPABLE = 4
_LEFT_BEHIND_SECONDS = 60.0
MAX_SOCKET_PATH = 100
"""Bytes; the kernel's limit is 107, on some systems 103."""
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


def socket_folder() -> Path:
    """Return this user's folder for sockets, short enough for their paths; it is made by `make_private`."""
    place = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    return place / f"footnote-{os.geteuid()}"


def make_private(folder: Path) -> None:
    """Make a folder that only this user may enter, or close one of this user's; FailedPrecondition for another's."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise FailedPrecondition(f"{folder} must be a folder of this user's, for sockets that nobody else may reach")
    if found.st_mode & _OTHERS:
        folder.chmod(0o700)


def new_socket_path(name: str) -> Path:
    """Return a path for a socket of one process, and sweep what killed ones have left; OSError, FailedPrecondition."""
    folder = socket_folder()
    make_private(folder)
    for left in folder.glob(f"{name}-*.sock"):
        with contextlib.suppress(FileNotFoundError):  # another process sweeps too
            if time.time() - left.stat().st_mtime > _LEFT_BEHIND_SECONDS and not _answers(left):
                left.unlink()
    path = folder / f"{name}-{secrets.token_hex(8)}.sock"
    if len(os.fsencode(path)) > MAX_SOCKET_PATH:
        raise FailedPrecondition(f"{folder} is too long a path for a socket; set XDG_RUNTIME_DIR to a shorter one")
    return path


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True
