"""A system call filter for processes that parse untrusted files: no sockets, no other processes, no new privileges.

A few lines of BPF, built here and installed through ctypes. A denied call returns EPERM, which Python raises as
`PermissionError`, so that a parser that tries fails like any other. Numbers depend on the architecture; for an unknown
one there is no filter, and `install` says so.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from dataclasses import dataclass

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in the data that the filter sees of a call
_X32 = 0x40000000
_MODE_FILTER, _ALL_THREADS = 1, 1
_CLONE_THREAD = 0x00010000
# Mount, cgroup, UTS, IPC, user, PID and network namespaces.
_CLONE_NEW = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of one architecture; `denied` by name, and those that are inspected further."""

    audit: int
    seccomp: int
    clone: int
    kill: int
    tgkill: int
    prlimit: int
    start: dict[str, int]
    denied: dict[str, int]


# From number 424 on, all architectures agree.
_COMMON = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "pidfd_open": 434, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "process_mrelease": 448,
    "fchmodat2": 452,
}  # fmt: skip
_CLONE3 = 435

X86_64 = Numbers(
    audit=0xC000003E, seccomp=317, clone=56, kill=62, tgkill=234, prlimit=302,
    start={"fork": 57, "vfork": 58, "execve": 59, "execveat": 322},
    denied=_COMMON | {
        "socket": 41, "connect": 42, "accept": 43, "sendto": 44, "bind": 49, "listen": 50, "socketpair": 53,
        "accept4": 288, "sendmsg": 46, "sendmmsg": 307,
        "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "tkill": 200,
        "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "setsid": 112, "setpgid": 109,
        "setrlimit": 160, "personality": 135, "modify_ldt": 154,
        "shmget": 29, "semget": 64, "msgget": 68, "mq_open": 240,
        "chmod": 90, "fchmod": 91, "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260, "fchmodat": 268,
        "utime": 132, "utimes": 235, "futimesat": 261, "utimensat": 280, "truncate": 76,
        "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198,
        "fremovexattr": 199, "name_to_handle_at": 303, "open_by_handle_at": 304,
        "unshare": 272, "setns": 308, "chroot": 161, "pivot_root": 155, "mount": 165, "umount2": 166,
        "add_key": 248, "request_key": 249, "keyctl": 250, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323,
        "init_module": 175, "delete_module": 176, "finit_module": 313, "kexec_load": 246, "kexec_file_load": 320,
        "swapon": 167, "swapoff": 168, "acct": 163, "syslog": 103, "quotactl": 179, "reboot": 169,
        "sethostname": 170, "settimeofday": 164, "clock_settime": 227, "adjtimex": 159, "iopl": 172, "ioperm": 173,
    },
)  # fmt: skip
AARCH64 = Numbers(
    audit=0xC00000B7, seccomp=277, clone=220, kill=129, tgkill=131, prlimit=261,
    start={"execve": 221, "execveat": 281},
    denied=_COMMON | {
        "socket": 198, "socketpair": 199, "bind": 200, "listen": 201, "accept": 202, "connect": 203, "sendto": 206,
        "accept4": 242, "sendmsg": 211, "sendmmsg": 269,
        "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "tkill": 130,
        "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240, "setsid": 157, "setpgid": 154,
        "setrlimit": 164, "personality": 92,
        "shmget": 194, "semget": 190, "msgget": 186, "mq_open": 180,
        "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55, "utimensat": 88, "truncate": 45,
        "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
        "name_to_handle_at": 264, "open_by_handle_at": 265,
        "unshare": 97, "setns": 268, "chroot": 51, "pivot_root": 41, "mount": 40, "umount2": 39,
        "add_key": 217, "request_key": 218, "keyctl": 219, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282,
        "init_module": 105, "delete_module": 106, "finit_module": 273, "kexec_load": 104, "kexec_file_load": 294,
        "swapon": 224, "swapoff": 225, "acct": 89, "syslog": 116, "quotactl": 60, "reboot": 142,
        "sethostname": 161, "settimeofday": 170, "clock_settime": 112, "adjtimex": 171,
    },
)  # fmt: skip
_KNOWN = {"x86_64": X86_64, "aarch64": AARCH64}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def install(libc: ctypes.CDLL, *, may_start: bool) -> None:
    """Permanently filter this process's system calls, including all its threads and children.

    With `may_start` it may start programs, which inherit the filter. Needs no_new_privs; raises `OSError` if there is
    no filter for this machine or the kernel refuses it.
    """
    numbers = _KNOWN.get(platform.machine())
    if numbers is None:
        raise OSError(f"there is no filter for {platform.machine()}")
    code = _compiled(numbers, os.getpid(), may_start)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    if libc.syscall(numbers.seccomp, _MODE_FILTER, _ALL_THREADS, ctypes.byref(program)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _compiled(numbers: Numbers, pid: int, may_start: bool) -> bytes:
    """Return the filter's instructions, 8 bytes each."""
    denied = [*numbers.denied.values(), *(() if may_start else numbers.start.values())]
    allow, deny = _op(_RETURN, _ALLOW), _op(_RETURN, _ERRNO | errno.EPERM)
    # Allow threads but no processes; or processes, but no namespaces of their own.
    of_clone = (
        [_op(_ANY_BIT, _CLONE_NEW, 0, 1), deny, allow]
        if may_start
        else [_op(_ANY_BIT, _CLONE_THREAD, 0, 1), allow, deny]
    )
    to_itself = [_op(_EQUAL, pid, 0, 1), allow, deny]
    code = [
        _op(_LOAD, _ARCHITECTURE), _op(_EQUAL, numbers.audit, 1, 0), deny,
        _op(_LOAD, _NUMBER), _op(_AT_LEAST, _X32, 0, 1), deny,
        # The arguments of clone3 are in memory, which a filter cannot read; without it the C library uses clone.
        _op(_EQUAL, _CLONE3, 0, 1), _op(_RETURN, _ERRNO | errno.ENOSYS),
    ]  # fmt: skip
    for number in denied:
        code += [_op(_EQUAL, number, 0, 1), deny]
    for number, looks in ((numbers.clone, of_clone), (numbers.kill, to_itself), (numbers.tgkill, to_itself)):
        looks = [_op(_LOAD, _argument(0)), *looks]
        code += [_op(_EQUAL, number, 0, len(looks)), *looks]
    # Reading a limit sets no new one.
    asks = [
        _op(_LOAD, _argument(2)), _op(_EQUAL, 0, 1, 0), deny,
        _op(_LOAD, _argument(2) + 4), _op(_EQUAL, 0, 1, 0), deny, allow,
    ]  # fmt: skip
    code += [_op(_EQUAL, numbers.prlimit, 0, len(asks)), *asks, allow]
    return b"".join(code)


def _argument(index: int) -> int:
    """Return the offset of an argument's lower half; both architectures are little-endian."""
    return 16 + 8 * index


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
