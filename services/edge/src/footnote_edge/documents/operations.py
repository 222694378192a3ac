"""Long-running operations for callers: begin, get, watch, cancel."""

import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from uuid import uuid4

from footnote.edge.v1 import operations_pb2 as pb
from footnote.edge.v1.collections_pb2 import DeleteCollectionRequest
from footnote.edge.v1.documents_pb2 import ReindexDocumentsRequest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR
from footnote_kit.access import Access, collection_missing, system_scope
from footnote_kit.context import detached
from footnote_kit.errors import (
    Aborted,
    AlreadyExists,
    FailedPrecondition,
    FootnoteError,
    Internal,
    InvalidArgument,
    NotFound,
    PermissionDenied,
)
from footnote_kit.logs import get_logger
from footnote_kit.paging import Page, moment, text
from footnote_kit.status import to_proto
from google.rpc.status_pb2 import Status

from footnote_edge.collections.collections import Collections
from footnote_edge.collections.permissions import Permissions
from footnote_edge.documents.documents import Documents
from footnote_edge.gateway.quotas import Quotas
from footnote_edge.gateway.request_ids import RequestIds
from footnote_edge.jobs.collection_deletion import CollectionDeletion
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.jobs.ports import Item, OperationJob, OperationStore, Outcome, StoredOperation, new_operation
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.jobs.reindexing import item_of
from footnote_edge.settings import Settings

MOST_DOCUMENTS = 500
"""Documents that one call may name."""

LEAST_PAUSE = 0.1
CANCEL_SECONDS = 5.0
"""Seconds that a cancel waits for the operation to stop."""

_log = get_logger(__name__)


