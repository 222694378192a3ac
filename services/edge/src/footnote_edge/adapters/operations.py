"""The tables of operations: their states and documents. Each transition happens exactly once."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from footnote.edge.v1.operations_pb2 import (
    OPERATION_KIND_DELETE_COLLECTION,
    OPERATION_KIND_SYNC_SOURCE,
    OPERATION_STATE_CANCELLED,
    OPERATION_STATE_QUEUED,
    OPERATION_STATE_RUNNING,
    OPERATION_STATE_SUCCEEDED,
    OperationState,
)
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.access import sees_all
from footnote_kit.errors import NotFound
from footnote_kit.paging import Page
from footnote_kit.wall_clock import deletion_datetime
from sqlalchemy import ColumnElement, and_, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from footnote_edge.adapters.database import Database, record
from footnote_edge.adapters.tables import OperationDocumentRow, OperationRow
from footnote_edge.jobs.ports import MOST_NAMED, Item, Outcome, StoredOperation
from footnote_edge.jobs.progress import ProgressBus

_BATCH = 500
_KEPT = 10_000

ENDED = OperationRow.end_time.is_not(None)


class OperationTable:
    """The tables of operations; changes notify watches in this process."""

    def __init__(self, database: Database, bus: ProgressBus, keep_hours: float) -> None:
        self._sessions = database.sessions
        self._alone = database.is_sqlite
        self._deleting: dict[str, set[str]] = {}
        self._writes = 0
        self._bus = bus
        self._keep = timedelta(hours=keep_hours)

    async def add(self, operation: StoredOperation, items: Sequence[Item] = ()) -> bool:
        """Record a new operation with its documents, as far as they are known.

        False if its id exists already, or its collection is being deleted already.
        """
        try:
            async with self._sessions.begin() as session:
                session.add(OperationRow(**asdict(operation)))
                await session.flush()
                session.add_all(_row(operation.id, item) for item in items)
        except IntegrityError:
            return False
        finally:
            self._written()
        return True

    async def read(self, operation_id: str) -> StoredOperation | None:
        """Return an operation without an access check; None for an unknown one."""
        async with self._sessions() as session:
            return _operation(await session.get(OperationRow, operation_id))

    async def get(self, scope: Scope, operation_id: str) -> StoredOperation:
        """Return an operation that the caller may see; raises NotFound."""
        async with self._sessions() as session:
            query = select(OperationRow).where(*_visible(scope), OperationRow.id == operation_id)
            found = _operation((await session.scalars(query)).one_or_none())
        if found is None:
            raise NotFound(f"Operation '{operation_id}' not found", reason="OPERATION_NOT_FOUND")
        return found

    async def page(
        self, scope: Scope, page: Page, kinds: Collection[int], states: Collection[int], collection_id: str
    ) -> tuple[list[StoredOperation], str, int]:
        """Return a page of the operations that the caller may see, newest first; the next token; the total."""
        wanted = [*_visible(scope)]
        if kinds:
            wanted.append(OperationRow.kind.in_(kinds))
        if states:
            wanted.append(OperationRow.state.in_(states))
        if collection_id:
            wanted.append(OperationRow.collection_id == collection_id)
        query = select(OperationRow).where(*wanted)
        if page.position is not None:
            time, last = page.position
            same = and_(OperationRow.create_time == time, OperationRow.id > last)
            query = query.where(or_(OperationRow.create_time < time, same))
        query = query.order_by(OperationRow.create_time.desc(), OperationRow.id).limit(page.size + 1)
        async with self._sessions() as session:
            rows = [record(StoredOperation, row) for row in await session.scalars(query)]
            total = await session.scalar(select(func.count()).select_from(OperationRow).where(*wanted))
        shown = rows[: page.size]
        more = len(rows) > page.size
        token = page.token((shown[-1].create_time.isoformat(), shown[-1].id)) if more else ""
        return shown, token, total or 0

    async def synchronising(self, source_id: str) -> str | None:
        """Return the id of a source's unfinished synchronisation."""
        query = select(OperationRow.id).where(
            OperationRow.source_id == source_id, OperationRow.kind == OPERATION_KIND_SYNC_SOURCE, ~ENDED
        )
        async with self._sessions() as session:
            return (await session.scalars(query)).one_or_none()

    async def unfinished(self) -> list[StoredOperation]:
        """Return every operation of all tenants that has not ended."""
        async with self._sessions() as session:
            return [record(StoredOperation, row) for row in await session.scalars(select(OperationRow).where(~ENDED))]

    async def deleting(self, tenant_id: str) -> set[str]:
        """Return the ids of a tenant's collections that are being deleted.

        Every administrator's call needs this; so the answer is cached until the next write, where this process is the
        only writer.
        """
        if (known := self._deleting.get(tenant_id)) is not None:
            return known
        writes = self._writes
        query = select(OperationRow.collection_id).where(
            OperationRow.tenant_id == tenant_id, OperationRow.kind == OPERATION_KIND_DELETE_COLLECTION, ~ENDED
        )
        async with self._sessions() as session:
            found = set(await session.scalars(query))
        if self._alone and writes == self._writes:
            if len(self._deleting) >= _KEPT:
                self._deleting.clear()
            self._deleting[tenant_id] = found
        return found

    async def deleted(self, most: int) -> list[tuple[str, str]]:
        """Return the tenants and ids of the collections whose deletions ended last."""
        query = (
            select(OperationRow.tenant_id, OperationRow.collection_id)
            .where(
                OperationRow.kind == OPERATION_KIND_DELETE_COLLECTION,
                OperationRow.state == OPERATION_STATE_SUCCEEDED,
            )
            .order_by(OperationRow.end_time.desc())
            .limit(most)
        )
        async with self._sessions() as session:
            return [(row.tenant_id, row.collection_id) for row in await session.execute(query)]

    async def deletion_of(self, collection_id: str) -> StoredOperation | None:
        """Return a collection's unfinished deletion."""
        query = select(OperationRow).where(
            OperationRow.collection_id == collection_id, OperationRow.kind == OPERATION_KIND_DELETE_COLLECTION, ~ENDED
        )
        async with self._sessions() as session:
            return _operation((await session.scalars(query)).one_or_none())

    async def begin(self, operation_id: str) -> bool:
        """Move an operation to RUNNING, unless it is cancelled; return whether it is running now, even from before."""
        return await self._move(
            operation_id,
            and_(OperationRow.state == OPERATION_STATE_QUEUED, OperationRow.cancelling.is_(False)),
            state=OPERATION_STATE_RUNNING,
        ) or await self._is(operation_id, OperationRow.state == OPERATION_STATE_RUNNING)

    async def cancel(self, operation_id: str, states: Collection[OperationState.ValueType]) -> bool:
        """Ask an operation in one of these states to end; return whether it was asked."""
        return await self._move(operation_id, OperationRow.state.in_(states), cancelling=True)

    async def keep_on(self, operation_id: str) -> None:
        """Withdraw a cancel."""
        await self._move(operation_id, OperationRow.state == OPERATION_STATE_QUEUED, cancelling=False)

    async def is_cancelled(self, operation_id: str) -> bool:
        """Return whether an operation is cancelling, has ended, or is missing."""
        row = await self.read(operation_id)
        return row is None or row.cancelling or row.end_time is not None

    async def stop(self, operation_id: str) -> None:
        """End an operation: at once while it is queued, else at its next check."""
        if not await self.withdraw(operation_id):
            await self.cancel(operation_id, [OPERATION_STATE_RUNNING])

    async def withdraw(self, operation_id: str) -> bool:
        """End a queued operation as CANCELLED; return whether it was queued."""
        waits = OperationRow.state == OPERATION_STATE_QUEUED
        return await self._move(operation_id, waits, state=OPERATION_STATE_CANCELLED, end_time=datetime.now(UTC))

    async def end(self, operation_id: str, state: OperationState.ValueType, error: bytes = b"") -> None:
        """Record how an operation ended; an ended one does not change."""
        await self._move(operation_id, ~ENDED, state=state, error=error, end_time=datetime.now(UTC))

    async def note(self, operation_id: str, **counts: int) -> None:
        """Record an operation's progress."""
        await self._move(operation_id, ~ENDED, **counts)

    async def list_documents(self, operation_id: str, items: Sequence[Item]) -> None:
        """Add documents to an operation; existing ones stay as they are."""
        async with self._sessions.begin() as session:
            ids = [item.document_id for item in items]
            mine = OperationDocumentRow.operation_id == operation_id
            query = select(OperationDocumentRow.document_id).where(mine, OperationDocumentRow.document_id.in_(ids))
            known = set(await session.scalars(query))
            rows = [_values(operation_id, item) for item in items if item.document_id not in known]
            if rows:
                await session.execute(insert(OperationDocumentRow), rows)

    async def items(
        self, operation_id: str, after: str, limit: int, *, begun: bool | None = None, backwards: bool = False
    ) -> list[Item]:
        """Return an operation's open documents, by id, after (or before) one; "" from the first."""
        key = OperationDocumentRow.document_id
        query = select(OperationDocumentRow).where(
            OperationDocumentRow.operation_id == operation_id, OperationDocumentRow.outcome == Outcome.PENDING
        )
        if begun is not None:
            query = query.where(OperationDocumentRow.begun.is_(begun))
        if after:
            query = query.where(key < after if backwards else key > after)
        query = query.order_by(key.desc() if backwards else key).limit(limit)
        async with self._sessions() as session:
            return [_item(row) for row in await session.scalars(query)]

    async def begun(self, operation_id: str, document_id: str, revision: int) -> None:
        """Record the new revision of a document."""
        await self._change(operation_id, [document_id], begun=True, revision=revision)

    async def settle(self, operation_id: str, outcomes: Mapping[str, Outcome]) -> None:
        """Record outcomes of documents, and count all of the operation's."""
        for outcome in set(outcomes.values()):
            ids = [document_id for document_id, found in outcomes.items() if found == outcome]
            await self._change(operation_id, ids, outcome=int(outcome))
        await self.count(operation_id)

    async def skip_open(self, operation_id: str) -> None:
        """Skip all documents that were not begun."""
        mine = (
            OperationDocumentRow.operation_id == operation_id,
            OperationDocumentRow.begun.is_(False),
            OperationDocumentRow.outcome == Outcome.PENDING,
        )
        async with self._sessions.begin() as session:
            await session.execute(update(OperationDocumentRow).where(*mine).values(outcome=int(Outcome.SKIPPED)))
        await self.count(operation_id)

    async def count(self, operation_id: str) -> None:
        """Count an operation's documents by outcome."""
        query = (
            select(OperationDocumentRow.outcome, func.count())
            .where(OperationDocumentRow.operation_id == operation_id)
            .group_by(OperationDocumentRow.outcome)
        )
        async with self._sessions() as session:
            found = {int(row[0]): int(row[1]) for row in await session.execute(query)}
        await self.note(
            operation_id,
            total=sum(found.values()),
            done=found.get(Outcome.DONE, 0),
            failed=found.get(Outcome.FAILED, 0),
            skipped=found.get(Outcome.SKIPPED, 0),
        )

    async def named(self, operation_id: str) -> list[str]:
        """Return the ids of an operation's first documents."""
        key = OperationDocumentRow.document_id
        query = select(key).where(OperationDocumentRow.operation_id == operation_id).order_by(key).limit(MOST_NAMED)
        async with self._sessions() as session:
            return list(await session.scalars(query))

    async def collections(self, operation_id: str) -> list[str]:
        """Return the ids of the collections of an operation's documents."""
        query = select(OperationDocumentRow.collection_id.distinct())
        async with self._sessions() as session:
            return sorted(await session.scalars(query.where(OperationDocumentRow.operation_id == operation_id)))

    async def sweep(self) -> int:
        """Delete ended operations after their retention period; return how many there were."""
        old = OperationRow.end_time <= deletion_datetime() - self._keep
        async with self._sessions.begin() as session:
            done = await session.execute(delete(OperationRow).where(old))
        return int(done.rowcount)  # type: ignore[attr-defined]

    async def _is(self, operation_id: str, condition: ColumnElement[bool]) -> bool:
        async with self._sessions() as session:
            query = select(OperationRow.id).where(OperationRow.id == operation_id, condition)
            return (await session.scalar(query)) is not None

    async def _move(self, operation_id: str, condition: ColumnElement[bool], **values: Any) -> bool:
        change = update(OperationRow).where(OperationRow.id == operation_id, condition).values(**values)
        try:
            async with self._sessions.begin() as session:
                moved = bool((await session.execute(change)).rowcount)  # type: ignore[attr-defined]
        finally:
            self._written()
        if moved:
            self._bus.moved(operation_id)
        return moved

    def _written(self) -> None:
        self._writes += 1
        self._deleting.clear()

    async def _change(self, operation_id: str, ids: Iterable[str], **values: Any) -> None:
        row = OperationDocumentRow
        named = list(ids)
        for start in range(0, len(named), _BATCH):
            part = row.document_id.in_(named[start : start + _BATCH])
            async with self._sessions.begin() as session:
                await session.execute(update(row).where(row.operation_id == operation_id, part).values(**values))


def _operation(row: OperationRow | None) -> StoredOperation | None:
    return None if row is None else record(StoredOperation, row)


def _visible(scope: Scope) -> Sequence[ColumnElement[bool]]:
    of_tenant = OperationRow.tenant_id == scope.tenant_id
    return [of_tenant] if sees_all(scope) else [of_tenant, OperationRow.user_id == scope.user_id]


def _values(operation_id: str, item: Item) -> dict[str, Any]:
    return {
        "operation_id": operation_id,
        "document_id": item.document_id,
        "collection_id": item.collection_id,
        "revision": item.revision,
        "begun": item.begun,
        "outcome": int(item.outcome),
    }


def _row(operation_id: str, item: Item) -> OperationDocumentRow:
    return OperationDocumentRow(**_values(operation_id, item))


def _item(row: OperationDocumentRow) -> Item:
    return Item(row.document_id, row.collection_id, row.revision, row.begun, Outcome(row.outcome))
