"""Ledger entries of rows with own vectors: each row is a document of one chunk, named by `own_key`."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from footnote_database.times import now_ms
from footnote_store.rows import own_key

from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.ledger import CURRENT, RETIRED, WRITER_TIMEOUT_MS, WRITING, RevisionKey
from footnote_indexing.adapters.tables import revisions

_SOON_MS = 1000


class RowLedger:
    """Searched rows; each query is limited to one collection for which the caller's access was checked."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, collection_id: str, generation: int, after: str, limit: int) -> list[RevisionKey]:
        """Return rows in the order of their ids, those after the id `after`, "" for the first."""
        query = (
            sa.select(revisions.c.document_id, revisions.c.revision)
            .where(_of(collection_id), revisions.c.generation == generation, *_searched())
            .where(revisions.c.document_id > own_key(collection_id, after))
            .order_by(revisions.c.document_id)
            .limit(limit)
        )
        async with self._database.read() as connection:
            return [RevisionKey(collection_id, generation, *row) for row in await connection.execute(query)]

    async def find(self, collection_id: str, generation: int, row_id: str) -> RevisionKey | None:
        """Return the revision of a row, None if it does not exist."""
        name = own_key(collection_id, row_id)
        query = sa.select(revisions.c.revision).where(
            revisions.c.collection_id == collection_id,
            revisions.c.generation == generation,
            revisions.c.document_id == name,
            *_searched(),
        )
        async with self._database.read() as connection:
            number = (await connection.execute(query)).scalar_one_or_none()
        return None if number is None else RevisionKey(collection_id, generation, name, number)

    async def any(self, collection_id: str) -> bool:
        """Return whether a collection has rows that are searched or being written."""
        query = sa.select(revisions.c.revision).where(_of(collection_id), revisions.c.state != RETIRED).limit(1)
        async with self._database.read() as connection:
            return (await connection.execute(query)).first() is not None

    async def retire(
        self, collection_id: str, generation: int, row_ids: Collection[str], *, allow_missing: bool
    ) -> tuple[list[RevisionKey], list[str]]:
        """Hide rows for good; return their revisions, for purging, and the ids that do not exist.

        Without `allow_missing`, a missing id means that nothing is hidden. Rows being written are hidden too, and
        purged once their writer must have noticed.
        """
        names = {own_key(collection_id, row_id): row_id for row_id in row_ids}
        chosen = sa.and_(revisions.c.collection_id == collection_id, revisions.c.document_id.in_(list(names)))
        async with self._database.write() as connection:
            searched = sa.select(revisions.c.document_id, revisions.c.revision).where(
                chosen, revisions.c.generation == generation, *_searched()
            )
            found = [RevisionKey(collection_id, generation, *row) for row in await connection.execute(searched)]
            there = {key.document_id for key in found}
            missing = [row_id for name, row_id in names.items() if name not in there]
            if missing and not allow_missing:
                return [], missing
            now = now_ms()
            for state, patience in ((CURRENT, _SOON_MS), (WRITING, WRITER_TIMEOUT_MS)):
                await connection.execute(
                    sa.update(revisions)
                    .where(chosen, revisions.c.state == state)
                    .values(state=RETIRED, purge_at=now + patience, updated_at=now)
                )
        return found, missing


def _of(collection_id: str) -> sa.ColumnElement[bool]:
    prefix = own_key(collection_id, "")
    return sa.and_(
        revisions.c.collection_id == collection_id, revisions.c.document_id.startswith(prefix, autoescape=True)
    )


def _searched() -> Sequence[sa.ColumnElement[bool]]:
    alive = sa.or_(revisions.c.expire_at.is_(None), revisions.c.expire_at > now_ms())
    return revisions.c.state == CURRENT, alive
