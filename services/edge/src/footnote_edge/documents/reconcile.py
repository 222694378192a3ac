"""Finds documents that wait without a job, at start and periodically, and enqueues them."""

from datetime import UTC, datetime
from functools import partial

from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_PROCESSING, DOCUMENT_STATE_UPLOADED
from footnote_kit.context import detached
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import untraced

from footnote_edge.documents.deletion import SYSTEM
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.jobs.processing import job_of
from footnote_edge.jobs.retrying import until_available
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings

PAGE = 500
SETTLED_SECONDS = 10.0
"""Seconds within which a new document may still be about to get its job."""

_log = get_logger(__name__)


class Reconciler:
    """Repairs accepted documents whose job was not recorded because of a crash."""

    def __init__(self, stages: Stages, jobs: Jobs, settings: Settings) -> None:
        self._ingestion = stages.ingestion
        self._jobs = jobs
        self._ceiling = settings.retry_ceiling_seconds
        self._timeout = settings.call_timeout_seconds
        self._settled = 0.0

    async def run(self) -> None:
        """Process all documents: at the first round every one, later only those unchanged for a while."""
        settled, self._settled = self._settled, SETTLED_SECONDS
        if taken := await self.once(settled):
            _log.warning("documents_taken_up", documents=taken)

    async def take_up(self) -> None:
        """Enqueue the documents of a replica that is gone, in whose groups they were."""
        with detached("edge", SYSTEM):
            taken = await self.once()
        _log.warning("documents_taken_over", documents=taken)

    async def once(self, settled: float = 0.0) -> int:
        """Enqueue every document without a job that is unchanged for `settled` seconds; return how many."""
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
            active = await self._jobs.active([job_of(one) for one in page.documents])
            now = datetime.now(UTC).timestamp()
            for document in page.documents:
                # A time ahead of now is from before the clock was set back: of that document nothing is known.
                if not 0 <= now - document.update_time.ToNanoseconds() / 1e9 < settled:
                    taken += await self._jobs.process_if_idle(document, active)
            token = page.next_page_token
            if not token:
                return taken
