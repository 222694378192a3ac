"""Reindexes documents as an operation: list, begin, follow to the end. Every step is idempotent."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from functools import partial

from dbos import DBOS
from footnote.edge.v1.operations_pb2 import OPERATION_STATE_CANCELLED, OPERATION_STATE_SUCCEEDED
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import (
    DOCUMENT_STATE_ERROR,
    DOCUMENT_STATE_INDEXED,
    DOCUMENT_STATE_PROCESSING,
    DOCUMENT_STATE_UPLOADED,
    FAILURE_REASON_CANCELLED,
    Failure,
)
from footnote_kit.errors import Aborted, FailedPrecondition, NotFound
from footnote_kit.hints import FAILURE_HINTS

from footnote_edge.jobs.changes import Feed, Recheck
from footnote_edge.jobs.interrupting import AlreadySearched, cancel_revision
from footnote_edge.jobs.ports import Item, OperationStore, Outcome, StoredOperation
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.jobs.retrying import until_available
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings

LIST_PAGE = 500
RENEW_BATCH = 50
"""Documents begun per step of the ledger."""
WITHDRAW_BATCH = 20
"""Queued jobs withdrawn at once: few, so that none starts before its document is withdrawn."""
CHECK_BATCH = 100
"""Awaited documents that are read by their ids at once."""

SKEW = timedelta(hours=1)
"""Maximum clock difference of two services."""

Begun = list[tuple[str, str, int]]
"""Begun documents: id, owner and revision."""

_AT_WORK = (DOCUMENT_STATE_UPLOADED, DOCUMENT_STATE_PROCESSING)
_CANCELLED = Failure(
    reason=FAILURE_REASON_CANCELLED,
    message="Its reindexing was cancelled while it was queued.",
    hint=FAILURE_HINTS["CANCELLED"],
)


def item_of(document: Document) -> Item:
    """Return a document as an operation's item; skipped if already in progress."""
    outcome = Outcome.SKIPPED if document.state in _AT_WORK else Outcome.PENDING
    return Item(document.id, document.collection_id, document.revision, outcome=outcome)


class Renewing:
    """Begins new revisions of stored documents, which read their bytes again."""

    def __init__(self, stages: Stages, bus: ProgressBus, settings: Settings) -> None:
        self._stages = stages
        self._bus = bus
        self._timeout = settings.call_timeout_seconds

    async def renew(self, scope: Scope, document: Document) -> Document | None:
        """Begin a new revision of a document's bytes and return it; None if one is in progress or it is deleted."""
        if document.state in _AT_WORK:
            return None
        move = ingestion.UpdateDocumentStateRequest(
            scope=scope, document_id=document.id, state=DOCUMENT_STATE_PROCESSING, new_revision=True
        )
        try:
            response = await self._stages.ingestion.UpdateDocumentState(move, timeout=self._timeout)
        except (FailedPrecondition, NotFound):
            return None  # a concurrent call began or deleted it
        again: Document = response.document
        self._bus.deliver(again)
        return again


