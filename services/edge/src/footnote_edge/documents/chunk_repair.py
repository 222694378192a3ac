"""Finds documents whose chunks in the store differ from what was written, and reindexes them."""

import time

from cachetools import LRUCache
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.internal.indexing.v1alpha1 import upkeep_service_pb2 as indexing_upkeep
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_kit.backoff import Backoff
from footnote_kit.errors import NotFound, NotOffered
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import untraced

from footnote_edge.documents.deletion import SYSTEM
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.jobs.reindexing import Renewing
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings

PAUSES = Backoff(2.0, 3600.0)
"""Seconds until a document that is damaged again is indexed again: each time may cost a provider's tokens."""
_MOST_REMEMBERED = 100_000

_log = get_logger(__name__)


class ChunkRepair:
    """Runs every few seconds: until a document is reindexed, searches miss its lost chunks."""

    def __init__(self, stages: Stages, jobs: Jobs, renewing: Renewing, settings: Settings) -> None:
        self._ingestion = stages.ingestion
        self._indexing_upkeep = stages.indexing_upkeep
        self._jobs = jobs
        self._renewing = renewing
        self._timeout = settings.call_timeout_seconds
        self._page_token = ""
        self._tries: LRUCache[str, tuple[int, float]] = LRUCache(_MOST_REMEMBERED)
        """How often a document was taken up by this process, and the time before which it is not taken up again."""

    async def run(self) -> None:
        """Repair all damaged documents; a third-party stage may not offer the call."""
        try:
            mended = await self.mend()
        except NotOffered:
            return
        if mended:
            _log.warning("damaged_documents_taken_up", documents=mended)

    async def mend(self) -> int:
        """Begin a new revision of every document that indexing reports as damaged; return their number.

        Each call takes the next page, because documents that cannot be repaired stay in the list.
        """
        request = indexing_upkeep.ListDamagedDocumentsRequest(
            scope=SYSTEM, all_tenants=True, page_token=self._page_token
        )
        self._page_token = ""  # a failed call begins again with the first page
        found = await self._indexing_upkeep.ListDamagedDocuments(request, timeout=self._timeout, metadata=untraced())
        self._page_token = found.next_page_token
        mended = 0
        for one in found.documents:
            scope = Scope(tenant_id=one.tenant_id, user_id=SYSTEM.user_id, roles=SYSTEM.roles)
            wanted = ingestion.GetDocumentRequest(scope=scope, document_id=one.document_id)
            try:
                response = await self._ingestion.GetDocument(wanted, timeout=self._timeout, metadata=untraced())
            except NotFound:
                continue  # it is being deleted
            document = response.document
            if document.state != DOCUMENT_STATE_INDEXED or document.revision != one.revision:
                continue  # a newer revision is in progress
            tries, due = self._tries.get(one.document_id, (0, 0.0))
            if time.monotonic() < due:
                continue
            again = await self._renewing.renew(scope, document)
            if again is not None:
                self._tries[one.document_id] = tries + 1, time.monotonic() + PAUSES.pause(tries + 1)
                await self._jobs.process(again)
                mended += 1
        return mended
