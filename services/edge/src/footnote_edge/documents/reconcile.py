"""Finds documents that wait without a job or have lost chunks, at start and periodically, and enqueues them."""

from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.internal.indexing.v1alpha1 import upkeep_service_pb2 as indexing_upkeep
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_PROCESSING, DOCUMENT_STATE_UPLOADED
from footnote_kit.errors import NotFound, NotOffered
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import untraced

from footnote_edge.documents.comparing import Comparison
from footnote_edge.documents.deleting import SYSTEM
from footnote_edge.jobs.chores import Chores
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.jobs.retrying import until_available
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings

PAGE = 500
SETTLED_SECONDS = 10.0
"""Seconds within which a new document may still be about to get its job."""

_log = get_logger(__name__)


class Reconciler:
    """Repairs accepted documents whose job was not recorded because of a crash.

    A document whose chunks in the store differ from those written is reindexed from its own bytes.
    """

    def __init__(
        self,
        stages: Stages,
        jobs: Jobs,
        chores: Chores,
        comparison: Comparison,
        settings: Settings,
    ) -> None:
        self._ingestion = stages.ingestion
        self._indexing = stages.indexing
        self._indexing_upkeep = stages.indexing_upkeep
        self._jobs = jobs
        self._chores = chores
        self._comparison = comparison
        self._ceiling = settings.retry_ceiling_seconds
        self._timeout = settings.call_timeout_seconds
        self._settled = 0.0

    async def look(self) -> None:
        """Process all documents: at the first round every one, later only those unchanged for a while."""
        settled, self._settled = self._settled, SETTLED_SECONDS
        if taken := await self.once(settled):
            _log.warning("documents_taken_up", documents=taken)
        # Separately: a third-party stage keeps itself consistent and need not offer these calls.
        with suppress(NotOffered):
            if mended := await self.mend():
                _log.warning("damaged_documents_taken_up", documents=mended)
        with suppress(NotOffered):
            await self._comparison.look()

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
            now = datetime.now(UTC).timestamp()
            for document in page.documents:
                if now - document.update_time.ToNanoseconds() / 1e9 >= settled:
                    taken += await self._jobs.process_if_idle(document)
            token = page.next_page_token
            if not token:
                return taken

    async def mend(self) -> int:
        """Begin a new revision of every document that indexing reports as damaged; return their number."""
        request = indexing_upkeep.ListDamagedDocumentsRequest(scope=SYSTEM, all_tenants=True)
        found = await self._indexing_upkeep.ListDamagedDocuments(request, timeout=self._timeout, metadata=untraced())
        mended = 0
        for one in found.documents:
            scope = Scope(tenant_id=one.tenant_id, user_id=SYSTEM.user_id, roles=SYSTEM.roles)
            wanted = ingestion.GetDocumentRequest(scope=scope, document_id=one.document_id)
            try:
                response = await self._ingestion.GetDocument(wanted, timeout=self._timeout, metadata=untraced())
            except NotFound:
                continue  # own vectors have no bytes to read again
            document = response.document
            if document.state != DOCUMENT_STATE_INDEXED or document.revision != one.revision:
                continue  # a newer revision is in progress
            again = await self._chores.renew(scope, document)
            if again is not None:
                await self._jobs.process(again)
                mended += 1
        return mended
