"""Collections: made, found, listed, changed, deleted."""

import hashlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

import sqlalchemy as sa
from footnote.types.v1 import collection_pb2, scope_pb2
from footnote.types.v1.collection_pb2 import Collection, Grant
from footnote_database.times import now_ms
from footnote_kit.access import Access, access_of, check, check_create, collection_missing, may_manage
from footnote_kit.collection_settings import resolve
from footnote_kit.errors import Aborted, AlreadyExists, FailedPrecondition, InvalidArgument, ResourceExhausted
from footnote_kit.paging import Page, fitting
from footnote_providers.own_vectors import REASON, brings_own
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.generations import BUILDING, CURRENT, DELETED, Generation, Generations
from footnote_indexing.adapters.ledger import Ledger
from footnote_indexing.adapters.row_ledger import RowLedger
from footnote_indexing.adapters.sharing import ambiguous, check_grants, granted, holder, nearness, visible, write_grants
from footnote_indexing.adapters.tables import collections, generations
from footnote_indexing.collections import masks
from footnote_indexing.collections.rules import check_name, check_settings
from footnote_indexing.writing.permitted import Permitted
from footnote_indexing.writing.vectorizers import Vectorizers

_MOST_AUTHORIZED = 1000
_CHANGEABLE = ("name", "description", "metadata", "visibility", "settings", "grants")


@dataclass(frozen=True, slots=True)
class Found:
    """A collection as stored: without counts, with the generation that is searched."""

    collection: collection_pb2.Collection
    generation: Generation
    counting: collection_pb2.CollectionSettings
    """Its settings, the deployment's and what is built in where it gives none."""


