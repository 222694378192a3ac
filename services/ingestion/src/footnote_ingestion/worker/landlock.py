"""Landlock: a process permanently gives up all files except those it names (Linux 5.13 and later).

Called through ctypes. Nothing here raises if the kernel lacks the feature; `restrict` reports that instead.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

EXECUTE = 1 << 0
_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
_TRUNCATE = 1 << 14
_IOCTL = 1 << 15
# Create and remove regular files and folders; devices, sockets, pipes and links stay forbidden.
_CHANGE = 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8
READ = _READ_FILE | _READ_DIR
WRITE = READ | _WRITE_FILE | _TRUNCATE | _CHANGE
_OF_FILES = EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
# How many of the rights each interface version knows, from version 1 on.
_KNOWN_RIGHTS = (13, 14, 15, 15, 16)
_NET, _SCOPES = 0b11, 0b11  # bind and connect of TCP; abstract sockets and signals
_NET_SINCE, _SCOPES_SINCE = 4, 6

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every architecture
_ASK_VERSION = 1
_PATH_BENEATH = 1


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version(libc: ctypes.CDLL) -> int:
    """Return the version of the interface, 0 if the kernel has none or has it disabled."""
    return max(0, int(libc.syscall(_CREATE, None, ctypes.c_size_t(0), _ASK_VERSION)))


def restrict(libc: ctypes.CDLL, allowed: Mapping[Path, int]) -> int:
    """Restrict this process to the named rights on each path and below; return the interface's version.

    TCP, signals to other processes and abstract sockets are blocked too if the version supports it. Missing paths are
    skipped. Needs no_new_privs; raises `OSError` when the kernel refuses.
    """
    known = version(libc)
    if not known:
        raise OSError("the kernel has no Landlock")
    rights = (1 << _KNOWN_RIGHTS[min(known, len(_KNOWN_RIGHTS)) - 1]) - 1
    attributes = _Ruleset(rights, _NET if known >= _NET_SINCE else 0, _SCOPES if known >= _SCOPES_SINCE else 0)
    size = 8 if known < _NET_SINCE else 16 if known < _SCOPES_SINCE else 24
    ruleset = _checked(libc.syscall(_CREATE, ctypes.byref(attributes), ctypes.c_size_t(size), 0))
    try:
        for path, access in allowed.items():
            _allow(libc, ruleset, path, access & rights)
        _checked(libc.syscall(_RESTRICT, ruleset, 0))
    finally:
        os.close(ruleset)
    return known


def readable(paths: Iterable[str | Path]) -> dict[Path, int]:
    """Return the right to read each existing path and what is below it."""
    return {Path(path): READ for path in paths if path}


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, access: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not path.is_dir():
            access &= _OF_FILES
        rule = _PathBeneath(access, handle)
        _checked(libc.syscall(_ADD, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(handle)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
