"""The synchronisation engine: list, compare, transfer, delete vanished items, wait for the documents.

The state is in the tables of items; a killed run is repeated and resumes from there. A listing that breaks off, or
declares itself partial, deletes nothing.
"""

import asyncio
import contextlib
import json
import shutil
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, cast
from uuid import uuid4

from footnote.edge.v1.operations_pb2 import (
    OPERATION_KIND_DELETE_SOURCE,
    OPERATION_STATE_CANCELLED,
    OPERATION_STATE_FAILED,
    OPERATION_STATE_SUCCEEDED,
)
from footnote.edge.v1.sources_pb2 import SOURCE_STATE_AWAY, SOURCE_STATE_IN_STEP, SOURCE_STATE_PARTIAL
from footnote.stages.v1.scope_pb2 import Scope
from footnote_database.transactions import utc
from footnote_kit.errors import FailedPrecondition, FootnoteError, NotFound, Unavailable
from footnote_kit.logs import get_logger
from footnote_kit.status import to_proto
from footnote_kit.telemetry import counter

from footnote_edge.jobs.ports import OperationStore, StoredOperation
from footnote_edge.jobs.retrying import until_available
from footnote_edge.sources import creators
from footnote_edge.sources.documents import DocumentStore
from footnote_edge.sources.following import DocumentFollower
from footnote_edge.sources.ports import (
    LONGEST_ID,
    Connection,
    Item,
    Known,
    Page,
    SourceRefused,
    SourceUnavailable,
)
from footnote_edge.sources.recovery import recover_uploads
from footnote_edge.sources.registry import Openings
from footnote_edge.sources.stored import (
    COMPLETE,
    LISTING,
    Holder,
    ItemStore,
    Outcome,
    SourceStore,
    StoredItem,
    StoredSource,
    Superseded,
    key_of,
)
from footnote_edge.sources.transfer import MOST_AWAY, Run, Spool, Tally, Transfer

AT_ONCE = 64
"""Items of one source transferred concurrently: small ones share a call of so many, and a group of documents."""

_DELETES = 16
_BATCH = 100
_MOST_MEMO = 64 * 1024
_MOST_WARNINGS = 20
_WAIT = 0.2

FOLLOWED_SECONDS = 60.0
"""Seconds that a run follows its documents at least, though the next run is due: most documents end sooner."""
_log = get_logger(__name__)


class Cancelled(Exception):
    """The operation was cancelled."""


