"""Compares ingestion's documents with indexing's, both ways, and repairs differences.

A power cut or a restored backup can leave one database older than the other. Then there are documents without chunks,
and chunks without a document.
"""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.internal.indexing.v1alpha1 import upkeep_service_pb2 as indexing_upkeep
from footnote.internal.ingestion.v1alpha1 import upkeep_service_pb2 as ingestion_upkeep
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import (
    DOCUMENT_STATE_ERROR,
    DOCUMENT_STATE_INDEXED,
    DOCUMENT_STATE_PROCESSING,
    DOCUMENT_STATE_UPLOADED,
    DocumentState,
)
from footnote_kit.access import system_scope
from footnote_kit.errors import FootnoteError, NotFound
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import counter, untraced

from footnote_edge.documents.deletion import SYSTEM
from footnote_edge.documents.vanished import VanishedOrigins
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.jobs.ports import OperationStore
from footnote_edge.jobs.reindexing import Renewing
from footnote_edge.jobs.restoring import Restoring
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings

PAGE = 500
MOST_TRIES = 3
"""Repair attempts of this process per document: repeating does not help a document that differs each time."""
_FINAL = (DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_ERROR)
_IN_PROGRESS = (DOCUMENT_STATE_UPLOADED, DOCUMENT_STATE_PROCESSING)
_MOST_REMEMBERED = 100_000
_MOST_DELETED = 1_000

_log = get_logger(__name__)


