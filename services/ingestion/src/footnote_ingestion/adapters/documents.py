"""The documents table: every change in one transaction, together with the list of files to delete."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from footnote.types.v1.document_pb2 import DocumentState
from footnote_database.failures import retry_on_conflict
from footnote_kit.access import document_missing
from footnote_kit.document_files import newest
from footnote_kit.errors import FootnoteError, NotFound
from footnote_kit.paging import Page
from sqlalchemy import and_, delete, func, select, update

from footnote_ingestion.adapters import requests
from footnote_ingestion.adapters.additions import Additions
from footnote_ingestion.adapters.changes import alive, note_gone
from footnote_ingestion.adapters.database import Database
from footnote_ingestion.adapters.listing import Listing
from footnote_ingestion.adapters.records import from_row, state_name
from footnote_ingestion.adapters.rows import BYTES, TAKEN
from footnote_ingestion.adapters.schema import documents, doomed_blobs
from footnote_ingestion.model.lifecycle import check_seen
from footnote_ingestion.model.quota import Quota, StoredTotals, Used
from footnote_ingestion.model.repeats import Outcome, Request
from footnote_ingestion.model.values import ListQuery, Stored, Unfinished, deletion_micros, now_micros, tables_key

_AT_ONCE = 500  # rows of one transaction
_LEFT_MICROS = 24 * 3600 * 1_000_000
"""How long after its expiry a document waits for edge to complete its deletion."""


class DocumentTable(Additions):
    """Reads and changes documents; tracks which files are to be deleted."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._listing = Listing(database)

    async def used(self, tenant_id: str, collection_id: str = "") -> Used:
        """Return the totals of a tenant and of one of its collections."""
        async with self._database.read() as connection:
            return await self._used(connection, tenant_id, collection_id)

    async def owner_totals(self, tenant_id: str, owner_id: str) -> StoredTotals:
        """Return the totals of one owner in a tenant."""
        mine = (documents.c.tenant_id == tenant_id, documents.c.owner_id == owner_id, alive())
        query = select(func.count(), func.coalesce(func.sum(BYTES), 0)).where(*mine)
        async with self._database.read() as connection:
            count, size = (await connection.execute(query)).one()
        return StoredTotals(owner_id, count, int(size))

    async def totals_by_owner(self, tenant_id: str, after: str, most: int) -> list[StoredTotals]:
        """Return the totals per owner, up to a limit, in the order of their ids, after one."""
        # Compare code points, whatever the database's language.
        owner = documents.c.owner_id if self._database.is_sqlite else documents.c.owner_id.collate("C")
        query = (
            select(documents.c.owner_id, func.count(), func.sum(BYTES))
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
            changes: dict[str, tuple[Stored, Stored]] = {}
            for document_id, how in ways.items():
                if (before := found.get(document_id)) is None:
                    outcomes[document_id] = document_missing(document_id)
                    continue
                try:
                    after = how(before)
                except FootnoteError as error:
                    outcomes[document_id] = error
                else:
                    outcomes[document_id] = after
                    if after is not before:
                        changes[document_id] = (before, after)
            if changes:
                outcomes |= zip(changes, await self._put_all(connection, list(changes.values())), strict=True)
        return outcomes

    async def several(self, tenant_id: str, document_ids: Collection[str]) -> dict[str, Stored]:
        """Return documents of the tenant by id; those that are missing are left out."""
        async with self._database.read() as connection:
            return await self._several(connection, tenant_id, document_ids)

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

    async def delete_expired(self) -> int:
        """Begin the deletion of expired documents, and complete those left for a day; return how many it completed.

        Edge completes a begun deletion: it removes the document's chunks, and what answers derive from it.
        """
        now = deletion_micros()
        async with self._database.write() as connection:
            expired = (documents.c.expire_time <= now, documents.c.delete_time.is_(None))
            begun = documents.c.id.in_(select(documents.c.id).where(*expired).limit(_AT_ONCE))
            await connection.execute(update(documents).where(begun).values(delete_time=now_micros()))
            left = (documents.c.expire_time <= now, documents.c.delete_time <= now - _LEFT_MICROS)
            due = select(documents).where(*left).limit(_AT_ONCE)
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
        """Return the file keys of the documents added last in each state, except those in deletion."""
        found: list[str] = []
        async with self._database.read() as connection:
            for state in DocumentState.values():  # one after the other, in the order of an index
                query = select(documents.c.blob_key).where(documents.c.state == state_name(state))
                query = query.where(documents.c.delete_time.is_(None), documents.c.blob_key != "")
                newest = query.order_by(documents.c.create_time.desc(), documents.c.id.desc()).limit(most)
                found += (await connection.scalars(newest)).all()
        return found

    async def added_since(self, micros: int) -> bool:
        """Return whether a document was added after a time, except those in deletion."""
        query = select(documents.c.id).where(documents.c.delete_time.is_(None), documents.c.create_time > micros)
        async with self._database.read() as connection:
            return (await connection.scalars(query.limit(1))).first() is not None

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

    @retry_on_conflict
    async def doom(self, keys: Collection[str], due_micros: int) -> None:
        """Put files on the deletion list, due at `due_micros`; files already there get the new time."""
        async with self._database.write() as connection:
            await self._doom(connection, keys, due_micros)

    async def give_up(self, keys: Sequence[str]) -> Sequence[str]:
        """Make listed files due now, and return those; files no longer listed belong to a document."""
        async with self._database.write() as connection:
            due = update(doomed_blobs).where(doomed_blobs.c.key.in_(keys)).values(due_time=now_micros())
            return list((await connection.execute(due.returning(doomed_blobs.c.key))).scalars())

    async def doomed(self) -> Sequence[str]:
        """Claim files that are due, so that no document can get them any more, and return their keys."""
        due = select(doomed_blobs.c.key).where(doomed_blobs.c.due_time <= deletion_micros()).limit(_AT_ONCE)
        async with self._database.read() as connection:
            keys = list((await connection.execute(due)).scalars())
        if not keys:
            return []
        async with self._database.write() as connection:
            still = update(doomed_blobs).where(doomed_blobs.c.key.in_(keys)).values(due_time=TAKEN)
            return list((await connection.execute(still.returning(doomed_blobs.c.key))).scalars())

    async def deleted(self, keys: Sequence[str]) -> None:
        """Take deleted files off the list."""
        if keys:
            async with self._database.write() as connection:
                await connection.execute(delete(doomed_blobs).where(doomed_blobs.c.key.in_(keys)))
