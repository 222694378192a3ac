"""Collections: made, found, listed, changed, deleted."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

import sqlalchemy as sa
from footnote.types.v1 import collection_pb2, scope_pb2
from footnote_kit.errors import Aborted, AlreadyExists, InvalidArgument, NotFound
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing import masks
from footnote_indexing.collection_settings import check_name, complete
from footnote_indexing.database import Database, now_ms
from footnote_indexing.generations import BUILDING, CURRENT, DELETED, Generation, Generations
from footnote_indexing.ledger import Ledger
from footnote_indexing.tables import collections, generations
from footnote_indexing.vectorizers import Vectorizers

_CHANGEABLE = ("name", "description", "metadata", "visibility", "settings")


@dataclass(frozen=True, slots=True)
class Found:
    """A collection as stored: without counts, with the generation that is searched."""

    collection: collection_pb2.Collection
    generation: Generation


def not_found(name: str) -> NotFound:
    """Return the error for a collection that does not exist or is not the caller's to see."""
    return NotFound(f"Collection '{name}' not found", reason="COLLECTION_NOT_FOUND", metadata={"collection": name})


def _visible(scope: scope_pb2.Scope) -> sa.ColumnElement[bool]:
    """Return the condition that a collection is this caller's to see."""
    mine = collections.c.tenant_id == scope.tenant_id
    if scope_pb2.ROLE_ADMIN in scope.roles:
        return mine
    shared = collections.c.visibility != collection_pb2.VISIBILITY_PRIVATE
    return sa.and_(mine, sa.or_(shared, collections.c.owner_id == scope.user_id))


class Collections:
    """The collections table; every call is confined to its scope's tenant and to what its user may see."""

    def __init__(self, database: Database, ledger: Ledger, generations_: Generations, vectorizers: Vectorizers) -> None:
        self._database = database
        self._ledger = ledger
        self._generations = generations_
        self._vectorizers = vectorizers

    async def create(self, scope: scope_pb2.Scope, wanted: collection_pb2.Collection) -> collection_pb2.Collection:
        """Make a collection; raises AlreadyExists, or InvalidArgument for what is wrong with its settings."""
        check_name(wanted.name)
        collection = collection_pb2.Collection(
            name=wanted.name,
            description=wanted.description,
            visibility=wanted.visibility or collection_pb2.VISIBILITY_SHARED,
            metadata=wanted.metadata,
            settings=complete(wanted.settings),
        )
        _check_texts(collection)
        chosen = await self._vectorizers.resolve(collection.settings.embedding)
        collection.settings.embedding.CopyFrom(chosen)
        collection_id = uuid4().hex
        now = now_ms()
        row = {
            "id": collection_id, "tenant_id": scope.tenant_id, "name": wanted.name, "owner_id": scope.user_id,
            "visibility": collection.visibility, "generation": 1, "version": 1,
            "data": collection.SerializeToString(deterministic=True), "created_at": now, "updated_at": now,
        }  # fmt: skip
        generation = Generation(collection_id, 1, scope.tenant_id, CURRENT, 0, chosen)
        try:
            async with self._database.write() as connection:
                await connection.execute(sa.insert(collections).values(row))
                await self._generations.insert(connection, generation)
        except IntegrityError as error:
            raise AlreadyExists(
                f"Collection '{wanted.name}' already exists", metadata={"collection": wanted.name}
            ) from error
        return (await self.with_counts([await self.find(scope, collection_id)]))[0]

    async def find(self, scope: scope_pb2.Scope, name_or_id: str) -> Found:
        """Return a collection by name or id; raises NotFound, for one that the caller may not see as well."""
        if not name_or_id:
            raise InvalidArgument.field("collection", "is required")
        async with self._database.read() as connection:
            return await self._find_on(connection, scope, name_or_id)

    async def find_many(self, scope: scope_pb2.Scope, names: Sequence[str]) -> list[Found]:
        """Return collections in the order asked for; for no names, every one visible, by name."""
        if names:
            return [await self.find(scope, name) for name in names]
        async with self._database.read() as connection:
            query = _joined().where(_visible(scope)).order_by(collections.c.name)
            return [_read(row) for row in await connection.execute(query)]

    async def page(
        self, scope: scope_pb2.Scope, page_size: int, page_token: str
    ) -> tuple[list[collection_pb2.Collection], str, int]:
        """Return a page of collections by name, the next page's token ("" on the last), and the number on all pages."""
        if not 0 <= page_size <= 1000:
            raise InvalidArgument.field("page_size", "must be between 1 and 1000, or 0 for 100")
        size = page_size or 100
        query = _joined().where(_visible(scope)).order_by(collections.c.name).limit(size + 1)
        if page_token:
            query = query.where(collections.c.name > _decode(page_token))
        async with self._database.read() as connection:
            rows = list(await connection.execute(query))
            counted = sa.select(sa.func.count()).select_from(collections).where(_visible(scope))
            total = int((await connection.execute(counted)).scalar_one())
        found = [_read(row) for row in rows[:size]]
        token = _encode(found[-1].collection.name) if len(rows) > size else ""
        return await self.with_counts(found), token, total

    async def update(
        self, scope: scope_pb2.Scope, wanted: collection_pb2.Collection, paths: Sequence[str]
    ) -> collection_pb2.Collection:
        """Change what the paths name, or every field that is set; Aborted when an etag given is not current."""
        before = await self.find(scope, wanted.id or wanted.name)
        if wanted.etag and wanted.etag != before.collection.etag:
            raise Aborted(f"Collection '{before.collection.name}' was changed by somebody else; read it again")
        changed = collection_pb2.Collection()
        changed.CopyFrom(before.collection)
        if not paths:
            allowed = _CHANGEABLE if wanted.id else _CHANGEABLE[1:]
            paths = masks.set_paths(wanted, allowed, opened=("settings",))
        elif "name" in paths and not wanted.id:
            raise InvalidArgument.field("collection.id", "is required to change the name")
        masks.apply(wanted, changed, paths, _CHANGEABLE)
        check_name(changed.name)
        changed.visibility = changed.visibility or collection_pb2.VISIBILITY_SHARED
        changed.settings.CopyFrom(complete(changed.settings))
        _check_texts(changed)
        if changed.settings.embedding != before.collection.settings.embedding:
            chosen = await self._vectorizers.resolve(_reconsidered(before.collection, changed))
            changed.settings.embedding.CopyFrom(chosen)
        await self._write(scope, before, changed)
        return (await self.with_counts([await self.find(scope, changed.id)]))[0]

    async def delete(self, scope: scope_pb2.Scope, name_or_id: str) -> tuple[str, Sequence[Generation]]:
        """Remove a collection from sight; return its id and the generations whose rows are to be purged."""
        found = await self.find(scope, name_or_id)
        collection_id = found.collection.id
        async with self._database.write() as connection:
            gone = await connection.execute(sa.delete(collections).where(collections.c.id == collection_id))
            if gone.rowcount != 1:
                raise not_found(name_or_id)
            await self._ledger.drop(connection, collection_id)
            return collection_id, await self._generations.mark(connection, collection_id, DELETED)

    async def with_counts(self, found: Sequence[Found]) -> list[collection_pb2.Collection]:
        """Return collections with the numbers of documents and chunks that are searchable now."""
        totals = await self._ledger.totals([(item.collection.id, item.generation.number) for item in found])
        counted = []
        for item in found:
            collection = collection_pb2.Collection()
            collection.CopyFrom(item.collection)
            collection.document_count = totals[collection.id].documents
            collection.chunk_count = totals[collection.id].chunks
            counted.append(collection)
        return counted

    async def _find_on(self, connection: AsyncConnection, scope: scope_pb2.Scope, name_or_id: str) -> Found:
        named = sa.or_(collections.c.id == name_or_id, collections.c.name == name_or_id)
        rows = [_read(row) for row in await connection.execute(_joined().where(_visible(scope), named))]
        if not rows:
            raise not_found(name_or_id)
        # Should one collection's name be another's id, the id counts.
        return next((item for item in rows if item.collection.id == name_or_id), rows[0])

    async def _write(self, scope: scope_pb2.Scope, before: Found, changed: collection_pb2.Collection) -> None:
        stored = collection_pb2.Collection(
            name=changed.name, description=changed.description, visibility=changed.visibility,
            metadata=changed.metadata, settings=changed.settings,
        )  # fmt: skip
        version = int(before.collection.etag)
        try:
            async with self._database.write() as connection:
                done = await connection.execute(
                    sa.update(collections)
                    .where(collections.c.id == changed.id, collections.c.version == version)
                    .values(
                        name=changed.name, visibility=changed.visibility, version=version + 1,
                        data=stored.SerializeToString(deterministic=True), updated_at=now_ms(),
                    )
                )  # fmt: skip
                if done.rowcount != 1:
                    raise Aborted(f"Collection '{before.collection.name}' was changed by somebody else; read it again")
                if changed.settings.embedding == before.generation.embedding:
                    # Back to the model that is searched: a change that was under way is given up.
                    await self._generations.mark(connection, changed.id, DELETED, only=BUILDING)
        except IntegrityError as error:
            raise AlreadyExists(f"Collection '{changed.name}' already exists") from error


