"""One worker process seen from its supervisor: started, given jobs, watched, killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path

from footnote_database.cancel_safe import outcome
from footnote_kit.app import Forked

from footnote_ingestion.parsers.failures import (
    INTERNAL,
    OUT_OF_MEMORY,
    PARSER_CRASHED,
    PARSER_KILLED,
    TIMEOUT,
    ParseError,
)
from footnote_ingestion.worker import wire
from footnote_ingestion.worker.fork_server_client import Starter
from footnote_ingestion.worker.isolation import Box, Workers
from footnote_ingestion.worker.plan import Measures

_START_SECONDS = 60.0
_WATCH_SECONDS = 0.05
_END_SECONDS = 2.0
SLOW_SECONDS, SLOW_NICENESS = 1.0, 19
"""Processor seconds of one file after which its worker yields to others, and the niceness that it then gets."""
# However busy the machine is, an attempt to parse a file ends; that is not the file's fault, and it is tried again.
_MOST_WALL = 20
_PART = 64 * 1024
# Processor seconds after the supervisor's limit at which the kernel ends the job.
_CPU_GRACE_SECONDS = 5
# Signals that a process gets from outside, and does not cause: the system's memory killer sends SIGKILL.
_FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}
# A process ends soon after its answers do.
_CODE_SECONDS, _CODE_TRIES = 0.02, 25
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096

Frame = tuple[bytes, bytes]


class Worker:
    """A running child with its own folder. Two jobs must not use it at once.

    `tenant` is the only tenant whose files it reads.
    """

    def __init__(self, starter: Starter, started: Forked, workers: Workers, box: Box, tenant: str) -> None:
        self._starter = starter
        self._jobs = started.jobs
        self._answers = started.answers
        # A process id may be reused before a signal arrives; a pidfd cannot hit another process.
        self._handle = started.handle
        self._memory_bytes = workers.memory_bytes
        self._starts_programs = bool(workers.programs)
        self._box = box
        self._killed_for = ""
        self._peak = 0
        self._cleared = False
        self._asked = False
        self._lap = 0
        self.slow = False
        """Whether it yields to other workers; this cannot be undone."""
        self.pid = started.pid
        self.tenant = tenant
        self.measures = Measures()
        self.jobs = 0
        self.baseline = 0

    @classmethod
    async def start(cls, starter: Starter, workers: Workers, tenant: str) -> Worker:
        """Return a ready child, sandboxed as `workers` says; raises `RuntimeError` when none can be started."""
        making = asyncio.ensure_future(asyncio.to_thread(Box, workers.scratch, workers.uid))
        try:
            box = await asyncio.shield(making)
        except asyncio.CancelledError:
            await asyncio.shield((await making).remove())
            raise
        try:
            started = await starter.start(workers.plan(box))
        except BaseException:
            await asyncio.shield(box.remove())
            raise
        worker = cls(starter, started, workers, box, tenant)
        try:
            async with asyncio.timeout(_START_SECONDS):
                kind, payload = await worker._frame()
        except (TimeoutError, asyncio.IncompleteReadError) as error:
            await worker.kill()
            raise RuntimeError("a parser process did not start") from error
        except BaseException:
            await worker.kill()
            raise
        if kind != wire.READY:
            await worker.kill()
            raise RuntimeError("a parser process answered before it was asked")
        worker.measures = Measures.from_line(payload)
        worker.baseline = resident_bytes(worker.pid)
        return worker

    @property
    def alive(self) -> bool:
        """Whether it is still running."""
        return not (self._cleared or self._answers.at_eof())

    async def run(self, job: wire.Job, seconds: float) -> AsyncGenerator[Frame, None]:
        """Give it a job and yield its frames, the last being METADATA or DONE.

        Raises `ParseError` when the job fails, exceeds `seconds` or its memory, or crashes the process. When the caller
        stops early, the process is killed.
        """
        self.jobs += 1
        self._killed_for, self._peak = "", 0
        finished = False
        shown: list[Path] = []
        try:
            there = await self._show(job, shown)
        except FileNotFoundError as error:
            raise _gone() from error
        self._limit_processor(seconds)
        watch = asyncio.create_task(self._watch(seconds))
        try:
            with contextlib.suppress(ConnectionError):  # the next read shows that a child is dead
                self._jobs.write(there.line())
                await self._jobs.drain()
            while not finished:
                try:
                    self._asked = True
                    kind, payload = await self._frame()
                    self._asked = False
                except asyncio.IncompleteReadError:
                    raise await self._death(seconds) from None
                finished = kind in (wire.METADATA, wire.DONE, wire.FAILED)
                if kind == wire.FAILED:
                    raise ParseError(**json.loads(payload))
                yield kind, payload
        finally:
            watch.cancel()
            if finished:
                for one in shown:
                    one.unlink(missing_ok=True)
            else:
                await self.kill()

    async def run_many(
        self, jobs: Sequence[wire.Job], seconds: float
    ) -> AsyncGenerator[list[Frame] | ParseError, None]:
        """Give it short jobs at once; yield each one's frames, or its error, in order. The last may be its death's.

        `seconds` and the memory limit each job. When the caller stops early, the process is killed.
        """
        self.jobs += len(jobs)
        self._killed_for, self._peak = "", 0
        shown: list[list[Path]] = []
        answered = 0
        lines = b""
        watch: asyncio.Task[None] | None = None
        try:
            for job in jobs:
                into: list[Path] = []
                with contextlib.suppress(FileNotFoundError):
                    lines += (await self._show(job, into)).line()
                shown.append(into)
            self._limit_processor(seconds)
            watch = asyncio.create_task(self._watch(seconds))
            # Not drained: the child stops reading jobs while its answers wait to be read. Lines are a few KB each.
            self._jobs.write(lines)
            for paths in shown:
                try:
                    end = await self._answer() if paths else _gone()
                except asyncio.IncompleteReadError:
                    end = await self._death(seconds)
                    answered = len(jobs)  # it is killed already
                    yield end
                    return
                self._lap += 1
                answered += 1
                yield end
        finally:
            if watch is not None:
                watch.cancel()
            if answered < len(jobs):
                await self.kill()
            for path in (path for paths in shown for path in paths):
                path.unlink(missing_ok=True)

    async def _answer(self) -> list[Frame] | ParseError:
        """Return all frames of the next job, or its error."""
        frames: list[Frame] = []
        while True:
            self._asked = True
            kind, payload = await self._frame()
            self._asked = False
            if kind == wire.FAILED:
                return ParseError(**json.loads(payload))
            frames.append((kind, payload))
            if kind in (wire.METADATA, wire.DONE):
                return frames

    async def _show(self, job: wire.Job, shown: list[Path]) -> wire.Job:
        """Put a job's files where the process may read them, and add them to `shown`; return the job with these."""
        try:
            for path in filter(None, (job.path, *job.archives)):
                shown.append(self._box.place())
                await outcome(asyncio.ensure_future(self._box.put(Path(path), shown[-1])))
        except BaseException:
            for one in shown:
                one.unlink(missing_ok=True)
            shown.clear()
            raise
        given = [str(path) for path in shown]
        return replace(job, path=given.pop(0) if job.path else "", archives=tuple(given))

    async def _frame(self) -> Frame:
        kind, length = wire.HEADER.unpack(await self._answers.readexactly(wire.HEADER.size))
        if length > wire.MAX_FRAME:
            raise asyncio.IncompleteReadError(b"", length)
        return kind, await self._answers.readexactly(length) if length else b""

    async def _watch(self, seconds: float) -> None:
        """Kill the process when it exceeds its time or its memory.

        The limit counts processor time, plus time in which it neither runs nor waits for a processor: a hung process
        uses none. Waiting for a busy processor does not count.
        """
        loop = asyncio.get_running_loop()
        start = last = loop.time()
        used_before, still, lap = _processor_seconds(self.pid), 0.0, self._lap
        while self.alive:
            await asyncio.sleep(min(_WATCH_SECONDS, seconds / 10))
            now = loop.time()
            used, runs = _processor_use(self.pid)
            if lap != self._lap:  # another job of several has begun
                start, used_before, still, lap = now, used, 0.0, self._lap
                self._limit_processor(seconds)
            # A late check gives no evidence of the time before it.
            still += min(now - last, 2 * _WATCH_SECONDS) if self._asked and not runs else 0.0
            last = now
            if used - used_before >= SLOW_SECONDS and not self.slow:
                self._slow_down()
            self._peak = max(self._peak, resident_bytes(self.pid))
            if self._peak > self._memory_bytes:
                self._killed_for = OUT_OF_MEMORY
            elif used - used_before + still >= seconds:
                self._killed_for = TIMEOUT
            elif now - start >= _MOST_WALL * seconds:
                self._killed_for = PARSER_KILLED
            if self._killed_for:
                self._signal(signal.SIGKILL)
                return

    def _slow_down(self) -> None:
        """Give precedence to workers with short files, also over the programs that this one has started."""
        self.slow = True
        with contextlib.suppress(OSError):  # it has ended, or we may not change it
            os.setpriority(os.PRIO_PGRP, self.pid, SLOW_NICENESS)
        with contextlib.suppress(OSError):  # Linux may weigh sessions before processes; each worker has its own
            Path(f"/proc/{self.pid}/autogroup").write_text(str(SLOW_NICENESS))

    def _limit_processor(self, seconds: float) -> None:
        """Let the kernel end an overlong job if the supervisor is delayed; only we can raise this limit."""
        if sys.platform != "linux":
            return
        with contextlib.suppress(OSError):  # it has ended, or we may not limit it
            _, hard = resource.prlimit(self.pid, resource.RLIMIT_CPU)
            soft = ceil(_processor_seconds(self.pid) + seconds) + _CPU_GRACE_SECONDS
            resource.prlimit(self.pid, resource.RLIMIT_CPU, (soft, hard))

    async def _exit_code(self) -> str:
        """Return the exit code of the process, which has ended its answers; "running" if it ended only these."""
        for _ in range(_CODE_TRIES):
            if (code := await self._starter.ended(self.pid)) != "running":
                return code
            await asyncio.sleep(_CODE_SECONDS)
        return "running"

    async def _death(self, seconds: float) -> ParseError:
        """Return the error for a process that ended during a job."""
        code = await self._exit_code()
        await self.kill()
        # Without its fork server a worker is killed too, and its exit code is lost.
        outside = code == "unknown" or code in {str(-number) for number in _FROM_OUTSIDE}
        if self._killed_for == TIMEOUT or code == str(-signal.SIGXCPU):
            return ParseError(
                TIMEOUT, f"Reading the file took longer than the {seconds:g} seconds of processor time allowed."
            )
        if self._killed_for == OUT_OF_MEMORY or (self._peak > 0.8 * self._memory_bytes and not outside):
            megabytes = self._memory_bytes // (1024 * 1024)
            return ParseError(OUT_OF_MEMORY, f"Reading the file needs more than the {megabytes} MiB of memory allowed.")
        if self._killed_for == PARSER_KILLED:
            return ParseError(PARSER_KILLED, "The machine was too busy to read this file to its end.")
        if outside:
            return ParseError(PARSER_KILLED, "The system killed the process that read this file.")
        return ParseError(PARSER_CRASHED, "The parser crashed on this file.")

    async def close(self) -> None:
        """End it in order, or kill it after a moment."""
        self._jobs.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await self._gone()
        await self.kill()

    async def kill(self) -> None:
        """Kill it with the programs it has started, and wait until it is gone."""
        if self._cleared:
            return
        self._signal(signal.SIGKILL)
        self._jobs.close()
        await asyncio.shield(self._gone())
        self._clear()
        await asyncio.shield(self._box.remove())

    async def _gone(self) -> None:
        """Wait for the end of its answers, which only its own end causes."""
        while not self._answers.at_eof():
            try:
                await self._answers.read(_PART)
            except RuntimeError:  # a job waits for its next frame, and will see the same end
                await asyncio.sleep(_CODE_SECONDS)

    def _clear(self) -> None:
        if self._cleared:
            return
        self._cleared = True
        if self._starts_programs:
            self._end_programs()
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _end_programs(self) -> None:
        """End the programs it had started: the group id stays valid while it has members."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._cleared:
            return
        with contextlib.suppress(ProcessLookupError):
            if self._handle >= 0:
                signal.pidfd_send_signal(self._handle, number)
            else:
                os.kill(self.pid, number)


def _gone() -> ParseError:
    return ParseError(INTERNAL, "The file to read is gone.")


def _processor_seconds(pid: int) -> float:
    """Return the processor seconds that a process has used; 0 when it has ended or cannot be asked."""
    return _processor_use(pid)[0]


def _processor_use(pid: int) -> tuple[float, bool]:
    """Return the processor seconds of a process and its ended children, and whether it runs or is ready to."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0, False
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"), fields[0] in "RD"


def resident_bytes(pid: int) -> int:
    """Return the memory of a process, 0 if unknown (it has ended, or this is not Linux)."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0
