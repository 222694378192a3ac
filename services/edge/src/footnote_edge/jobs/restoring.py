"""Indexes a document's searched revision again when indexing has nothing of it any more.

Indexing publishes a revision before ingestion records that. If ingestion refuses the record, since a newer revision
has begun, the revision is withdrawn. By then indexing may have purged the one before, which ingestion still records as
searched, and whose file it keeps.
"""

from contextlib import suppress

from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.internal.indexing.v1alpha1 import upkeep_service_pb2 as upkeep
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.document_files import searched
from footnote_kit.errors import Aborted, FailedPrecondition, FootnoteError, NotFound, NotOffered
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import untraced

from footnote_edge.jobs.block_pipe import BlockPipe
from footnote_edge.jobs.labels import align, same_labels
from footnote_edge.jobs.retrying import is_transient, until_available
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings

MOST_SECONDS = 60.0
"""How long a job waits for a stage or provider that is away; then the next comparison of both stages restores."""

_log = get_logger(__name__)


class Restoring:
    """Makes what ingestion records as searched true again."""

    def __init__(self, stages: Stages, pipe: BlockPipe, settings: Settings) -> None:
        """Index through a pipe whose progress nobody watches."""
        self._stages = stages
        self._pipe = pipe
        self._ceiling = settings.retry_ceiling_seconds
        self._timeout = settings.call_timeout_seconds

    async def run(self, scope: Scope, document_id: str) -> bool:
        """Do the same as `once`, and wait a minute for a stage or provider that is away."""

        def give_up(error: FootnoteError, waited: float) -> None:
            if waited >= MOST_SECONDS:
                raise error

        try:
            return await until_available(lambda: self.once(scope, document_id), self._ceiling, give_up=give_up)
        except FootnoteError as error:
            _log.warning("searched_revision_restored_later", document_id=document_id, reason=error.reason)
            return False

    async def once(self, scope: Scope, document_id: str) -> bool:
        """Index the searched file of a document without any searched chunks; return whether that was done.

        Nothing is done for a deleted document, or one whose newer revision became searched meanwhile. Raises the
        transient errors of a stage or provider that is away.
        """
        with suppress(NotFound, NotOffered):  # a third-party stage need not offer what this compares
            return await self._once(scope, document_id)
        return False

    async def _once(self, scope: Scope, document_id: str) -> bool:
        get = ingestion.GetDocumentRequest(scope=scope, document_id=document_id)
        document = (await self._stages.ingestion.GetDocument(get, timeout=self._timeout, metadata=untraced())).document
        if not document.indexed_revision:
            return False
        request = upkeep.ListIndexedDocumentsRequest(scope=scope, page_size=1, document_ids=[document_id])
        listed = self._stages.indexing_upkeep.ListIndexedDocuments
        if (await listed(request, timeout=self._timeout, metadata=untraced())).documents:
            return False
        try:
            await self._pipe.run(scope, searched(document), _nothing, searched_file=True)
            now = (await self._stages.ingestion.GetDocument(get, timeout=self._timeout, metadata=untraced())).document
            if not same_labels(now, document):
                await align(self._stages, scope, now, self._timeout)
        except (Aborted, FailedPrecondition):
            return False  # a newer revision is searched by now
        except FootnoteError as error:
            if is_transient(error) or isinstance(error, NotFound):
                raise
            _log.error("searched_revision_not_restored", document_id=document_id, reason=error.reason)
            return False
        _log.warning("searched_revision_restored", document_id=document_id, revision=document.indexed_revision)
        return True


async def _nothing() -> None:
    """Report nothing."""
