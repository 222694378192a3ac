"""The durable workflows: module functions, as dbos requires, which find the service's parts in `_active`.

Each is a chain of idempotent steps. Operations store each step's result and do not repeat it after a crash. A
document's or a conversation's job is repeated whole, and detects its own earlier effects. Three ledger writes per job
would cost more than the parsing that a crash repeats.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from dbos import DBOS, SetEnqueueOptions, SetWorkflowID
from dbos import error as dbos_errors
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_kit import names
from footnote_kit.access import system_scope
from footnote_kit.admission.fair_slots import FairSlots
from footnote_kit.context import detached
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import remote_context, span

from footnote_edge.jobs.chores import Chores
from footnote_edge.jobs.collection_deletion import CollectionDeletion
from footnote_edge.jobs.ports import OperationStore
from footnote_edge.jobs.postponing import Postponed, Postponements
from footnote_edge.jobs.processing import Processor, collection_of, job_of
from footnote_edge.jobs.queue_polling import QueuePolling
from footnote_edge.jobs.reindexing import Reindexing
from footnote_edge.jobs.retrying import until_available

P = ParamSpec("P")
R = TypeVar("R")

DOCUMENTS, BACKGROUND = "documents", "background"

MOST_AT_HAND, MOST_OF_TENANT = 32, 256
"""Documents of a user, and of a tenant, that wait in this process; further ones wait in the queue."""

_log = get_logger(__name__)


class Work:
    """The components and running tasks of the workflows."""

    def __init__(
        self,
        processor: Processor,
        chores: Chores,
        operations: OperationStore,
        reindexing: Reindexing,
        deletion: CollectionDeletion,
        postponements: Postponements,
        retry_ceiling: float,
        places: int,
    ) -> None:
        self.processor = processor
        self.chores = chores
        self.operations = operations
        self.reindexing = reindexing
        self.deletion = deletion
        self.postponements = postponements
        self.take_up: Callable[[Document], Awaitable[object]] | None = None
        """Enqueues a document without a job; set by `Jobs`."""
        self.retry_ceiling = retry_ceiling
        """Longest pause between two attempts at an unavailable service, in seconds."""
        self.slots = FairSlots(places)
        """Slots for documents, whether begun at once or from the queue."""
        self.queued: Counter[tuple[str, str]] = Counter()
        """Documents enqueued by this process and not started yet, by tenant and owner."""
        self.beginnings: set[asyncio.Task[None]] = set()
        self.tasks: set[asyncio.Task[Any]] = set()
        self.polling: dict[str, QueuePolling] = {}
        """By queue, when it is polled, where this process alone enqueues and runs jobs."""
        self._closing = False

    def begins_at_once(self, tenant: str, owner: str) -> bool:
        """Return whether a user's next document can bypass the queue: few wait here, and none is queued."""
        if self.slots.idle:
            self.queued.clear()  # also duplicates in the queue, which never start
        if self.queued[tenant, owner] or self.slots.waiting(tenant) >= MOST_OF_TENANT:
            return False
        return self.slots.waiting(tenant, owner) < MOST_AT_HAND

    def left_queue(self, tenant: str, owner: str) -> None:
        """Note that a queued document has started; those from before this process are not counted."""
        self.queued[tenant, owner] -= 1
        if self.queued[tenant, owner] <= 0:
            del self.queued[tenant, owner]

    async def enqueue(
        self, queue: str, workflow: Callable[P, Coroutine[Any, Any, object]], *values: P.args, **more: P.kwargs
    ) -> None:
        """Enqueue a job and wake its queue."""
        await DBOS.enqueue_workflow_async(queue, workflow, *values, **more)
        self.wake(queue)

    def wake(self, *queues: str) -> None:
        """Wake queues that may have a job to start, by default all."""
        for queue in queues or self.polling:
            if (polling := self.polling.get(queue)) is not None:
                polling.poll_now()

    async def postpone(self, scope: Scope, document: Document, postponed: Postponed) -> None:
        """Free a document's place, enqueue it again later, and note when."""
        if (take_up := self.take_up) is not None and not self._closing:
            failing = "" if postponed.seconds else collection_of(scope, document)
            attempts, pause = self.postponements.postpone(
                job_of(document), lambda: take_up(document), postponed.seconds, failing
            )
            with suppress(FootnoteError):  # deleted or replaced meanwhile: the next attempt finds that out
                await self.processor.note_waiting(scope, document, postponed.error, attempts, pause)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Register the current task, so that close cancels it."""
        task = asyncio.current_task()
        if self._closing or task is None:
            raise asyncio.CancelledError
        self.tasks.add(task)
        try:
            yield
        finally:
            self.tasks.discard(task)
            self.wake()  # its place is free

    def begun(self, beginning: asyncio.Task[None]) -> None:
        """Log the error of a failed start, since its caller may have been cancelled."""
        self.beginnings.discard(beginning)
        if not beginning.cancelled() and (error := beginning.exception()) is not None:
            _log.warning("document_not_begun", error=type(error).__name__)

    async def end(self) -> None:
        """Cancel running tasks, and refuse new ones."""
        self._closing = True
        await asyncio.gather(*self.beginnings, return_exceptions=True)
        await self.postponements.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


_active: Work | None = None
_begun_here: ContextVar[bool] = ContextVar("begun_here", default=False)
"""Whether a job bypassed the queue."""


def activate(work: Work | None) -> None:
    """Set the workflows' `work`, or clear it with None; RuntimeError if another one is set."""
    global _active
    if work is not None and _active is not None:
        raise RuntimeError("another edge service keeps jobs in this process")
    _active = work


