"""Which polls of the job queues ask the database.

A poll costs a few statements. In an idle deployment those of four queues took half of the processor time of edge's
process, which knows what it has enqueued, started and ended itself; only other replicas' jobs have to be looked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbos._queue import Queue
    from dbos._sys_db import SystemDatabase

BUSY_SECONDS = 1.0
"""Seconds in which every poll asks after a job was enqueued, started or ended."""
START_SECONDS = 10.0
"""Seconds after the launch in which dbos may still put back jobs of the process before, without telling."""
IDLE_SECONDS = 5.0
"""Seconds between two questions while no job runs and none was enqueued; they should find nothing."""


class QueuePolling:
    """When one queue is polled: every `seconds` while jobs run, and at once after one began or ended.

    `is_working` says whether other processes may have enqueued jobs, or jobs run here.
    """

    def __init__(
        self, seconds: float, is_working: Callable[[], bool], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._is_working = is_working
        self._clock = clock
        self._started = clock()
        self._busy_until = self._last = float("-inf")

    def poll_now(self) -> None:
        """Ask at the next poll and for a while, as there may be a job in the queue, or a place for one."""
        self._busy_until = self._clock() + BUSY_SECONDS

    def is_due(self) -> bool:
        """Return whether this poll should ask; called by dbos' thread of the queue."""
        now = self._clock()
        works = now < self._started + START_SECONDS or self._is_working()
        if now >= self._busy_until and now < self._last + (self._seconds if works else IDLE_SECONDS):
            return False
        self._last = now
        return True


def limit_polls(
    database: SystemDatabase, queues: Mapping[str, Queue], polling: Mapping[str, QueuePolling], own: QueuePolling
) -> None:
    """Let dbos ask for jobs only when a poll of their queue is due, and for nothing that we never change.

    Each poll read the queue's settings anew, and each second two writes looked for jobs with a delay or a time limit;
    none of ours has one. `own` is for dbos' own queue, to which it recovers jobs that began without a queue.
    Its listener for messages to workflows, which we never send, ends: a file ledger's slept a second at a time, and
    closing waited for it.
    """
    read, scopes = database.get_queue, database.dequeue_scopes

    def get_queue(name: str, *, client_system_database: SystemDatabase | None = None) -> Queue | None:
        return queues.get(name) or read(name, client_system_database=client_system_database)

    def dequeue_scopes(name: str) -> Sequence[str | None]:
        return scopes(name) if polling.get(name, own).is_due() else []

    for method in (get_queue, dequeue_scopes):
        setattr(database, method.__name__, method)
    database._run_background_processes = False
    database.cancel_timed_out_workflows = lambda limit: []  # type: ignore[method-assign]
    database.transition_delayed_workflows = lambda: None  # type: ignore[method-assign]
