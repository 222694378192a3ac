"""Ledger entries of rows with own vectors: each row is a document of one chunk, named by `own_key`."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager

import sqlalchemy as sa
from footnote_database.transactions import now_ms
from footnote_kit.access import collection_missing
from footnote_kit.errors import Aborted
from footnote_store.rows import own_key
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.index_versions import check_unmoved
from footnote_indexing.adapters.revision_rows import WRITER_TIMEOUT_MS, key_values, searched
from footnote_indexing.adapters.tables import index_versions, revisions
from footnote_indexing.model import CURRENT, RETIRED, WRITING, NewRow, RevisionKey

_SOON_MS = 1000


class RowTable:
    """Searched rows; each query is limited to one collection for which the caller's access was checked."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, collection_id: str, index_version: int, after: str, limit: int) -> list[RevisionKey]:
        """Return rows in the order of their ids, those after the id `after`, "" for the first."""
        query = (
            sa.select(revisions.c.document_id, revisions.c.revision)
            .where(_of(collection_id), revisions.c.index_version == index_version, *searched())
            .where(revisions.c.document_id > own_key(collection_id, after))
            .order_by(revisions.c.document_id)
            .limit(limit)
        )
        async with self._database.read() as connection:
            return [RevisionKey(collection_id, index_version, *row) for row in await connection.execute(query)]

    async def find(self, collection_id: str, index_version: int, row_id: str) -> RevisionKey | None:
        """Return the revision of a row, None if it does not exist."""
        name = own_key(collection_id, row_id)
        query = sa.select(revisions.c.revision).where(
            revisions.c.collection_id == collection_id,
            revisions.c.index_version == index_version,
            revisions.c.document_id == name,
            *searched(),
        )
        async with self._database.read() as connection:
            number = (await connection.execute(query)).scalar_one_or_none()
        return None if number is None else RevisionKey(collection_id, index_version, name, number)

    async def there(self, collection_id: str, row_ids: Collection[str]) -> list[str]:
        """Return those rows that exist, expired ones included; raises NotFound without such a collection."""
        names = {own_key(collection_id, row_id): row_id for row_id in row_ids}
        # Chunks of the first release name a row with its collection.
        names |= {row_id: row_id for row_id in row_ids if row_id.startswith(own_key(collection_id, ""))}
        query = sa.select(revisions.c.document_id).where(
            revisions.c.collection_id == collection_id,
            revisions.c.document_id.in_(list(names)),
            revisions.c.state == CURRENT,
        )
        known = sa.select(index_versions.c.number).where(index_versions.c.collection_id == collection_id).limit(1)
        async with self._database.read() as connection:
            if (await connection.execute(known)).first() is None:
                raise collection_missing(collection_id)
            return list({names[one] for one in (await connection.execute(query)).scalars()})

    @asynccontextmanager
    async def publishing(self, rows: Sequence[NewRow], grace_ms: int) -> AsyncIterator[list[RevisionKey]]:
        """Make rows of one index version searched when the block ends; yield the revisions that were searched before.

        They are yielded before the commit, so that the caller can withdraw the rows if the commit is interrupted.
        Raises as `publish`, and Unavailable when the collection left this index version.
        """
        first = rows[0].key
        async with self._database.write_documents() as connection:
            await check_unmoved(connection, first.collection_id, first.index_version, None)
            yield await self.publish(connection, rows, grace_ms)

    async def publish(self, connection: AsyncConnection, rows: Sequence[NewRow], grace_ms: int) -> list[RevisionKey]:
        """Make rows of one index version searched inside a transaction; return the revisions that were searched before.

        These are purged after `grace_ms`. The number of statements does not depend on the number of rows. Raises
        Aborted when a row was deleted or replaced while it was written.
        """
        first = rows[0].key
        of_index_version = (
            revisions.c.collection_id == first.collection_id,
            revisions.c.index_version == first.index_version,
        )
        named = revisions.c.document_id.in_([row.key.document_id for row in rows])
        there = sa.select(revisions).where(*of_index_version, named, revisions.c.state != RETIRED).with_for_update()
        siblings = (await connection.execute(there)).all()
        writing = {(one.document_id, one.revision) for one in siblings if one.state == WRITING}
        mine = {(row.key.document_id, row.key.revision) for row in rows}
        if lost := mine - writing:
            name = min(lost)[0].partition("/")[2]
            raise Aborted(f"The row '{name}' was deleted or replaced while it was written; send the rows once more")
        now = now_ms()
        others = [one for one in siblings if (one.document_id, one.revision) not in mine]
        before = [one for one in others if one.state == CURRENT]
        for found, delay_ms in (
            (before, grace_ms),
            ([one for one in others if one.state == WRITING], WRITER_TIMEOUT_MS),
        ):
            await _set(connection, [_key(first, one) for one in found], state=RETIRED, purge_at=now + delay_ms)
        published = _one().values(
            state=CURRENT, language=sa.bindparam("new_language"), chunks_expected=1, chunks_stored=1,
            characters=sa.bindparam("new_characters"), expire_at=sa.bindparam("new_expire_at"), updated_at=now,
        )  # fmt: skip
        values = [
            _place(row.key)
            | {"new_language": row.language[:16], "new_characters": row.characters, "new_expire_at": row.expire_at}
            for row in rows
        ]
        await connection.execute(published, values)
        return [_key(first, one) for one in before]

    async def list_again(self, rows: Sequence[NewRow]) -> list[str]:
        """Enter rows of which the ledger lost every trace, searched; return the revision keys of those entered.

        A row that the ledger lists with a later revision is left out.
        """
        if not rows:
            return []
        first = rows[0].key
        newest = (
            sa.select(revisions.c.document_id, sa.func.max(revisions.c.revision))
            .where(revisions.c.collection_id == first.collection_id, revisions.c.index_version == first.index_version)
            .where(revisions.c.document_id.in_([row.key.document_id for row in rows]))
            .group_by(revisions.c.document_id)
        )
        async with self._database.write_documents() as connection:
            listed = {row[0]: row[1] for row in await connection.execute(newest)}
            latest = {row.key.document_id: row for row in sorted(rows, key=lambda row: row.key.revision)}
            lost = [row for row in latest.values() if row.key.revision > listed.get(row.key.document_id, 0)]
            if lost:
                opened = {"state": WRITING, "fingerprint": "", "contextual_header": False, "updated_at": now_ms()}
                await connection.execute(sa.insert(revisions), [key_values(row.key) | opened for row in lost])
                await self.publish(connection, lost, _SOON_MS)
        return [row.key.revision_key for row in lost]

    async def withdraw(self, keys: Sequence[RevisionKey], before: Sequence[RevisionKey]) -> None:
        """Undo an addition, begun or complete: hide its rows and make searched again what was `before`.

        The earlier revisions' grace must not be over. Rows that a later addition has replaced stay as it left them.
        """
        first = keys[0]
        published = sa.select(revisions.c.document_id, revisions.c.revision).where(
            revisions.c.collection_id == first.collection_id,
            revisions.c.index_version == first.index_version,
            revisions.c.document_id.in_([key.document_id for key in keys]),
            revisions.c.state == CURRENT,
        )
        async with self._database.write() as connection:
            ours = {(row.document_id, row.revision) for row in await connection.execute(published.with_for_update())}
            mine = {key.document_id for key in keys if (key.document_id, key.revision) in ours}
            await _set(connection, keys, states=(WRITING, CURRENT), state=RETIRED, purge_at=now_ms())
            restored = [key for key in before if key.document_id in mine]
            await _set(connection, restored, states=(RETIRED,), state=CURRENT, purge_at=None)

    async def any(self, collection_id: str) -> bool:
        """Return whether a collection has rows that are searched or being written."""
        query = sa.select(revisions.c.revision).where(_of(collection_id), revisions.c.state != RETIRED).limit(1)
        async with self._database.read() as connection:
            return (await connection.execute(query)).first() is not None

    async def retire(
        self, collection_id: str, index_version: int, row_ids: Collection[str], *, allow_missing: bool
    ) -> tuple[list[RevisionKey], list[str]]:
        """Hide rows for good; return their revisions, for purging, and the ids that do not exist.

        Without `allow_missing`, a missing id means that nothing is hidden. Rows being written are hidden too, and
        purged once their writer must have noticed.
        """
        names = {own_key(collection_id, row_id): row_id for row_id in row_ids}
        chosen = sa.and_(revisions.c.collection_id == collection_id, revisions.c.document_id.in_(list(names)))
        async with self._database.write() as connection:
            query = sa.select(revisions.c.document_id, revisions.c.revision).where(
                chosen, revisions.c.index_version == index_version, *searched()
            )
            found = [RevisionKey(collection_id, index_version, *row) for row in await connection.execute(query)]
            there = {key.document_id for key in found}
            missing = [row_id for name, row_id in names.items() if name not in there]
            if missing and not allow_missing:
                return [], missing
            now = now_ms()
            for state, delay_ms in ((CURRENT, _SOON_MS), (WRITING, WRITER_TIMEOUT_MS)):
                await connection.execute(
                    sa.update(revisions)
                    .where(chosen, revisions.c.state == state)
                    .values(state=RETIRED, purge_at=now + delay_ms, updated_at=now)
                )
        return found, missing


