"""Finishes work on documents that a crash interrupted: deletions, and changes of labels."""

from footnote.internal.ingestion.v1alpha1 import upkeep_service_pb2 as ingestion_upkeep
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_kit.access import system_scope
from footnote_kit.errors import FootnoteError, NotFound, NotOffered
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import untraced

from footnote_edge.documents.deletion import PAGE, SYSTEM, DocumentDeletion
from footnote_edge.jobs.labels import align, is_final
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings

_log = get_logger(__name__)


class InterruptedWork:
    """Finds such documents of all tenants; finishing one twice, even concurrently, is safe."""

    def __init__(self, stages: Stages, document_deletion: DocumentDeletion, settings: Settings) -> None:
        self._stages = stages
        self._document_deletion = document_deletion
        self._timeout = settings.call_timeout_seconds
        self._labelled: set[int] = set()
        """Hashes of the labels that chunks of the documents in the last list have."""

    async def run(self) -> None:
        """Finish and log all interrupted work; a third-party stage may not offer the call."""
        try:
            finished = await self.finish()
        except NotOffered:
            return
        if finished:
            _log.info("leftovers_finished", documents=finished)

    async def finish(self) -> int:
        """Finish all that can be finished now, and leave the rest for the next round; return the number finished.

        Each call is made once: the next round is the retry, and comes sooner than the end of a long backoff.
        """
        done, token, listed = 0, "", set[int]()
        while True:
            request = ingestion_upkeep.ListUnfinishedDocumentsRequest(scope=SYSTEM, page_size=PAGE, page_token=token)
            page = await self._stages.ingestion_upkeep.ListUnfinishedDocuments(
                request, timeout=self._timeout, metadata=untraced()
            )
            for one in page.documents:
                done += await self._one(one, listed)
            token = page.next_page_token
            if not token:
                self._labelled = listed
                return done

    async def _one(self, one: ingestion_upkeep.UnfinishedDocument, listed: set[int]) -> bool:
        document = one.document
        try:
            if one.deletion:
                await self._document_deletion.finish(document)
            elif one.labels:
                return await self._label(document, listed)
        except NotFound:
            return False  # the document or its collection is being deleted
        except FootnoteError as error:
            _log.warning("leftover_postponed", document_id=document.id, reason=error.reason)
            return False
        return True

    async def _label(self, document: Document, listed: set[int]) -> bool:
        """Copy a document's labels to its chunks; return whether that is the end of it.

        While a job indexes the document, a later round looks again. Until then only searched chunks get them, once.
        """
        scope = system_scope(document.tenant_id, document.owner_id)
        if is_final(document):
            await align(self._stages, scope, document, self._timeout)
            return True
        if document.indexed_revision:
            labels = _labels(document)
            if labels not in self._labelled:
                await align(self._stages, scope, document, self._timeout)
                self._labelled.add(labels)
            listed.add(labels)
        return False


def _labels(document: Document) -> int:
    """Return a hash of the labels that a document's searched chunks get."""
    labels = Document(
        id=document.id,
        indexed_revision=document.indexed_revision,
        tags=document.tags,
        metadata=document.metadata if document.HasField("metadata") else None,
        expire_time=document.expire_time if document.HasField("expire_time") else None,
    )
    return hash(labels.SerializeToString(deterministic=True))
