"""Processes small documents in groups: a free slot takes all that wait at that moment, and never waits for more.

The queue here is not stored. Ingestion's record of a document says that it is uploaded and not indexed, and after a
crash the reconciler enqueues every such document. Each of several replicas claims the documents of its queue
(`claims.py`).
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import Context
from datetime import UTC, datetime
from typing import Any, NamedTuple

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_UPLOADED
from footnote_kit import names
from footnote_kit.access import system_scope
from footnote_kit.admission.fair_slots import FairSlots
from footnote_kit.context import detached
from footnote_kit.errors import FootnoteError, NotOffered
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import remote_context, span

from footnote_edge.jobs.claims import Claims
from footnote_edge.jobs.group_processing import MOST_BYTES, MOST_DOCUMENTS, GroupProcessor, is_small
from footnote_edge.jobs.processing import job_of

MOST_WAITING = 8192
"""Maximum number of waiting documents; further ones get a job of their own."""
AT_ONCE = 2
"""Concurrent groups of one user and collection: one is parsed while the other is indexed. More would be smaller."""

_log = get_logger(__name__)


class _Key(NamedTuple):
    tenant: str
    owner: str
    collection: str


class Groups:
    """Queues documents by user and collection, and processes them in groups; `alone` gives one a job of its own."""

    def __init__(
        self,
        processor: GroupProcessor,
        slots: FairSlots,
        alone: Callable[[Document], Awaitable[object]],
        claims: Claims | None = None,
    ) -> None:
        self._claims = claims or Claims()
        self._processor = processor
        self._slots = slots
        self._alone = alone
        self._waiting: dict[_Key, deque[tuple[Document, str]]] = {}
        self._held: dict[str, datetime] = {}
        self._wanted: set[_Key] = set()
        self._running: Counter[_Key] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._offered = True
        self._closing = False

    def takes(self, document: Document) -> bool:
        """Return whether a document may go into a group: it is new and small, and the queue is not full."""
        return (
            self._offered
            and document.state == DOCUMENT_STATE_UPLOADED
            and document.revision == 1
            and len(self._held) < MOST_WAITING
            and is_small(document)
        )

    async def add(self, documents: Sequence[Document], traceparent: str) -> None:
        """Claim and queue documents, in one transaction, unless they are queued already, here or in another replica.

        Once claimed they must be queued, even if the caller is cancelled: no other replica processes them.
        """
        new = {job_of(one): one for one in documents if not self.holds(job_of(one))}
        if self._closing or not new:
            return
        self._held |= dict.fromkeys(new, datetime.now(UTC))
        # Outside the caller's context, whose deadline is none of the claims'.
        await asyncio.shield(self._start(self._queue(new, traceparent)))

    async def _queue(self, new: dict[str, Document], traceparent: str) -> None:
        mine: set[str] = set()
        try:
            with detached("edge"):
                mine = await self._claims.take([one.id for one in new.values()])
        finally:
            for job, one in new.items():
                if one.id not in mine:
                    self._held.pop(job, None)
        for one in new.values():
            if one.id in mine:
                key = _Key(one.tenant_id, one.owner_id, one.collection_id)
                self._waiting.setdefault(key, deque()).append((one, traceparent))
                self._want(key)

    def holds(self, job: str) -> bool:
        """Return whether a job's document waits here or is being processed."""
        return job in self._held

    def oldest(self) -> datetime | None:
        """Return when the oldest document here was queued; None if there is none."""
        return next(iter(self._held.values()), None)

    async def close(self) -> None:
        """Stop; the reconciler enqueues the waiting documents at the next start."""
        self._closing = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _want(self, key: _Key) -> None:
        """Wait for a slot for the next group, unless a task does so already, or enough groups are running."""
        if self._closing or key in self._wanted or key not in self._waiting or self._running[key] >= AT_ONCE:
            return
        self._wanted.add(key)
        self._start(self._run(key))

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work outside the caller's context, which may end before it."""
        task = asyncio.create_task(work, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _run(self, key: _Key) -> None:
        scope = system_scope(key.tenant, key.owner)
        group: list[tuple[Document, str]] = []
        with detached("edge", scope):
            try:
                async with self._slots.slot(key.tenant, key.owner):
                    self._wanted.discard(key)
                    self._running[key] += 1
                    group += self._take(key)
                    self._want(key)
                    try:
                        left = await self._process(scope, group)
                    finally:
                        self._running[key] -= 1
                        self._want(key)
                await self._leave(left)
            finally:
                await self._let_go([document for document, _ in group])

    async def _let_go(self, documents: list[Document]) -> None:
        """End the claims of a group, unless its documents are yet to be processed: then they end with the lease."""
        try:
            if documents and not self._closing:
                await self._claims.release([one.id for one in documents])
        finally:
            for one in documents:
                self._held.pop(job_of(one), None)

    async def _leave(self, documents: list[Document]) -> None:
        """Give documents jobs of their own."""
        for document in documents:
            try:
                await self._alone(document)
            except Exception as error:  # the reconciler enqueues it later
                _log.warning("document_not_begun", document_id=document.id, error=type(error).__name__)

    def _take(self, key: _Key) -> list[tuple[Document, str]]:
        """Return the documents of the next group, at least one, in order of arrival."""
        line, size = self._waiting[key], 0
        taken: list[tuple[Document, str]] = []
        while line and len(taken) < MOST_DOCUMENTS and size + line[0][0].size_bytes <= MOST_BYTES:
            size += line[0][0].size_bytes
            taken.append(line.popleft())
        if not line:
            del self._waiting[key]
        return taken

    async def _process(self, scope: Scope, group: list[tuple[Document, str]]) -> list[Document]:
        """Process a group; return the documents that need a job of their own: all of them if the group failed."""
        documents = [document for document, _ in group]
        left: list[Document] = []
        links = tuple(link for _, origin in group if origin and (link := remote_context(origin)) is not None)
        with span("process documents", {names.TENANT_ID: scope.tenant_id}, links=links):
            try:
                mine = await self._claims.kept([one.id for one in documents])
                if others := len(documents) - len(mine):
                    _log.warning("documents_left_to_others", documents=others)
                    documents = [one for one in documents if one.id in mine]
                if documents:
                    left = await self._processor.process(scope, documents)
                _log.info("group_processed", documents=len(documents), left=len(left))
                return left
            except NotOffered:
                self._offered = False
                _log.info("groups_not_offered", documents=len(documents))
            except FootnoteError as error:
                _log.warning("group_broken_off", documents=len(documents), reason=error.reason)
            except Exception as error:
                _log.error("group_failed", documents=len(documents), error=type(error).__name__)
        return documents
