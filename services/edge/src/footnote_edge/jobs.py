"""Durable jobs: what was accepted is finished, whatever process dies in between (dbos keeps the ledger).

A dbos instance is one per process, so the workflows are module functions and find the service's parts in `_active`.
"""

import asyncio
import base64
import contextlib
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer, SetEnqueueOptions, SetWorkflowID
from footnote.ingestion.v1.ingestion_service_pb2 import UpdateDocumentStateRequest
from footnote.types.v1.document_pb2 import Document
from footnote.types.v1.scope_pb2 import ROLE_ADMIN, Scope
from footnote_kit import names
from footnote_kit.context import detached
from footnote_kit.errors import DeadlineExceeded
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import current_traceparent, remote_context, span

from footnote_edge.chores import Chores
from footnote_edge.processing import Processor
from footnote_edge.settings import Settings

R = TypeVar("R")

APPLICATION_VERSION = "1"
"""Raised only when a workflow's steps change, so that jobs begun before an upgrade are finished after it."""

DOCUMENTS, BACKGROUND = "documents", "background"
ACTIVE = ("ENQUEUED", "PENDING", "DELAYED")
EXECUTOR_THREADS = 32

_log = get_logger(__name__)


class Jobs:
    """Takes jobs on and runs them; one instance per process."""

    def __init__(self, settings: Settings, folder: Path, processor: Processor, chores: Chores) -> None:
        self.processor = processor
        self.chores = chores
        self._settings = settings
        self._folder = folder
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False

    async def launch(self) -> None:
        """Open the ledger and take up what was left unfinished."""
        global _active
        if _active is not None:
            raise RuntimeError("another edge service keeps jobs in this process")
        url = self._settings.dbos_url(self._folder)
        await asyncio.to_thread(_prepare, self._folder, url)
        _hush_dbos()
        config = DBOSConfig(
            name="footnote-edge",
            system_database_url=url,
            executor_id=self._settings.executor(),
            application_version=APPLICATION_VERSION,
            serializer=DBOSPortableJSONSerializer(),
            enable_otlp=False,
            max_executor_threads=EXECUTOR_THREADS,
            log_level="WARNING",
        )
        _active = self
        DBOS(config=config)
        # On the loop's own thread: dbos runs async workflows on the loop that launched it, where our channels live.
        DBOS.launch()
        limit = self._settings.document_concurrency
        # A partition per tenant, drawn in random order: one tenant's thousand files do not hold up another's one.
        await DBOS.register_queue_async(
            DOCUMENTS,
            worker_concurrency=limit,
            partition_worker_concurrency=limit,
            polling_interval_sec=self._settings.queue_polling_seconds,
            on_conflict="always_update",
        )
        await DBOS.register_queue_async(
            BACKGROUND,
            worker_concurrency=self._settings.background_concurrency,
            polling_interval_sec=max(0.25, self._settings.queue_polling_seconds),
            on_conflict="always_update",
        )

    async def close(self) -> None:
        """Stop working; what is unfinished goes on at the next launch."""
        global _active
        self._closing = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # dbos joins its threads: not on the loop, and not on the loop's executor, which it shuts down.
        with ThreadPoolExecutor(1) as thread:
            await asyncio.get_running_loop().run_in_executor(thread, DBOS.destroy)
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(EXECUTOR_THREADS))
        _active = None

    async def process(self, document: Document) -> None:
        """Take on a revision of a document; a second call for the same one changes nothing."""
        job = f"{document.id}:{document.revision}"
        with SetWorkflowID(job), SetEnqueueOptions(queue_partition_key=document.tenant_id):
            await DBOS.enqueue_workflow_async(
                DOCUMENTS,
                process_document,
                document.tenant_id,
                document.owner_id,
                document.id,
                document.revision,
                current_traceparent(),
            )

    async def process_if_idle(self, document: Document) -> bool:
        """Take on a document that waits without a live job; return whether there was none."""
        job = f"{document.id}:{document.revision}"
        status = await DBOS.get_workflow_status_async(job)
        if status is None:
            await self.process(document)
            return True
        if status.status in ACTIVE:
            return False
        # Its job ended without leaving a mark on the document (a restored database, say): once more under a new name.
        with (
            SetWorkflowID(f"{job}:again-{document.attempts}"),
            SetEnqueueOptions(queue_partition_key=document.tenant_id),
        ):
            await DBOS.enqueue_workflow_async(
                DOCUMENTS,
                process_document,
                document.tenant_id,
                document.owner_id,
                document.id,
                document.revision,
                "",
            )
        return True

    async def oldest(self) -> datetime | None:
        """Return when the oldest unfinished job of a document was taken on; None when there is none."""
        found = await DBOS.list_workflows_async(
            status=list(ACTIVE), queue_name=DOCUMENTS, limit=1, load_input=False, load_output=False
        )
        moment = found[0].created_at if found else None
        return None if moment is None else datetime.fromtimestamp(moment / 1000, UTC)

    def remember(self, scope: Scope, conversation_id: str, message_id: str) -> None:
        """Title a conversation and embed its new messages, later; noting that does not hold up the answer.

        Were we to die before it is noted, the conversation's next answer makes up for it.
        """
        task = asyncio.create_task(self._remember(scope, conversation_id, message_id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _remember(self, scope: Scope, conversation_id: str, message_id: str) -> None:
        try:
            with SetWorkflowID(f"remember:{message_id}"):
                await DBOS.enqueue_workflow_async(
                    BACKGROUND, remember_messages, scope.tenant_id, scope.user_id, conversation_id
                )
        except Exception as error:  # the answer is there; memory has to wait for the next one
            _log.error("remember_not_noted", conversation_id=conversation_id, error=type(error).__name__)

    async def forget(self, scope: Scope, conversation_id: str) -> None:
        """Remove a deleted conversation from memory search, later."""
        with SetWorkflowID(f"forget:{conversation_id}"):
            await DBOS.enqueue_workflow_async(
                BACKGROUND, forget_messages, scope.tenant_id, scope.user_id, conversation_id
            )

    async def delete_collection(self, scope: Scope, collection_id: str, wait: float) -> tuple[int, int]:
        """Delete a collection with all it holds; return documents and chunks deleted.

        Once begun it is finished even if this process dies; raises DeadlineExceeded after `wait` seconds.
        """
        with SetWorkflowID(f"delete-collection:{collection_id}"):
            handle = await DBOS.enqueue_workflow_async(
                BACKGROUND, delete_collection, scope.tenant_id, scope.user_id, collection_id
            )
        try:
            async with asyncio.timeout(wait):
                documents, chunks = await handle.get_result(polling_interval_sec=0.1)
        except TimeoutError:
            raise DeadlineExceeded("The collection is still being deleted; this goes on in the background.") from None
        return documents, chunks

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the current task among those to end at close."""
        task = asyncio.current_task()
        if self._closing or task is None:
            raise asyncio.CancelledError
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)


_active: Jobs | None = None


def _jobs() -> Jobs:
    if _active is None:
        raise asyncio.CancelledError  # a job claimed in the moment of closing: it is recovered at the next launch
    return _active


@DBOS.workflow(name="process_document", max_recovery_attempts=None)
async def process_document(tenant: str, owner: str, document_id: str, revision: int, traceparent: str) -> str:
    """Parse and index one revision of a document; its span is linked to the upload's trace."""
    jobs, scope = _jobs(), Scope(tenant_id=tenant, user_id=owner, roles=[ROLE_ADMIN])
    origin = remote_context(traceparent) if traceparent else None
    attributes: dict[str, str | int] = {
        names.TENANT_ID: tenant,
        names.DOCUMENT_ID: document_id,
        names.REVISION: revision,
    }
    with (
        jobs.running(),
        detached("edge", scope),
        span("process document", attributes, links=(origin,) if origin else ()),
    ):
        begun = await _step("begin", lambda: _begin(jobs, scope, document_id, revision))
        if not begun:
            return "SKIPPED"
        document = Document.FromString(base64.b64decode(begun))
        ended = await _step("index", lambda: _index(jobs, scope, document))
        move = UpdateDocumentStateRequest.FromString(base64.b64decode(ended)) if ended else None
        outcome = await _step("finish", lambda: jobs.processor.finish(scope, document, move))
        _log.info("document_processed", document_id=document_id, revision=revision, outcome=outcome)
        return outcome


@DBOS.workflow(name="remember_messages", max_recovery_attempts=None)
async def remember_messages(tenant: str, user: str, conversation_id: str) -> None:
    """Give a conversation its title and make its messages searchable."""
    jobs, scope = _jobs(), Scope(tenant_id=tenant, user_id=user, roles=[ROLE_ADMIN])
    with jobs.running(), detached("edge", scope), span("remember messages", {names.CONVERSATION_ID: conversation_id}):
        await _step("title", lambda: jobs.chores.title(scope, conversation_id))
        await _step("embed", lambda: jobs.chores.embed(scope, conversation_id))


@DBOS.workflow(name="forget_messages", max_recovery_attempts=None)
async def forget_messages(tenant: str, user: str, conversation_id: str) -> None:
    """Take a deleted conversation out of memory search."""
    jobs, scope = _jobs(), Scope(tenant_id=tenant, user_id=user, roles=[ROLE_ADMIN])
    with jobs.running(), detached("edge", scope), span("forget messages", {names.CONVERSATION_ID: conversation_id}):
        await _step("forget", lambda: jobs.chores.forget(scope, conversation_id))


@DBOS.workflow(name="delete_collection", max_recovery_attempts=None)
async def delete_collection(tenant: str, user: str, collection_id: str) -> list[int]:
    """Delete a collection's files, then the collection with its chunks, then what was uploaded in between."""
    jobs, scope = _jobs(), Scope(tenant_id=tenant, user_id=user, roles=[ROLE_ADMIN])
    with jobs.running(), detached("edge", scope), span("delete collection", {names.COLLECTION_ID: collection_id}):
        documents = await _step("files", lambda: jobs.chores.delete_files(scope, collection_id))
        chunks = await _step("chunks", lambda: jobs.chores.delete_collection(scope, collection_id))
        documents += await _step("latecomers", lambda: jobs.chores.delete_files(scope, collection_id))
        return [documents, chunks]


async def _step(name: str, operation: Callable[[], Awaitable[R]]) -> R:
    async def run() -> R:
        return await operation()

    result: R = await DBOS.run_step_async({"name": name}, run)
    return result


async def _begin(jobs: Jobs, scope: Scope, document_id: str, revision: int) -> str:
    document = await jobs.processor.begin(scope, document_id, revision)
    return base64.b64encode(document.SerializeToString()).decode() if document else ""


async def _index(jobs: Jobs, scope: Scope, document: Document) -> str:
    move = await jobs.processor.index(scope, document)
    return base64.b64encode(move.SerializeToString()).decode() if move else ""


def _prepare(folder: Path, url: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if url.startswith("sqlite:///"):
        # Set once for the file's life: readers, which poll, and writers do not hold each other up.
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.execute("PRAGMA journal_mode=WAL")


def _hush_dbos() -> None:
    # dbos writes to the console in a format of its own unless its logger has a handler; ours formats for all.
    logger = logging.getLogger("dbos")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
        logger.propagate = True
