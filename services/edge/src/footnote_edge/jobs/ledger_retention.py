"""Retention of the jobs' ledger: results of jobs contain names and titles of documents."""

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from dbos import DBOS
from footnote_kit.logs import get_logger
from footnote_kit.periodic import PeriodicTasks
from footnote_kit.wall_clock import deletion_datetime

ACTIVE = ("ENQUEUED", "PENDING", "DELAYED")
RETURNED = "SUCCESS"
_ENDED = [RETURNED, "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
_BATCH = 500
_LOOK_AGAIN = 2.0
_LOOKS = 150
_SWEEP_EVERY = 600.0

_log = get_logger(__name__)


class LedgerRetention:
    """Removes jobs of deleted documents, and those that ended long ago, from the ledger."""

    def __init__(self, keep_hours: float) -> None:
        self._keep = timedelta(hours=keep_hours)
        self._tasks: set[asyncio.Task[None]] = set()
        self._rounds = PeriodicTasks("job-records", self.sweep, _SWEEP_EVERY, service="edge", at_once=False)

    async def start(self) -> None:
        """Start the sweep."""
        await self._rounds.start()

    async def close(self) -> None:
        """Stop running tasks."""
        await self._rounds.stop()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def forget(self, document_ids: Sequence[str]) -> None:
        """Remove the records of these documents' jobs: now, or as soon as a running job has ended.

        A failure is logged, and the sweep makes up for it: the documents are deleted all the same.
        """
        try:
            busy = await _remove(document_ids)
        except Exception as error:
            _log.warning("job_records_not_removed", error=type(error).__name__)
            return
        if busy:
            self._run(self._forget_later(busy))

    async def _forget_later(self, document_ids: Sequence[str]) -> None:
        for _ in range(_LOOKS):
            await asyncio.sleep(_LOOK_AGAIN)
            with contextlib.suppress(Exception):  # the next round may succeed
                document_ids = await _remove(document_ids)
                if not document_ids:
                    return

    async def sweep(self) -> int:
        """Delete the records of ended jobs after their retention period; return how many there were."""
        before = (deletion_datetime() - self._keep).isoformat()
        removed = 0
        while True:
            old = await DBOS.list_workflows_async(
                status=_ENDED, completed_before=before, limit=_BATCH, load_input=False, load_output=False
            )
            if not old:
                return removed
            await DBOS.delete_workflows_async([one.workflow_id for one in old])
            removed += len(old)

    def _run(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _remove(document_ids: Sequence[str]) -> list[str]:
    """Remove the records of ended jobs; return the documents whose jobs are still running."""
    busy: list[str] = []
    for start in range(0, len(document_ids), _BATCH):
        part = document_ids[start : start + _BATCH]
        found = await DBOS.list_workflows_async(
            workflow_id_prefix=[f"{document_id}:" for document_id in part], load_input=False, load_output=False
        )
        ended = [one.workflow_id for one in found if one.status not in ACTIVE]
        if ended:
            await DBOS.delete_workflows_async(ended)
        busy += {one.workflow_id.partition(":")[0] for one in found if one.status in ACTIVE}
    return busy
