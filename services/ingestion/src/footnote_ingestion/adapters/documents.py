"""The documents table: every change in one transaction, together with the list of files to delete."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence

from footnote_kit.access import document_missing
from footnote_kit.errors import Aborted, NotFound
from footnote_kit.paging import fitting
from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Text,
    and_,
    any_,
    cast,
    delete,
    func,
    insert,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_ingestion.adapters.changes import alive, note_gone
from footnote_ingestion.adapters.database import Database
from footnote_ingestion.adapters.records import from_row, state_name, to_row
from footnote_ingestion.adapters.schema import documents, doomed_blobs
from footnote_ingestion.model import ListQuery, Stored, now_micros
from footnote_ingestion.quota import Quota, Used


class DocumentTable:
    """Reads and changes documents; knows which files are to be deleted."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(self, stored: Stored, quota: Quota, allow_duplicate: bool) -> Stored | None:
        """Add a document and take its files off the list of those to delete.

        Returns the document that has the same bytes instead when there is one; raises `ResourceExhausted` when the
        collection or the tenant has no room for it.
        """
        document = stored.document
        async with self._database.write() as connection:
            if quota.of_tenant:
                await self._lock(connection, document.tenant_id)
            await self._lock(connection, document.tenant_id, document.collection_id)
            if not allow_duplicate:
                same = await self._same_bytes(connection, document.tenant_id, document.collection_id, document.sha256)
                if same is not None:
                    return same
            await self._check_quota(
                connection, document.tenant_id, document.collection_id, quota, 1, document.size_bytes
            )
            document.update_time.FromMicroseconds(now_micros())
            await connection.execute(insert(documents).values(**to_row(stored)))
            await connection.execute(delete(doomed_blobs).where(doomed_blobs.c.key.in_(stored.blob_keys())))
        return None

    async def precheck(
        self, tenant_id: str, collection_id: str, sha256: str, size: int, quota: Quota, allow_duplicate: bool
    ) -> Stored | None:
        """Return what `insert` would find, without changing anything: spares storing a file in vain."""
        async with self._database.read() as connection:
            if not allow_duplicate and (same := await self._same_bytes(connection, tenant_id, collection_id, sha256)):
                return same
            await self._check_quota(connection, tenant_id, collection_id, quota, 1, size)
        return None

    async def used(self, tenant_id: str, collection_id: str = "") -> Used:
        """Return what a tenant keeps, and one of its collections."""
        async with self._database.read() as connection:
            return await self._used(connection, tenant_id, collection_id)

    async def get(self, tenant_id: str, document_id: str) -> Stored:
        """Return a document of the tenant; raises `NotFound`."""
        async with self._database.read() as connection:
            return await self._get(connection, tenant_id, document_id)

    async def change(
        self, tenant_id: str, document_id: str, how: Callable[[Stored], Stored], quota: Quota | None = None
    ) -> Stored:
        """Apply `how` to a document in one transaction; files that it lets go are put on the list to delete.

        `how` gets a copy and may raise; when it returns the very object it was given nothing is written. Raises
        `ResourceExhausted` when the file has grown beyond what `quota` leaves the tenant.
        """
        async with self._database.write() as connection:
            if quota is not None and quota.of_tenant:
                await self._lock(connection, tenant_id)
            before = await self._get(connection, tenant_id, document_id, for_update=True)
            after = how(before)
            if after is before:
                return before
            document = after.document
            if quota is not None:
                grown = document.size_bytes - before.document.size_bytes
                await self._check_quota(connection, tenant_id, document.collection_id, quota, 0, grown)
            document.update_time.FromMicroseconds(now_micros())
            row = to_row(Stored(document, after.blob_key, after.parsed_key, before.version + 1))
            after = from_row(row)
            done = await connection.execute(
                update(documents)
                .where(documents.c.id == document_id, documents.c.version == before.version)
                .values(**row)
            )
            if done.rowcount != 1:
                raise Aborted("The document was changed by someone else at the same moment")
            await self._doom(connection, set(before.blob_keys()) - set(after.blob_keys()), now_micros())
            await connection.execute(delete(doomed_blobs).where(doomed_blobs.c.key.in_(after.blob_keys())))
        return after

    async def set_parsed_key(self, document_id: str, blob_key: str, parsed_key: str) -> bool:
        """Record where the parsed blocks of a file are kept; False when the document no longer has that file."""
        async with self._database.write() as connection:
            where = and_(documents.c.id == document_id, documents.c.blob_key == blob_key)
            found = (await connection.execute(select(documents.c.parsed_key).where(where))).scalar_one_or_none()
            if found is None:
                return False
            await connection.execute(update(documents).where(where).values(parsed_key=parsed_key))
            await self._doom(connection, {found} - {"", parsed_key}, now_micros())
            await connection.execute(delete(doomed_blobs).where(doomed_blobs.c.key == parsed_key))
        return True

    async def delete(self, tenant_id: str, document_id: str) -> list[str]:
        """Delete a document; returns the keys of its files, which are on the list to delete. None there: no keys."""
        async with self._database.write() as connection:
            try:
                stored = await self._get(connection, tenant_id, document_id, for_update=True, expired_too=True)
            except NotFound:
                return []
            await connection.execute(delete(documents).where(documents.c.id == document_id))
            await note_gone(connection, [stored])
            await self._doom(connection, stored.blob_keys(), now_micros())
        return stored.blob_keys()

    async def delete_expired(self, limit: int = 500) -> int:
        """Delete documents whose time has come; returns how many."""
        async with self._database.write() as connection:
            due = select(documents).where(documents.c.expire_time <= now_micros()).limit(limit)
            found = [from_row(row) for row in (await connection.execute(due)).mappings()]
            ids = [stored.document.id for stored in found]
            if ids:
                await connection.execute(delete(documents).where(documents.c.id.in_(ids)))
                await note_gone(connection, found)
                await self._doom(connection, [key for stored in found for key in stored.blob_keys()], now_micros())
        return len(found)

    async def list(self, query: ListQuery) -> tuple[list[Stored], str, int]:
        """Return a page of documents, newest first; the token of the next page; how many there are on all pages."""
        where = [alive()]
        if query.tenant_id:
            where.append(documents.c.tenant_id == query.tenant_id)
        if query.collection_ids is not None:
            where.append(self._of(query.collection_ids))
        if query.states:
            where.append(documents.c.state.in_([state_name(state) for state in query.states]))
        if query.filename_contains:
            where.append(documents.c.filename_folded.contains(query.filename_contains.casefold(), autoescape=True))
        page = select(documents).where(*where)
        if query.page.position is not None:
            time, last = int(query.page.position[0]), str(query.page.position[1])
            older = and_(documents.c.create_time == time, documents.c.id < last)
            page = page.where(or_(documents.c.create_time < time, older))
        page = page.order_by(documents.c.create_time.desc(), documents.c.id.desc()).limit(query.page.size + 1)
        async with self._database.read() as connection:
            total = (await connection.execute(select(func.count()).select_from(documents).where(*where))).scalar_one()
            rows = (await connection.execute(page)).mappings().all()
        found = [from_row(row) for row in rows]
        shown = min(query.page.size, fitting([stored.document for stored in found]))
        last_shown = (rows[shown - 1]["create_time"], found[shown - 1].document.id) if shown < len(rows) else None
        return found[:shown], query.page.token(last_shown) if last_shown is not None else "", total

    async def doom(self, keys: Iterable[str], due_micros: int) -> None:
        """Put files on the list to delete from `due_micros` on; one on it already gets the new time."""
        async with self._database.write() as connection:
            await self._doom(connection, keys, due_micros)

    async def doomed(self, limit: int = 500) -> Sequence[str]:
        """Keys of files that are due to be deleted."""
        due = select(doomed_blobs.c.key).where(doomed_blobs.c.due_time <= now_micros()).limit(limit)
        async with self._database.read() as connection:
            return list((await connection.execute(due)).scalars())

    async def deleted(self, keys: Sequence[str]) -> None:
        """Take files off the list: they are gone."""
        if keys:
            async with self._database.write() as connection:
                await connection.execute(delete(doomed_blobs).where(doomed_blobs.c.key.in_(keys)))

    def _of(self, collection_ids: frozenset[str]) -> ColumnElement[bool]:
        """Return the condition that a document is of one of these, as one parameter however many thousands they are."""
        if len(collection_ids) == 1:
            return documents.c.collection_id == next(iter(collection_ids))
        if self._database.is_sqlite:
            listed = func.json_each(json.dumps(sorted(collection_ids))).table_valued("value")
            return documents.c.collection_id.in_(select(listed.c.value))
        return documents.c.collection_id == any_(cast(sorted(collection_ids), ARRAY(Text)))

    async def _get(
        self,
        connection: AsyncConnection,
        tenant_id: str,
        document_id: str,
        for_update: bool = False,
        expired_too: bool = False,
    ) -> Stored:
        query = select(documents).where(documents.c.id == document_id, documents.c.tenant_id == tenant_id)
        if not expired_too:
            query = query.where(alive())
        if for_update:
            query = query.with_for_update()
        row = (await connection.execute(query)).mappings().one_or_none()
        if row is None:
            raise document_missing(document_id)
        return from_row(row)

    async def _lock(self, connection: AsyncConnection, *names: str) -> None:
        """Let no one else add to a tenant or a collection until the transaction ends; SQLite has one writer anyway."""
        if not self._database.is_sqlite:
            digest = hashlib.sha256("\0".join(names).encode()).digest()
            key = int.from_bytes(digest[:8], signed=True)
            await connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": key})

    async def _same_bytes(
        self, connection: AsyncConnection, tenant_id: str, collection_id: str, sha256: str
    ) -> Stored | None:
        query = select(documents).where(
            documents.c.tenant_id == tenant_id,
            documents.c.collection_id == collection_id,
            documents.c.sha256 == sha256,
            alive(),
        )
        row = (await connection.execute(query.order_by(documents.c.create_time).limit(1))).mappings().one_or_none()
        return from_row(row) if row is not None else None

    async def _check_quota(
        self, connection: AsyncConnection, tenant_id: str, collection_id: str, quota: Quota, documents: int, size: int
    ) -> None:
        if quota.of_tenant or quota.collection_documents:
            used = await self._used(connection, tenant_id, collection_id if quota.collection_documents else "", quota)
            quota.check(used, tenant_id, documents, size)

    async def _used(
        self, connection: AsyncConnection, tenant_id: str, collection_id: str, quota: Quota | None = None
    ) -> Used:
        """Return what is kept; with a quota, only what it limits is counted."""
        of_tenant = (documents.c.tenant_id == tenant_id, alive())
        in_collection = total = size = 0
        if collection_id:
            query = select(func.count()).where(documents.c.collection_id == collection_id, *of_tenant)
            in_collection = (await connection.execute(query)).scalar_one()
        if quota is None or quota.of_tenant:
            both = select(func.count(), func.coalesce(func.sum(documents.c.size_bytes), 0)).where(*of_tenant)
            total, size = (await connection.execute(both)).one()
        return Used(in_collection, total, int(size))

    async def _doom(self, connection: AsyncConnection, keys: Iterable[str], due_micros: int) -> None:
        rows = [{"key": key, "due_time": due_micros} for key in sorted(set(keys))]
        if rows:
            await connection.execute(delete(doomed_blobs).where(doomed_blobs.c.key.in_([row["key"] for row in rows])))
            await connection.execute(insert(doomed_blobs), rows)
