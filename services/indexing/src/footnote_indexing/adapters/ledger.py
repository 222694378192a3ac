"""Which document revisions are being written, searched or removed: the source of truth for the store."""

from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa
from footnote_database.failures import retry_on_conflict
from footnote_database.transactions import now_ms
from footnote_kit.errors import Aborted, FailedPrecondition
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing.adapters.index_versions import check_unmoved
from footnote_indexing.adapters.ledger_reading import LedgerReading
from footnote_indexing.adapters.revision_rows import (
    WRITER_TIMEOUT_MS,
    being_written,
    entry_of,
    hold_rows,
    is_revision,
    key_values,
    of_document,
)
from footnote_indexing.adapters.tables import revisions
from footnote_indexing.chunking.model import Chosen
from footnote_indexing.model import CURRENT, RETIRED, WRITING, Entry, Opened, RevisionKey


class LedgerTable(LedgerReading):
    """Moves revisions through WRITING -> CURRENT -> RETIRED."""

    @retry_on_conflict
    async def open(self, key: RevisionKey, fingerprint: str, contextual_header: bool) -> Opened:
        """Announce that a revision is being written and hide it; a CURRENT one stays CURRENT.

        Raises FailedPrecondition when a newer revision is already searched, or the document is in another collection.
        Raises Aborted when the revision was cancelled, or the document deleted.
        """
        async with self._database.write_documents() as connection:
            if await _is_cancelled(connection, key):
                raise _overtaken(key, cancelled=True)
            if await _is_deleted(connection, key):
                raise _overtaken(key)
            elsewhere = sa.select(revisions.c.collection_id).where(
                revisions.c.document_id == key.document_id,
                revisions.c.collection_id != key.collection_id,
                revisions.c.state != RETIRED,
            )
            if (await connection.execute(elsewhere.limit(1))).first() is not None:
                # Chunk ids begin with the document's id: one document in two collections would overwrite its own
                # chunks.
                raise FailedPrecondition(f"Document '{key.document_id}' belongs to another collection")
            rows = (await connection.execute(sa.select(revisions).where(of_document(key)))).all()
            before = next((entry_of(row) for row in rows if row.revision == key.revision), None)
            current = next((entry_of(row) for row in rows if row.state == CURRENT), None)
            if current is not None and current.key.revision > key.revision:
                raise FailedPrecondition(
                    f"Revision {key.revision} of document '{key.document_id}' is older than {current.key.revision}, "
                    "which is searched already"
                )
            if before is not None and before.state == CURRENT:
                # Complete even if settings changed since: they apply from the next revision on.
                return Opened(before, current)
            values = {
                "state": WRITING, "fingerprint": fingerprint, "contextual_header": contextual_header, "purge_at": None,
                "updated_at": now_ms(),
            }  # fmt: skip
            if before is None:
                values |= key_values(key)
                await connection.execute(sa.insert(revisions).values(values))
            else:
                await connection.execute(sa.update(revisions).where(is_revision(key)).values(values))
            return Opened(before, current)

    @retry_on_conflict
    async def open_new(self, fingerprints: Mapping[RevisionKey, str], contextual_header: bool) -> set[RevisionKey]:
        """Announce first revisions of documents in one transaction; return those whose documents were unknown.

        All keys have the same collection and index version. Known documents need `open`, which considers their
        revisions.
        """
        async with self._database.write_documents() as connection:
            ids = [key.document_id for key in fingerprints]
            known = sa.select(revisions.c.document_id).where(revisions.c.document_id.in_(ids))
            there = set((await connection.execute(known)).scalars())
            new = {key for key in fingerprints if key.document_id not in there}
            rows = [
                key_values(key)
                | {
                    "state": WRITING, "fingerprint": fingerprints[key], "contextual_header": contextual_header,
                    "updated_at": now_ms(),
                }
                for key in sorted(new, key=lambda one: one.document_id)  # one order of locks: no deadlock
            ]  # fmt: skip
            if rows:
                await connection.execute(sa.insert(revisions), rows)
        return new

    async def publish_new(self, outcomes: Mapping[RevisionKey, Mapping[str, object]]) -> dict[RevisionKey, Aborted]:
        """Publish revisions announced by `open_new`, in one transaction; return the refusals.

        A document that was deleted, replaced or cancelled meanwhile is refused. `outcomes` are values by column. Raises
        Unavailable when the collection began to move to another model.
        """
        first = next(iter(outcomes))
        refused: dict[RevisionKey, Aborted] = {}
        async with self._database.write_documents() as connection:
            await check_unmoved(connection, first.collection_id, first.index_version, {first.index_version})
            ids = [key.document_id for key in outcomes]
            query = sa.select(revisions).where(revisions.c.document_id.in_(ids)).order_by(revisions.c.document_id)
            there: dict[str, list[sa.Row[tuple[object, ...]]]] = {}
            for row in await connection.execute(query.with_for_update()):
                there.setdefault(row.document_id, []).append(row)
            rows = []
            for key, values in outcomes.items():
                found = there.get(key.document_id, [])
                if len(found) != 1 or entry_of(found[0]).key != key or found[0].state != WRITING:
                    refused[key] = _overtaken(key, cancelled=any(row.cancelled for row in found))
                    continue
                rows.append({f"of_{name}": value for name, value in key_values(key).items()} | dict(values))
            if rows:
                mine = sa.and_(*(revisions.c[name] == sa.bindparam(f"of_{name}") for name in key_values(first)))
                change = sa.update(revisions).where(mine).values(state=CURRENT, updated_at=now_ms())
                await connection.execute(change, rows)
        return refused

    async def check_wanted(self, key: RevisionKey) -> None:
        """Raise Aborted if a revision was deleted or replaced."""
        if not await self.wanted(key):
            async with self._database.read() as connection:
                raise _overtaken(key, cancelled=await _is_cancelled(connection, key))

    async def wanted(self, key: RevisionKey) -> bool:
        """Return whether a revision is being written or searched."""
        async with self._database.read() as connection:
            state = await connection.execute(sa.select(revisions.c.state).where(is_revision(key)))
            return state.scalar_one_or_none() in (WRITING, CURRENT)

    async def is_empty(self, collection_id: str) -> bool:
        """Return whether a collection has no revision searched or being written."""
        held = sa.select(revisions.c.revision).where(
            revisions.c.collection_id == collection_id, revisions.c.state != RETIRED
        )
        async with self._database.read() as connection:
            return (await connection.execute(held.limit(1))).first() is None

    @retry_on_conflict
    async def open_next(self, collection_id: str, index_version: int, document_ids: Sequence[str]) -> list[RevisionKey]:
        """Announce the next revision of each of several documents at once; return their keys in order."""
        newest = (
            sa.select(revisions.c.document_id, sa.func.max(revisions.c.revision))
            .where(revisions.c.collection_id == collection_id, revisions.c.index_version == index_version)
            .where(revisions.c.document_id.in_(list(document_ids)))
            .group_by(revisions.c.document_id)
        )
        async with self._database.write_documents() as connection:
            numbers = {row[0]: row[1] for row in await connection.execute(newest)}
            keys = [RevisionKey(collection_id, index_version, one, numbers.get(one, 0) + 1) for one in document_ids]
            now = now_ms()
            values = [
                {
                    "collection_id": key.collection_id, "index_version": key.index_version,
                    "document_id": key.document_id, "revision": key.revision, "state": WRITING,
                    "fingerprint": "", "contextual_header": False, "updated_at": now,
                }
                for key in keys
            ]  # fmt: skip
            await connection.execute(sa.insert(revisions), values)
        return keys

    async def publish(
        self,
        key: RevisionKey,
        *,
        chosen: Chosen,
        language: str,
        chunks: int,
        characters: int,
        expire_at: int | None,
        grace_ms: int,
        written: Collection[int] = (),
        owed: int = 0,
    ) -> None:
        """Make a revision the searched one, and retire the one before, atomically.

        At most `owed` rows get their vectors later. `written` are the index versions that the document was written
        into.

        Raises Aborted when the document or its collection was deleted, or the revision superseded, during the write.
        Raises Unavailable when the collection began to move to another model meanwhile: the document would be missing
        from the new index version.
        """
        async with self._database.write_documents() as connection:
            await check_unmoved(connection, key.collection_id, key.index_version, {key.index_version, *written})
            await self.publish_on(
                connection, key, chosen=chosen, language=language, chunks=chunks, characters=characters,
                expire_at=expire_at, grace_ms=grace_ms, owed=owed,
            )  # fmt: skip

    async def publish_on(
        self,
        connection: AsyncConnection,
        key: RevisionKey,
        *,
        chosen: Chosen,
        language: str,
        chunks: int,
        characters: int,
        expire_at: int | None,
        grace_ms: int,
        owed: int = 0,
    ) -> None:
        """Publish inside an open transaction, without the check for a move to another model."""
        now = now_ms()
        done = await connection.execute(
            sa.update(revisions)
            .where(is_revision(key), revisions.c.state == WRITING)
            .values(
                state=CURRENT, strategy=chosen[0], choice=chosen[1], language=language[:16],
                chunks_expected=chunks, chunks_stored=chunks, characters=characters, expire_at=expire_at,
                updated_at=now, vectors_owed=owed,
            )
        )  # fmt: skip
        cancelled = await _is_cancelled(connection, key)
        if done.rowcount != 1 or cancelled:
            twin = (await connection.execute(sa.select(revisions).where(is_revision(key)))).first()
            if twin is not None and twin.state == CURRENT and twin.chunks_stored == chunks:
                return  # a concurrent attempt wrote the same and finished first
            raise _overtaken(key, cancelled=cancelled)
        # Earlier ones only: a later one may be being written by another replica, and searches will find that one then.
        others = [of_document(key), revisions.c.revision < key.revision]
        await connection.execute(
            sa.update(revisions)
            .where(*others, revisions.c.state == CURRENT, ~being_written())
            .values(state=RETIRED, purge_at=now + grace_ms, updated_at=now)
        )
        await connection.execute(
            sa.update(revisions)
            .where(*others, being_written())
            .values(state=RETIRED, purge_at=now + WRITER_TIMEOUT_MS, updated_at=now)
        )

    @retry_on_conflict
    async def retire_document(
        self, collection_id: str, index_version: int, document_id: str, revision: int
    ) -> list[Entry]:
        """Hide a document's revisions (revision 0: all of them) for good; return their previous entries, for purging.

        If a single revision was searched, the one that it replaced is searched again, while its rows are still there.

        The entries stay until the sweeper has purged once more: a writer may still be at work on one. With them all
        goes the document: an entry of revision 0 in `index_version` keeps jobs under way from beginning it, or again.
        """
        chosen = [revisions.c.collection_id == collection_id, revisions.c.document_id == document_id]
        async with self._database.write() as connection:
            # The newest first, as `publish` locks them: one that is being published is seen as it was left.
            query = sa.select(revisions).where(*chosen).order_by(revisions.c.revision.desc()).with_for_update()
            found = (await connection.execute(query)).all()
            rows = [row for row in found if revision in (0, row.revision)]
            if not revision and not any(row.revision == 0 for row in rows):
                values = key_values(RevisionKey(collection_id, index_version, document_id, 0)) | {
                    "state": RETIRED, "fingerprint": "", "contextual_header": False, "updated_at": now_ms(),
                    "purge_at": now_ms() + WRITER_TIMEOUT_MS,
                }  # fmt: skip
                await connection.execute(sa.insert(revisions).values(values))
            for row in rows:
                entry = entry_of(row)
                written = entry.state == WRITING or row.vectors_owed or (row.claimed_until or 0) > now_ms()
                purge_at = max(now_ms() + (WRITER_TIMEOUT_MS if written else 1000), row.purge_at or 0)
                await connection.execute(
                    sa.update(revisions)
                    .where(is_revision(entry.key))
                    .values(state=RETIRED, purge_at=purge_at, chunks_stored=0, updated_at=now_ms())
                )
            for row in rows if revision else ():
                if row.state == CURRENT:
                    await _restore_earlier(connection, entry_of(row).key)
            return [entry_of(row) for row in rows]

    @retry_on_conflict
    async def cancel(self, key: RevisionKey) -> list[Entry]:
        """Cancel a revision, begun or not, in every index version; return its entries, for purging.

        Raises FailedPrecondition when it is already searched: exactly one of `cancel` and `publish` succeeds. Until the
        sweeper removes the entry, it keeps other writers from beginning the revision. By then the document's own record
        says that it was cancelled.
        """
        chosen = [
            revisions.c.collection_id == key.collection_id,
            revisions.c.document_id == key.document_id,
            revisions.c.revision == key.revision,
        ]
        given_up = {
            "state": RETIRED, "cancelled": True, "purge_at": now_ms() + WRITER_TIMEOUT_MS, "updated_at": now_ms(),
        }  # fmt: skip
        async with self._database.write() as connection:
            rows = (await connection.execute(sa.select(revisions).where(*chosen).with_for_update())).all()
            if any(row.state == CURRENT for row in rows):
                raise FailedPrecondition(
                    f"Revision {key.revision} of document '{key.document_id}' is searched already",
                    metadata={"state": "INDEXED", "requested": "ERROR"},
                )
            await connection.execute(sa.update(revisions).where(*chosen).values(given_up))
            if key.index_version not in {row.index_version for row in rows}:
                values = key_values(key) | {"fingerprint": "", "contextual_header": False}
                await connection.execute(sa.insert(revisions).values(values | given_up))
            return [entry_of(row) for row in rows]

    async def relabel(self, collection_id: str, document_id: str, expire_at: int | None) -> tuple[list[Entry], int]:
        """Set when the searched revisions of a document expire (Unix milliseconds), in all index versions.

        Returns their entries and a claim for the worker that rewrites the rows. While the claim lasts, the entry stays
        even when retired, and hides rows that are written late. A claim of the worker that makes owed vectors ends:
        it writes nothing from now on, and what it is writing is there when this returns.
        """
        chosen = [
            revisions.c.collection_id == collection_id,
            revisions.c.document_id == document_id,
            revisions.c.state == CURRENT,
        ]
        claim = now_ms() + WRITER_TIMEOUT_MS
        async with self._database.write() as connection:
            change = sa.update(revisions).where(*chosen).values(expire_at=expire_at, claimed_until=claim)
            await connection.execute(change)
            rows = (await connection.execute(sa.select(revisions).where(*chosen))).all()
        async with self._database.read() as connection:
            await hold_rows(connection, document_id)
        return [entry_of(row) for row in rows], claim

    async def relabelled(self, key: RevisionKey, claim: int) -> bool:
        """Release a claim, if it is still the same; return whether the revision is still searched."""
        async with self._database.write_documents() as connection:
            mine = sa.update(revisions).where(is_revision(key), revisions.c.claimed_until == claim)
            await connection.execute(mine.values(claimed_until=None))
            state = (
                await connection.execute(sa.select(revisions.c.state).where(is_revision(key)))
            ).scalar_one_or_none()
            return state == CURRENT


