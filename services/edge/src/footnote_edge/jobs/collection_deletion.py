"""Deletes a collection as an operation: hidden at once, then its files, its chunks, itself."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from footnote.edge.v1.operations_pb2 import OPERATION_STATE_CANCELLED, OPERATION_STATE_SUCCEEDED
from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.errors import AlreadyExists, NotFound

from footnote_edge.conversations.ports import Forgetting, Forgotten
from footnote_edge.jobs.ledger_retention import LedgerRetention
from footnote_edge.jobs.ports import OperationStore
from footnote_edge.jobs.retrying import until_available
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings

LIST_PAGE = 100
"""Documents deleted between two progress updates."""


class CollectionDeletion:
    """The steps of deleting a collection; each is idempotent."""

    def __init__(
        self,
        stages: Stages,
        forgetting: Forgetting,
        records: LedgerRetention,
        store: OperationStore,
        settings: Settings,
    ) -> None:
        self._forgetting = forgetting
        self._stages = stages
        self._records = records
        self._store = store
        self._timeout = settings.call_timeout_seconds
        self._ceiling = settings.retry_ceiling_seconds

    async def hide(self, scope: Scope, collection_id: str, *, restore: bool = False) -> None:
        """Hide a collection, or show it again; raises AlreadyExists if its name was reused."""
        request = indexing.HideCollectionRequest(scope=scope, collection=collection_id, restore=restore)
        await self._stages.indexing.HideCollection(request, timeout=self._timeout)

    async def begin(self, scope: Scope, operation_id: str, collection_id: str) -> bool:
        """Begin to delete; if cancelled, show the collection again and return False."""
        while not await self._store.begin(operation_id):
            row = await self._store.read(operation_id)
            if row is None or row.end_time is not None:
                return False
            if await until_available(partial(self.restore, scope, operation_id, collection_id), self._ceiling):
                return False
        return True

    async def restore(self, scope: Scope, operation_id: str, collection_id: str) -> bool:
        """End a cancelled deletion that has not begun; False if the collection's name was reused: then it continues."""
        try:
            await self.hide(scope, collection_id, restore=True)
        except AlreadyExists:
            await self._store.keep_on(operation_id)
            return False
        except NotFound:
            pass  # already deleted
        await self._store.end(operation_id, OPERATION_STATE_CANCELLED)
        return True

    async def files(self, scope: Scope, operation_id: str, collection_id: str) -> None:
        """Hide a collection if it is visible, and delete all its documents."""
        hide = partial(self.hide, scope, collection_id)
        with suppress(NotFound):  # already deleted, except for files added in between
            await until_available(hide, self._ceiling)
        request = ingestion.ListDocumentsRequest(scope=scope, collection_ids=[collection_id], page_size=LIST_PAGE)
        list_ = partial(self._stages.ingestion.ListDocuments, request, timeout=self._timeout)
        row = await self._store.read(operation_id)
        total, done = (0, 0) if row is None else (row.total, row.done)
        while (page := await until_available(list_, self._ceiling)).documents:
            total = max(total, done + page.total_size)
            done = max(done, total - page.total_size)
            await self._store.note(operation_id, total=total, done=done)
            ids = [document.id for document in page.documents]
            for document_id in ids:
                await self._delete(scope, document_id)
            await self._leave(await self._forgetting.documents(ids))
            await self._records.forget(ids)
            done += len(ids)
            await self._store.note(operation_id, total=max(total, done), done=done)

    async def _leave(self, forgotten: Sequence[Forgotten]) -> None:
        """Remove answers derived from deleted documents from memory."""
        for one in forgotten:
            scope = Scope(tenant_id=one.tenant_id, user_id=one.user_id)
            request = indexing.DeleteMessagesRequest(
                scope=scope, conversation_id=one.conversation_id, message_ids=[one.message_id]
            )
            call = partial(self._stages.indexing.DeleteMessages, request, timeout=self._timeout)
            await until_available(call, self._ceiling)

    async def _delete(self, scope: Scope, document_id: str) -> None:
        request = ingestion.DeleteDocumentRequest(scope=scope, document_id=document_id)
        call = partial(self._stages.ingestion.DeleteDocument, request, timeout=self._timeout)
        await until_available(call, self._ceiling)

    async def chunks(self, scope: Scope, operation_id: str, collection_id: str) -> None:
        """Delete a collection with its chunks, and remove it from the answers derived from it."""
        forget = partial(self._forgetting.collection, collection_id)
        await self._leave(await until_available(forget, self._ceiling))
        request = indexing.DeleteCollectionRequest(scope=scope, collection=collection_id)
        call = partial(self._stages.indexing.DeleteCollection, request, timeout=self._timeout)
        try:
            response = await until_available(call, self._ceiling)
        except NotFound:
            return  # this step did it before a crash
        await self._store.note(operation_id, chunks=response.chunks_deleted)

    async def finish(self, operation_id: str) -> None:
        """Note that the deletion is complete."""
        await self._store.end(operation_id, OPERATION_STATE_SUCCEEDED)
