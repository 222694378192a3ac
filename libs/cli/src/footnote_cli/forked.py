"""Parts of a launch forked from its first process, once that has loaded what all of them need.

A fork shares the pages of what is loaded and pays for loading once. It is safe only while this process has one thread
of Python's, no event loop and no gRPC object: before any of these `fork` is called, and never afterwards. A part that
has to be begun again later is a fresh interpreter (`part`), as on systems that do not tell of a process's end by a
descriptor.
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
from pathlib import Path
from typing import NoReturn

from footnote_text import language

from footnote_cli import part
from footnote_cli.installed import SERVICES, found


class Forked:
    """A part that was forked: what `asyncio.subprocess.Process` is to one that was not."""

    def __init__(self, pid: int, orders: int, words: int) -> None:
        """Take its process id, and our ends of the pipes to its stdin and from its stdout."""
        self.pid = pid
        self.returncode: int | None = None
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self._pipes = orders, words
        self._handle = os.pidfd_open(pid)
        self._ended = asyncio.Event()

    async def attach(self, limit: int) -> None:
        """Have the running event loop look after it; lines of up to `limit` bytes are read."""
        loop = asyncio.get_running_loop()
        orders, words = self._pipes
        reader = self.stdout = asyncio.StreamReader(limit)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(words, "rb", 0))
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(orders, "wb", 0)
        )
        self.stdin = asyncio.StreamWriter(transport, protocol, None, loop)
        loop.add_reader(self._handle, self._end)

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)
        _, status = os.waitpid(self.pid, 0)  # the kernel has said that it has ended: this does not wait
        self.returncode = os.waitstatus_to_exitcode(status)
        self._ended.set()
        if self.stdin is not None:
            self.stdin.close()

    async def wait(self) -> int:
        """Wait for its end and return its exit code, a signal's number below zero."""
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def kill(self) -> None:
        """End it at once."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


def forget(variable: str) -> None:
    """Remove a variable, also from what the system shows of this process's environment and of those forked from it.

    That is the memory in which the process was given it (proc_pid_environ(5)), which nothing reads any more.
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
    """Return whether parts can be forked here and now."""
    return sys.platform == "linux" and hasattr(os, "pidfd_open") and threading.active_count() == 1


def load(services: Iterable[str]) -> None:
    """Load what these services need, so that those who are forked afterwards have it and share its pages."""
    for name in services:
        # What cannot be loaded is said by the process that needs it, with its service's name.
        with suppress(Exception):
            found(SERVICES, name)
    language.detect("Which words are these?")  # its model is the largest thing that all of them read and none changes
    gc.freeze()


def fork(number: int) -> list[Forked]:
    """Fork so many parts, which wait for their orders. They end with this process."""
    return [_fork() for _ in range(number)]


def _fork() -> Forked:
    sys.stdout.flush()
    sys.stderr.flush()
    orders_end, orders = os.pipe()
    words, words_end = os.pipe()
    pid = os.fork()
    if not pid:
        _become_part(orders_end, words_end)
    os.close(orders_end)
    os.close(words_end)
    return Forked(pid, orders, words)


def _close_all_others() -> None:
    """Close locks, and what leads to the parts forked before: what is open, and not a billion of what could be."""
    for descriptor in [int(one.name) for one in Path("/proc/self/fd").iterdir()]:
        if descriptor > 2:
            with suppress(OSError):  # the listing's own is gone
                os.close(descriptor)


def _become_part(orders: int, words: int) -> NoReturn:
    """Be a part from here to the end of the process, whatever happens."""
    code = 1
    try:
        os.setsid()
        os.dup2(orders, 0)
        os.dup2(words, 1)
        _close_all_others()
        part.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            sys.stderr.flush()
        os._exit(code)
