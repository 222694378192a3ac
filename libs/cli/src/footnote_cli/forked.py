"""Processes of a launch, forked from its first process after it has loaded what several of them need.

A fork shares the pages of loaded code and pays for loading once. Each process then loads its own services, at the same
time as the others. Forking is safe only while this process has one Python thread, no event loop and no gRPC object:
`fork` runs before any of these, and never afterwards. A process that is restarted later is a fresh interpreter
(`service_process`), as on systems without pidfds.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from footnote_text import language

from footnote_cli import service_process, targets

SHARED = (
    "footnote_kit.server", "footnote_database.transactions", "footnote_database.storage", "footnote_store.store",
    "footnote_store.filters", "footnote_providers.registry", "footnote_text.lexical", "footnote_text.tokens", "httpx2",
)  # fmt: skip
"""Modules that bring in what at least two processes use: most of what is loaded, by time and size."""


class ForkedProcess:
    """A forked process of a launch, with the interface of `asyncio.subprocess.Process`."""

    def __init__(self, pid: int, stdin: int, stdout: int) -> None:
        """`stdin` and `stdout` are our ends of the pipes to the process."""
        self.pid = pid
        self.returncode: int | None = None
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self._pipes = stdin, stdout
        self._handle = os.pidfd_open(pid)
        self._ended = asyncio.Event()

    async def attach(self, limit: int) -> None:
        """Let the running event loop watch it; lines of up to `limit` bytes are read."""
        loop = asyncio.get_running_loop()
        stdin, stdout = self._pipes
        reader = self.stdout = asyncio.StreamReader(limit)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(stdout, "rb", 0))
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(stdin, "wb", 0)
        )
        self.stdin = asyncio.StreamWriter(transport, protocol, None, loop)
        loop.add_reader(self._handle, self._end)

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)
        _, status = os.waitpid(self.pid, 0)  # the kernel has reported its exit, so this does not wait
        self.returncode = os.waitstatus_to_exitcode(status)
        self._ended.set()
        if self.stdin is not None:
            self.stdin.close()

    async def wait(self) -> int:
        """Wait until it exits and return its exit code, negative for a signal's number."""
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def kill(self) -> None:
        """Kill it at once."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


def forget(variable: str) -> None:
    """Remove a variable, also from what the system shows of this process's and its forks' environment.

    That is the memory of the initial environment (proc_pid_environ(5)), which nothing reads any more.
    """
    os.environ.pop(variable, None)
    if sys.platform != "linux":
        return
    fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])  # env_start and env_end, the 50th and 51st of proc_pid_stat(5)
    at = start
    for given in ctypes.string_at(start, end - start).split(b"\0") if start else ():
        if given.partition(b"=")[0] == os.fsencode(variable):
            ctypes.memset(at, 0, len(given))
        at += len(given) + 1


def can_fork() -> bool:
    """Return whether processes can be forked here and now."""
    return sys.platform == "linux" and hasattr(os, "pidfd_open") and threading.active_count() == 1


def load(services: Iterable[str] = ()) -> None:
    """Load the libraries of several processes, and these services; processes forked afterwards share the pages."""
    for name in SHARED:
        with suppress(ImportError):  # the process that needs it reports that
            import_module(name)
    targets.load(services)
    language.detect("Which words are these?")  # the language model is the largest object that all processes share
    gc.freeze()


def fork(number: int) -> list[ForkedProcess]:
    """Fork this many processes, which wait for their configuration. They end with this process."""
    return [_fork() for _ in range(number)]


def _fork() -> ForkedProcess:
    sys.stdout.flush()
    sys.stderr.flush()
    stdin_end, stdin = os.pipe()
    stdout, stdout_end = os.pipe()
    pid = os.fork()
    if not pid:
        _run_service_process(stdin_end, stdout_end)
    os.close(stdin_end)
    os.close(stdout_end)
    return ForkedProcess(pid, stdin, stdout)


def _close_all_others() -> None:
    """Close locks and the pipes of earlier forks: only open descriptors, not a billion possible ones."""
    for descriptor in [int(one.name) for one in Path("/proc/self/fd").iterdir()]:
        if descriptor > 2:
            with suppress(OSError):  # the listing's own descriptor is gone
                os.close(descriptor)


def _run_service_process(stdin: int, stdout: int) -> NoReturn:
    """Run as a process of the launch until the process exits, whatever happens."""
    code = 1
    try:
        os.setsid()
        os.dup2(stdin, 0)
        os.dup2(stdout, 1)
        _close_all_others()
        service_process.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            sys.stderr.flush()
        os._exit(code)
