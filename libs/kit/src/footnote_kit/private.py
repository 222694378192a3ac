"""Protects the process's memory, environment and files from other users and processes, its own children included."""

import contextlib
import ctypes
import os
import secrets
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Mapping
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
    """Create files as 0600 and folders as 0700 from now on, and hide memory and environment from other processes.

    On Linux, every process of the same user can read the memory and `/proc/PID/environ`, which holds keys, of a
    dumpable process. A child process has to call this itself.
    """
    os.umask(_UMASK)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def tighten(folder: Path) -> None:
    """Remove other users' access to a folder and its content, left by an earlier version or set by hand.

    Paths of other owners stay as they are; both cases are logged. Symbolic links are not followed.
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
    # The folder itself comes last: after an interruption, the next start begins again.
    foreign += _close(folder) is False
    _log.warning("data_folder_was_open", folder=str(folder), mode=oct(stat.S_IMODE(mode)), closed=changed)
    if foreign:
        _log.warning("data_folder_stays_open", folder=str(folder), not_ours=foreign)


def _close(path: Path) -> bool | None:
    """Remove other users' access to a path; False when the path is another user's, None when there was none."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode) or not found.st_mode & _OTHERS:
        return None
    try:
        path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)
    except PermissionError:
        return False
    return True


def socket_folder() -> Path:
    """Return this user's folder for sockets, short enough for socket paths; `make_private` creates it."""
    place = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    return place / f"footnote-{os.geteuid()}"


def make_private(folder: Path) -> None:
    """Create a folder that only this user may enter, or restrict an existing one.

    Raises FailedPrecondition for another user's folder.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise FailedPrecondition(f"{folder} must belong to this user and be closed to others, because it holds sockets")
    if found.st_mode & _OTHERS:
        folder.chmod(0o700)


def new_socket_path(name: str) -> Path:
    """Return a path for a socket of this process, and remove the sockets of killed processes.

    Raises OSError or FailedPrecondition.
    """
    folder = socket_folder()
    make_private(folder)
    for left in folder.glob(f"{name}-*.sock"):
        with contextlib.suppress(FileNotFoundError):  # another process cleans up too
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


# The variables a program needs to find its interpreter, locale and temporary folder, and to respect its core limit.
# All others are withheld, above all keys, addresses and passwords.
ALLOWED = frozenset(
    """PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TEMP TMP PYTHONHASHSEED PYTHONUTF8 OMP_NUM_THREADS
    OMP_THREAD_LIMIT OPENBLAS_NUM_THREADS MKL_NUM_THREADS MALLOC_ARENA_MAX TESSDATA_PREFIX""".split()  # noqa: SIM905
)


def child_environment(**more: str) -> Mapping[str, str]:
    """Return the environment of a child process, extended by the variables in `more`."""
    kept = {name: value for name, value in os.environ.items() if name in ALLOWED or name.startswith("LC_")}
    return kept | more
