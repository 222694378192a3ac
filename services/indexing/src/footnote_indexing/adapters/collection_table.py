"""The table of collections: rows are added, found, changed and removed here.

The caller of these methods checks permissions; still, no query returns more than its scope may see.
"""

from __future__ import annotations

import hashlib
import shlex
import unicodedata
from collections.abc import Sequence

import sqlalchemy as sa
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import Collection, EmbeddingSettings, Grant
from footnote_database.transactions import now_ms
from footnote_kit.access import collection_missing
from footnote_kit.errors import AlreadyExists, ResourceExhausted
from footnote_kit.paging import Position
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.index_versions import IndexVersionTable
from footnote_indexing.adapters.purge_list import drop
from footnote_indexing.adapters.sharing import granted, holder, visible, write_grants
from footnote_indexing.adapters.tables import collections, index_versions
from footnote_indexing.model import BUILDING, CURRENT, DELETED, IndexVersion, Stored, changed_meanwhile


class CollectionTable:
    """Reads and writes the rows of collections, their grants and their dependent rows."""

    def __init__(self, database: Database, index_versions_: IndexVersionTable) -> None:
        self._database = database
        self._index_versions = index_versions_

    async def insert(self, scope: Scope, collection_id: str, collection: Collection, most: int) -> None:
        """Add a collection of the scope's user with its first index version.

        Raises AlreadyExists, and ResourceExhausted when the tenant already has `most` collections; 0 means no limit.
        """
        data = collection.SerializeToString(deterministic=True)
        owned = Collection()
        owned.CopyFrom(collection)
        owned.owner_id = scope.user_id
        now = now_ms()
        row = {
            "id": collection_id, "tenant_id": scope.tenant_id, "name": collection.name, "owner_id": scope.user_id,
            "visibility": collection.visibility, "holder": holder(owned), "index_version": 1, "version": 1,
            "data": data, "created_at": now, "updated_at": now,
        }  # fmt: skip
        first = IndexVersion(collection_id, 1, scope.tenant_id, CURRENT, 0, collection.settings.embedding)
        try:
            async with self._database.write() as connection:
                if most:
                    await self._check_number(connection, scope.tenant_id, most)
                await connection.execute(sa.insert(collections).values(row))
                await write_grants(connection, collection_id, collection.grants)
                await self._index_versions.insert(connection, first)
        except IntegrityError as error:
            raise _taken(collection.name) from error

    async def _check_number(self, connection: AsyncConnection, tenant_id: str, most: int) -> None:
        """Raise ResourceExhausted when the tenant has no room for another; blocks additions until the transaction ends.

        The error does not state their number: some may be hidden from the caller.
        """
        if self._database.dialect == "postgresql":
            key = int.from_bytes(hashlib.sha256(b"collections\0" + tenant_id.encode()).digest()[:8], signed=True)
            await connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
        query = sa.select(sa.func.count()).select_from(collections)
        query = query.where(collections.c.tenant_id == tenant_id, collections.c.hidden.is_(sa.false()))
        if int((await connection.execute(query)).scalar_one()) >= most:
            raise ResourceExhausted(
                f"The tenant may have no more than {most} collections",
                metadata={
                    "quota": "tenant_collections",
                    "limit": str(most),
                    "hint": "Delete a collection, or have the operator allow more: "
                    f"footnote limits set {shlex.quote(tenant_id)} --collections {2 * most}",
                },
            )

    async def called(self, scope: Scope, name_or_id: str) -> list[Stored]:
        """Return every visible collection with this name or id; a decomposed name is also that of its composed form."""
        names = {name_or_id, unicodedata.normalize("NFC", name_or_id)}
        named = sa.or_(collections.c.id == name_or_id, collections.c.name.in_(names))
        return await self._select(_joined().where(visible(scope), named))

    async def all(self, scope: Scope) -> list[Stored]:
        """Return every visible collection, by name."""
        return await self._select(_joined().where(visible(scope)).order_by(collections.c.name, collections.c.id))

    async def page(self, scope: Scope, size: int, position: Position | None) -> tuple[list[Stored], int]:
        """Return up to `size` + 1 visible collections by name, after a position, and the total number."""
        query = _joined().where(visible(scope)).order_by(collections.c.name, collections.c.id).limit(size + 1)
        if position is not None:
            name, last = position
            same = sa.and_(collections.c.name == name, collections.c.id > last)
            query = query.where(sa.or_(collections.c.name > name, same))
        async with self._database.read() as connection:
            rows = [_read(row) for row in await connection.execute(query)]
            counted = sa.select(sa.func.count()).select_from(collections).where(visible(scope))
            return rows, int((await connection.execute(counted)).scalar_one())

    async def access(self, scope: Scope, ids: Sequence[str]) -> list[Collection]:
        """Return the visible ones of these collections, or all, with the fields that determine the scope's access.

        The fields are id, name, tenant, owner and visibility, and the grants to this caller combined into one.
        """
        columns = (collections.c.id, collections.c.name, collections.c.owner_id, collections.c.visibility)
        query = sa.select(*columns, granted(scope).label("access")).where(visible(scope))
        if ids:
            query = query.where(collections.c.id.in_(list(dict.fromkeys(ids))))
        async with self._database.read() as connection:
            rows = list(await connection.execute(query))
        return [
            Collection(
                id=row.id, name=row.name, tenant_id=scope.tenant_id, owner_id=row.owner_id, visibility=row.visibility,
                grants=[] if row.access is None else [Grant(user_id=scope.user_id, access=row.access)],
            )
            for row in rows
        ]  # fmt: skip

    async def change(self, before: Stored, changed: Collection) -> None:
        """Write a changed collection; Aborted if it changed meanwhile, AlreadyExists for a name in use."""
        kept = Collection(
            name=changed.name, description=changed.description, visibility=changed.visibility,
            metadata=changed.metadata, settings=changed.settings, grants=changed.grants,
        )  # fmt: skip
        version = int(before.collection.etag)
        try:
            async with self._database.write() as connection:
                done = await connection.execute(
                    sa.update(collections)
                    .where(collections.c.id == changed.id, collections.c.version == version)
                    .values(
                        name=changed.name, visibility=changed.visibility, holder=holder(changed), version=version + 1,
                        data=kept.SerializeToString(deterministic=True), updated_at=now_ms(),
                    )
                )  # fmt: skip
                if done.rowcount != 1:
                    raise changed_meanwhile(before.collection.name)
                await write_grants(connection, changed.id, changed.grants)
                if changed.settings.embedding == before.index_version.embedding:
                    # Back to the model that is searched: this cancels the change under way.
                    await self._index_versions.mark(connection, changed.id, DELETED, only=BUILDING)
        except IntegrityError as error:
            raise _taken(changed.name) from error

    async def remove(self, collection_id: str) -> Sequence[IndexVersion]:
        """Remove a collection with all its ledger entries; return the index versions to purge."""
        async with self._database.write() as connection:
            gone = await connection.execute(sa.delete(collections).where(collections.c.id == collection_id))
            if gone.rowcount != 1:
                raise collection_missing(collection_id)
            await write_grants(connection, collection_id, [])
            await drop(connection, collection_id)
            return await self._index_versions.mark(connection, collection_id, DELETED)

    async def hide(self, found: Collection) -> None:
        """Hide a collection from all callers except the services; its name becomes free."""
        # No user has an id with a slash: see footnote_kit.validation.
        await self._show(found.id, hidden=True, holder=f"hidden/{found.id}")

    async def restore(self, found: Collection) -> None:
        """Make a hidden collection visible again; AlreadyExists when another collection took its name."""
        try:
            await self._show(found.id, hidden=False, holder=holder(found))
        except IntegrityError as error:
            raise _taken(found.name) from error

    async def _show(self, collection_id: str, *, hidden: bool, holder: str) -> None:
        async with self._database.write() as connection:
            change = sa.update(collections).where(collections.c.id == collection_id)
            if (await connection.execute(change.values(hidden=hidden, holder=holder))).rowcount != 1:
                raise collection_missing(collection_id)

    async def _select(self, query: sa.Select[tuple[object, ...]]) -> list[Stored]:
        async with self._database.read() as connection:
            return [_read(row) for row in await connection.execute(query)]


def _taken(name: str) -> AlreadyExists:
    return AlreadyExists(f"Collection '{name}' already exists", metadata={"collection": name})


def _read(row: sa.Row[tuple[object, ...]]) -> Stored:
    collection = Collection.FromString(row.data)
    collection.id, collection.tenant_id, collection.owner_id = row.id, row.tenant_id, row.owner_id
    collection.visibility = row.visibility
    collection.etag = str(row.version)
    collection.create_time.FromMilliseconds(row.created_at)
    collection.update_time.FromMilliseconds(row.updated_at)
    embedding = EmbeddingSettings.FromString(row.embedding)
    return Stored(collection, IndexVersion(row.id, row.index_version, row.tenant_id, CURRENT, row.variant, embedding))


def _joined() -> sa.Select[tuple[object, ...]]:
    current = sa.and_(
        index_versions.c.collection_id == collections.c.id, index_versions.c.number == collections.c.index_version
    )
    return sa.select(collections, index_versions.c.variant, index_versions.c.embedding).join(index_versions, current)