class Engine:
    """Runs the operations of sources. Every step is idempotent."""

    def __init__(
        self,
        sources: SourceStore,
        items: ItemStore,
        operations: OperationStore,
        store: DocumentStore,
        following: DocumentFollower,
        openings: Openings,
        ceiling: float,
    ) -> None:
        self._sources = sources
        self._items = items
        self._operations = operations
        self._store = store
        self._following = following
        self._openings = openings
        self._policy = openings.policy
        self._ceiling = ceiling
        self._transfer = Transfer(items, store, openings.policy.item_bytes, ceiling)

    async def synchronise(self, scope: Scope, operation_id: str) -> str:
        """Run a synchronisation to its end; return the name of its final state."""
        operation = await self._operations.read(operation_id)
        if operation is None or not await self._operations.begin(operation_id):
            return "CANCELLED"
        try:
            source = await self._sources.take(operation.source_id, operation_id, uuid4().hex)
        except Superseded:
            return await self._end(operation, OPERATION_STATE_CANCELLED)
        if source.deleting:
            return await self._end(operation, OPERATION_STATE_CANCELLED)
        holder = Holder(source.id, operation_id, source.run_token)
        try:
            error = await self._run(scope, operation, source, holder)
        except Superseded:
            # Another attempt at this operation holds it, or the source is being deleted, which ends the operation too.
            _log.info("source_run_superseded", source_id=source.id)
            return await self._end(operation, OPERATION_STATE_CANCELLED) if await self._gone(source) else "SUPERSEDED"
        except Cancelled:
            return await self._end(operation, OPERATION_STATE_CANCELLED)
        if error is not None:
            return await self._end(operation, OPERATION_STATE_FAILED, error)
        return await self._end(operation, OPERATION_STATE_SUCCEEDED)

    async def _run(
        self, scope: Scope, operation: StoredOperation, source: StoredSource, holder: Holder
    ) -> FootnoteError | None:
        """Transfer all that can be transferred, then return the reason for an incomplete listing, if any."""
        began = datetime.now(UTC)
        try:
            collection = await until_available(lambda: self._store.collection(scope, source), self._ceiling)
            creators.check(operation, source, collection)
            kind, opening = self._openings.of(source)
            folder = await asyncio.to_thread(self._openings.spool, source.id)
            connection = await asyncio.to_thread(kind.open, opening)  # it may load the kind's library first
        except Exception as unopened:
            refusal = unopened if isinstance(unopened, FootnoteError) else _unforeseen(source, "Opening it", unopened)
            await self._listed(source, holder, refusal, [], anything=False, retries_only=operation.failed_only)
            return refusal
        error: FootnoteError | None = None
        async with _closing(connection, folder):
            tally = Tally()
            complete = source.run_listed == COMPLETE
            if operation.failed_only:
                complete = False
            elif source.run_listed == LISTING:
                error, complete = await self._list(source, holder, operation, connection, folder)
            await self._recover(scope, source, holder)
            await self._items.take_up_again(holder, datetime.now(UTC))
            run = Run(scope, source, holder, connection, folder, tally, kind.content_versions, complete)
            away = error is not None and isinstance(error, Unavailable)
            if not away:
                await self._bring(run, operation)
            if complete:
                await self._delete_vanished(run, operation)
            await self._count(operation, tally, sum((await self._left(holder)).values()))
        stopped = partial(self._stops_following, operation, source, monotonic() + FOLLOWED_SECONDS)
        failed, ended = await self._following.follow(scope, source, holder, stopped)
        tally.done -= failed
        tally.failed += failed
        await self._count(operation, tally)
        if error is None and ended and not operation.failed_only:
            await self._sources.in_step(source.id, holder.token, began)
        return error

    # Listing.

    async def _list(
        self, source: StoredSource, holder: Holder, operation: StoredOperation, connection: Connection, folder: Path
    ) -> tuple[FootnoteError | None, bool]:
        """Record the listing; return the reason if it is incomplete, and whether missing items are deleted."""
        warnings: list[str] = []
        spool = Spool(folder, self._policy.item_bytes)
        partial, count, keeps = "", 0, False
        error: FootnoteError | None = None

        async def known(item_ids: Sequence[str]) -> dict[str, Known]:
            return await self._items.known(source.id, item_ids)

        try:
            pages = cast("AsyncGenerator[Page]", connection.list(source.run_cursor, known))
            async with aclosing(pages) as listing:
                async for page in listing:
                    await self._check_cancelled(operation)
                    kept, complaints = _sound(page.items)
                    warnings += [*page.warnings, *complaints]
                    partial = partial or page.partial
                    keeps = keeps or page.keeps_others
                    count += len(kept)
                    if count > self._policy.items:
                        partial = f"It has more than {self._policy.items} items, which is the limit of this deployment."
                        kept = kept[: max(0, len(kept) - (count - self._policy.items))]
                    for item in kept:
                        if item.body is not None:
                            await spool.keep(key_of(item.id), item.body)
                    await self._items.see(holder, kept, page.cursor)
                    if count > self._policy.items:
                        break
        except SourceUnavailable as away:
            error = Unavailable(str(away), reason="SOURCE_AWAY")
        except SourceRefused as refused:
            error = FailedPrecondition(str(refused), reason="SOURCE_REFUSED")
        except (Superseded, Cancelled, FootnoteError, asyncio.CancelledError):
            raise
        except Exception as unforeseen:
            error = _unforeseen(source, "Listing", unforeseen)
        if error is None and partial:
            error = FailedPrecondition(partial, reason="SOURCE_LIMIT")
        gone = error is None and not keeps
        await self._listed(source, holder, error, warnings, anything=count > 0, gone=gone)
        return error, gone

    async def _listed(
        self, source: StoredSource, holder: Holder, error: FootnoteError | None, warnings: list[str], *, anything: bool,
        gone: bool = False, retries_only: bool = False,
    ) -> None:  # fmt: skip
        state = SOURCE_STATE_IN_STEP
        if error is not None:
            state = SOURCE_STATE_PARTIAL if anything or error.reason == "SOURCE_LIMIT" else SOURCE_STATE_AWAY
        outcome = "complete" if error is None else "partial"
        counter("footnote.edge.sources.listings").add(1, {"kind": source.kind, "outcome": outcome})
        said = list(dict.fromkeys(warnings))
        if len(said) > _MOST_WARNINGS:
            said = [*said[:_MOST_WARNINGS], f"and {len(said) - _MOST_WARNINGS} more"]
        status = b"" if error is None else to_proto(error).SerializeToString()
        await self._sources.listed(source, holder.token, Outcome(state, gone, status, said, retries_only))

    # Documents.

    async def _bring(self, run: Run, operation: StoredOperation) -> None:
        """Transfer pending items: possible moves first, so that the other vanished items can be deleted at once."""
        left = await self._left(run.holder)
        run.tally.total = sum(left.values())
        if run.complete:
            await self._bring_pending(run, operation, await self._items.sizes_of_vanished(run.holder))
            await self._delete_vanished(run, operation)
        await self._bring_pending(run, operation)

    async def _bring_pending(
        self, run: Run, operation: StoredOperation, moved: frozenset[int | None] | None = None
    ) -> None:
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(row: StoredItem) -> None:
            async with gate:
                if run.tally.away < MOST_AWAY:
                    await self._transfer.one(run, row)

        after = ""
        while rows := await self._items.pending(run.source.id, after, _BATCH, moved):
            await self._check_cancelled(operation)
            async with _raising_first(), asyncio.TaskGroup() as group:
                for row in rows:
                    group.create_task(one(row))
            if run.tally.away >= MOST_AWAY:
                _log.warning("source_stopped_answering", source_id=run.source.id)
                return
            after = rows[-1].key
            await self._count(operation, run.tally, run.tally.total)

    async def _delete_vanished(self, run: Run, operation: StoredOperation) -> None:
        """Delete the documents of items missing from a complete listing."""
        while rows := await self._items.vanished(run.holder, "", _BATCH):
            await self._check_cancelled(operation)
            await self._delete(run.scope, run.holder, rows)
            run.tally.done += len(rows)
            await self._count(operation, run.tally, run.tally.total)

    async def _delete(self, scope: Scope, holder: Holder, rows: list[StoredItem]) -> None:
        gate = asyncio.Semaphore(_DELETES)

        async def one(document_id: str) -> None:
            async with gate:
                await until_available(lambda: self._store.delete(scope, document_id), self._ceiling)

        # Check the fence first, too: a superseded run must not delete an item that another run has just found.
        await self._sources.note(holder.source_id, holder.token)
        async with _raising_first(), asyncio.TaskGroup() as group:
            for row in rows:
                if row.document_id:
                    group.create_task(one(row.document_id))
        await self._items.remove(holder, [row.key for row in rows])

    async def delete(self, scope: Scope, operation_id: str) -> str:
        """Delete a source with its documents; return the name of the final state."""
        operation = await self._operations.read(operation_id)
        if operation is None or not await self._operations.begin(operation_id):
            return "CANCELLED"
        await self._stopped(operation)
        try:
            source = await self._sources.take(operation.source_id, operation_id, uuid4().hex)
        except Superseded:
            return await self._end(operation, OPERATION_STATE_SUCCEEDED)
        holder = Holder(source.id, operation_id, source.run_token)
        with suppress(NotFound):  # the collection is deleted with its documents
            await self._recover(scope, source, holder)
        tally = Tally(total=sum((await self._left(holder, every=True)).values()))
        while rows := await self._items.all(source.id, "", _BATCH):
            await self._delete(scope, holder, rows)
            tally.done += len(rows)
            await self._count(operation, tally, tally.total)
        await self._sources.remove(source.id)
        await asyncio.to_thread(shutil.rmtree, self._openings.folder(source.id), ignore_errors=True)
        return await self._end(operation, OPERATION_STATE_SUCCEEDED)

    async def _recover(self, scope: Scope, source: StoredSource, holder: Holder) -> None:
        recovery = partial(recover_uploads, self._items, self._store, scope, source, holder)
        await until_available(recovery, self._ceiling)

    async def _stopped(self, deletion: StoredOperation) -> None:
        """Wait until no synchronisation of the source runs: its uploads would outlive the deletion."""
        while (active := await self._operations.synchronising(deletion.source_id)) is not None:
            await self._operations.stop(active)
            await asyncio.sleep(_WAIT)

    # Helpers.

    async def _left(self, holder: Holder, *, every: bool = False) -> dict[int, int]:
        counts = (await self._sources.counts([holder.source_id]))[holder.source_id]
        return counts if every else {state: count for state, count in counts.items() if state == 1}

    async def _count(self, operation: StoredOperation, tally: Tally, total: int = 0) -> None:
        done = {"done": max(tally.done, 0), "failed": tally.failed, "skipped": tally.skipped}
        await self._operations.note(operation.id, total=max(total, sum(done.values())), **done)

    async def _stops_following(self, operation: StoredOperation, source: StoredSource, until: float) -> bool:
        """Return whether a run ends although documents are in progress: cancelled, or the next one is due for long.

        `until` is the moment, by the monotonic clock, up to which it follows its documents whatever is due.
        """
        if await self._operations.is_cancelled(operation.id):
            return True
        if monotonic() < until:
            return False
        now = await self._sources.read(source.id)
        return now is None or (not now.paused and now.next_time is not None and utc(now.next_time) <= datetime.now(UTC))

    async def _check_cancelled(self, operation: StoredOperation) -> None:
        if await self._operations.is_cancelled(operation.id):
            raise Cancelled

    async def _gone(self, source: StoredSource) -> bool:
        now = await self._sources.read(source.id)
        return now is None or now.deleting

    async def _end(self, operation: StoredOperation, state: Any, error: FootnoteError | None = None) -> str:
        await self._operations.end(operation.id, state, b"" if error is None else to_proto(error).SerializeToString())
        kind = "delete" if operation.kind == OPERATION_KIND_DELETE_SOURCE else "sync"
        names = {
            OPERATION_STATE_SUCCEEDED: "SUCCEEDED", OPERATION_STATE_FAILED: "FAILED",
            OPERATION_STATE_CANCELLED: "CANCELLED",
        }  # fmt: skip
        _log.info("source_operation_ended", source_id=operation.source_id, kind=kind, outcome=names[state])
        return names[state]