def _reconsidered(
    before: collection_pb2.Collection, changed: collection_pb2.Collection
) -> collection_pb2.EmbeddingSettings:
    """Drop what was filled in for the provider or model before, unless it is asked for again."""
    old, new = before.settings.embedding, collection_pb2.EmbeddingSettings()
    new.CopyFrom(changed.settings.embedding)
    if new.provider != old.provider and new.model == old.model:
        new.model = ""
    if (new.provider, new.model) != (old.provider, old.model) and new.dimensions == old.dimensions:
        new.dimensions = 0
    return new


def _check_texts(collection: collection_pb2.Collection) -> None:
    if len(collection.description) > 10_000:
        raise InvalidArgument.field("collection.description", "must be at most 10000 characters")
    if collection.metadata.ByteSize() > 64 * 1024:
        raise InvalidArgument.field("collection.metadata", "must be at most 64 KiB")
    if collection.visibility not in collection_pb2.Visibility.values():
        raise InvalidArgument.field("collection.visibility", f"has no value {collection.visibility}")


def _joined() -> sa.Select[tuple[object, ...]]:
    current = sa.and_(generations.c.collection_id == collections.c.id, generations.c.number == collections.c.generation)
    return sa.select(collections, generations.c.variant, generations.c.embedding).join(generations, current)


def _read(row: sa.Row[tuple[object, ...]]) -> Found:
    collection = collection_pb2.Collection.FromString(row.data)
    collection.id, collection.tenant_id, collection.owner_id = row.id, row.tenant_id, row.owner_id
    collection.etag = str(row.version)
    collection.create_time.FromMilliseconds(row.created_at)
    collection.update_time.FromMilliseconds(row.updated_at)
    embedding = collection_pb2.EmbeddingSettings.FromString(row.embedding)
    return Found(collection, Generation(row.id, row.generation, row.tenant_id, CURRENT, row.variant, embedding))


def _encode(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _decode(token: str) -> str:
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise InvalidArgument.field("page_token", "is not one that was given out") from error
