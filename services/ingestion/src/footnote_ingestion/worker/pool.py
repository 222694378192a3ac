"""A small pool of worker processes: each serves one tenant, is kept for its next file, and ends after idling.

Tenants and a tenant's users take turns, and no tenant's files occupy every process (see `fair_slots`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

from footnote_kit.admission.fair_slots import FairSlots
from footnote_kit.errors import ResourceExhausted, Unavailable
from footnote_kit.logs import get_logger

from footnote_ingestion.parsers.failures import PARSER_CRASHED, PARSER_KILLED, ParseError
from footnote_ingestion.worker.fork_server_client import Starter
from footnote_ingestion.worker.isolation import Workers
from footnote_ingestion.worker.plan import Measures
from footnote_ingestion.worker.process import Frame, Worker, resident_bytes
from footnote_ingestion.worker.wire import BLOCKS, Job

_log = get_logger("footnote.ingestion.pool")
_DEATHS = frozenset({PARSER_CRASHED, PARSER_KILLED})
# A worker that has grown by this share of its limit after a file is replaced, to return the memory.
_FAT = 0.4
# How long a worker waits for its tenant's next file.
_IDLE_SECONDS = 30.0
# Idle workers kept besides as many as may work at once, so that tenants that take turns find theirs. They share most
# memory with the process that they were forked from.
_MORE_IDLE = 6
# The share of the waiting places that one tenant's files may take.
_TENANTS_PART = 0.75


class Pool:
    """Runs jobs, each limited to `seconds` of processor time; the creator of `starter` closes it.

    At most `size` run at once, and one more for a tenant without any of these. A worker parses files of one tenant
    only, at most `files_per_worker`.
    """

    def __init__(
        self,
        size: int,
        seconds: float,
        workers: Workers,
        starter: Starter,
        files_per_worker: int,
        max_waiting: int,
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        self._size = size
        self._seconds = seconds
        self._workers = workers
        self._starter = starter
        self._files_per_worker = files_per_worker
        self._max_waiting = max_waiting
        self._idle_seconds = idle_seconds
        self._slots = FairSlots(size)
        self._waiting = 0
        # Oldest first, each with its expiry timer.
        self._idle: dict[Worker, asyncio.TimerHandle] = {}
        self._busy: set[Worker] = set()
        self._closing: set[asyncio.Task[Any]] = set()
        self._closed = False

    def pids(self) -> list[int]:
        """Process ids of all workers."""
        return [worker.pid for worker in (*self._idle, *self._busy)]

    async def measures(self) -> Measures:
        """Return the isolation of workers, by starting one that parses nothing."""
        worker = await self._fresh("")
        await asyncio.shield(self._ended(worker, at_once=True))
        return worker.measures

    async def run(self, job: Job, tenant: str, user: str = "") -> AsyncGenerator[Frame, None]:
        """Yield the frames of a job; raises `ParseError` as `Worker.run` does, `Unavailable` when too many wait.

        Raises `ResourceExhausted` when too many of the tenant's files wait. A worker that dies during a job is replaced
        once.
        """
        async with self._placed(tenant, user), aclosing(self._run(job, tenant)) as frames:
            async for frame in frames:
                yield frame

    async def run_many(
        self, jobs: Sequence[Job], tenant: str, user: str = ""
    ) -> AsyncGenerator[list[Frame] | ParseError, None]:
        """Yield all frames of each short job, or its error, in order; one worker runs them all while it lives.

        The job during which it dies is run again alone, and the rest by a fresh worker. Raises as `run` does.
        """
        async with self._placed(tenant, user):
            done = 0
            while done < len(jobs):
                worker, died = await self._take(tenant), False
                try:
                    async with aclosing(worker.run_many(jobs[done:], self._seconds)) as ends:
                        async for end in ends:
                            if isinstance(end, ParseError) and end.reason in _DEATHS:
                                _log.warning("worker_died", pid=worker.pid, action=jobs[done].action, reason=end.reason)
                                died = True
                                break
                            done += 1
                            yield end
                finally:
                    await asyncio.shield(self._give_back(worker))
                if died:
                    yield await self._alone(jobs[done], tenant)
                    done += 1

    async def _alone(self, job: Job, tenant: str) -> list[Frame] | ParseError:
        try:
            async with aclosing(self._run(job, tenant, tries=1)) as frames:
                return [frame async for frame in frames]
        except ParseError as error:
            return error

    @asynccontextmanager
    async def _placed(self, tenant: str, user: str) -> AsyncIterator[None]:
        """Wait for a free place, and hold it."""
        self._check_waiting(tenant)
        self._waiting += 1
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._slots.slot(tenant, user))
            finally:
                self._waiting -= 1
            yield

    def _check_waiting(self, tenant: str) -> None:
        if self._waiting >= self._max_waiting:
            raise Unavailable("Too many files wait to be read", retry_after=5.0)
        if self._slots.waiting(tenant) >= max(1.0, self._max_waiting * _TENANTS_PART):
            raise ResourceExhausted(
                "Too many files of this tenant wait to be read; try again when some of them are done.",
                reason="RATE_LIMITED",
                retry_after=5.0,
            )

    async def _run(self, job: Job, tenant: str, tries: int = 2) -> AsyncGenerator[Frame, None]:
        given = 0  # frames of blocks: a second run yields the same ones, and continues after them
        for left in reversed(range(tries)):
            worker = await self._take(tenant)
            skip = given
            try:
                async with aclosing(worker.run(job, self._seconds)) as frames:
                    async for frame in frames:
                        if frame[0] == BLOCKS and skip:
                            skip -= 1
                            continue
                        given += frame[0] == BLOCKS
                        yield frame
                return
            except ParseError as error:
                # It may have been killed from outside: by an operator, or by the system for lack of memory.
                if not left or error.reason not in _DEATHS:
                    raise
                _log.warning("worker_died", pid=worker.pid, action=job.action, reason=error.reason)
            finally:
                await asyncio.shield(self._give_back(worker))

    async def last(self, job: Job, tenant: str, user: str = "") -> bytes:
        """Run a job for the payload of its last frame."""
        payload = b""
        async with aclosing(self.run(job, tenant, user)) as frames:
            async for frame in frames:
                payload = frame[1]
        return payload

    async def close(self) -> None:
        """End all workers."""
        self._closed = True
        for worker in list(self._idle):
            self._retire(worker)
        await asyncio.gather(*(worker.kill() for worker in list(self._busy)), return_exceptions=True)
        while self._closing:  # what a start that ends now leaves is added
            await asyncio.gather(*self._closing, return_exceptions=True)
            await asyncio.sleep(0)

    async def _take(self, tenant: str) -> Worker:
        """Return a worker for the tenant: its own most recently used one, else a fresh one."""
        if self._closed:
            raise Unavailable("The service is shutting down", reason="SHUTTING_DOWN")
        # Looked up again each time: while a dead one is removed, concurrent jobs take workers from the same list.
        while worker := next((worker for worker in reversed(self._idle) if worker.tenant == tenant), None):
            self._idle.pop(worker).cancel()
            if worker.alive:
                break
            await asyncio.shield(self._ended(worker))
        else:
            worker = await self._start(tenant)
        if self._closed:
            await asyncio.shield(self._ended(worker))
            raise Unavailable("The service is shutting down", reason="SHUTTING_DOWN")
        self._busy.add(worker)
        return worker

    async def _start(self, tenant: str) -> Worker:
        """Return a fresh worker; after a second failed start, raises `Unavailable`."""
        try:
            return await self._fresh(tenant)
        except RuntimeError as error:
            _log.warning("worker_did_not_start", error=str(error))
        try:
            return await self._fresh(tenant)
        except RuntimeError as error:
            raise Unavailable("No process to read files in can be started", retry_after=5.0) from error

    async def _fresh(self, tenant: str) -> Worker:
        """Start a worker in a task of its own, for which `close` waits where its caller is cancelled."""
        starting = asyncio.create_task(Worker.start(self._starter, self._workers, tenant))
        self._closing.add(starting)
        starting.add_done_callback(self._closing.discard)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            if not starting.cancel() and not starting.cancelled() and starting.exception() is None:
                self._ended(starting.result())
            raise

    async def _give_back(self, worker: Worker) -> None:
        self._busy.discard(worker)
        fat = resident_bytes(worker.pid) - worker.baseline > _FAT * self._workers.memory_bytes
        kept = worker.alive and not (self._closed or fat or worker.slow)
        if kept and worker.jobs < self._files_per_worker:
            self._idle[worker] = asyncio.get_running_loop().call_later(self._idle_seconds, self._retire, worker)
            if len(self._idle) > self._size + _MORE_IDLE:
                self._retire(next(iter(self._idle)))
            return
        _log.debug("worker_retired", pid=worker.pid, jobs=worker.jobs, alive=worker.alive, fat=fat, slow=worker.slow)
        await self._ended(worker)

    def _retire(self, worker: Worker) -> None:
        """End an idle worker."""
        self._idle.pop(worker).cancel()
        self._ended(worker)

    def _ended(self, worker: Worker, *, at_once: bool = False) -> asyncio.Task[None]:
        """End a worker in a task of its own, for which `close` waits, whatever becomes of the caller."""
        task = asyncio.create_task(worker.kill() if at_once else worker.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        return task
