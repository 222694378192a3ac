"""The process that cuts documents, seen from the service: a fork where a neighbour offers some, else started anew."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from typing import Protocol

from footnote_kit.app import Forked, Forks
from footnote_kit.logs import get_logger
from footnote_kit.private import child_environment

MODULE = "footnote_indexing.chunking.cutting_process"
_END_SECONDS = 2.0
_READ_BYTES = 2**20
_log = get_logger(__name__)


class Child(Protocol):
    """A running process, and the pipes for its requests and answers."""

    jobs: asyncio.StreamWriter
    answers: asyncio.StreamReader

    async def end(self) -> None:
        """Wait for its end, which closing its pipe causes, or kill it after a while."""


async def start(forks: Forks | None) -> Child:
    """Return a process that cuts; raises `OSError` when none can be started."""
    if forks is not None and hasattr(os, "pidfd_open"):  # the only way to see the end of another process's child
        try:
            return _ForkedChild(await forks.fork(MODULE, child_environment()))
        except RuntimeError as error:
            _log.warning("cutting_process_not_forked", error=str(error))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", MODULE,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        # In our session: Linux weighs niceness only between processes of one session.
        stderr=asyncio.subprocess.DEVNULL,  # errors are in the answer, without the document
        env=child_environment(
            PYTHONPATH=os.pathsep.join(one for one in sys.path if one), PYTHONDONTWRITEBYTECODE="1"
        ),
        limit=_READ_BYTES,
    )  # fmt: skip
    return _StartedChild(process)


class _StartedChild:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self.jobs, self.answers = process.stdin, process.stdout

    async def end(self) -> None:
        if self._process.returncode is not None:
            return
        self.jobs.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await self._process.wait()
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


class _ForkedChild:
    def __init__(self, forked: Forked) -> None:
        self._handle, self.jobs, self.answers = forked.handle, forked.jobs, forked.answers
        self._ended = False

    async def end(self) -> None:
        if self._ended:
            return
        self._ended = True
        self.jobs.close()
        try:
            async with asyncio.timeout(_END_SECONDS):
                await self._gone()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            await self._gone()
        finally:
            os.close(self._handle)

    async def _gone(self) -> None:
        # Its answers end too, but another task may be reading them.
        loop, gone = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._handle, gone.set)
        try:
            await gone.wait()
        finally:
            loop.remove_reader(self._handle)
