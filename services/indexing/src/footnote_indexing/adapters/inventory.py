"""Which chunks are searched, what the store must hold according to the ledger, and where it was found to differ."""

from collections.abc import AsyncIterator, Sequence

import sqlalchemy as sa
from footnote.stages.v1.scope_pb2 import Scope
from footnote_database.transactions import now_ms
from footnote_providers.own_vectors import brings_own

from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.index_versions import read
from footnote_indexing.adapters.revision_rows import is_revision, searched, unexpired
from footnote_indexing.adapters.sharing import visible
from footnote_indexing.adapters.tables import collections, index_versions, revisions
from footnote_indexing.model import CURRENT, Damage, Holding, Indexed, RevisionKey, Searched

_PAGE = 250
_HELD = (*revisions.primary_key, revisions.c.state, revisions.c.chunks_expected, revisions.c.chunks_stored)


class InventoryTable:
    """Row counts beside the revisions to which they belong."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def counted(self, collection_id: str, index_version: int) -> int:
        """Return how many rows the searched revisions of an index version have."""
        query = sa.select(sa.func.coalesce(sa.func.sum(revisions.c.chunks_stored), 0)).where(
            *_of(collection_id, index_version), revisions.c.state == CURRENT
        )
        async with self._database.read() as connection:
            return int((await connection.execute(query)).scalar_one())

    async def searched(self, collection_id: str, index_version: int) -> list[Holding]:
        """Return the searched revisions of an index version."""
        pages = self._pages(collection_id, index_version)
        return [_holding(row) async for rows in pages for row in rows if row.state == CURRENT]

    async def known(self, collection_id: str, index_version: int) -> set[str]:
        """Return the keys of all revisions of an index version, whatever their state."""
        pages = self._pages(collection_id, index_version)
        return {f"{row.document_id}:{row.revision}" async for rows in pages for row in rows}

    async def _pages(
        self, collection_id: str, index_version: int
    ) -> AsyncIterator[Sequence[sa.Row[tuple[object, ...]]]]:
        """Yield an index version's revisions in the order of their key; other work goes on between the pages."""
        place = sa.tuple_(revisions.c.document_id, revisions.c.revision)
        query = sa.select(*_HELD).where(*_of(collection_id, index_version)).order_by(*place.clauses).limit(_PAGE)
        after: tuple[str, int] | None = ("", -1)
        while after is not None:
            async with self._database.read() as connection:
                rows = (await connection.execute(query.where(place > after))).all()
            yield rows
            after = (rows[-1].document_id, rows[-1].revision) if len(rows) == _PAGE else None

    async def record(self, key: RevisionKey, counted: int) -> bool:
        """Record how many rows a revision was found to have; return whether it is still searched."""
        async with self._database.write_documents() as connection:
            done = await connection.execute(
                sa.update(revisions)
                .where(is_revision(key), revisions.c.state == CURRENT)
                .values(chunks_stored=counted, updated_at=now_ms())
            )
            return bool(done.rowcount == 1)

    async def damaged(self, scope: Scope | None, limit: int, after: tuple[int, str] | None = None) -> Sequence[Damage]:
        """Return searched documents with rows missing or doubled, earliest finding first; None means every tenant's.

        `after` is the time of the last one of the previous page, in milliseconds, and its document. Rows with the
        caller's own vectors are left out: no new revision repairs them.
        """
        of_index_version = sa.and_(
            index_versions.c.collection_id == revisions.c.collection_id,
            index_versions.c.number == revisions.c.index_version,
        )
        query = (
            sa.select(revisions, index_versions.c.tenant_id)
            .join(index_versions, of_index_version)
            .where(
                revisions.c.state == CURRENT,
                index_versions.c.state == CURRENT,
                revisions.c.chunks_stored != revisions.c.chunks_expected,
                sa.not_(revisions.c.document_id.startswith(revisions.c.collection_id + "/")),
                unexpired(),
            )
            .order_by(revisions.c.updated_at, revisions.c.document_id)
            .limit(limit)
        )
        if scope is not None:
            query = query.where(revisions.c.collection_id.in_(sa.select(collections.c.id).where(visible(scope))))
        if after is not None:
            query = query.where(sa.tuple_(revisions.c.updated_at, revisions.c.document_id) > after)
        async with self._database.read() as connection:
            return [Damage(row.tenant_id, _holding(row), row.updated_at) for row in await connection.execute(query)]

    async def indexed(self, ids: Sequence[str], after: tuple[str, str], limit: int) -> list[Indexed]:
        """Return searched documents of all tenants, by id and collection, after one; only those of `ids`, if given.

        Rows with the caller's own vectors are left out, also those in collections with documents, as earlier releases
        allowed. Ingestion does not know these rows and would remove them as leftovers.
        """
        of_index_version = sa.and_(
            index_versions.c.collection_id == revisions.c.collection_id,
            index_versions.c.number == revisions.c.index_version,
        )
        place = sa.tuple_(revisions.c.document_id, revisions.c.collection_id)
        columns = (index_versions.c.tenant_id, revisions.c.collection_id, revisions.c.document_id, revisions.c.revision)
        async with self._database.read() as connection:
            searched = sa.select(index_versions).where(index_versions.c.state == CURRENT)
            held = [read(row) for row in await connection.execute(searched)]
            own = [one.collection_id for one in held if brings_own(one.embedding)]
            query = (
                sa.select(*columns)
                .join(index_versions, of_index_version)
                .where(revisions.c.state == CURRENT, index_versions.c.state == CURRENT, place > sa.tuple_(*after))
                .where(revisions.c.collection_id.not_in(own))
                .where(sa.not_(revisions.c.document_id.startswith(revisions.c.collection_id + "/")))
                .order_by(revisions.c.document_id, revisions.c.collection_id)
                .limit(limit)
            )
            if ids:
                query = query.where(revisions.c.document_id.in_(ids))
            return [Indexed(*row) for row in await connection.execute(query)]


def _of(collection_id: str, index_version: int) -> tuple[sa.ColumnElement[bool], ...]:
    return revisions.c.collection_id == collection_id, revisions.c.index_version == index_version


def _holding(row: sa.Row[tuple[object, ...]]) -> Holding:
    key = RevisionKey(row.collection_id, row.index_version, row.document_id, row.revision)
    return Holding(key, int(row.chunks_expected), int(row.chunks_stored))


class SearchedChunkTable:
    """Answers for what is searched now; revisions being written, replaced or expired are left out."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_document(self, collection_id: str, index_version: int, document_id: str) -> Searched | None:
        """Return the searched revision of a document, in a collection for which the caller's access was checked."""
        columns = (revisions.c.revision, revisions.c.chunks_stored)
        query = sa.select(*columns).where(
            revisions.c.collection_id == collection_id,
            revisions.c.index_version == index_version,
            revisions.c.document_id == document_id,
            *searched(),
        )
        async with self._database.read() as connection:
            row = (await connection.execute(query)).first()
        if row is None:
            return None
        return Searched(RevisionKey(collection_id, index_version, document_id, row.revision), row.chunks_stored)

    async def collections_with(self, scope: Scope, document_id: str, revision: int) -> list[str]:
        """Return the ids of the visible collections in which this revision is searched."""
        current = sa.and_(
            collections.c.id == revisions.c.collection_id, collections.c.index_version == revisions.c.index_version
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
