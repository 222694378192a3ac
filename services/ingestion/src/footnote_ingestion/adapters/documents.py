"""The documents table: every change in one transaction, together with the list of files to delete."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from footnote_kit.access import document_missing
from footnote_kit.document_files import newest
from footnote_kit.errors import Aborted, FootnoteError, NotFound, Unavailable
from footnote_kit.paging import Page
from sqlalchemy import and_, delete, func, insert, or_, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_ingestion.adapters import requests
from footnote_ingestion.adapters.changes import alive, note_gone
from footnote_ingestion.adapters.database import Database
from footnote_ingestion.adapters.listing import Listing
from footnote_ingestion.adapters.records import from_row, to_row
from footnote_ingestion.adapters.schema import documents, doomed_blobs
from footnote_ingestion.model.lifecycle import check_seen
from footnote_ingestion.model.quota import Quota, StoredTotals, Used
from footnote_ingestion.model.repeats import Outcome, Repeated, Request
from footnote_ingestion.model.values import ListQuery, Stored, Unfinished, now_micros, tables_key

_TAKEN = 0
"""The due time of a file whose deletion has begun."""


_BYTES = documents.c.size_bytes + documents.c.replacement_bytes
"""The bytes of a document's files: the searched one, and its replacement."""


class DocumentTable:
    """Reads and changes documents; tracks which files are to be deleted."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._listing = Listing(database)

    async def insert(
        self, stored: Stored, quota: Quota, allow_duplicate: bool, request: Request | None = None
    ) -> Stored | None:
        """Add a document, record its request, and take its files off the deletion list.

        Returns the existing document instead when one has the same bytes. Raises `ResourceExhausted` when the
        collection or the tenant has no room for it, `Repeated` when the request was answered in between.
        """
        document = stored.document
        async with self._database.write() as connection:
            if quota.of_tenant:
                await self._lock(connection, document.tenant_id)
            await self._lock(connection, document.tenant_id, document.collection_id)
            await self._claim(connection, request)
            if not allow_duplicate:
                same = await self._same_bytes(connection, document.tenant_id, document.collection_id, document.sha256)
                if same is not None:
                    return same
            await self._check_quota(
                connection, document.tenant_id, document.collection_id, quota, 1, document.size_bytes
            )
            document.update_time.FromMicroseconds(now_micros())
            await connection.execute(insert(documents).values(**to_row(stored)))
            await self._keep(connection, stored.blob_keys())
            if request is not None:
                await requests.note(connection, request.key, Outcome(request.content, document.id, False, False))
        return None

    async def precheck(
        self, tenant_id: str, collection_id: str, sha256: str, size: int, quota: Quota, allow_duplicate: bool
    ) -> Stored | None:
        """Return what `insert` would find, without changing anything, so that no file is stored in vain."""
        async with self._database.read() as connection:
            if not allow_duplicate and (same := await self._same_bytes(connection, tenant_id, collection_id, sha256)):
                return same
            await self._check_quota(connection, tenant_id, collection_id, quota, 1, size)
        return None

    async def used(self, tenant_id: str, collection_id: str = "") -> Used:
        """Return the totals of a tenant and of one of its collections."""
        async with self._database.read() as connection:
            return await self._used(connection, tenant_id, collection_id)

    async def owner_totals(self, tenant_id: str, owner_id: str) -> StoredTotals:
        """Return the totals of one owner in a tenant."""
        mine = (documents.c.tenant_id == tenant_id, documents.c.owner_id == owner_id, alive())
        query = select(func.count(), func.coalesce(func.sum(_BYTES), 0)).where(*mine)
        async with self._database.read() as connection:
            count, size = (await connection.execute(query)).one()
        return StoredTotals(owner_id, count, int(size))

    async def totals_by_owner(self, tenant_id: str, after: str, most: int) -> list[StoredTotals]:
        """Return the totals per owner, up to a limit, in the order of their ids, after one."""
        # Compare code points, whatever the database's language.
        owner = documents.c.owner_id if self._database.is_sqlite else documents.c.owner_id.collate("C")
        query = (
            select(documents.c.owner_id, func.count(), func.sum(_BYTES))
            .where(documents.c.tenant_id == tenant_id, alive(), owner > after)
            .group_by(documents.c.owner_id)
            .order_by(owner)
            .limit(most)
        )
        async with self._database.read() as connection:
            return [StoredTotals(name, count, int(size)) for name, count, size in await connection.execute(query)]

    async def get(self, tenant_id: str, document_id: str) -> Stored:
        """Return a document of the tenant; raises `NotFound`."""
        async with self._database.read() as connection:
            return await self._get(connection, tenant_id, document_id)

    async def change(
        self,
        tenant_id: str,
        document_id: str,
        how: Callable[[Stored], Stored],
        quota: Quota | None = None,
        request: Request | None = None,
    ) -> Stored:
        """Apply `how` to a document in one transaction; files that it releases go on the deletion list.

        `how` gets a copy and may raise; if it returns the same object, nothing is written. Raises `ResourceExhausted`
        when the file outgrows what `quota` leaves the tenant. `request` is the upload of the same bytes that caused the
        change. It is recorded, and raises `Repeated` when it was answered in between.
        """
        async with self._database.write() as connection:
            if quota is not None and quota.of_tenant:
                await self._lock(connection, tenant_id)
            await self._claim(connection, request)
            before = await self._get(connection, tenant_id, document_id, for_update=True)
            after = how(before)
            if request is not None:
                outcome = Outcome(request.content, document_id, True, after is not before)
                await requests.note(connection, request.key, outcome)
            if quota is not None and after is not before:
                # Compare the newest revisions only: a shorter file is accepted even while the old one is kept.
                grown = newest(after.document).size_bytes - newest(before.document).size_bytes
                await self._check_quota(connection, tenant_id, after.document.collection_id, quota, 0, grown)
            return await self._put(connection, before, after)

    async def change_many(
        self, tenant_id: str, ways: Mapping[str, Callable[[Stored], Stored]]
    ) -> dict[str, Stored | FootnoteError]:
        """Apply a function to each of several documents in one transaction; return the outcomes by document id.

        A function that raises leaves its document as it is, and the others are changed. A failed write changes none.
        """
        outcomes: dict[str, Stored | FootnoteError] = {}
        async with self._database.write() as connection:
            found = await self._several(connection, tenant_id, ways, for_update=True)
            for document_id, how in ways.items():
                if (before := found.get(document_id)) is None:
                    outcomes[document_id] = document_missing(document_id)
                    continue
                try:
                    after = how(before)
                except FootnoteError as error:
                    outcomes[document_id] = error
                else:
                    outcomes[document_id] = await self._put(connection, before, after)
        return outcomes

    async def several(self, tenant_id: str, document_ids: Collection[str]) -> dict[str, Stored]:
        """Return documents of the tenant by id; those that are missing are left out."""
        async with self._database.read() as connection:
            return await self._several(connection, tenant_id, document_ids)

    async def _several(
        self, connection: AsyncConnection, tenant_id: str, document_ids: Collection[str], for_update: bool = False
    ) -> dict[str, Stored]:
        chosen = (documents.c.id.in_(list(document_ids)), documents.c.tenant_id == tenant_id, alive())
        query = select(documents).where(*chosen).order_by(documents.c.id)  # one order of locks: no deadlock
        if for_update:
            query = query.with_for_update()
        return {row["id"]: from_row(row) for row in (await connection.execute(query)).mappings()}

    async def _put(self, connection: AsyncConnection, before: Stored, after: Stored) -> Stored:
        """Write a changed document and update the deletion list; the same object means no change."""
        if after is before:
            return before
        after.document.update_time.FromMicroseconds(now_micros())
        row = to_row(replace(after, version=before.version + 1))
        if after.labels() != before.labels():
            row["relabelled"] = before.version + 1
        after = from_row(row)
        done = await connection.execute(
            update(documents)
            .where(documents.c.id == before.document.id, documents.c.version == before.version)
            .values(**row)
        )
        if done.rowcount != 1:
            raise Aborted("The document was changed by someone else at the same moment")
        if (files := set(after.blob_keys())) != set(before.blob_keys()):
            await self._doom(connection, set(before.blob_keys()) - files, now_micros())
            await self._keep(connection, after.blob_keys(), besides=before.blob_keys())
        return after

    async def set_parsed_key(self, document_id: str, blob_key: str, parsed_key: str) -> bool:
        """Record where a file's blocks and tables are kept; False when the document no longer has that file."""
        async with self._database.write() as connection:
            where = and_(documents.c.id == document_id, documents.c.blob_key == blob_key)
            found = (await connection.execute(select(documents.c.parsed_key).where(where))).scalar_one_or_none()
            if found is None:
                return False
            await connection.execute(update(documents).where(where).values(parsed_key=parsed_key))
            await self._doom(connection, {found} - {"", parsed_key}, now_micros())
            kept = (parsed_key, tables_key(blob_key))
            await connection.execute(delete(doomed_blobs).where(doomed_blobs.c.key.in_(kept)))
        return True

    async def delete(self, tenant_id: str, document_id: str) -> list[str]:
        """Delete a document; return the keys of its files, now on the deletion list, or none for a missing document."""
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
        """Delete expired documents; return their number."""
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
        """Return a page of documents, the next page's token, and the total number."""
        return await self._listing.page(query)

    async def begin_deletion(self, tenant_id: str, document_id: str, etag: str) -> Stored:
        """Hide a document from all callers before its deletion; raises `NotFound`, `Aborted` for another etag."""
        async with self._database.write() as connection:
            stored = await self._get(connection, tenant_id, document_id, for_update=True)
            check_seen(stored.document, etag, 0)
            await connection.execute(
                update(documents).where(documents.c.id == document_id).values(delete_time=now_micros())
            )
        return stored

    async def undo_deletion(self, tenant_id: str, document_id: str) -> Stored:
        """Undo `begin_deletion`; raises `NotFound` for a document that is deleted."""
        async with self._database.write() as connection:
            chosen = and_(documents.c.id == document_id, documents.c.tenant_id == tenant_id)
            await connection.execute(update(documents).where(chosen).values(delete_time=None))
            return await self._get(connection, tenant_id, document_id)

    async def unfinished(self, page: Page) -> tuple[Sequence[Unfinished], str]:
        """Return documents with unfinished work, and the next page's token."""
        return await self._listing.unfinished(page)

    async def there(self, document_ids: Sequence[str]) -> Sequence[str]:
        """Return which of these documents have a row, in any tenant and state."""
        query = select(documents.c.id).where(documents.c.id.in_(document_ids))
        async with self._database.read() as connection:
            return list((await connection.execute(query)).scalars())

    async def newest_files(self, most: int) -> Sequence[str]:
        """Return the file keys of the most recently changed documents, except those in deletion."""
        query = select(documents.c.blob_key).where(documents.c.delete_time.is_(None), documents.c.blob_key != "")
        async with self._database.read() as connection:
            return (await connection.scalars(query.order_by(documents.c.update_time.desc()).limit(most))).all()

    async def labelled(self, tenant_id: str, document_id: str, version: int) -> None:
        """Record that a document's chunks match its record at a version."""
        async with self._database.write() as connection:
            await connection.execute(
                update(documents)
                .where(
                    documents.c.id == document_id,
                    documents.c.tenant_id == tenant_id,
                    documents.c.relabelled <= version,
                )
                .values(relabelled=None)
            )

    async def doom(self, keys: Iterable[str], due_micros: int) -> None:
        """Put files on the deletion list, due at `due_micros`; files already there get the new time."""
        async with self._database.write() as connection:
            await self._doom(connection, keys, due_micros)

    async def give_up(self, keys: Sequence[str]) -> Sequence[str]:
        """Make listed files due now, and return those; files no longer listed belong to a document."""
        async with self._database.write() as connection:
            due = update(doomed_blobs).where(doomed_blobs.c.key.in_(keys)).values(due_time=now_micros())
            return list((await connection.execute(due.returning(doomed_blobs.c.key))).scalars())

    async def doomed(self, limit: int = 500) -> Sequence[str]:
        """Claim files that are due, so that no document can get them any more, and return their keys."""
        due = select(doomed_blobs.c.key).where(doomed_blobs.c.due_time <= now_micros()).limit(limit)
        async with self._database.read() as connection:
            keys = list((await connection.execute(due)).scalars())
        if not keys:
            return []
        async with self._database.write() as connection:
            still = update(doomed_blobs).where(doomed_blobs.c.key.in_(keys)).values(due_time=_TAKEN)
            return list((await connection.execute(still.returning(doomed_blobs.c.key))).scalars())

    async def deleted(self, keys: Sequence[str]) -> None:
        """Take deleted files off the list."""
        if keys:
            async with self._database.write() as connection:
                await connection.execute(delete(doomed_blobs).where(doomed_blobs.c.key.in_(keys)))

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
        """Block other additions to a tenant or collection until the transaction ends; SQLite has one writer anyway."""
        if not self._database.is_sqlite:
            digest = hashlib.sha256("\0".join(names).encode()).digest()
            key = int.from_bytes(digest[:8], signed=True)
            await connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": key})

    async def _claim(self, connection: AsyncConnection, request: Request | None) -> None:
        """Block other answers to a request until the transaction ends; raises `Repeated` if it has an answer."""
        if request is not None:
            key = request.key
            await self._lock(connection, key.tenant_id, "request", key.user_id, key.request_id)
            if (known := await requests.find(connection, key)) is not None:
                raise Repeated(known)

    async def _same_bytes(
        self, connection: AsyncConnection, tenant_id: str, collection_id: str, sha256: str
    ) -> Stored | None:
        query = select(documents).where(
            documents.c.tenant_id == tenant_id,
            documents.c.collection_id == collection_id,
            or_(
                and_(documents.c.sha256 == sha256, documents.c.replacement_sha256 == ""),
                documents.c.replacement_sha256 == sha256,
            ),
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
        """Return the current totals; with a quota, only those that it limits."""
        of_tenant = (documents.c.tenant_id == tenant_id, alive())
        in_collection = total = size = 0
        if collection_id:
            query = select(func.count()).where(documents.c.collection_id == collection_id, *of_tenant)
            in_collection = (await connection.execute(query)).scalar_one()
        if quota is None or quota.of_tenant:
            both = select(func.count(), func.coalesce(func.sum(_BYTES), 0)).where(*of_tenant)
            total, size = (await connection.execute(both)).one()
        return Used(in_collection, total, int(size))

    async def _keep(self, connection: AsyncConnection, keys: Sequence[str], besides: Sequence[str] = ()) -> None:
        """Take files off the list; raises `Unavailable` if the sweeper has claimed one that is not in `besides`.

        A new file has an hour, which a clock set forward can cut short.
        """
        listed, new = doomed_blobs.c.key.in_(keys), doomed_blobs.c.key.not_in(besides)
        taken = select(doomed_blobs.c.key).where(listed, new, doomed_blobs.c.due_time == _TAKEN).limit(1)
        if (await connection.execute(taken)).first() is not None:
            raise Unavailable("The file was given up before it had a document; send it again", retry_after=0.1)
        await connection.execute(delete(doomed_blobs).where(listed))

    async def _doom(self, connection: AsyncConnection, keys: Iterable[str], due_micros: int) -> None:
        rows = [{"key": key, "due_time": due_micros} for key in sorted(set(keys))]
        if rows:
            await connection.execute(delete(doomed_blobs).where(doomed_blobs.c.key.in_([row["key"] for row in rows])))
            await connection.execute(insert(doomed_blobs), rows)