def _key(like: RevisionKey, row: sa.Row[tuple[object, ...]]) -> RevisionKey:
    return RevisionKey(like.collection_id, like.index_version, row.document_id, row.revision)


def _place(key: RevisionKey) -> dict[str, object]:
    return {
        "in_collection": key.collection_id, "in_index_version": key.index_version, "of_document": key.document_id,
        "at_revision": key.revision,
    }  # fmt: skip


def _one() -> sa.Update:
    """Return an update of one revision, named by the parameters of `_place`."""
    return sa.update(revisions).where(
        revisions.c.collection_id == sa.bindparam("in_collection"),
        revisions.c.index_version == sa.bindparam("in_index_version"),
        revisions.c.document_id == sa.bindparam("of_document"),
        revisions.c.revision == sa.bindparam("at_revision"),
    )


async def _set(
    connection: AsyncConnection, keys: Sequence[RevisionKey], states: Sequence[str] = (), **values: object
) -> None:
    """Change revisions, only those in `states` if given."""
    if not keys:
        return
    update = _one().values(updated_at=now_ms(), **values)
    if states:
        update = update.where(sa.or_(*(revisions.c.state == state for state in states)))
    await connection.execute(update, [_place(key) for key in keys])


def _of(collection_id: str) -> sa.ColumnElement[bool]:
    prefix = own_key(collection_id, "")
    return sa.and_(
        revisions.c.collection_id == collection_id, revisions.c.document_id.startswith(prefix, autoescape=True)
    )
