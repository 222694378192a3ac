"""A small pool of worker processes: kept warm, replaced when used up, bounded in number and in waiting jobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from footnote_kit.errors import Unavailable
from footnote_kit.logs import get_logger

from footnote_ingestion.worker.process import Frame, Worker, resident_bytes
from footnote_ingestion.worker.wire import Job

_log = get_logger("footnote.ingestion.pool")
# A worker that has grown by this share of its limit after a file is replaced: the memory goes back to the system.
_FAT = 0.4


class Pool:
    """Runs jobs, at most `size` at once; `seconds` and `memory_bytes` bound each."""

    def __init__(self, size: int, seconds: float, memory_bytes: int, files_per_worker: int, max_waiting: int) -> None:
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._files_per_worker = files_per_worker
        self._max_waiting = max_waiting
        self._slots = asyncio.Semaphore(size)
        self._waiting = 0
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._closed = False

    def pids(self) -> list[int]:
        """Process ids of all workers."""
        return [worker.pid for worker in (*self._idle, *self._busy)]

    async def warm(self) -> None:
        """Start one worker ahead of the first job."""
        if not self._idle and not self._busy and not self._closed:
            self._idle.append(await Worker.start(self._memory_bytes))

    async def run(self, job: Job) -> AsyncGenerator[Frame, None]:
        """Yield the frames of a job; raises `ParseError` as `Worker.run`, `Unavailable` when too many wait."""
        if self._waiting >= self._max_waiting:
            raise Unavailable("Too many files wait to be read", retry_after=5.0)
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        try:
            worker = await self._take()
            try:
                async with aclosing(worker.run(job, self._seconds)) as frames:
                    async for frame in frames:
                        yield frame
            finally:
                await asyncio.shield(self._give_back(worker))
        finally:
            self._slots.release()

    async def last(self, job: Job) -> bytes:
        """Run a job for the payload of its last frame."""
        payload = b""
        async with aclosing(self.run(job)) as frames:
            async for frame in frames:
                payload = frame[1]
        return payload

    async def close(self) -> None:
        """End all workers."""
        self._closed = True
        idle, self._idle = self._idle, []
        await asyncio.gather(*(worker.close() for worker in idle), *(worker.kill() for worker in list(self._busy)))

    async def _take(self) -> Worker:
        if self._closed:
            raise Unavailable("The service is shutting down", reason="SHUTTING_DOWN")
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                break
            await worker.kill()
        else:
            worker = await Worker.start(self._memory_bytes)
        self._busy.add(worker)
        return worker

    async def _give_back(self, worker: Worker) -> None:
        self._busy.discard(worker)
        fat = resident_bytes(worker.pid) - worker.baseline > _FAT * self._memory_bytes
        if worker.alive and not self._closed and not fat and worker.jobs < self._files_per_worker:
            self._idle.append(worker)
            return
        _log.debug("worker_retired", pid=worker.pid, jobs=worker.jobs, alive=worker.alive, fat=fat)
        await worker.close()
