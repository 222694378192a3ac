"""What a worker gives up before it reads any untrusted byte: network, files, other processes, privileges.

Each measure is taken if the kernel supports it. `enter` does not raise for a missing one: it returns the active
measures and why the others are inactive, and the parent decides whether that suffices.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from footnote_ingestion.worker import landlock, seccomp
from footnote_ingestion.worker.plan import FILES, LIMITS, NETWORK, PRIVILEGES, PROCESSES, Measures, Plan

_NEW_IPC, _NEW_USER, _NEW_NET = 0x08000000, 0x10000000, 0x40000000
_SET_PDEATHSIG = 1
_SET_DUMPABLE, _CAPBSET_DROP, _SET_SECUREBITS, _SET_NO_NEW_PRIVS, _CAP_AMBIENT = 4, 24, 28, 38, 47
_CLEAR_ALL = 4
# Neither root nor any program gives capabilities; locked.
_SECUREBITS = 0b1100_0011
_CAPABILITY_VERSION = 0x20080522
_OPEN_FILES = 256
_PROCESSES = 64
# Files that programs and libraries read, besides Python's own.
_SYSTEM = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share", "/etc/ld.so.cache", "/etc/localtime",
    "/etc/fonts", "/etc/mime.types", "/dev/null", "/dev/zero", "/dev/urandom", "/sys/devices/system/cpu",
)  # fmt: skip
_OURS = ("footnote", "footnote_ingestion", "footnote_kit", "footnote_text")
_LOADERS = ("/lib64/ld-linux*", "/lib/ld-linux*", "/lib/ld-musl*", "/lib/*/ld-linux*")


@dataclass(slots=True)
class _Taken:
    """The results of the measures so far."""

    active: dict[str, list[str]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def take(self, name: str, how: str, measure: Callable[[], object]) -> bool:
        """Take a measure and record it under `name`."""
        try:
            measure()
        except OSError as error:
            self.missing[f"{name}: {how}"] = error.strerror or str(error)
            return False
        self.active.setdefault(name, []).append(how)
        return True


def enter(plan: Plan) -> Measures:
    """Sandbox this process as far as the kernel supports it, and return the active measures.

    Raises `OSError` when the process cannot switch to the plan's user id.
    """
    os.umask(0o077)
    taken = _Taken()
    taken.take(LIMITS, "files, open files, no core", lambda: _limit(plan))
    os.chdir(plan.folder)
    if sys.platform != "linux":
        taken.missing[NETWORK] = taken.missing[FILES] = taken.missing[PROCESSES] = f"no measures on {sys.platform}"
        return Measures(taken.active, taken.missing)
    libc = ctypes.CDLL(None, use_errno=True)
    allowed = _allowed(plan)  # looked up while this process may still read anywhere
    own_namespace = _leave_network(libc, plan, taken)
    if plan.programs and (own_namespace or plan.uid):
        # Counted per user; in its own namespace, only for this process's children.
        most = _PROCESSES if own_namespace else 8 * _PROCESSES
        taken.take(PROCESSES, f"at most {most}", lambda: resource.setrlimit(resource.RLIMIT_NPROC, (most, most)))
    taken.take(PRIVILEGES, "no capabilities", lambda: _drop_capabilities(libc))
    taken.take(PRIVILEGES, "no new privileges", lambda: _prctl(libc, _SET_NO_NEW_PRIVS, 1))
    taken.take(PRIVILEGES, "memory closed to others", lambda: _prctl(libc, _SET_DUMPABLE, 0))
    if plan.uid:
        taken.active[PRIVILEGES].append(f"user {plan.uid}")
        if not os.access(sysconfig.get_path("stdlib"), os.R_OK | os.X_OK):
            taken.missing[f"user {plan.uid}"] = f"cannot read {sysconfig.get_path('stdlib')}"
    taken.take(FILES, "landlock", lambda: landlock.restrict(libc, allowed))
    if taken.take(PROCESSES, "seccomp", lambda: seccomp.install(libc, may_start=bool(plan.programs))):
        taken.active.setdefault(NETWORK, []).append("seccomp")
    return Measures(taken.active, taken.missing)


def die_with(parent: int) -> None:
    """Make the kernel end this process with its parent, and end it now if the parent has changed already."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _limit(plan: Plan) -> None:
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, plan.file_bytes),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def _leave_network(libc: ctypes.CDLL, plan: Plan, taken: _Taken) -> bool:
    """Leave the network and become the plan's user; return whether in a user namespace of our own."""
    how = "namespace"
    alone = os.geteuid() == 0 and taken.take(NETWORK, how, lambda: _unshare(libc, _NEW_NET | _NEW_IPC))
    if plan.uid:
        os.setgroups([])
        os.setresgid(plan.uid, plan.uid, plan.uid)
        os.setresuid(plan.uid, plan.uid, plan.uid)
    if alone:
        return taken.take(PRIVILEGES, "user namespace", lambda: _unshare(libc, _NEW_USER))
    taken.missing.pop(f"{NETWORK}: {how}", None)
    if not taken.take(NETWORK, how, lambda: _unshare(libc, _NEW_USER | _NEW_NET | _NEW_IPC)):
        return False
    taken.active.setdefault(PRIVILEGES, []).append("user namespace")
    return True


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Drop all capabilities, also for programs started later."""
    capability = 0
    # For a number past the last capability the kernel answers EINVAL; without the right to drop any, EPERM.
    while libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    libc.prctl(_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    libc.prctl(_SET_SECUREBITS, _SECUREBITS, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    number = {"x86_64": 126, "aarch64": 91}.get(platform.machine())
    if number is None:
        raise OSError(f"not known how on {platform.machine()}")
    _checked(libc.syscall(number, header, nothing))


def _allowed(plan: Plan) -> dict[Path, int]:
    """Return what this process may still open: Python and our packages, its own folder, its programs."""
    paths: set[str | Path] = {*_SYSTEM, *sysconfig.get_paths().values(), str(Path(sys.base_prefix) / "lib")}
    paths -= {sysconfig.get_path("data"), sysconfig.get_path("scripts")}  # whole prefixes, not only libraries
    for entry in sys.path:
        folder = Path(entry)
        if folder.name in ("site-packages", "dist-packages"):
            paths.add(folder)
        elif folder.is_dir():
            # A working copy or the current folder: only our own packages in it.
            paths.update(folder / package for package in _OURS)
    allowed = landlock.readable(paths) | {Path("/dev/null"): landlock.WRITE}
    if plan.programs:
        programs = [Path(program).resolve() for program in plan.programs]
        loaders = [loader.resolve() for pattern in _LOADERS for loader in Path("/").glob(pattern.lstrip("/"))]
        allowed |= dict.fromkeys((*programs, *loaders), landlock.READ | landlock.EXECUTE)
        allowed |= landlock.readable([os.environ.get("TESSDATA_PREFIX", "")])
    folder = Path(plan.folder)
    return allowed | {folder / "in": landlock.READ, folder / "tmp": landlock.WRITE}


def _unshare(libc: ctypes.CDLL, flags: int) -> None:
    _checked(libc.unshare(flags))


def _prctl(libc: ctypes.CDLL, option: int, value: int) -> None:
    _checked(libc.prctl(option, value, 0, 0, 0))


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
