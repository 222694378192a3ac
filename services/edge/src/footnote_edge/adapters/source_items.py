"""The table of items: the state of each item's document, and of the last listing."""

import json
import math
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from footnote_kit.paging import Page as ListPage
from sqlalchemy import ColumnElement, and_, delete, func, insert, or_, select, update

from footnote_edge.adapters.database import Database, record
from footnote_edge.adapters.sources import SourceTable
from footnote_edge.adapters.tables import SourceItemRow as Row
from footnote_edge.sources.ports import Item, Known
from footnote_edge.sources.stored import FAILED, PENDING, SKEW, SKIPPED, Holder, StoredItem, key_of
from footnote_edge.sources.transfer import RETRIES

_BATCH = 500
_GATHERED = 1 / 8
"""Share of its pause by which a failed item is tried earlier, with others."""


class ItemTable:
    """Reads and writes the items of sources."""

    def __init__(self, database: Database, sources: SourceTable) -> None:
        self._sessions = database.sessions
        self._sources = sources

    async def known(self, source_id: str, item_ids: Sequence[str]) -> dict[str, Known]:
        """Return known items by id; items not listed before are missing."""
        found: dict[str, Known] = {}
        async with self._sessions() as session:
            for keys in _batches([key_of(item_id) for item_id in item_ids]):
                query = select(Row.item, Row.listed_version, Row.memo).where(Row.source_id == source_id)
                for item, version, memo in await session.execute(query.where(Row.key.in_(keys))):
                    found[item] = Known(version, json.loads(memo))
        return found

    async def get(self, source_id: str, key: str) -> StoredItem | None:
        """Return an item by its key."""
        async with self._sessions() as session:
            row = await session.get(Row, (source_id, key))
        return None if row is None else record(StoredItem, row)

    async def see(self, holder: Holder, listed: Sequence[Item], cursor: str) -> int:
        """Store a page of a listing with its cursor, atomically; return how many items are new or changed."""
        items = {key_of(item.id): item for item in listed}
        touched = 0
        async with self._sessions.begin() as session:
            await self._sources.fence(session, holder.source_id, holder.token, run_cursor=cursor)
            known: dict[str, Row] = {}
            for keys in _batches(list(items)):
                query = select(Row).where(Row.source_id == holder.source_id, Row.key.in_(keys))
                known |= {row.key: row for row in await session.scalars(query)}
            same = []
            for key, item in items.items():
                row = known.get(key)
                if row is not None and _as_before(row, item):
                    same.append(key)
                    if (row.owner, row.groups) != tuple(_permissions(item).values()):  # they change by themselves
                        mine = (Row.source_id == holder.source_id, Row.key == key)
                        await session.execute(update(Row).where(*mine).values(**_permissions(item)))
                    continue
                touched += 1
                values = _values(item) | {"seen_run": holder.run_id}
                if row is None:
                    values |= {"source_id": holder.source_id, "key": key, "nonce": uuid4().hex}
                    await session.execute(insert(Row).values(**values))
                else:
                    mine = (Row.source_id == holder.source_id, Row.key == key)
                    await session.execute(update(Row).where(*mine).values(**values))
            for keys in _batches(same):
                mine = (Row.source_id == holder.source_id, Row.key.in_(keys))
                await session.execute(update(Row).where(*mine).values(seen_run=holder.run_id))
        return touched

    async def pending(
        self, source_id: str, after: str, limit: int, moved: frozenset[int | None] | None = None
    ) -> list[StoredItem]:
        """Return pending items, by key after one; of `moved` sizes only those that may be moves of vanished items."""
        where = () if moved is None else (_may_be_move(moved),)
        wanted = (Row.source_id == source_id, Row.state == PENDING, Row.key > after, *where)
        return await self._rows(*wanted, limit=limit)

    async def vanished(self, holder: Holder, after: str, limit: int) -> list[StoredItem]:
        """Return items missing from the run's listing, by key after one."""
        wanted = (Row.source_id == holder.source_id, Row.seen_run != holder.run_id, Row.key > after)
        return await self._rows(*wanted, limit=limit)

    async def all(self, source_id: str, after: str, limit: int) -> list[StoredItem]:
        """Return items of a source, by key after one."""
        return await self._rows(Row.source_id == source_id, Row.key > after, limit=limit)

    async def indexing(self, source_id: str, after: str, limit: int) -> list[StoredItem]:
        """Return items whose documents have not ended, by key after one."""
        return await self._rows(Row.source_id == source_id, Row.revision > 0, Row.key > after, limit=limit)

    async def not_indexed(self, source_id: str, after: str, limit: int) -> list[StoredItem]:
        """Return items whose documents could not be indexed and are there, by key after one."""
        failed = (Row.state == FAILED, Row.reason == "NOT_INDEXED", Row.retry_time.is_(None), Row.document_id != "")
        return await self._rows(Row.source_id == source_id, *failed, Row.key > after, limit=limit)

    async def unconfirmed(self, source_id: str, after: str, limit: int) -> list[StoredItem]:
        """Return items whose upload began and whose document is unknown, by key after one."""
        wanted = (Row.source_id == source_id, Row.document_id == "", Row.label != "", Row.key > after)
        return await self._rows(*wanted, limit=limit)

    async def owned(self, source_id: str, document_ids: Collection[str]) -> set[str]:
        """Return those of some documents that an item of the source has."""
        found: set[str] = set()
        async with self._sessions() as session:
            for ids in _batches(list(document_ids)):
                query = select(Row.document_id).where(Row.source_id == source_id, Row.document_id.in_(ids))
                found.update(await session.scalars(query))
        return found

    async def take_up_again(self, holder: Holder, now: datetime) -> int:
        """Make failed items pending whose retry time has come, or nearly so; return how many."""
        mine = (Row.source_id == holder.source_id, Row.state == FAILED, _is_retried(now))
        async with self._sessions.begin() as session:
            await self._sources.fence(session, holder.source_id, holder.token)
            done = await session.execute(update(Row).where(*mine).values(state=PENDING))
        return int(done.rowcount)  # type: ignore[attr-defined]

    async def set(self, holder: Holder, key: str, **values: Any) -> None:
        """Change an item."""
        async with self._sessions.begin() as session:
            await self._sources.fence(session, holder.source_id, holder.token)
            mine = (Row.source_id == holder.source_id, Row.key == key)
            await session.execute(update(Row).where(*mine).values(**values))

    async def settle(self, holder: Holder, ended: dict[str, dict[str, Any]]) -> None:
        """Change several items at once, by key."""
        async with self._sessions.begin() as session:
            await self._sources.fence(session, holder.source_id, holder.token)
            for key, values in ended.items():
                mine = (Row.source_id == holder.source_id, Row.key == key)
                await session.execute(update(Row).where(*mine).values(**values))

    async def remove(self, holder: Holder, keys: Collection[str]) -> None:
        """Delete items."""
        async with self._sessions.begin() as session:
            await self._sources.fence(session, holder.source_id, holder.token)
            for part in _batches(list(keys)):
                await session.execute(delete(Row).where(Row.source_id == holder.source_id, Row.key.in_(part)))

    async def origin_of_move(
        self, holder: Holder, item: StoredItem, *, version: str = "", sha256: str = ""
    ) -> StoredItem | None:
        """Return a vanished item whose document has the same content, by version or hash."""
        same = Row.version == version if version else Row.sha256 == sha256
        wanted = (
            Row.source_id == holder.source_id, Row.seen_run != holder.run_id, Row.document_id != "", same,
            Row.key != item.key,
        )  # fmt: skip
        found = await self._rows(*wanted, limit=1)
        return found[0] if found else None

    async def sizes_of_vanished(self, holder: Holder) -> frozenset[int | None]:
        """Return sizes of vanished items with documents, for `pending`; None for an unknown one."""
        gone = select(Row.size).where(
            Row.source_id == holder.source_id, Row.seen_run != holder.run_id, Row.document_id != ""
        )
        async with self._sessions() as session:
            return frozenset(await session.scalars(gone.distinct().limit(_BATCH + 1)))

    async def move(self, holder: Holder, old: StoredItem, new: StoredItem) -> None:
        """Move the document of a vanished item to a new one, and delete the vanished item."""
        async with self._sessions.begin() as session:
            await self._sources.fence(session, holder.source_id, holder.token)
            gone = delete(Row).where(Row.source_id == holder.source_id, Row.key == old.key)
            if (await session.execute(gone)).rowcount != 1:  # type: ignore[attr-defined]
                return
            mine = (Row.source_id == holder.source_id, Row.key == new.key)
            taken = {"document_id": old.document_id, "sha256": old.sha256, "label": old.label, "version": old.version}
            await session.execute(update(Row).where(*mine).values(nonce=old.nonce, revision=old.revision, **taken))

    async def page(self, source_id: str, page: ListPage, states: Collection[int]) -> tuple[list[StoredItem], str, int]:
        """Return a page of items by name, the next token, and the total."""
        wanted: list[ColumnElement[bool]] = [Row.source_id == source_id]
        if states:
            wanted.append(Row.state.in_(states))
        query = select(Row).where(*wanted)
        if page.position is not None:
            item, key = str(page.position[0]), str(page.position[1])
            query = query.where(or_(Row.item > item, and_(Row.item == item, Row.key > key)))
        query = query.order_by(Row.item, Row.key).limit(page.size + 1)
        async with self._sessions() as session:
            rows = [record(StoredItem, row) for row in await session.scalars(query)]
            total = await session.scalar(select(func.count()).select_from(Row).where(*wanted))
        shown = rows[: page.size]
        more = len(rows) > page.size
        return shown, page.token((shown[-1].item, shown[-1].key)) if more else "", total or 0

    async def _rows(self, *where: ColumnElement[bool], limit: int) -> list[StoredItem]:
        async with self._sessions() as session:
            rows = await session.scalars(select(Row).where(*where).order_by(Row.key).limit(limit))
            return [record(StoredItem, row) for row in rows]


