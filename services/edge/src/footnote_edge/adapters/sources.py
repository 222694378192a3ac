"""The table of sources: settings, schedule, and the run that holds each source."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from footnote.edge.v1.operations_pb2 import OPERATION_KIND_DELETE_COLLECTION, OPERATION_STATE_SUCCEEDED
from footnote.edge.v1.sources_pb2 import (
    SOURCE_ITEM_STATE_FAILED,
    SOURCE_STATE_AWAY,
    SOURCE_STATE_DELETING,
)
from footnote.stages.v1.scope_pb2 import Scope
from footnote_database.transactions import utc
from footnote_kit.errors import Aborted, AlreadyExists
from footnote_kit.paging import Page
from sqlalchemy import and_, delete, exists, extract, func, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.database import Database, record
from footnote_edge.adapters.tables import OperationRow, SourceItemRow, SourceRow
from footnote_edge.jobs.ports import StoredOperation
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.sources.stored import (
    COMPLETE,
    LISTING,
    PARTIAL,
    SKEW,
    Outcome,
    StoredSource,
    Superseded,
    source_missing,
)

_DUE = 100
_BATCH = 500
_ACTIVE = and_(OperationRow.source_id == SourceRow.id, OperationRow.end_time.is_(None))


class SourceTable:
    """Reads and writes sources."""

    def __init__(self, database: Database, bus: ProgressBus) -> None:
        self._sessions = database.sessions
        self._bus = bus

    async def add(self, source: StoredSource) -> None:
        """Record a new source; raises AlreadyExists if its collection has one of that name."""
        try:
            async with self._sessions.begin() as session:
                session.add(SourceRow(**asdict(source)))
        except IntegrityError:
            raise _name_taken(source.name) from None

    async def read(self, source_id: str) -> StoredSource | None:
        """Return a source; None for an unknown one."""
        async with self._sessions() as session:
            row = await session.get(SourceRow, source_id)
        return None if row is None else record(StoredSource, row)

    async def get(self, scope: Scope, source_id: str) -> StoredSource:
        """Return a source of the caller's tenant; raises NotFound."""
        source = await self.read(source_id)
        if source is None or source.tenant_id != scope.tenant_id:
            raise source_missing(source_id)
        return source

    async def page(
        self, scope: Scope, page: Page, collections: Collection[str] | None
    ) -> tuple[list[StoredSource], str]:
        """Return a page of a tenant's sources, newest first, and the next token; `collections` None means all."""
        wanted = [SourceRow.tenant_id == scope.tenant_id]
        if collections is not None:
            wanted.append(SourceRow.collection_id.in_(collections))
        query = select(SourceRow).where(*wanted)
        if page.position is not None:
            time, last = datetime.fromisoformat(str(page.position[0])), str(page.position[1])
            same = and_(SourceRow.create_time == time, SourceRow.id > last)
            query = query.where(or_(SourceRow.create_time < time, same))
        query = query.order_by(SourceRow.create_time.desc(), SourceRow.id).limit(page.size + 1)
        async with self._sessions() as session:
            rows = [record(StoredSource, row) for row in await session.scalars(query)]
        shown = rows[: page.size]
        more = len(rows) > page.size
        return shown, page.token((shown[-1].create_time.isoformat(), shown[-1].id)) if more else ""

    async def count(self, tenant_id: str) -> int:
        """Return a tenant's number of sources."""
        query = select(func.count()).select_from(SourceRow).where(SourceRow.tenant_id == tenant_id)
        async with self._sessions() as session:
            return int(await session.scalar(query) or 0)

    async def collections(self, tenant_id: str) -> set[str]:
        """Return the ids of a tenant's collections that have sources."""
        query = select(SourceRow.collection_id).where(SourceRow.tenant_id == tenant_id).distinct()
        async with self._sessions() as session:
            return set(await session.scalars(query))

    async def change(self, source_id: str, etag: str, fresh: str, values: Mapping[str, Any]) -> None:
        """Change a source and its etag; raises Aborted if its etag differs, AlreadyExists for a taken name."""
        query = update(SourceRow).where(SourceRow.id == source_id, SourceRow.deleting.is_(False))
        if etag:
            query = query.where(SourceRow.etag == etag)
        try:
            async with self._sessions.begin() as session:
                done = await session.execute(query.values(etag=fresh, update_time=datetime.now(UTC), **values))
        except IntegrityError:
            raise _name_taken(str(values.get("name", ""))) from None
        if done.rowcount != 1:  # type: ignore[attr-defined]
            raise Aborted("The source was changed in between; read it again")
        self._bus.moved(source_id)

    async def mark_deleting(self, source_id: str) -> None:
        """Remove a source from the schedule for good."""
        values = {"deleting": True, "state": SOURCE_STATE_DELETING, "next_time": None}
        await self._set(source_id, values)

    async def remove(self, source_id: str) -> None:
        """Delete a source and its items."""
        async with self._sessions.begin() as session:
            await session.execute(delete(SourceItemRow).where(SourceItemRow.source_id == source_id))
            await session.execute(delete(SourceRow).where(SourceRow.id == source_id))
        self._bus.moved(source_id)

    async def active(self, source_id: str) -> StoredOperation | None:
        """Return the operation that synchronises or deletes a source now."""
        mine = (OperationRow.source_id == source_id, OperationRow.end_time.is_(None))
        query = select(OperationRow).where(*mine).order_by(OperationRow.kind.desc()).limit(1)
        async with self._sessions() as session:
            row = (await session.scalars(query)).one_or_none()
        return None if row is None else record(StoredOperation, row)

    async def due(self, now: datetime) -> list[StoredSource]:
        """Return the sources that are due or have a failed item to retry; the most overdue first.

        Items of a source that is away wait for its next listing: each retry would be refused or fail like the last.
        """
        retry = exists().where(
            SourceItemRow.source_id == SourceRow.id,
            SourceItemRow.state == SOURCE_ITEM_STATE_FAILED,
            SourceItemRow.retry_time <= now,
        )
        retried = and_(SourceRow.away_since.is_(None), retry)
        come = or_(SourceRow.next_time.is_(None), SourceRow.next_time <= now, _too_far(now), retried)
        query = (
            select(SourceRow)
            .where(SourceRow.paused.is_(False), SourceRow.deleting.is_(False), come, ~exists().where(_ACTIVE))
            .order_by(SourceRow.next_time)
            .limit(_DUE)
        )
        async with self._sessions() as session:
            return [record(StoredSource, row) for row in await session.scalars(query)]

    async def watchable(self, kinds: Collection[str], limit: int) -> list[StoredSource]:
        """Return active sources of some kinds, by id: the same ones each time."""
        mine = (SourceRow.kind.in_(kinds), SourceRow.paused.is_(False), SourceRow.deleting.is_(False))
        query = select(SourceRow).where(*mine).order_by(SourceRow.id).limit(limit)
        async with self._sessions() as session:
            return [record(StoredSource, row) for row in await session.scalars(query)]

    async def oldest(self) -> datetime | None:
        """Return the time since which the most outdated source is out of step; None without active sources."""
        when = func.min(func.coalesce(SourceRow.in_step_time, SourceRow.create_time))
        mine = (SourceRow.paused.is_(False), SourceRow.deleting.is_(False))
        async with self._sessions() as session:
            found = await session.scalar(select(when).where(*mine))
        return None if found is None else utc(found)

    async def of_deleted_collections(self) -> list[str]:
        """Return the ids of sources whose collection was deleted."""
        gone = select(OperationRow.collection_id).where(
            OperationRow.kind == OPERATION_KIND_DELETE_COLLECTION, OperationRow.state == OPERATION_STATE_SUCCEEDED
        )
        async with self._sessions() as session:
            return list(await session.scalars(select(SourceRow.id).where(SourceRow.collection_id.in_(gone))))

    async def existing(self, source_ids: Collection[str]) -> set[str]:
        """Return those of some ids that sources have."""
        ids, found = list(source_ids), set[str]()
        async with self._sessions() as session:
            for start in range(0, len(ids), _BATCH):
                part = SourceRow.id.in_(ids[start : start + _BATCH])
                found.update(await session.scalars(select(SourceRow.id).where(part)))
        return found

    async def sealed_with_others(self, key_id: str) -> list[StoredSource]:
        """Return the sources whose secrets are not encrypted with this key."""
        query = select(SourceRow).where(SourceRow.secret_key != "", SourceRow.secret_key != key_id)
        async with self._sessions() as session:
            return [record(StoredSource, row) for row in await session.scalars(query)]

    async def reseal(self, source: StoredSource, data: bytes, key_id: str) -> None:
        """Store re-encrypted secrets, unless they were replaced in the meantime."""
        same = (SourceRow.id == source.id, SourceRow.etag == source.etag, SourceRow.secret_key == source.secret_key)
        async with self._sessions.begin() as session:
            await session.execute(update(SourceRow).where(*same).values(secrets=data, secret_key=key_id))

    # Writes of a run. Each one checks the fence: a superseded run writes nothing.

    async def take(self, source_id: str, run_id: str, token: str) -> StoredSource:
        """Assign a source to a run, taking it from any other; raises Superseded if it is deleted.

        A run repeated after a crash resumes its listing.
        """
        async with self._sessions.begin() as session:
            row = await session.get(SourceRow, source_id, with_for_update=True)
            if row is None:
                raise Superseded
            if row.run_id != run_id:
                row.run_id, row.run_cursor, row.run_listed = run_id, "", LISTING
            row.run_token = token
        return record(StoredSource, row)

    async def fence(self, session: AsyncSession, source_id: str, token: str, **values: Any) -> None:
        """Check the fence within the run's transaction: raises Superseded unless the run still holds the source."""
        mine = (SourceRow.id == source_id, SourceRow.run_token == token)
        done = await session.execute(update(SourceRow).where(*mine).values(run_token=token, **values))
        if done.rowcount != 1:  # type: ignore[attr-defined]
            raise Superseded

    async def note(self, source_id: str, token: str, **values: Any) -> None:
        """Write a run's findings about its source; raises Superseded."""
        async with self._sessions.begin() as session:
            await self.fence(session, source_id, token, **values)
        self._bus.moved(source_id)

    async def make_due(self, source_id: str) -> None:
        """Make a source due now, and so begin a run as soon as the one in progress has ended."""
        await self._set(source_id, {"next_time": datetime.now(UTC)})

    async def listed(self, source: StoredSource, token: str, outcome: Outcome) -> None:
        """Record the end of a run's listing, and the next due time unless that was changed during the run."""
        now = datetime.now(UTC)
        values: dict[str, Any] = {
            "state": outcome.state,
            "error": outcome.error,
            "warnings": json.dumps(list(outcome.warnings)),
            "run_listed": COMPLETE if outcome.gone else PARTIAL,
            "away_since": (source.away_since or now) if outcome.state == SOURCE_STATE_AWAY else None,
        }
        async with self._sessions.begin() as session:
            await self.fence(session, source.id, token, **values)
            row = await session.get_one(SourceRow, source.id)
            if record(StoredSource, row).next_time == source.next_time and not outcome.retries_only:
                row.next_time = now + timedelta(seconds=row.interval_seconds)
        self._bus.moved(source.id)

    async def in_step(self, source_id: str, token: str, since: datetime) -> None:
        """Record that everything that existed at a time is synchronised."""
        await self.note(source_id, token, in_step_time=since)

    async def counts(self, source_ids: Collection[str]) -> dict[str, dict[int, int]]:
        """Return the numbers of items of sources by state."""
        found: dict[str, dict[int, int]] = {source_id: {} for source_id in source_ids}
        query = (
            select(SourceItemRow.source_id, SourceItemRow.state, func.count())
            .where(SourceItemRow.source_id.in_(source_ids))
            .group_by(SourceItemRow.source_id, SourceItemRow.state)
        )
        async with self._sessions() as session:
            for source_id, state, count in await session.execute(query):
                found[source_id][int(state)] = int(count)
        return found

    async def _set(self, source_id: str, values: Mapping[str, Any]) -> None:
        async with self._sessions.begin() as session:
            await session.execute(update(SourceRow).where(SourceRow.id == source_id).values(**values))
        self._bus.moved(source_id)


def _too_far(now: datetime) -> Any:
    return extract("epoch", SourceRow.next_time) > (now + SKEW).timestamp() + SourceRow.interval_seconds


def _name_taken(name: str) -> AlreadyExists:
    return AlreadyExists(f"The collection already has a source '{name}'", reason="SOURCE_EXISTS")
