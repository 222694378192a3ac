"""Durable jobs: accepted work is finished, even after crashes (dbos keeps the ledger).

A process has one dbos instance; `workflows` holds the workflows.
"""

import asyncio
import time
from collections.abc import Collection, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer, Queue, SetWorkflowID
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_UPLOADED
from footnote_kit.admission.fair_slots import SPARE
from footnote_kit.backoff import Backoff
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import current_traceparent

from footnote_edge.conversations.ports import Forgotten
from footnote_edge.jobs.claims import Claims
from footnote_edge.jobs.group_processing import GroupProcessor
from footnote_edge.jobs.groups import Groups
from footnote_edge.jobs.leases import Leases
from footnote_edge.jobs.ledger_retention import ACTIVE, RETURNED, LedgerRetention
from footnote_edge.jobs.operation_workflows import MOST_AT_WORK, OPERATIONS, enqueue_operation, workflow_id
from footnote_edge.jobs.ports import JobLedger, OperationJob, StoredOperation
from footnote_edge.jobs.postponing import comes_again
from footnote_edge.jobs.processing import job_of
from footnote_edge.jobs.queue_polling import QueuePolling, limit_polls
from footnote_edge.jobs.workflows import (
    BACKGROUND,
    DOCUMENTS,
    Work,
    activate,
    begin_again,
    begin_document,
    enqueue_document,
    forget_messages,
    process_document,
    remember_messages,
)
from footnote_edge.settings import Settings

APPLICATION_VERSION = "1"
"""Change only with a workflow's steps, so that jobs begun before an upgrade are finished after it."""

_EXECUTOR_THREADS = 32
_FILE_THREADS, _FILE_CONNECTIONS = 12, 6
"""For a file ledger, whose writers take turns: more would only wait, each with its own page cache."""
_LISTENER_SECONDS = 0.01
"""How often dbos' listener for messages to workflows checks whether it has to end; `limit_polls` ends it."""
_PAUSES = Backoff(0.25, 2.0)
_STORE_SECONDS = 3.0
"""Seconds that the end of the process waits for stores; a host gives each of its hooks 5."""

_log = get_logger(__name__)


