"""What the ledger knows of searched chunks: their location, revision and number."""

import sqlalchemy as sa
from footnote.stages.v1.scope_pb2 import Scope

from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.revision_rows import searched
from footnote_indexing.adapters.sharing import visible
from footnote_indexing.adapters.tables import collections, revisions
from footnote_indexing.model import RevisionKey, Searched


class SearchedChunkTable:
    """Answers for what is searched now; revisions being written, replaced or expired are left out."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_document(self, collection_id: str, generation: int, document_id: str) -> Searched | None:
        """Return the searched revision of a document, in a collection for which the caller's access was checked."""
        columns = (revisions.c.revision, revisions.c.chunks_stored)
        query = sa.select(*columns).where(
            revisions.c.collection_id == collection_id,
            revisions.c.generation == generation,
            revisions.c.document_id == document_id,
            *searched(),
        )
        async with self._database.read() as connection:
            row = (await connection.execute(query)).first()
        if row is None:
            return None
        return Searched(RevisionKey(collection_id, generation, document_id, row.revision), row.chunks_stored)

    async def collections_with(self, scope: Scope, document_id: str, revision: int) -> list[str]:
        """Return the ids of the visible collections in which this revision is searched."""
        current = sa.and_(
            collections.c.id == revisions.c.collection_id, collections.c.generation == revisions.c.generation
        )
        query = (
            sa.select(revisions.c.collection_id)
            .join(collections, current)
            .where(
                visible(scope),
                revisions.c.document_id == document_id,
                revisions.c.revision == revision,
                *searched(),
            )
            .order_by(revisions.c.collection_id)
        )
        async with self._database.read() as connection:
            return [row.collection_id for row in await connection.execute(query)]
