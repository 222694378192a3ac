"""The durable workflows of operations; `workflows` describes what all workflows share."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from dbos import DBOS, SetEnqueueOptions, SetWorkflowID
from footnote.edge.v1.operations_pb2 import (
    OPERATION_KIND_DELETE_COLLECTION,
    OPERATION_KIND_REINDEX_DOCUMENTS,
    OPERATION_STATE_FAILED,
)
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit import names
from footnote_kit.access import system_scope
from footnote_kit.context import detached
from footnote_kit.errors import FootnoteError, Internal
from footnote_kit.logs import get_logger
from footnote_kit.status import to_proto
from footnote_kit.telemetry import span

from footnote_edge.jobs.ports import StoredOperation
from footnote_edge.jobs.retrying import until_available
from footnote_edge.jobs.workflows import Work, active_work, enqueue_document
from footnote_edge.jobs.workflows import step as once

OPERATIONS = "operations"
MOST_AT_WORK = 256
"""Maximum operations that one replica runs for all tenants; most of them wait for documents."""

R = TypeVar("R")

_log = get_logger(__name__)


def workflow_id(operation_id: str, *, repeated: bool = False) -> str:
    """Return the name of an operation's workflow, or of its only repetition."""
    return f"operation:{operation_id}:again" if repeated else f"operation:{operation_id}"


async def step(name: str, operation: Callable[[], Awaitable[R]]) -> R:
    """Run a step of an operation, with retries while a dependency is down, edge's own database included."""
    return await once(name, lambda: until_available(operation, active_work().retry_ceiling))


WORKFLOWS: dict[int, Callable[[str, str, str, str], Coroutine[Any, Any, None]]] = {}
"""Workflow by kind of operation; takes tenant, user, operation and collection."""


async def enqueue_operation(row: StoredOperation, *, repeated: bool = False) -> None:
    """Enqueue an operation; idempotent.

    Each tenant has its own queues, and deletions do not wait behind reindexing, which may take hours.
    """
    name, queue = workflow_id(row.id, repeated=repeated), f"{row.kind}:{row.tenant_id}"
    with SetWorkflowID(name), SetEnqueueOptions(queue_partition_key=queue):
        values = (row.tenant_id, row.user_id, row.id, row.collection_id)
        await active_work().enqueue(OPERATIONS, WORKFLOWS[row.kind], *values)


@DBOS.workflow(name="operation_delete_collection", max_recovery_attempts=None)
async def delete(tenant: str, user: str, operation_id: str, collection_id: str) -> None:
    """Delete a collection's files, then the collection with its chunks, then later uploads."""
    work, scope = active_work(), system_scope(tenant, user)
    with work.running(), detached("edge", scope), span("delete collection", {names.COLLECTION_ID: collection_id}):
        await ending(work, scope, operation_id, partial(_delete, work, scope, operation_id, collection_id))


async def _delete(work: Work, scope: Scope, operation_id: str, collection_id: str) -> None:
    deletion, which = work.deletion, (scope, operation_id, collection_id)
    if not await step("begin", lambda: deletion.begin(*which)):
        return
    await step("files", lambda: deletion.files(*which))
    await step("chunks", lambda: deletion.chunks(*which))
    await step("latecomers", lambda: deletion.files(*which))
    await step("finish", lambda: deletion.finish(operation_id))
    _log.info("collection_deleted", collection_id=collection_id)


@DBOS.workflow(name="operation_reindex_documents", max_recovery_attempts=None)
async def reindex(tenant: str, user: str, operation_id: str, collection_id: str) -> None:
    """Begin new revisions of documents, enqueue their jobs, and wait until they end."""
    work, scope = active_work(), system_scope(tenant, user)
    with work.running(), detached("edge", scope), span("reindex documents", {names.COLLECTION_ID: collection_id}):
        await ending(work, scope, operation_id, partial(_reindex, work, scope, operation_id))


async def _reindex(work: Work, scope: Scope, operation_id: str) -> None:
    reindexing = work.reindexing
    if not await step("begin", lambda: work.operations.begin(operation_id)):
        return  # cancelled while queued
    await step("take up", lambda: reindexing.take_up(scope, operation_id))
    after, more = "", True
    while more:
        begun, after = await step("renew", partial(reindexing.begin, scope, operation_id, after))
        for document_id, owner, revision in begun:
            await enqueue_document(scope.tenant_id, owner, document_id, revision, f"{document_id}:{revision}")
        more = bool(after)
    await step("follow", lambda: reindexing.follow(scope, operation_id))
    if await step("look", lambda: work.operations.is_cancelled(operation_id)):
        await step("withdraw", lambda: reindexing.withdraw(scope, operation_id))
    outcome = await step("finish", lambda: reindexing.finish(operation_id))
    _log.info("documents_reindexed", operation_id=operation_id, outcome=outcome)


WORKFLOWS |= {OPERATION_KIND_DELETE_COLLECTION: delete, OPERATION_KIND_REINDEX_DOCUMENTS: reindex}


async def ending(work: Work, scope: Scope, operation_id: str, operation: Callable[[], Awaitable[None]]) -> None:
    """Run an operation and record its failure. An interruption is no failure: it continues at the next launch."""
    try:
        await operation()
    except Exception as error:
        _log.error("operation_failed", operation_id=operation_id, exc_info=error)
        failure = error if isinstance(error, FootnoteError) else Internal("The operation failed; the log says more.")
        await step("fail", partial(_fail, work, scope, operation_id, failure))


async def _fail(work: Work, scope: Scope, operation_id: str, error: FootnoteError) -> None:
    row = await work.operations.read(operation_id)
    if row is not None and row.kind == OPERATION_KIND_DELETE_COLLECTION:
        try:
            show = partial(work.deletion.hide, scope, row.collection_id, restore=True)
            await until_available(show, work.retry_ceiling)
        except FootnoteError as refusal:  # the collection or its name is gone: only the ids still find the rest
            _log.warning("collection_not_restored", collection_id=row.collection_id, reason=refusal.reason)
    await work.operations.end(operation_id, OPERATION_STATE_FAILED, to_proto(error).SerializeToString())