def _overtaken(key: RevisionKey, *, cancelled: bool = False) -> Aborted:
    if cancelled:
        message = f"The indexing of document '{key.document_id}' was cancelled"
        return Aborted(message, metadata={"cancelled": "true"})
    return Aborted(f"Document '{key.document_id}' was deleted or replaced while it was indexed")


def _gave_up(key: RevisionKey) -> sa.ColumnElement[bool]:
    """Return the condition that a revision was cancelled, in any index version."""
    return sa.and_(
        revisions.c.collection_id == key.collection_id,
        revisions.c.document_id == key.document_id,
        revisions.c.revision == key.revision,
        revisions.c.cancelled,
    )


async def _is_cancelled(connection: AsyncConnection, key: RevisionKey) -> bool:
    query = sa.select(revisions.c.revision).where(_gave_up(key)).limit(1)
    return (await connection.execute(query)).first() is not None


async def _is_deleted(connection: AsyncConnection, key: RevisionKey) -> bool:
    query = sa.select(revisions.c.revision).where(
        revisions.c.collection_id == key.collection_id,
        revisions.c.document_id == key.document_id,
        revisions.c.revision == 0,
    )
    return (await connection.execute(query.limit(1))).first() is not None


async def _restore_earlier(connection: AsyncConnection, key: RevisionKey) -> None:
    """Search a document's last complete revision before `key` again, unless its rows are purged or due to be."""
    earlier = sa.select(sa.func.max(revisions.c.revision)).where(
        of_document(key),
        revisions.c.revision < key.revision,
        revisions.c.state == RETIRED,
        revisions.c.cancelled.is_(False),
        revisions.c.purge_at > now_ms(),
        revisions.c.chunks_stored == revisions.c.chunks_expected,
        revisions.c.chunks_stored > 0,
    )
    if (found := (await connection.execute(earlier)).scalar_one_or_none()) is None:
        return
    chosen = sa.and_(of_document(key), revisions.c.revision == found)
    await connection.execute(sa.update(revisions).where(chosen).values(state=CURRENT, purge_at=None))