def _unforeseen(source: StoredSource, what: str, error: Exception) -> FootnoteError:
    """Return an error of third-party code, of a server's malformed data or of the disk as one that is shown."""
    _log.error("source_listing_failed", source_id=source.id, kind=source.kind, exc_info=error)
    return Unavailable(f"{what} failed: {type(error).__name__}.", reason="SOURCE_AWAY")


@asynccontextmanager
async def _closing(connection: Connection, folder: Path) -> AsyncGenerator[None]:
    """Close the connection and remove the folder in the end."""
    try:
        yield
    finally:
        with contextlib.suppress(Exception):
            await connection.close()
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


@asynccontextmanager
async def _raising_first() -> AsyncGenerator[None]:
    """Raise only the first failure of a task group."""
    try:
        yield
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


def _sound(items: Any) -> tuple[list[Item], list[str]]:
    """Return the valid items, and complaints about the others."""
    kept: dict[str, Item] = {}
    complaints: list[str] = []
    for item in items:
        if not 0 < len(item.id) <= LONGEST_ID or len(item.address) > LONGEST_ID or not item.name:
            complaints.append(f"An item was left out: its name or address is empty or over {LONGEST_ID} characters.")
        elif len(json.dumps(dict(item.memo))) > _MOST_MEMO:
            complaints.append(f"{item.id[:200]} was left out: its memo is too long.")
        else:
            kept[item.id] = item
    return list(kept.values()), complaints