class Reindexing:
    """The steps of reindexing documents."""

    def __init__(self, stages: Stages, renewing: Renewing, store: OperationStore, settings: Settings) -> None:
        self._stages = stages
        self._ingestion = stages.ingestion
        self._feed = Feed(stages, settings.call_timeout_seconds)
        self._renewing = renewing
        self._store = store
        self._timeout = settings.call_timeout_seconds
        self._ceiling = settings.retry_ceiling_seconds
        self._poll = settings.watch_poll_seconds

    async def take_up(self, scope: Scope, operation_id: str) -> None:
        """Record all documents of a whole collection's operation; the caller's named documents are already recorded."""
        row = await self._row(operation_id)
        if row.whole and not row.total:
            await self._list(scope, row)
        await self._store.count(operation_id)

    async def _list(self, scope: Scope, row: StoredOperation) -> None:
        states = [DOCUMENT_STATE_ERROR] if row.failed_only else []
        request = ingestion.ListDocumentsRequest(
            scope=scope,
            collection_ids=[row.collection_id],
            states=states,
            outdated_for=row.outdated_for,
            page_size=LIST_PAGE,
        )
        while True:
            call = partial(self._ingestion.ListDocuments, request, timeout=self._timeout)
            page = await until_available(call, self._ceiling)
            await self._store.list_documents(row.id, [item_of(document) for document in page.documents])
            request.page_token = page.next_page_token
            if not page.next_page_token:
                return

    async def begin(self, scope: Scope, operation_id: str, after: str) -> tuple[Begun, str]:
        """Begin new revisions of the next documents; return those to process, and the last id, "" at the end.

        A repeat returns the revisions that it had begun. A cancelled operation begins no more.
        """
        items = await self._store.items(operation_id, after, RENEW_BATCH)
        begun: Begun = []
        for item in items:
            if await self._store.is_cancelled(operation_id):
                return begun, ""
            document = await until_available(partial(self._begin_one, scope, item), self._ceiling)
            if document is None:
                await self._store.settle(operation_id, {item.document_id: Outcome.SKIPPED})
                continue
            await self._store.begun(operation_id, document.id, document.revision)
            begun.append((document.id, document.owner_id, document.revision))
        return begun, items[-1].document_id if len(items) == RENEW_BATCH else ""

    async def _begin_one(self, scope: Scope, item: Item) -> Document | None:
        """Return the document with its new revision; None if it is deleted, or its old revision was in progress."""
        request = ingestion.GetDocumentRequest(scope=scope, document_id=item.document_id)
        try:
            document: Document = (await self._ingestion.GetDocument(request, timeout=self._timeout)).document
        except NotFound:
            return None
        if item.begun:
            return document if document.revision == item.revision else None
        if document.revision == item.revision:
            renewed = await self._renewing.renew(scope, document)
            if renewed is not None or document.state in _AT_WORK:
                return renewed
            return await self._begin_one(scope, item)  # a concurrent call began or deleted it
        # A newer revision than listed: begun before a crash, or by another call, which serves as well.
        return document

    async def follow(self, scope: Scope, operation_id: str) -> None:
        """Wait until every begun document has ended, or the operation is cancelled.

        While none ends, documents are also read by their ids: ingestion may have lost them; see `Recheck`.
        """
        row = await self._row(operation_id)
        pending = await self._pending(operation_id)
        since = dict.fromkeys(pending, int((row.create_time - SKEW).timestamp() * 1_000_000))
        recheck, last = Recheck(), ""
        while pending and not await self._store.is_cancelled(operation_id):
            for collection_id, items in list(pending.items()):
                look = partial(self._look, scope, collection_id, items, since[collection_id])
                ended, since[collection_id] = await until_available(look, self._ceiling)
                if ended:
                    await self._settle(operation_id, pending, ended)
                    recheck.ended()
            if recheck.due():
                ended, last = await self._by_id(scope, operation_id, last)
                if ended:
                    await self._settle(operation_id, pending, ended)
                    recheck.ended(unnamed=True)
            if pending:
                await asyncio.sleep(self._poll / 2)

    async def _settle(
        self, operation_id: str, pending: dict[str, dict[str, Item]], outcomes: Mapping[str, Outcome]
    ) -> None:
        """Record outcomes and remove their documents from the open ones."""
        await self._store.settle(operation_id, outcomes)
        for collection_id, items in list(pending.items()):
            for document_id in outcomes:
                items.pop(document_id, None)
            if not items:
                del pending[collection_id]

    async def _by_id(self, scope: Scope, operation_id: str, last: str) -> tuple[dict[str, Outcome], str]:
        """Read the next open documents by their ids; return those that have ended or are gone, and the last id."""
        items = await self._store.items(operation_id, last, CHECK_BATCH)
        if last and not items:
            items = await self._store.items(operation_id, "", CHECK_BATCH)
        found: dict[str, Outcome] = {}
        for item in items:
            read = partial(self._feed.document, scope, item.document_id)
            document = await until_available(read, self._ceiling)
            outcome = Outcome.SKIPPED if document is None else _outcome(item, document)
            if outcome is not None:
                found[item.document_id] = outcome
        return found, items[-1].document_id if len(items) == CHECK_BATCH else ""

    async def _pending(self, operation_id: str) -> dict[str, dict[str, Item]]:
        """Return the open documents, by collection and id."""
        pending: dict[str, dict[str, Item]] = {}
        last = ""
        while page := await self._store.items(operation_id, last, LIST_PAGE):
            for item in page:
                pending.setdefault(item.collection_id, {})[item.document_id] = item
            last = page[-1].document_id
        return pending

    async def _look(
        self, scope: Scope, collection_id: str, pending: Mapping[str, Item], since: int
    ) -> tuple[dict[str, Outcome], int]:
        """Return a collection's documents that have ended since a time, and the start of the next request."""
        try:
            return await self._read(scope, collection_id, pending, since)
        except FailedPrecondition:
            # Ingestion no longer knows deletions from so long ago: a missing document is deleted.
            return await self._read(scope, collection_id, pending, None)

    async def _read(
        self, scope: Scope, collection_id: str, pending: Mapping[str, Item], since: int | None
    ) -> tuple[dict[str, Outcome], int]:
        gone = set(pending) if since is None else set()
        found: dict[str, Outcome] = {}
        until = 0
        async for part in self._feed.parts(scope, collection_id, since, self._timeout):
            gone.update(document_id for document_id in part.deleted if document_id in pending)
            for document in part.documents:
                gone.discard(document.id)
                outcome = _outcome(pending[document.id], document) if document.id in pending else None
                if outcome is not None:
                    found[document.id] = outcome
            until = part.until
        return found | dict.fromkeys(gone, Outcome.SKIPPED), until

    async def withdraw(self, scope: Scope, operation_id: str) -> None:
        """Skip documents that were not begun, and end those whose jobs are still queued."""
        await self._store.skip_open(operation_id)
        last = ""
        # The last first: those at the head of the queue start next.
        while items := await self._store.items(operation_id, last, WITHDRAW_BATCH, begun=True, backwards=True):
            jobs = {f"{item.document_id}:{item.revision}": item for item in items}
            waiting = await DBOS.list_workflows_async(
                workflow_ids=list(jobs), status="ENQUEUED", load_input=False, load_output=False
            )
            gone = [jobs[one.workflow_id] for one in waiting]
            done = [item for item in gone if await until_available(partial(self._end, scope, item), self._ceiling)]
            await self._store.settle(operation_id, {item.document_id: Outcome.SKIPPED for item in done})
            last = items[-1].document_id

    async def _end(self, scope: Scope, item: Item) -> bool:
        # Its queued job finds the document ended and does nothing; a running one learns of it at its next step.
        document = Document(id=item.document_id, collection_id=item.collection_id, revision=item.revision)
        try:
            await cancel_revision(self._stages, scope, document, _CANCELLED, self._timeout)
        except (AlreadySearched, Aborted, FailedPrecondition, NotFound):
            return False  # replaced, ended or deleted in the meantime
        return True

    async def finish(self, operation_id: str) -> str:
        """Record the end; return its name."""
        await self._store.count(operation_id)
        cancelled = await self._store.is_cancelled(operation_id)
        await self._store.end(operation_id, OPERATION_STATE_CANCELLED if cancelled else OPERATION_STATE_SUCCEEDED)
        return "CANCELLED" if cancelled else "SUCCEEDED"

    async def _row(self, operation_id: str) -> StoredOperation:
        row = await self._store.read(operation_id)
        if row is None:
            raise NotFound("The operation is gone.", reason="OPERATION_NOT_FOUND")
        return row


def _outcome(item: Item, document: Document) -> Outcome | None:
    if document.indexed_revision >= item.revision:
        return Outcome.DONE
    if document.revision > item.revision:
        return Outcome.SKIPPED  # replaced before its end
    if document.state == DOCUMENT_STATE_ERROR:
        return Outcome.FAILED
    if document.state != DOCUMENT_STATE_INDEXED:
        return None
    # An older revision: the new one was lost with ingestion's newest commits.
    return Outcome.DONE if document.revision >= item.revision else Outcome.SKIPPED