class ConsistencyCheck:
    """Compares everything after a stage has restarted, possibly with another database, and periodically.

    So are the documents of stored answers; see `VanishedOrigins`.

    After a restart it compares once more when the documents that were in progress then have ended: a resumed job may
    record that a document is indexed whose chunks were deleted in commits that the other database has lost.
    """

    def __init__(
        self,
        stages: Stages,
        jobs: Jobs,
        renewing: Renewing,
        store: OperationStore,
        restoring: Restoring,
        vanished: VanishedOrigins,
        settings: Settings,
    ) -> None:
        self._ingestion = stages.ingestion
        self._ingestion_upkeep = stages.ingestion_upkeep
        self._indexing = stages.indexing
        self._indexing_upkeep = stages.indexing_upkeep
        self._jobs = jobs
        self._renewing = renewing
        self._store = store
        self._restoring = restoring
        self._vanished = vanished
        self._timeout = settings.call_timeout_seconds
        self._every = settings.compare_seconds
        self._due = 0.0
        self._known: set[str] = set()
        self._in_progress: frozenset[str] = frozenset()
        self._tries: Counter[str] = Counter()

    async def run(self) -> None:
        """Compare if due, repair, and log the repairs; raises the errors of the stages."""
        instances = {(await self._indexed(size=1)).instance, (await self._there([])).instance}
        restarted = not instances <= self._known
        if not restarted and time.monotonic() < self._due and not await self._have_ended():
            return
        in_progress = await self._unfinished() if restarted else frozenset()
        if restarted:
            await self._delete_again()
        missing, orphans = await self._missing(), 0
        if await self._is_same_database():
            orphans = await self._orphans()
            await self._vanished.compare()
        # Set only now, so that an interrupted check starts over.
        self._due = time.monotonic() + self._every
        self._known = instances if len(self._known) > PAGE else self._known | instances
        self._in_progress = in_progress
        if missing or orphans:
            counter("footnote.edge.repairs").add(missing, {"footnote.repair": "document_without_chunks"})
            counter("footnote.edge.repairs").add(orphans, {"footnote.repair": "chunks_without_document"})
            _log.warning("documents_repaired", without_chunks=missing, without_document=orphans)

    async def _delete_again(self) -> None:
        """Delete collections whose deletion had ended, in case indexing lost that with its newest commits.

        A name may look like an id, and requests take both: a collection that has a deleted one's id as its name stays.
        """
        for tenant_id, collection_id in await self._store.deleted(_MOST_DELETED):
            scope = system_scope(tenant_id, SYSTEM.user_id)
            wanted = indexing.GetCollectionRequest(scope=scope, collection=collection_id, without_counts=True)
            request = indexing.DeleteCollectionRequest(scope=scope, collection=collection_id)
            with suppress(NotFound):
                found = await self._indexing.GetCollection(wanted, timeout=self._timeout, metadata=untraced())
                if found.collection.id == collection_id:
                    await self._indexing.DeleteCollection(request, timeout=self._timeout, metadata=untraced())
                    _log.warning("collection_deleted_again", collection_id=collection_id)

    async def _have_ended(self) -> bool:
        """Return whether the last of the documents that were in progress at a restart has ended since."""
        if not self._in_progress:
            return False
        self._in_progress &= await self._unfinished()
        if not self._in_progress:
            self._due = 0.0  # until a check succeeds, which sets it
        return not self._in_progress

    async def _unfinished(self) -> frozenset[str]:
        """Return the ids of the documents in progress."""
        found, token = set[str](), ""
        while True:
            request = ingestion.ListDocumentsRequest(
                scope=SYSTEM, states=_IN_PROGRESS, page_size=PAGE, page_token=token, all_tenants=True
            )
            page = await self._ingestion.ListDocuments(request, timeout=self._timeout, metadata=untraced())
            found.update(one.id for one in page.documents)
            token = page.next_page_token
            if not token or len(found) >= _MOST_REMEMBERED:
                return frozenset(found)

    async def _missing(self) -> int:
        """Repair every document that is searched in another revision than recorded; return how many.

        A new revision of it is begun. For a document in ERROR, the chunks unknown to its record are removed, and the
        revision that it records as searched is indexed again.
        """
        # One state after the other: only then does the order of an index hold for all pages.
        return sum([await self._missing_in(state) for state in _FINAL])

    async def _missing_in(self, state: DocumentState.ValueType) -> int:
        mended, token = 0, ""
        while True:
            request = ingestion.ListDocumentsRequest(
                scope=SYSTEM, states=[state], page_size=PAGE, page_token=token, all_tenants=True
            )
            page = await self._ingestion.ListDocuments(request, timeout=self._timeout, metadata=untraced())
            # Read ingestion before indexing: indexing publishes a document before ingestion marks it INDEXED.
            found = await self._indexed([one.id for one in page.documents]) if page.documents else None
            searched = {} if found is None else {one.document_id: one.revision for one in found.documents}
            for document in page.documents:
                revision = searched.get(document.id, 0)
                if revision != document.indexed_revision:
                    mended += await self._mend(document, revision)
            token = page.next_page_token
            if not token:
                return mended

    async def _mend(self, seen: Document, searched: int) -> bool:
        scope = system_scope(seen.tenant_id, SYSTEM.user_id)
        wanted = ingestion.GetDocumentRequest(scope=scope, document_id=seen.id)
        try:
            document = (await self._ingestion.GetDocument(wanted, timeout=self._timeout, metadata=untraced())).document
        except NotFound:
            return False  # deleted in the meantime
        if (document.state, document.revision) != (seen.state, seen.revision) or not self._may_try(seen.id):
            return False  # a newer revision is in progress
        try:
            removed = await self._remove_searched(scope, document, searched)
        except NotFound:
            # Its collection was lost: the job ends with that error, so that the document no longer counts as indexed.
            deletion = await self._store.deletion_of(document.collection_id)
            removed = deletion is None and document.state == DOCUMENT_STATE_INDEXED
        if not removed:
            return False
        if document.state == DOCUMENT_STATE_ERROR:
            return await self._restored(scope, document)
        again = await self._renewing.renew(scope, document)
        if again is not None:
            await self._jobs.process(again)
        return again is not None

    async def _remove_searched(self, scope: Scope, document: Document, searched: int) -> bool:
        """Remove what is searched of a document: it comes from other bytes and would be taken for the new revision.

        Removed by revision, since indexing begins no document whose revisions were removed all at once. The revision
        that one replaced may be searched again, and is removed in turn.
        """
        revision = searched or document.revision
        while await self._remove(scope, document.collection_id, document.id, revision):
            found = await self._indexed([document.id])
            before = next((one.revision for one in found.documents), 0)
            if not 0 < before < revision or before == document.indexed_revision:
                return True
            revision = before
        return False

    async def _restored(self, scope: Scope, document: Document) -> bool:
        """Index what a document in ERROR records as searched; an outage must not hold up the other documents."""
        try:
            return await self._restoring.once(scope, document.id) or not document.indexed_revision
        except FootnoteError as error:
            _log.warning("repair_postponed", document_id=document.id, reason=error.reason)
            return False

    async def _orphans(self) -> int:
        """Remove the chunks of documents that ingestion does not know; return the number of documents."""
        removed, token = 0, ""
        while True:
            page = await self._indexed(token=token)
            # Read indexing before ingestion: ingestion knew each of these documents before indexing did.
            there = set((await self._there([one.document_id for one in page.documents])).document_ids)
            for one in page.documents:
                if one.document_id not in there and self._may_try(one.document_id):
                    scope = system_scope(one.tenant_id, SYSTEM.user_id)
                    with suppress(NotFound):  # its collection is deleted, so its chunks are invisible
                        removed += await self._remove(scope, one.collection_id, one.document_id)
            token = page.next_page_token
            if not token:
                return removed

    async def _is_same_database(self) -> bool:
        """Return whether ingestion's database may be believed that a document does not exist.

        A wrong or empty database is more likely than a deletion of all documents without indexing.
        """
        request = ingestion.ListDocumentsRequest(scope=SYSTEM, page_size=1, all_tenants=True)
        page = await self._ingestion.ListDocuments(request, timeout=self._timeout, metadata=untraced())
        if not page.documents and (await self._indexed(size=1)).documents:
            _log.error("comparison_refused", reason="ingestion knows no document at all, and indexing does")
            return False
        return True

    async def _remove(self, scope: Scope, collection_id: str, document_id: str, revision: int = 0) -> bool:
        """Remove a document's chunks; return whether that was done, raise NotFound if its collection is not there."""
        request = indexing.DeleteDocumentChunksRequest(
            scope=scope, collection_id=collection_id, document_id=document_id, revision=revision
        )
        try:
            await self._indexing.DeleteDocumentChunks(request, timeout=self._timeout, metadata=untraced())
        except NotFound:
            raise
        except FootnoteError as error:
            _log.warning("repair_postponed", document_id=document_id, reason=error.reason)
            return False
        return True

    def _may_try(self, document_id: str) -> bool:
        if len(self._tries) > _MOST_REMEMBERED:
            self._tries.clear()
        self._tries[document_id] += 1
        if self._tries[document_id] == MOST_TRIES + 1:
            _log.error("document_not_repairable", document_id=document_id, tries=MOST_TRIES)
        return self._tries[document_id] <= MOST_TRIES

    async def _indexed(
        self, ids: Sequence[str] = (), *, size: int = PAGE, token: str = ""
    ) -> indexing_upkeep.ListIndexedDocumentsResponse:
        request = indexing_upkeep.ListIndexedDocumentsRequest(
            scope=SYSTEM, page_size=size, page_token=token, document_ids=ids
        )
        found: indexing_upkeep.ListIndexedDocumentsResponse = await self._indexing_upkeep.ListIndexedDocuments(
            request, timeout=self._timeout, metadata=untraced()
        )
        return found

    async def _there(self, ids: Sequence[str]) -> ingestion_upkeep.FindDocumentsResponse:
        request = ingestion_upkeep.FindDocumentsRequest(scope=SYSTEM, document_ids=ids)
        found: ingestion_upkeep.FindDocumentsResponse = await self._ingestion_upkeep.FindDocuments(
            request, timeout=self._timeout, metadata=untraced()
        )
        return found
