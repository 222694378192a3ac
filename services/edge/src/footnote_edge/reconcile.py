"""Finds documents that wait without a job, at the start and now and then, and takes them on."""

import asyncio
import random
from datetime import UTC, datetime
from functools import partial

from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_PROCESSING, DOCUMENT_STATE_UPLOADED
from footnote.types.v1.scope_pb2 import ROLE_ADMIN, Scope
from footnote_kit.context import detached
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import untraced

from footnote_edge.jobs import Jobs
from footnote_edge.settings import Settings
from footnote_edge.stages import Stages
from footnote_edge.waiting import until_available

PAGE = 500
SETTLED_SECONDS = 10.0
"""A document younger than this may be on its way to its job right now."""

SYSTEM = Scope(tenant_id="system", user_id="edge", roles=[ROLE_ADMIN])
"""On whose behalf the edge looks after the documents of all tenants."""

_log = get_logger(__name__)


class Reconciler:
    """Closes the gap between a document that was accepted and a job that was not yet noted, whoever died in it."""

    def __init__(self, stages: Stages, jobs: Jobs, settings: Settings) -> None:
        self._ingestion = stages.ingestion
        self._jobs = jobs
        self._every = settings.reconcile_seconds
        self._ceiling = settings.retry_ceiling_seconds
        self._timeout = settings.call_timeout_seconds
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to look, without holding up the start of the service."""
        self._task = asyncio.create_task(self._loop())

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def once(self, settled: float = 0.0) -> int:
        """Take on every document waiting without a job that has not moved for `settled` seconds; return how many."""
        taken, token = 0, ""
        while True:
            request = ingestion.ListDocumentsRequest(
                scope=SYSTEM,
                states=[DOCUMENT_STATE_UPLOADED, DOCUMENT_STATE_PROCESSING],
                page_size=PAGE,
                page_token=token,
                all_tenants=True,
            )
            page = await until_available(
                partial(self._ingestion.ListDocuments, request, timeout=self._timeout, metadata=untraced()),
                self._ceiling,
            )
            now = datetime.now(UTC).timestamp()
            for document in page.documents:
                if now - document.update_time.ToNanoseconds() / 1e9 >= settled:
                    taken += await self._jobs.process_if_idle(document)
            token = page.next_page_token
            if not token:
                return taken

    async def _loop(self) -> None:
        with detached("edge", SYSTEM):
            settled = 0.0
            while True:
                try:
                    taken = await self.once(settled)
                    if taken:
                        _log.warning("documents_taken_up", documents=taken)
                except Exception as error:  # the next look may fare better; without looks documents would be stuck
                    _log.error("reconcile_failed", exc_info=error)
                settled = SETTLED_SECONDS
                await asyncio.sleep(self._every * random.uniform(0.8, 1.2))
