"""Deletes documents.

A mark comes first, so that a deletion survives crashes and applies to the state that the caller saw.
"""

from contextlib import suppress

from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.internal.ingestion.v1alpha1 import upkeep_service_pb2 as ingestion_upkeep
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_kit.access import Access, document_missing, sees_all, system_scope
from footnote_kit.context import detached
from footnote_kit.errors import Aborted, NotFound, NotOffered

from footnote_edge.conversations.ports import Forgetting
from footnote_edge.documents.documents import Documents
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.ports import Stages

PAGE = 500
SYSTEM = system_scope("system", "edge")
"""The scope in which edge maintains the documents of all tenants."""


class DocumentDeletion:
    """Deletes documents with their chunks and files."""

    def __init__(
        self,
        stages: Stages,
        documents: Documents,
        jobs: Jobs,
        forgetting: Forgetting,
        bus: ProgressBus,
        timeout: float,
    ) -> None:
        self._forgetting = forgetting
        self._ingestion = stages.ingestion
        self._ingestion_upkeep = stages.ingestion_upkeep
        self._indexing = stages.indexing
        self._documents = documents
        self._jobs = jobs
        self._bus = bus
        self._timeout = timeout

    async def delete(self, scope: Scope, document_id: str, etag: str = "", *, allow_missing: bool = False) -> int:
        """Delete a document; return how many searchable chunks it had. Raises Aborted for another etag.

        The mark hides the document from every caller and job: a running job finds it missing and removes its own
        output. Then the chunks are deleted and the record last, so that no chunk remains without a record. A marked
        document is finished: no search finds an acknowledged deletion.
        """
        try:
            document = await self._mark(scope, await self._documents.get(scope, document_id, Access.WRITE), etag)
        except NotFound:
            left = await self._left(scope, document_id)
            if left is not None:
                with detached("edge", system_scope(left.tenant_id, left.owner_id)):
                    return await self._finish(system_scope(left.tenant_id, left.owner_id), left)
            if allow_missing:
                return 0
            raise
        self._bus.changed(document.id, document.collection_id)
        return await self._finish(scope, document)

    async def _mark(self, scope: Scope, document: Document, etag: str) -> Document:
        """Mark a document as being deleted; return it as it was last.

        A third-party ingestion stage may lack the mark: then its chunks are deleted before the document is hidden.
        """
        begin = ingestion_upkeep.BeginDeletionRequest(scope=scope, document_id=document.id, etag=etag)
        try:
            marked: Document = (await self._ingestion_upkeep.BeginDeletion(begin, timeout=self._timeout)).document
        except NotOffered:
            if etag and etag != document.etag:
                raise Aborted("The document has changed since it was read; read it again") from None
            return document
        return marked

    async def _left(self, scope: Scope, document_id: str) -> Document | None:
        """Return a marked document whose chunks may still exist; None if the caller may not delete it.

        Lookups no longer find it, so the search goes through all unfinished documents.
        """
        token = ""
        while True:
            request = ingestion_upkeep.ListUnfinishedDocumentsRequest(scope=SYSTEM, page_size=PAGE, page_token=token)
            with detached("edge", SYSTEM):
                try:
                    page = await self._ingestion_upkeep.ListUnfinishedDocuments(request, timeout=self._timeout)
                except NotOffered:
                    return None
            for one in page.documents:
                if one.deletion and (one.document.id, one.document.tenant_id) == (document_id, scope.tenant_id):
                    return one.document if await self._documents.permits(scope, one.document, Access.WRITE) else None
            token = page.next_page_token
            if not token:
                return None

    async def finish(self, document: Document) -> None:
        """Finish an interrupted deletion."""
        await self._finish(system_scope(document.tenant_id, document.owner_id), document)

    async def _finish(self, scope: Scope, document: Document) -> int:
        own = system_scope(document.tenant_id, document.owner_id)
        request = indexing.DeleteDocumentChunksRequest(
            scope=scope, collection_id=document.collection_id, document_id=document.id
        )
        try:
            removed = (await self._indexing.DeleteDocumentChunks(request, timeout=self._timeout)).chunks_deleted
        except NotFound:
            # For a caller that sees everything, the collection and its chunks are really deleted. For other callers it
            # may only be hidden, with its chunks still there: then the document stays too.
            if not sees_all(scope):
                undo = ingestion_upkeep.BeginDeletionRequest(scope=own, document_id=document.id, undo=True)
                with detached("edge", own), suppress(NotOffered):
                    await self._ingestion_upkeep.BeginDeletion(undo, timeout=self._timeout)
                raise document_missing(document.id) from None
            removed = 0
        # Before the record is deleted: after a crash in between, the mark is still there and this step repeats.
        self._jobs.remove_forgotten_from_memory(await self._forgetting.documents([document.id]))
        deletion = ingestion.DeleteDocumentRequest(scope=own, document_id=document.id)
        with detached("edge", own):  # finish the deletion even if the caller has lost its rights
            await self._ingestion.DeleteDocument(deletion, timeout=self._timeout)
        self._bus.changed(document.id, document.collection_id)
        await self._jobs.forget_document(document.id)
        return int(removed)
