"""A fork server whose workers hold a parser that does what its file says: what an attacker would try from inside one.

Not in the product: tests start it in the place of `footnote_ingestion.worker.fork_server`.
"""

import ctypes
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from footnote_ingestion.parsers import _PARSERS
from footnote_ingestion.parsers.base import PARAGRAPH, BlockWriter, Limits, Properties
from footnote_ingestion.worker import fork_server

_KEEP: list[bytearray] = []


def read(path: str) -> str:
    return Path(path).read_bytes()[:200].decode(errors="replace")


def write(path: str) -> str:
    Path(path).write_text("mine now")
    return "written"


def connect(address: list[Any]) -> str:
    with socket.create_connection((address[0], address[1]), timeout=5):
        return "connected"


def unix(path: str) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.connect(path)
        return "connected"


def raw_socket(_: None) -> str:
    """By the bare system call, past Python."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0) < 0:
        raise OSError(ctypes.get_errno(), "socket")
    return "opened"


def memory(pid: int) -> str:
    with Path(f"/proc/{pid}/mem").open("rb") as file:
        return f"opened {file.name}"


def trace(pid: int) -> str:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, pid, 0, 0) < 0:  # PTRACE_ATTACH
        raise OSError(ctypes.get_errno(), "ptrace")
    return "attached"


def kill(pid: int) -> str:
    os.kill(pid, signal.SIGTERM)
    return "sent"


def execute(program: list[str]) -> str:
    return subprocess.run(program, capture_output=True, check=True, timeout=20).stdout.decode()


def fork(count: int) -> str:
    made = 0
    children = []
    try:
        for _ in range(count):
            pid = os.fork()
            if not pid:
                time.sleep(3)
                os._exit(0)
            children.append(pid)
            made += 1
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
    return f"forked {made}"


def leave_group(_: None) -> str:
    os.setsid()
    return "left"


def raise_limit(_: None) -> str:
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return "raised"


def fill_disk(size: int) -> str:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with tempfile.TemporaryFile() as file:
        file.write(bytes(size))
        file.flush()
    return "filled"


def open_files(count: int) -> str:
    held: list[int] = []
    try:
        while len(held) < count:
            held.append(os.open("/dev/null", os.O_RDONLY))
    finally:
        for one in held:
            os.close(one)
    return f"opened {len(held)}"


def chmod(path: str) -> str:
    Path(path).chmod(0o777)
    return "changed"


def spin(seconds: float) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return "spun"


def sleep_outside(program: list[str]) -> str:
    subprocess.run(program, check=False)
    return "slept"


def environment(_: None) -> str:
    return json.dumps(dict(os.environ))


def temporary(_: None) -> str:
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")
        return file.name


def remember(text: str) -> str:
    _KEEP.append(bytearray(text.encode()))
    return f"{os.getpid()} holds {len(_KEEP)}"


def new_namespace(_: None) -> str:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000) < 0:
        raise OSError(ctypes.get_errno(), "unshare")
    return "unshared"


def loaded(module: str) -> str:
    return str(module in sys.modules)


ACTIONS: dict[str, Callable[[Any], str]] = {
    function.__name__: function
    for function in (
        read, write, connect, unix, raw_socket, memory, trace, kill, execute, fork, leave_group, raise_limit,
        fill_disk, open_files, chmod, spin, sleep_outside, environment, temporary, remember, new_namespace,
        loaded,
    )
}  # fmt: skip


class HostileParser:
    """Does what its file says, {"action": …, "with": …}, and writes the outcome as its text."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Find nothing wrong."""

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Try it."""
        order = json.loads(path.read_bytes())
        given = str(path) if order["with"] == "own file" else order["with"]
        try:
            outcome = {"did": ACTIONS[order["action"]](given)}
        except Exception as error:
            outcome = {"failed": type(error).__name__, "errno": getattr(error, "errno", None), "said": str(error)[:200]}
        out.add(PARAGRAPH, json.dumps(outcome))
        return Properties()


_PARSERS["hostile"] = ("hostile", "HostileParser")
sys.modules["footnote_ingestion.parsers.hostile"] = sys.modules[__name__]

if __name__ == "__main__":
    fork_server.main()