class Collections:
    """The collections table; every call is confined to its scope's tenant and to what its user may do."""

    def __init__(
        self,
        database: Database,
        ledger: Ledger,
        rows: RowLedger,
        generations_: Generations,
        vectorizers: Vectorizers,
        permitted: Permitted,
        deployment: collection_pb2.CollectionSettings | None = None,
    ) -> None:
        self._deployment = deployment or collection_pb2.CollectionSettings()
        self._permitted = permitted
        self._database = database
        self._ledger = ledger
        self._rows = rows
        self._generations = generations_
        self._vectorizers = vectorizers

    async def create(
        self,
        scope: scope_pb2.Scope,
        wanted: collection_pb2.Collection,
        most: int = 0,
        *,
        only_check: bool = False,
        collection_id: str = "",
    ) -> collection_pb2.Collection:
        """Make a collection of the caller's, of an id that is made when empty, or `only_check` whether it could be.

        Raises AlreadyExists, InvalidArgument for what is wrong with its settings or grants, PermissionDenied, and
        ResourceExhausted when the tenant has `most` already, 0 for no limit.
        """
        check_name(wanted.name)
        collection = collection_pb2.Collection(
            name=wanted.name,
            description=wanted.description,
            visibility=wanted.visibility or collection_pb2.VISIBILITY_SHARED,
            metadata=wanted.metadata,
            settings=wanted.settings,
            grants=wanted.grants,
        )
        check_settings(collection.settings, self._deployment)
        _check_texts(collection)
        check_grants(collection)
        check_create(scope, collection)
        self._permitted.check_settings(scope, collection)
        chosen = await self._vectorizers.resolve(collection.settings.embedding)
        collection.settings.embedding.CopyFrom(chosen)
        if only_check:
            return collection
        collection_id = _checked_id(collection_id) or uuid4().hex
        now = now_ms()
        data = collection.SerializeToString(deterministic=True)
        collection.owner_id = scope.user_id
        row = {
            "id": collection_id, "tenant_id": scope.tenant_id, "name": wanted.name, "owner_id": scope.user_id,
            "visibility": collection.visibility, "holder": holder(collection), "generation": 1, "version": 1,
            "data": data, "created_at": now, "updated_at": now,
        }  # fmt: skip
        generation = Generation(collection_id, 1, scope.tenant_id, CURRENT, 0, chosen)
        try:
            async with self._database.write() as connection:
                if most:
                    await self._check_number(connection, scope.tenant_id, most)
                await connection.execute(sa.insert(collections).values(row))
                await write_grants(connection, collection_id, collection.grants)
                await self._generations.insert(connection, generation)
        except IntegrityError as error:
            raise AlreadyExists(
                f"Collection '{wanted.name}' already exists", metadata={"collection": wanted.name}
            ) from error
        return (await self.with_counts(scope, [await self.find(scope, collection_id)]))[0]

    async def _check_number(self, connection: AsyncConnection, tenant_id: str, most: int) -> None:
        """Raise ResourceExhausted when there is no room for one more; none is added until the transaction ends.

        How many there are is not said: some may be hidden from the caller.
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

    async def find(self, scope: scope_pb2.Scope, name_or_id: str, needs: Access = Access.READ) -> Found:
        """Return a collection by name or id, in which the caller may do what it `needs` to.

        Raises NotFound, for one that the caller may not see as well; PermissionDenied for one in which it may do less;
        InvalidArgument for a name that means several.
        """
        if not name_or_id:
            raise InvalidArgument.field("collection", "is required")
        async with self._database.read() as connection:
            found = await self._find_on(connection, scope, name_or_id)
        check(access_of(scope, found.collection), needs, collection_missing(name_or_id))
        return found

    async def authorize(self, scope: scope_pb2.Scope, ids: Sequence[str]) -> list[collection_pb2.Collection]:
        """Return the visible ones of these collections, or every visible one, with what is needed to know the access.

        That is id, name, tenant, owner, visibility, and the grants to this caller as one.
        """
        if len(ids) > _MOST_AUTHORIZED:
            raise InvalidArgument.field("collection_ids", f"must be at most {_MOST_AUTHORIZED}")
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

    async def find_many(self, scope: scope_pb2.Scope, names: Sequence[str]) -> list[Found]:
        """Return collections in the order asked for; for no names, every one visible, by name."""
        if names:
            return [await self.find(scope, name) for name in names]
        async with self._database.read() as connection:
            query = _joined().where(visible(scope)).order_by(collections.c.name, collections.c.id)
            return [self._read(row) for row in await connection.execute(query)]

    async def page(self, scope: scope_pb2.Scope, page: Page) -> tuple[list[collection_pb2.Collection], str, int]:
        """Return a page of collections by name, the next page's token ("" on the last), and the number on all pages."""
        query = _joined().where(visible(scope)).order_by(collections.c.name, collections.c.id).limit(page.size + 1)
        if page.position is not None:
            name, last = map(str, page.position)
            same = sa.and_(collections.c.name == name, collections.c.id > last)
            query = query.where(sa.or_(collections.c.name > name, same))
        async with self._database.read() as connection:
            rows = list(await connection.execute(query))
            counted = sa.select(sa.func.count()).select_from(collections).where(visible(scope))
            total = int((await connection.execute(counted)).scalar_one())
        found = await self.with_counts(scope, [self._read(row) for row in rows])
        shown = min(page.size, fitting(found))
        token = page.token((found[shown - 1].name, found[shown - 1].id)) if shown < len(found) else ""
        return found[:shown], token, total

    async def update(
        self,
        scope: scope_pb2.Scope,
        name_or_id: str,
        wanted: collection_pb2.Collection,
        paths: Sequence[str],
        needs: Access = Access.MANAGE,
        *,
        only_check: bool = False,
    ) -> collection_pb2.Collection:
        """Change what the paths name, or every field that is set; Aborted when an etag given is not current.

        With `only_check` nothing is changed, and what it would be is returned.
        """
        before = await self.find(scope, name_or_id, needs)
        if wanted.id not in ("", before.collection.id):
            raise InvalidArgument.field("resource.id", "is not that of the collection, and an id never changes")
        if wanted.etag and wanted.etag != before.collection.etag:
            raise Aborted(f"Collection '{before.collection.name}' was changed by somebody else; read it again")
        changed = collection_pb2.Collection()
        changed.CopyFrom(before.collection)
        if not paths:
            paths = masks.set_paths(wanted, _CHANGEABLE, opened=("settings",))
        masks.apply(wanted, changed, paths, _CHANGEABLE)
        check_name(changed.name)
        changed.visibility = changed.visibility or collection_pb2.VISIBILITY_SHARED
        check_settings(changed.settings, self._deployment)
        _check_texts(changed)
        check_grants(changed)
        if changed.visibility != before.collection.visibility:
            check_create(scope, changed)
        self._permitted.check_settings(scope, changed, before.collection)
        if changed.settings.embedding != before.collection.settings.embedding:
            await self._check_may_move(before, changed)
            chosen = await self._vectorizers.resolve(_reconsidered(before.collection, changed))
            changed.settings.embedding.CopyFrom(chosen)
        if only_check:
            return changed
        await self._write(scope, before, changed)
        return (await self.with_counts(scope, [await self.find(scope, changed.id)]))[0]

    async def _check_may_move(self, before: Found, changed: collection_pb2.Collection) -> None:
        """Raise FailedPrecondition where what a collection holds cannot be embedded by its new model."""
        old, new = before.generation.embedding, changed.settings.embedding
        name = before.collection.name
        if brings_own(new) and not await self._ledger.is_empty(changed.id):
            problem = "begin to bring its own vectors, or change their length or model, while it holds something"
        elif await self._rows.any(changed.id) and new != old:
            problem = "go over to another embedding model while it holds own vectors, which no model can make again"
        else:
            return
        raise FailedPrecondition(
            f"Collection '{name}' cannot {problem}. Delete that first, or make another collection",
            reason=REASON,
            metadata={"collection": name},
        )

    async def delete(self, scope: scope_pb2.Scope, name_or_id: str) -> tuple[str, Sequence[Generation], int]:
        """Remove a collection from sight; return its id, the generations to be purged, and how many chunks it had."""
        found = await self.find(scope, name_or_id, Access.MANAGE)
        collection_id = found.collection.id
        totals = await self._ledger.totals([(collection_id, found.generation.number)], expired=True)
        async with self._database.write() as connection:
            gone = await connection.execute(sa.delete(collections).where(collections.c.id == collection_id))
            if gone.rowcount != 1:
                raise collection_missing(name_or_id)
            await write_grants(connection, collection_id, [])
            await self._ledger.drop(connection, collection_id)
            generations = await self._generations.mark(connection, collection_id, DELETED)
            return collection_id, generations, totals[collection_id].chunks

    async def with_counts(self, scope: scope_pb2.Scope, found: Sequence[Found]) -> list[collection_pb2.Collection]:
        """Return collections as the caller may see them, with the documents and chunks that are searchable now."""
        totals = await self._ledger.totals([(item.collection.id, item.generation.number) for item in found])
        counted = []
        for item in found:
            collection = collection_pb2.Collection()
            collection.CopyFrom(item.collection)
            if not may_manage(scope, item.collection):
                collection.ClearField("grants")
            collection.document_count = totals[collection.id].documents
            collection.chunk_count = totals[collection.id].chunks
            counted.append(collection)
        return counted

    async def with_effective(self, scope: scope_pb2.Scope, found: Found) -> collection_pb2.Collection:
        """Return a collection as `with_counts` does, with what counts of the settings that this stage reads."""
        collection = (await self.with_counts(scope, [found]))[0]
        collection.effective_settings.CopyFrom(found.counting)
        for group in ("retrieval", "rerank", "prompt", "generation"):
            collection.effective_settings.ClearField(group)
        return collection

    async def _find_on(self, connection: AsyncConnection, scope: scope_pb2.Scope, name_or_id: str) -> Found:
        named = sa.or_(collections.c.id == name_or_id, collections.c.name == name_or_id)
        rows = [self._read(row) for row in await connection.execute(_joined().where(visible(scope), named))]
        if not rows:
            raise collection_missing(name_or_id)
        ranked = [(nearness(scope, item.collection, name_or_id), item) for item in rows]
        nearest = min(rank for rank, _ in ranked)
        meant = [item for rank, item in ranked if rank == nearest]
        if len(meant) > 1:
            raise ambiguous(name_or_id, [item.collection for item in meant])
        return meant[0]

    def _read(self, row: sa.Row[tuple[object, ...]]) -> Found:
        collection = collection_pb2.Collection.FromString(row.data)
        collection.id, collection.tenant_id, collection.owner_id = row.id, row.tenant_id, row.owner_id
        collection.visibility = row.visibility
        collection.etag = str(row.version)
        collection.create_time.FromMilliseconds(row.created_at)
        collection.update_time.FromMilliseconds(row.updated_at)
        embedding = collection_pb2.EmbeddingSettings.FromString(row.embedding)
        generation = Generation(row.id, row.generation, row.tenant_id, CURRENT, row.variant, embedding)
        return Found(collection, generation, resolve(self._deployment, collection.settings))

    async def _write(self, scope: scope_pb2.Scope, before: Found, changed: collection_pb2.Collection) -> None:
        stored = collection_pb2.Collection(
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
                        data=stored.SerializeToString(deterministic=True), updated_at=now_ms(),
                    )
                )  # fmt: skip
                if done.rowcount != 1:
                    raise Aborted(f"Collection '{before.collection.name}' was changed by somebody else; read it again")
                await write_grants(connection, changed.id, changed.grants)
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
    if brings_own(new):
        return new  # nothing of it is filled in: a collection of any model may get vectors as long as its own
    if (new.provider, new.model) != (old.provider, old.model) and new.dimensions == old.dimensions:
        new.dimensions = 0
    return new


def _checked_id(collection_id: str) -> str:
    if collection_id and not re.fullmatch("[0-9a-f]{32}", collection_id):
        raise InvalidArgument.field("collection_id", "must be 32 hexadecimal digits")
    return collection_id


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