def active_work() -> Work:
    """Return the workflows' components in this process."""
    if _active is None:
        raise asyncio.CancelledError  # a job claimed during shutdown: recovered at the next launch
    return _active


@DBOS.workflow(name="process_document", max_recovery_attempts=None)
async def process_document(tenant: str, owner: str, document_id: str, revision: int, traceparent: str) -> str:
    """Parse and index one revision of a document; its span is linked to the upload's trace."""
    work, scope = active_work(), system_scope(tenant, owner)
    if not _begun_here.get():
        work.left_queue(tenant, owner)
        work.wake(DOCUMENTS)  # poll for the next job in the queue
    origin = remote_context(traceparent) if traceparent else None
    attributes: dict[str, str | int] = {
        names.TENANT_ID: tenant,
        names.DOCUMENT_ID: document_id,
        names.REVISION: revision,
    }
    async with _turn(work, scope):
        with span("process document", attributes, links=(origin,) if origin else ()):
            return await _process(work, scope, document_id, revision)


@asynccontextmanager
async def _turn(work: Work, scope: Scope) -> AsyncIterator[None]:
    """Wait for a processing slot."""
    with work.running(), detached("edge", scope):
        async with work.slots.slot(scope.tenant_id, scope.user_id):
            yield


async def _process(work: Work, scope: Scope, document_id: str, revision: int) -> str:
    document = await work.processor.begin(scope, document_id, revision)
    if document is None:
        work.postponements.ended(f"{document_id}:{revision}")
        return "SKIPPED"
    try:
        move = await work.processor.index(scope, document)
    except Postponed as rest:
        await work.postpone(scope, document, rest)
        return "PUT_OFF"
    work.postponements.ended(job_of(document), collection_of(scope, document))
    outcome = await work.processor.finish(scope, document, move)
    _log.info("document_processed", document_id=document_id, revision=revision, outcome=outcome)
    return outcome


@DBOS.workflow(name="remember_messages", max_recovery_attempts=None)
async def remember_messages(tenant: str, user: str, conversation_id: str, message_ids: Sequence[str] = ()) -> None:
    """Make a conversation's messages searchable and title it, beside each other: either may wait for its stage.

    `message_ids` are those that the job is for; a job of an earlier version names none.
    """
    work, scope = active_work(), system_scope(tenant, user)
    with work.running(), detached("edge", scope), span("remember messages", {names.CONVERSATION_ID: conversation_id}):
        await asyncio.gather(
            with_retries(lambda: work.chores.embed(scope, conversation_id, message_ids)),
            with_retries(lambda: work.chores.title(scope, conversation_id)),
        )


@DBOS.workflow(name="forget_messages", max_recovery_attempts=None)
async def forget_messages(tenant: str, user: str, conversation_id: str, message_ids: list[str]) -> None:
    """Remove a deleted conversation, or only some of its messages, from memory search."""
    work, scope = active_work(), system_scope(tenant, user)
    with work.running(), detached("edge", scope), span("forget messages", {names.CONVERSATION_ID: conversation_id}):
        await with_retries(lambda: work.chores.forget(scope, conversation_id, message_ids))


async def begin_document(
    tenant: str, owner: str, document_id: str, revision: int, job: str, traceparent: str = ""
) -> None:
    """Record the job of a document's revision and start it here, without the queue; does nothing for a known job.

    Once recorded it must start, even if the caller is cancelled: no other code starts it while this process lives.
    """

    async def begin() -> None:
        _begun_here.set(True)
        with SetWorkflowID(job):
            await DBOS.start_workflow_async(process_document, tenant, owner, document_id, revision, traceparent)

    work, task = active_work(), asyncio.create_task(begin())
    work.beginnings.add(task)
    task.add_done_callback(work.begun)
    await asyncio.shield(task)


async def enqueue_document(
    tenant: str, owner: str, document_id: str, revision: int, job: str, traceparent: str = ""
) -> None:
    """Enqueue the job of a document's revision; idempotent under one name."""
    with SetWorkflowID(job), SetEnqueueOptions(queue_partition_key=tenant):
        values = (tenant, owner, document_id, revision, traceparent)
        await active_work().enqueue(DOCUMENTS, process_document, *values)


async def begin_again(job: str, tenant: str, version: str) -> bool:
    """Enqueue a document's ended job once more; return whether it had ended, since another replica may be first."""
    try:
        await DBOS.rewind_workflow_async(
            job, application_version=version, queue_name=DOCUMENTS, queue_partition_key=tenant
        )
    except dbos_errors.DBOSException:  # active meanwhile, or swept
        return False
    active_work().wake(DOCUMENTS)
    return True


async def with_retries(operation: Callable[[], Awaitable[R]]) -> R:
    """Retry a chore while a dependency is down, our own database included."""
    return await until_available(operation, active_work().retry_ceiling)


async def step(name: str, operation: Callable[[], Awaitable[R]]) -> R:
    """Run a workflow step and store its result, or return the stored one."""

    async def run() -> R:
        return await operation()

    result: R = await DBOS.run_step_async({"name": name}, run)
    return result
