"""What searches need from the ledger, for many collections in one query."""

from collections.abc import Sequence

import sqlalchemy as sa

from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.revision_rows import unexpired
from footnote_indexing.adapters.tables import HIDDEN, revisions
from footnote_indexing.model import CURRENT, Totals


class LedgerReading:
    """Returns what is searched of (collection, index version) pairs, and what must be hidden."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def hidden(self, pairs: Sequence[tuple[str, int]]) -> dict[str, list[str]]:
        """Return the revision keys to hide from searches, by collection id, for (collection, index version) pairs."""
        result: dict[str, list[str]] = {collection_id: [] for collection_id, _ in pairs}
        if not pairs:
            return result
        query = sa.select(revisions.c.collection_id, revisions.c.document_id, revisions.c.revision).where(
            sa.tuple_(revisions.c.collection_id, revisions.c.index_version).in_(pairs),
            HIDDEN,
            revisions.c.revision > 0,  # 0 stands for a document that was deleted before it was known, without rows
        )
        async with self._database.read() as connection:
            for collection_id, document_id, revision in await connection.execute(query):
                result[collection_id].append(f"{document_id}:{revision}")
        return result

    async def languages(self, pairs: Sequence[tuple[str, int]]) -> dict[str, list[str]]:
        """Return the languages of searched documents, most frequent first, by collection id."""
        result: dict[str, list[str]] = {collection_id: [] for collection_id, _ in pairs}
        if not pairs:
            return result
        count = sa.func.count()
        query = (
            sa.select(revisions.c.collection_id, revisions.c.language)
            .where(
                sa.tuple_(revisions.c.collection_id, revisions.c.index_version).in_(pairs),
                revisions.c.state == CURRENT,
                revisions.c.language != "",
            )
            .group_by(revisions.c.collection_id, revisions.c.language)
            .order_by(count.desc(), revisions.c.language)
        )
        async with self._database.read() as connection:
            for collection_id, language in await connection.execute(query):
                result[collection_id].append(language)
        return result

    async def totals(self, pairs: Sequence[tuple[str, int]], *, expired: bool = False) -> dict[str, Totals]:
        """Return what searches see now, by collection id; `expired` includes expired revisions still stored."""
        result = {collection_id: Totals(0, 0, 0) for collection_id, _ in pairs}
        if not pairs:
            return result
        query = (
            sa.select(
                revisions.c.collection_id,
                sa.func.count(),
                sa.func.coalesce(sa.func.sum(revisions.c.chunks_stored), 0),
                sa.func.coalesce(sa.func.sum(revisions.c.characters), 0),
                sa.func.coalesce(sa.func.sum(revisions.c.vectors_owed), 0),
            )
            .where(
                sa.tuple_(revisions.c.collection_id, revisions.c.index_version).in_(pairs),
                revisions.c.state == CURRENT,
                sa.true() if expired else unexpired(),
            )
            .group_by(revisions.c.collection_id)
        )
        async with self._database.read() as connection:
            for collection_id, *sums in await connection.execute(query):
                result[collection_id] = Totals(*map(int, sums))
        return result
