"""One worker process as its supervisor sees it: started, given jobs, watched, killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

from footnote_ingestion.failures import OUT_OF_MEMORY, PARSER_CRASHED, TIMEOUT, ParseError
from footnote_ingestion.worker import wire

_START_SECONDS = 60.0
_WATCH_SECONDS = 0.05
_END_SECONDS = 2.0
# What a child needs of our environment; secrets stay here.
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT")
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096

Frame = tuple[bytes, bytes]


class Worker:
    """A running child. Not to be used by two jobs at once."""

    def __init__(self, process: asyncio.subprocess.Process, memory_bytes: int) -> None:
        self._process = process
        self._memory_bytes = memory_bytes
        self._killed_for = ""
        self._peak = 0
        # asyncio's own send_signal may reap the child under its watcher's feet; a pidfd can hit no other process.
        self._handle = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else -1
        self.jobs = 0
        self.baseline = 0

    @classmethod
    async def start(cls, memory_bytes: int) -> Worker:
        """Start a child and wait until it is ready."""
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        environment |= {
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "footnote_ingestion.worker.child",
            str(memory_bytes),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,  # libraries quote the document there
            env=environment,
        )
        worker = cls(process, memory_bytes)
        try:
            async with asyncio.timeout(_START_SECONDS):
                kind, _ = await worker._frame()
        except (TimeoutError, asyncio.IncompleteReadError) as error:
            await worker.kill()
            raise RuntimeError("a parser process did not start") from error
        except BaseException:
            await worker.kill()
            raise
        if kind != wire.READY:
            await worker.kill()
            raise RuntimeError("a parser process answered before it was asked")
        worker.baseline = resident_bytes(worker.pid)
        return worker

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """False once it has ended."""
        return self._process.returncode is None

    async def run(self, job: wire.Job, seconds: float) -> AsyncGenerator[Frame, None]:
        """Give it a job and yield its frames, the last being METADATA or DONE.

        Raises `ParseError` when the job fails, takes longer than `seconds`, takes too much memory, or takes the
        process with it. When the caller stops early the process is killed.
        """
        self.jobs += 1
        self._killed_for, self._peak = "", 0
        finished = False
        watch = asyncio.create_task(self._watch(seconds))
        try:
            assert self._process.stdin is not None
            with contextlib.suppress(ConnectionError):  # a dead child shows when we read
                self._process.stdin.write(job.line())
                await self._process.stdin.drain()
            while not finished:
                try:
                    kind, payload = await self._frame()
                except asyncio.IncompleteReadError:
                    raise await self._death(seconds) from None
                finished = kind in (wire.METADATA, wire.DONE, wire.FAILED)
                if kind == wire.FAILED:
                    raise ParseError(**json.loads(payload))
                yield kind, payload
        finally:
            watch.cancel()
            if not finished:
                await self.kill()

    async def _frame(self) -> Frame:
        assert self._process.stdout is not None
        kind, length = wire.HEADER.unpack(await self._process.stdout.readexactly(wire.HEADER.size))
        if length > wire.MAX_FRAME:
            raise asyncio.IncompleteReadError(b"", length)
        return kind, await self._process.stdout.readexactly(length) if length else b""

    async def _watch(self, seconds: float) -> None:
        """Kill the process when its time is up or its memory grows over the limit."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while self.alive:
            self._peak = max(self._peak, resident_bytes(self.pid))
            if self._peak > self._memory_bytes:
                self._killed_for = OUT_OF_MEMORY
            elif loop.time() >= end:
                self._killed_for = TIMEOUT
            if self._killed_for:
                self._signal(signal.SIGKILL)
                return
            await asyncio.sleep(min(_WATCH_SECONDS, max(end - loop.time(), 0.001)))

    async def _death(self, seconds: float) -> ParseError:
        """Return the error that says why the process has ended in the middle of a job."""
        await self.kill()
        if self._killed_for == TIMEOUT:
            return ParseError(TIMEOUT, f"Reading the file took longer than the {seconds:g} seconds allowed.")
        if self._killed_for == OUT_OF_MEMORY or self._peak > 0.8 * self._memory_bytes:
            megabytes = self._memory_bytes // (1024 * 1024)
            return ParseError(OUT_OF_MEMORY, f"Reading the file needs more than the {megabytes} MiB of memory allowed.")
        return ParseError(PARSER_CRASHED, "The parser crashed on this file.")

    async def close(self) -> None:
        """End it in good order, or kill it after a moment."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await self._process.wait()
        await self.kill()

    async def kill(self) -> None:
        """Kill it and wait until it is gone."""
        self._signal(signal.SIGKILL)
        await asyncio.shield(self._process.wait())
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _signal(self, number: signal.Signals) -> None:
        if not self.alive:
            return
        with contextlib.suppress(ProcessLookupError):
            if self._handle >= 0:
                signal.pidfd_send_signal(self._handle, number)
            else:
                os.kill(self.pid, number)


def resident_bytes(pid: int) -> int:
    """Memory that a process holds, 0 when it cannot be told (it has ended, or this is not Linux)."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0