def _may_be_move(sizes: frozenset[int | None]) -> ColumnElement[bool]:
    new = Row.document_id == ""
    if not sizes:
        return and_(new, Row.key == "")
    if None in sizes or len(sizes) > _BATCH:
        return new
    return and_(new, or_(Row.size.is_(None), Row.size.in_(sizes)))


def _is_retried(now: datetime) -> ColumnElement[bool]:
    """Return whether at most a share of an item's pause is left: else each of many failed items began a run alone.

    A time further ahead than any pause comes from a wrong clock.
    """
    levels = 1 + math.ceil(math.log2(RETRIES.longest / RETRIES.first))
    pauses = [min(RETRIES.longest, RETRIES.first * 2.0**level) for level in range(levels)]
    soon = [(attempts, now + timedelta(seconds=pause * _GATHERED)) for attempts, pause in enumerate(pauses, start=1)]
    wrong = Row.retry_time > now + SKEW + timedelta(seconds=RETRIES.longest)
    return or_(Row.retry_time <= now, wrong, *(and_(Row.attempts >= one, Row.retry_time <= when) for one, when in soon))


def _as_before(row: Row, item: Item) -> bool:
    """Return whether a listing shows an item unchanged: then only the sighting is recorded."""
    if row.listed_version != item.version or not (item.version or item.skip):
        return False
    if (row.name, row.address) != (item.name, item.address) or json.loads(row.memo) != item.memo:
        return False
    if item.skip is not None:
        return row.state in (SKIPPED, FAILED) and row.reason == item.skip.reason
    # Without an attempt, an earlier listing could not read it, and this one can.
    return row.state not in (SKIPPED, FAILED) or row.attempts > 0 or row.reason == "NOT_INDEXED"


def _permissions(item: Item) -> dict[str, str]:
    permissions = item.permissions
    if permissions is None:
        return {"owner": "", "groups": "[]"}
    return {"owner": permissions.owner, "groups": json.dumps(list(permissions.groups))}


def _values(item: Item) -> dict[str, Any]:
    values: dict[str, Any] = {
        "item": item.id,
        "name": item.name,
        "address": item.address,
        "memo": json.dumps(dict(item.memo)),
        **_permissions(item),
        "size": item.size,
        "listed_version": item.version,
        "state": PENDING,
        "attempts": 0,
        "retry_time": None,
        "reason": "",
        "message": "",
    }
    if item.skip is not None:
        values |= {"state": SKIPPED, "reason": item.skip.reason, "message": str(item.skip)}
        if not item.skip.permanent:
            values |= {"state": FAILED, "retry_time": datetime.now(UTC) + timedelta(seconds=RETRIES.pause(1))}
    return values


def _batches(keys: list[str]) -> list[list[str]]:
    return [keys[start : start + _BATCH] for start in range(0, len(keys), _BATCH)]