class Operations:
    """Begins operations after an access check; their jobs run under the service's own account."""

    def __init__(
        self,
        store: OperationStore,
        jobs: Jobs,
        collections: Collections,
        documents: Documents,
        permissions: Permissions,
        deletion: CollectionDeletion,
        request_ids: RequestIds,
        quotas: Quotas,
        bus: ProgressBus,
        settings: Settings,
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._collections = collections
        self._documents = documents
        self._permissions = permissions
        self._deletion = deletion
        self._request_ids = request_ids
        self._quotas = quotas
        self._bus = bus
        self._poll = settings.watch_poll_seconds
        self._lifetime = settings.watch_lifetime_seconds

    async def reindex(self, scope: Scope, request: ReindexDocumentsRequest) -> pb.Operation:
        """Begin to reindex documents and return the operation; raises refusals."""
        await self._quotas.admit(scope.tenant_id)
        if not (request.document_ids or request.collection):
            raise InvalidArgument.field("document_ids", "or collection must be given")
        if request.document_ids and request.collection:
            raise InvalidArgument.field("collection", "must be empty where document_ids are given")
        if request.outdated_only and (request.document_ids or request.failed_only):
            raise InvalidArgument.field("outdated_only", "goes with collection, and without failed_only")
        claim = await self._request_ids.claim(scope, request)
        operation_id = uuid4().hex if claim is None else claim.id_of("operation")
        if claim is not None and (known := await self._store.read(operation_id)) is not None:
            return await self._shown(scope, known)
        items, collection_id = await self._wanted(scope, request)
        kind = pb.OPERATION_KIND_REINDEX_DOCUMENTS
        row = new_operation(scope, operation_id, kind, collection_id)
        row.whole, row.failed_only = not request.document_ids, request.failed_only
        if request.outdated_only:
            row.outdated_for = await self._collections.outdated.digest(scope, collection_id)
        row.total, row.skipped = len(items), sum(item.outcome == Outcome.SKIPPED for item in items)
        if await self._store.add(row, items):
            await self._jobs.enqueue(row)
        return await self.get(scope, operation_id)

    async def reindex_outdated(self, scope: Scope, collection: Collection) -> pb.Operation | None:
        """Begin to reindex a collection's outdated documents; None if there are none."""
        if not collection.outdated_documents:
            return None
        return await self.reindex(scope, ReindexDocumentsRequest(collection=collection.id, outdated_only=True))

    async def _wanted(self, scope: Scope, request: ReindexDocumentsRequest) -> tuple[list[Item], str]:
        """Return the named documents, none for a whole collection; and the collection in that case."""
        if not request.document_ids:
            return [], (await self._collections.get(scope, request.collection, Access.WRITE)).id
        ids = list(dict.fromkeys(request.document_ids))
        if len(ids) > MOST_DOCUMENTS:
            raise InvalidArgument.field(
                "document_ids", f"must name at most {MOST_DOCUMENTS} documents, or none of a collection"
            )
        documents = [await self._documents.get(scope, document_id) for document_id in ids]
        await self._permissions.documents(scope, documents, Access.WRITE)
        if request.failed_only:
            documents = [document for document in documents if document.state == DOCUMENT_STATE_ERROR]
        collections = {document.collection_id for document in documents}
        return [item_of(document) for document in documents], collections.pop() if len(collections) == 1 else ""

    async def delete_collection(self, scope: Scope, request: DeleteCollectionRequest) -> pb.Operation | None:
        """Hide a collection and begin to delete it; None if it is missing and `allow_missing` is set.

        Raises Aborted for a missing one while a cancelled deletion is being undone: it may be that collection.
        """
        undoing = await self._undoing(scope.tenant_id)  # read first: the undo may end before the collection is read
        try:
            collection = await self._collections.get(scope, request.collection, Access.MANAGE)
        except NotFound:
            if undoing:
                raise Aborted("The deletion of a collection is being undone; try again in a moment") from None
            if not request.allow_missing:
                raise
            return None
        if request.etag not in ("", collection.etag):
            raise Aborted(f"Collection '{collection.name}' was changed by another call; read it again")
        row = new_operation(scope, uuid4().hex, pb.OPERATION_KIND_DELETE_COLLECTION, collection.id)
        row.total = collection.document_count
        if not await self._store.add(row):
            return await self._under_way(scope, collection)
        try:
            # Under the service's own account: a retry after a lost response must still find the collection.
            with detached("edge", system_scope(row.tenant_id, row.user_id)):
                await self._deletion.hide(system_scope(row.tenant_id, row.user_id), collection.id)
        except FootnoteError:
            # It may be hidden or not: the cancelled job makes it visible and deletes nothing.
            await self._store.cancel(row.id, [pb.OPERATION_STATE_QUEUED])
            await self._jobs.enqueue(row)
            raise
        await self._collections.forget(scope, collection)
        await self._jobs.enqueue(row)
        return await self.get(scope, row.id)

    async def _undoing(self, tenant_id: str) -> bool:
        """Return whether a collection of a tenant is invisible only until its cancelled deletion has ended."""
        return any(
            row.cancelling and row.tenant_id == tenant_id and row.kind == pb.OPERATION_KIND_DELETE_COLLECTION
            for row in await self._store.unfinished()
        )

    async def _under_way(self, scope: Scope, collection: Collection) -> pb.Operation:
        """Return a collection's deletion that a concurrent call has begun."""
        row = await self._store.deletion_of(collection.id)
        if row is None or row.cancelling:
            raise Aborted(f"Another user's deletion of '{collection.name}' has just ended; read it again")
        try:
            return await self.get(scope, row.id)
        except NotFound:
            raise collection_missing(collection.name) from None  # the same error as a moment later

    async def get(self, scope: Scope, operation_id: str) -> pb.Operation:
        """Return an operation that the caller may see; raises NotFound."""
        if not operation_id:
            raise InvalidArgument.field("operation_id", "must be given")
        try:
            row = await self._store.get(scope, operation_id)
        except NotFound:
            found = await self._store.read(operation_id)
            if found is None or not await self._may_follow(scope, found):
                raise
            row = found
        return await self._shown(scope, row)

    async def _may_follow(self, scope: Scope, row: StoredOperation) -> bool:
        """Return whether a caller may see another user's operation: one of a source that the caller may see."""
        if row.tenant_id != scope.tenant_id or not row.source_id:
            return False
        try:
            await self._permissions.collection(scope, Collection(id=row.collection_id), Access.WRITE, exact=False)
        except (NotFound, PermissionDenied):
            return False
        return True

    async def page(self, scope: Scope, request: pb.ListOperationsRequest) -> pb.ListOperationsResponse:
        """Return a page of the operations that the caller may see."""
        for field, values in (("kinds", request.kinds), ("states", request.states)):
            if 0 in values:
                raise InvalidArgument.field(field, "must not hold UNSPECIFIED; empty means all")
        collection_id = await self._collection_id(scope, request.collection) if request.collection else ""
        page = Page.of(scope, request, kinds=(moment, text))
        rows, token, total = await self._store.page(scope, page, request.kinds, request.states, collection_id)
        names = await self.names(scope, {row.collection_id for row in rows})
        return pb.ListOperationsResponse(
            operations=[_operation(row, names) for row in rows], next_page_token=token, total_size=total
        )

    async def _collection_id(self, scope: Scope, name: str) -> str:
        try:
            return (await self._collections.get(scope, name)).id
        except NotFound:
            return name  # the id of a deleted collection: only the caller's own operations on it are shown

    async def watch(self, scope: Scope, operation_id: str) -> AsyncGenerator[pb.Operation]:
        """Yield an operation after each change until it has ended; raises NotFound."""
        end = time.monotonic() + self._lifetime
        seen: pb.Operation | None = None
        with self._bus.watching(operation_id) as watcher:
            while True:
                now = await self.get(scope, operation_id)
                if now != seen:
                    seen = now
                    yield now
                rest = end - time.monotonic()
                if now.HasField("end_time") or rest <= 0:
                    return
                await watcher.pause(min(LEAST_PAUSE, rest), min(self._poll, rest))

    async def cancel(self, scope: Scope, operation_id: str) -> pb.Operation:
        """Cancel an operation and return it; raises FailedPrecondition if it can no longer be cancelled."""
        if not operation_id:
            raise InvalidArgument.field("operation_id", "must be given")
        row = await self._store.get(scope, operation_id)
        if row.kind == pb.OPERATION_KIND_DELETE_COLLECTION:
            await self._cancel_deletion(scope, row)
        elif row.kind == pb.OPERATION_KIND_DELETE_SOURCE:
            raise FailedPrecondition(
                "The source is being deleted already; that cannot be undone.",
                metadata={"state": "RUNNING", "requested": "CANCELLED"},
            )
        else:
            await self._cancel_reindex(scope, row)
        return await self.get(scope, operation_id)

    async def _cancel_reindex(self, scope: Scope, row: StoredOperation) -> None:
        if await self._store.withdraw(row.id):
            return
        if not await self._store.cancel(row.id, [pb.OPERATION_STATE_RUNNING]):
            await self._refuse_unless_cancelled(scope, row)
            return
        end = time.monotonic() + CANCEL_SECONDS
        with self._bus.watching(row.id) as watcher:
            while time.monotonic() < end and not (await self.get(scope, row.id)).HasField("end_time"):
                await watcher.pause(LEAST_PAUSE, self._poll)

    async def _cancel_deletion(self, scope: Scope, row: StoredOperation) -> None:
        if not await self._store.cancel(row.id, [pb.OPERATION_STATE_QUEUED]):
            await self._refuse_unless_cancelled(scope, row)
            return
        with detached("edge", system_scope(row.tenant_id, row.user_id)):
            restored = await self._deletion.restore(system_scope(row.tenant_id, row.user_id), row.id, row.collection_id)
        if not restored:
            raise FailedPrecondition(
                "Another collection now has its name: rename that one, then cancel again.",
                metadata={"state": "QUEUED", "requested": "CANCELLED"},
            )
        self._permissions.changed(scope)

    async def _refuse_unless_cancelled(self, scope: Scope, row: StoredOperation) -> None:
        now = pb.OperationState.ValueType((await self._store.get(scope, row.id)).state)
        if now == pb.OPERATION_STATE_CANCELLED:
            return
        state = pb.OperationState.Name(now).removeprefix("OPERATION_STATE_")
        why = (
            "The collection is being deleted already; that cannot be undone."
            if now == pb.OPERATION_STATE_RUNNING
            else f"The operation has ended: {state}."
        )
        raise FailedPrecondition(why, metadata={"state": state, "requested": "CANCELLED"})

    async def tend(self) -> None:
        """Enqueue operations noted before a crash, fail those that lost their job, delete old ones.

        A job that returned has ended its operation, unless edge's database lost that commit: it runs once more. A
        deletion that is still queued does so only where its collection is gone: otherwise it may have been cancelled.
        """
        jobs = {row.id: await self._jobs.operation_job(row.id) for row in await self._store.unfinished()}
        for row in await self._store.unfinished():  # read again: a job that just returned has ended its operation
            job = jobs.get(row.id)
            queued = row.kind == pb.OPERATION_KIND_DELETE_COLLECTION and row.state == pb.OPERATION_STATE_QUEUED
            if job is OperationJob.RETURNED and queued:
                job = await self._returned_deletion(row)
            if job in {OperationJob.MISSING, OperationJob.RETURNED}:
                await self._jobs.enqueue(row, repeated=job is OperationJob.RETURNED)
            elif job is OperationJob.FAILED:
                lost = Internal("The operation lost its job; start it again.")
                _log.error("operation_lost", operation_id=row.id)
                await self._store.end(row.id, pb.OPERATION_STATE_FAILED, to_proto(lost).SerializeToString())
        await self._store.sweep()

    async def _returned_deletion(self, row: StoredOperation) -> OperationJob | None:
        """Return RETURNED to repeat a deletion; FAILED if the collection exists, and show it; None to check later."""
        try:
            with detached("edge", system_scope(row.tenant_id, row.user_id)):
                await self._deletion.hide(system_scope(row.tenant_id, row.user_id), row.collection_id, restore=True)
        except NotFound:
            return OperationJob.RETURNED
        except AlreadyExists:  # it stays hidden: another collection has its name
            return OperationJob.FAILED
        except FootnoteError as error:
            _log.info("operation_postponed", operation_id=row.id, reason=error.reason)
            return None
        return OperationJob.FAILED

    def shown(self, row: StoredOperation, names: Mapping[str, str]) -> pb.Operation:
        """Return an operation in its public form; `names` are collection names by id."""
        return _operation(row, names)

    async def _shown(self, scope: Scope, row: StoredOperation) -> pb.Operation:
        names = await self.names(scope, {row.collection_id})
        operation = _operation(row, names)
        if row.kind == pb.OPERATION_KIND_REINDEX_DOCUMENTS and (not row.collection_id or operation.collection):
            operation.reindex_documents.document_ids.extend(await self._store.named(row.id))
        return operation

    async def names(self, scope: Scope, ids: Iterable[str]) -> dict[str, str]:
        """Return the names of those collections that the caller can see now, as far as indexing answers."""
        wanted = {one for one in ids if one}
        try:
            return await self._collections.names(scope, wanted) if wanted else {}
        except FootnoteError as error:
            _log.info("names_unknown", reason=error.reason)
            return {}


def _operation(row: StoredOperation, names: Mapping[str, str]) -> pb.Operation:
    operation = pb.Operation(
        id=row.id,
        kind=row.kind,  # type: ignore[arg-type]
        state=row.state,  # type: ignore[arg-type]
        collection_id=row.collection_id,
        collection=names.get(row.collection_id, ""),
        total=row.total,
        done=row.done,
        failed=row.failed,
        skipped=row.skipped,
        owner_id=row.user_id,
        error=Status.FromString(row.error) if row.error else None,
    )
    if row.kind == pb.OPERATION_KIND_DELETE_COLLECTION:
        operation.delete_collection.chunks_deleted = row.chunks
    elif row.kind == pb.OPERATION_KIND_SYNC_SOURCE:
        operation.sync_source.source_id = row.source_id
    elif row.kind == pb.OPERATION_KIND_DELETE_SOURCE:
        operation.delete_source.source_id = row.source_id
    else:
        operation.reindex_documents.SetInParent()
    operation.create_time.FromDatetime(row.create_time)
    if row.end_time is not None:
        operation.end_time.FromDatetime(row.end_time)
    return operation