class Jobs:
    """Enqueues and runs jobs; one instance per process."""

    def __init__(
        self,
        settings: Settings,
        ledger: JobLedger,
        work: Work,
        records: LedgerRetention,
        leases: Leases,
        claims: Claims,
        groups: GroupProcessor | None = None,
    ) -> None:
        self._claims = claims
        self._groups = None if groups is None else Groups(groups, work.slots, self._process_alone, claims)
        self._work = work
        work.take_up = self.process_if_idle
        self._records = records
        self._leases = leases
        self._settings = settings
        self._ledger = ledger
        self._stores: set[asyncio.Task[Any]] = set()

    @property
    def alone(self) -> bool:
        """Whether this process runs all jobs: a file ledger has no other replica."""
        return self._ledger.alone

    @property
    def _threads(self) -> int:
        return _FILE_THREADS if self.alone else _EXECUTOR_THREADS

    async def launch(self) -> None:
        """Open the ledger and resume unfinished jobs.

        Waits for a server lost in between as long as for one that is down at the start.
        """
        await self._ledger.prepare()
        activate(self._work)
        ends, failed = time.monotonic() + self._ledger.wait_seconds, 0
        while True:
            try:
                queues = await self._open()
                break
            except self._ledger.failures:
                await self._destroy()
                if self.alone or time.monotonic() > ends:
                    activate(None)
                    raise
            failed += 1
            _log.warning("database_waited_for", database="jobs", seconds=round(ends - time.monotonic()))
            await asyncio.sleep(_PAUSES.pause(failed))
        self._limit_polls(queues)
        await self._records.start()
        if not self.alone:  # a file ledger has one replica, which resumes its own jobs at start
            await self._leases.start()

    async def _open(self) -> tuple[Queue, Queue, Queue]:
        """Launch dbos and return its queues: documents, background, operations."""
        config = DBOSConfig(
            name="footnote-edge",
            system_database_url=self._ledger.url,
            executor_id=self._settings.executor(),
            application_version=APPLICATION_VERSION,
            serializer=DBOSPortableJSONSerializer(),
            enable_otlp=False,
            max_executor_threads=self._threads,
            log_level="WARNING",
            db_engine_kwargs=self._ledger.engine_options(),
            sys_db_pool_size=_FILE_CONNECTIONS if self.alone else None,
            notification_listener_polling_interval_sec=_LISTENER_SECONDS,
        )
        DBOS(config=config)
        # On the loop's own thread: dbos runs async workflows on the loop that launched it, to which our channels
        # belong.
        DBOS.launch()
        limit, often = self._settings.document_concurrency, self._settings.queue_polling_seconds
        rarely = max(0.25, often)
        # One partition per tenant, drawn in random order: a tenant's thousand files do not block another tenant's one.
        documents = await DBOS.register_queue_async(
            DOCUMENTS,
            worker_concurrency=limit + SPARE,  # spare places, for a tenant beside one at its limit
            partition_worker_concurrency=limit,
            polling_interval_sec=often,
            on_conflict="always_update",
        )
        background = await DBOS.register_queue_async(
            BACKGROUND,
            worker_concurrency=self._settings.background_concurrency,
            polling_interval_sec=rarely,
            on_conflict="always_update",
        )
        operations = await DBOS.register_queue_async(
            OPERATIONS,
            worker_concurrency=MOST_AT_WORK,
            partition_worker_concurrency=self._settings.operation_concurrency,
            polling_interval_sec=rarely,
            on_conflict="always_update",
        )
        return documents, background, operations

    def _limit_polls(self, queues: tuple[Queue, Queue, Queue]) -> None:
        work, rarely = self._work, max(0.25, self._settings.queue_polling_seconds)

        def is_working() -> bool:
            return not self.alone or bool(work.tasks)  # another replica may enqueue at any time

        for queue, seconds in zip(queues, (rarely, 4 * rarely, 2 * rarely), strict=True):
            work.polling[queue.name] = QueuePolling(seconds, is_working)
        own = QueuePolling(4 * rarely, is_working)
        limit_polls(queues[0]._sys_db(), {queue.name: queue for queue in queues}, work.polling, own)

    async def close(self) -> None:
        """Stop working; unfinished jobs continue at the next launch."""
        if self._stores:  # the answers that this stop has cut
            _, late = await asyncio.wait(self._stores, timeout=_STORE_SECONDS)
            self._work.tasks.update(late)
        await self._records.close()
        if self._groups is not None:
            await self._groups.close()
        await self._work.end()
        await self._leases.close()
        await self._destroy()
        activate(None)

    async def _destroy(self) -> None:
        # dbos joins its threads: not on the event loop, and not on its executor, which dbos shuts down.
        with ThreadPoolExecutor(1) as thread:
            await asyncio.get_running_loop().run_in_executor(thread, DBOS.destroy)
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(self._threads))

    async def forget_document(self, document_id: str) -> None:
        """Remove a deleted document's records from the ledger."""
        await self._records.forget([document_id])

    async def process(self, document: Document) -> None:
        """Enqueue a revision of a document; idempotent."""
        if not await self.queue_in_groups([document]):
            await self._process_alone(document)

    async def queue_in_groups(self, documents: Sequence[Document]) -> set[str]:
        """Queue those of documents that may be processed in groups, in one transaction; return their ids."""
        if self._groups is None or not (small := [one for one in documents if self._groups.takes(one)]):
            return set()
        await self._groups.add(small, current_traceparent())
        return {one.id for one in small}

    async def _process_alone(self, document: Document) -> None:
        job = job_of(document)
        if document.state == DOCUMENT_STATE_UPLOADED:
            self._work.processor.remember_upload(document)
        tenant, owner = document.tenant_id, document.owner_id
        values = (tenant, owner, document.id, document.revision, job, current_traceparent())
        # The queue divides work among replicas; a single replica needs it only for overflow.
        if self.alone and self._work.begins_at_once(tenant, owner):
            await begin_document(*values)
            return
        self._work.queued[tenant, owner] += self.alone
        await enqueue_document(*values)

    async def active(self, jobs: Sequence[str]) -> set[str]:
        """Return those of these document jobs that are active; read at once, so give a page of them."""
        if not jobs:
            return set()  # to dbos, no names are all
        found = await DBOS.list_workflows_async(
            workflow_ids=list(jobs), status=list(ACTIVE), load_input=False, load_output=False
        )
        return {one.workflow_id for one in found}

    async def process_if_idle(self, document: Document, active: Collection[str] = ()) -> bool:
        """Enqueue a document without a live job, unless it is put off; return whether it was enqueued.

        `active` are jobs that need no look because they were active a moment ago.
        """
        job = job_of(document)
        if job in active:
            return False
        if self._work.postponements.waits(job) or (self._groups is not None and self._groups.holds(job)):
            return False
        if not self.alone and comes_again(document):
            return False  # another replica has put it off
        if await self._claims.elsewhere(document.id):
            return False
        status = await DBOS.get_workflow_status_async(job)
        if status is None:
            await self.process(document)
            return True
        # Where it ended without a trace on the document (put off, or before a database was restored), it begins anew
        # under its name: each look finds it by that, and the ledger holds one record of it however often that happens.
        if status.status in ACTIVE or not await begin_again(job, document.tenant_id, APPLICATION_VERSION):
            return False
        if status.created_at is not None:
            self._work.postponements.taken_on(job, status.created_at / 1000)
        return True

    async def enqueue(self, operation: StoredOperation, *, repeated: bool = False) -> None:
        """Enqueue an operation; it then runs to its end even after a crash."""
        await enqueue_operation(operation, repeated=repeated)

    async def operation_job(self, operation_id: str) -> OperationJob:
        """Return how far an operation's job is; that of its repetition, if it was repeated."""
        for repeated in (True, False):
            status = await DBOS.get_workflow_status_async(workflow_id(operation_id, repeated=repeated))
            if status is None:
                continue
            if status.status in ACTIVE:
                return OperationJob.ACTIVE
            returned = status.status == RETURNED and not repeated
            return OperationJob.RETURNED if returned else OperationJob.FAILED
        return OperationJob.MISSING

    async def oldest(self) -> datetime | None:
        """Return when the oldest unfinished document job was taken on; None if there is none.

        Of those that are put off, which have no active job, only this replica's are known.
        """
        found = await DBOS.list_workflows_async(
            status=list(ACTIVE), name=process_document.__qualname__, limit=1, load_input=False, load_output=False
        )
        moment = found[0].created_at if found else None
        recorded = None if moment is None else datetime.fromtimestamp(moment / 1000, UTC)
        here = None if self._groups is None else self._groups.oldest()
        times = (recorded, here, self._work.postponements.oldest(), await self._claims.oldest())
        return min((one for one in times if one is not None), default=None)

    def store_in_memory(self, scope: Scope, conversation_id: str, job: str, message_ids: Sequence[str]) -> None:
        """Title a conversation and embed its new messages in the background, without delaying the answer.

        `job` is a name that is used once. After a crash before the enqueue, the conversation's next answer makes up for
        it.
        """
        self.run_in_background(self._remember(scope, conversation_id, job, message_ids))

    async def _remember(self, scope: Scope, conversation_id: str, job: str, message_ids: Sequence[str]) -> None:
        try:
            with SetWorkflowID(f"remember:{job}"):
                values = (scope.tenant_id, scope.user_id, conversation_id, list(message_ids))
                await self._work.enqueue(BACKGROUND, remember_messages, *values)
        except Exception as error:  # the answer is stored; memory has to wait for the next one
            _log.error("remember_not_noted", conversation_id=conversation_id, error=type(error).__name__)

    async def store_in_memory_again(self, scope: Scope, conversation_id: str, period: int) -> bool:
        """Embed a conversation's missing messages, once per period; return whether a job was enqueued."""
        job = f"remember:{conversation_id}:again-{period}"
        if await DBOS.get_workflow_status_async(job) is not None:
            return False
        with SetWorkflowID(job):
            values = (scope.tenant_id, scope.user_id, conversation_id)
            await self._work.enqueue(BACKGROUND, remember_messages, *values)
        return True

    def remove_from_memory(self, scope: Scope, conversation_id: str, message_ids: Sequence[str]) -> None:
        """Remove messages that left their conversation from memory search, in the background.

        After a crash before the enqueue, reads of memory filter them, and they go with the conversation.
        """
        if message_ids:
            self.run_in_background(self._forget_or_log(scope, conversation_id, message_ids))

    def remove_forgotten_from_memory(self, forgotten: Sequence[Forgotten]) -> None:
        """Remove answers with deleted origins from memory search, in the background."""
        for one in forgotten:
            scope = Scope(tenant_id=one.tenant_id, user_id=one.user_id)
            self.remove_from_memory(scope, one.conversation_id, [one.message_id])

    async def _forget_or_log(self, scope: Scope, conversation_id: str, message_ids: Sequence[str]) -> None:
        try:
            await self._forget(scope, conversation_id, message_ids)
        except Exception as error:
            _log.error("forgetting_not_noted", conversation_id=conversation_id, error=type(error).__name__)

    def run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work in the background; the end of the process cancels it."""
        _run(work, self._work.tasks)

    def store_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Store something in the background; the end of the process waits a moment for it."""
        _run(work, self._stores)

    async def forget(self, scope: Scope, conversation_id: str) -> None:
        """Remove a deleted conversation from memory search, in the background."""
        await self._forget(scope, conversation_id, ())

    async def _forget(self, scope: Scope, conversation_id: str, message_ids: Sequence[str]) -> None:
        # A unique name: an id may be used again if a request is repeated after its conversation was deleted.
        with SetWorkflowID(f"forget:{conversation_id}:{uuid4().hex}"):
            values = (scope.tenant_id, scope.user_id, conversation_id, list(message_ids))
            await self._work.enqueue(BACKGROUND, forget_messages, *values)


def _run(work: Coroutine[Any, Any, None], among: set[asyncio.Task[Any]]) -> None:
    task: asyncio.Task[Any] = asyncio.create_task(work)
    among.add(task)
    task.add_done_callback(among.discard)
