"""Backlog metrics: the number of unfinished documents and the age of the oldest job, for dashboards and alerts."""

import time
from datetime import datetime

from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_PROCESSING, DOCUMENT_STATE_UPLOADED
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import observe, untraced

from footnote_edge.documents.deletion import SYSTEM
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings

_log = get_logger(__name__)


class BacklogMetrics:
    """Polls every few seconds, so that collecting metrics makes no calls. Every replica reports the same values."""

    def __init__(self, stages: Stages, jobs: Jobs, settings: Settings) -> None:
        self._ingestion = stages.ingestion
        self._jobs = jobs
        self._timeout = settings.call_timeout_seconds
        self._waiting = 0
        self._oldest: datetime | None = None
        observe("footnote.edge.jobs.waiting", lambda: float(self._waiting))
        observe("footnote.edge.jobs.age", self.age)

    async def refresh(self) -> None:
        """Count unfinished documents and find their oldest job; on failure the last values stay."""
        try:
            await self._refresh()
        except FootnoteError as error:  # ingestion is down: its own logs and edge's health report it
            _log.debug("backlog_unknown", reason=error.reason)

    async def _refresh(self) -> None:
        request = ingestion.ListDocumentsRequest(
            scope=SYSTEM,
            states=[DOCUMENT_STATE_UPLOADED, DOCUMENT_STATE_PROCESSING],
            page_size=1,
            all_tenants=True,
        )
        self._oldest = await self._jobs.oldest()
        listed = await self._ingestion.ListDocuments(request, timeout=self._timeout, metadata=untraced())
        self._waiting = listed.total_size

    def age(self) -> float:
        """Return the age of the oldest unfinished job in seconds; 0 if there is none."""
        return 0.0 if self._oldest is None else max(0.0, time.time() - self._oldest.timestamp())
