"""Creates, finds, lists, changes, hides and deletes collections."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from footnote.stages.v1 import scope_pb2
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1 import collection_pb2
from footnote_kit.access import Access, access_of, check, check_create, collection_missing, is_system
from footnote_kit.collection_settings import resolve
from footnote_kit.errors import FailedPrecondition, InvalidArgument
from footnote_kit.paging import Page, fitting
from footnote_providers.own_vectors import REASON, brings_own

from footnote_indexing.collections import masks
from footnote_indexing.collections.rules import ambiguous, check_grants, check_settings, checked_name, nearness
from footnote_indexing.model import IndexVersion, Stored, Totals, changed_meanwhile
from footnote_indexing.ports import CollectionRecords, Ledger, RowLedger
from footnote_indexing.writing.permitted import Permitted, bounds_of
from footnote_indexing.writing.vectorizers import Vectorizers

_MOST_AUTHORIZED = 1000
_EMBEDDING = "settings.embedding"
_CHANGEABLE = ("name", "description", "metadata", "visibility", "settings", "grants")


@dataclass(frozen=True, slots=True)
class Found(Stored):
    """A collection as stored, without counts, and the searched index version."""

    effective: collection_pb2.CollectionSettings
    """Its effective settings: its own, else the deployment's, else built-in defaults."""


class Collections:
    """The collections; every call is limited to its scope's tenant and its user's permissions."""

    def __init__(
        self,
        table: CollectionRecords,
        ledger: Ledger,
        rows: RowLedger,
        vectorizers: Vectorizers,
        permitted: Permitted,
        deployment: collection_pb2.CollectionSettings | None = None,
    ) -> None:
        self._deployment = deployment or collection_pb2.CollectionSettings()
        self._permitted = permitted
        self._table = table
        self._ledger = ledger
        self._rows = rows
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
        """Create a collection for the caller, or with `only_check` check whether it could be; an empty id is generated.

        Raises AlreadyExists, InvalidArgument for invalid settings or grants, and PermissionDenied. Raises
        ResourceExhausted when the tenant already has `most` collections; 0 means no limit.
        """
        collection = collection_pb2.Collection(
            name=checked_name(wanted.name),
            description=wanted.description,
            visibility=wanted.visibility or collection_pb2.VISIBILITY_SHARED,
            metadata=wanted.metadata,
            settings=wanted.settings,
            grants=wanted.grants,
        )
        if not collection.settings.embedding.provider and self._vectorizers.automatic:
            collection.settings.embedding.provider = self._permitted.for_new(scope, bounds_of(collection)).provider
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
        await self._table.insert(scope, collection_id, collection, most)
        return (await self.with_counts(scope, [await self.find(scope, collection_id)]))[0]

    async def find(self, scope: scope_pb2.Scope, name_or_id: str, needs: Access = Access.READ) -> Found:
        """Return a collection by name or id in which the caller has the access `needs`.

        Raises NotFound also for a collection that the caller may not see. Raises PermissionDenied for too little
        access, and InvalidArgument for an ambiguous name.
        """
        if not name_or_id:
            raise InvalidArgument.field("collection", "is required")
        found = self._nearest(scope, name_or_id, await self._table.called(scope, name_or_id))
        check(access_of(scope, found.collection), needs, collection_missing(name_or_id))
        return found

    async def authorize(self, scope: scope_pb2.Scope, ids: Sequence[str]) -> list[collection_pb2.Collection]:
        """Return the visible ones of these collections, or all, with the fields that determine access.

        The fields are id, name, tenant, owner and visibility, and the grants to this caller combined into one.
        """
        if len(ids) > _MOST_AUTHORIZED:
            raise InvalidArgument.field("collection_ids", f"must be at most {_MOST_AUTHORIZED}")
        return await self._table.access(scope, ids)

    async def find_many(self, scope: scope_pb2.Scope, names: Sequence[str]) -> list[Found]:
        """Return collections in the order asked for; without names, every visible one, by name."""
        if names:
            return [await self.find(scope, name) for name in names]
        return [self._found(stored) for stored in await self._table.all(scope)]

    async def page(self, scope: scope_pb2.Scope, page: Page) -> tuple[list[collection_pb2.Collection], str, int]:
        """Return a page of collections by name, the next page's token ("" on the last page), and the total number."""
        stored, total = await self._table.page(scope, page.size, page.position)
        found = await self.with_counts(scope, [self._found(one) for one in stored])
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
        """Change the fields in the paths, or every field that is set; Aborted when a given etag is not current.

        With `only_check` nothing is changed; the result shows what would change.
        """
        before = await self.find(scope, name_or_id, needs)
        if wanted.id not in ("", before.collection.id):
            raise InvalidArgument.field("resource.id", "is not that of the collection, and an id never changes")
        if wanted.etag and wanted.etag != before.collection.etag:
            raise changed_meanwhile(before.collection.name)
        changed = collection_pb2.Collection()
        changed.CopyFrom(before.collection)
        if not paths:
            paths = masks.set_paths(wanted, _CHANGEABLE, opened=("settings",))
        masks.apply(wanted, changed, paths, _CHANGEABLE)
        if self._vectorizers.automatic and not brings_own(before.collection.settings.embedding):
            _keep_embedder(before.collection.settings.embedding, changed.settings.embedding)
        if changed.name != before.collection.name:
            changed.name = checked_name(changed.name)
        changed.visibility = changed.visibility or collection_pb2.VISIBILITY_SHARED
        check_settings(changed.settings, self._deployment)
        _check_texts(changed)
        check_grants(changed)
        if changed.visibility != before.collection.visibility:
            check_create(scope, changed)
        self._permitted.check_settings(scope, changed, before.collection)
        if changed.settings.embedding != before.collection.settings.embedding:
            await self._check_may_move(before, changed)
            chosen = await self._vectorizers.resolve(_reconsidered(before.collection, changed, paths))
            changed.settings.embedding.CopyFrom(chosen)
        if only_check:
            return changed
        await self._table.change(before, changed)
        return (await self.with_counts(scope, [await self.find(scope, changed.id)]))[0]

    async def _check_may_move(self, before: Found, changed: collection_pb2.Collection) -> None:
        """Raise FailedPrecondition when the new model cannot embed the collection's contents."""
        old, new = before.index_version.embedding, changed.settings.embedding
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

    async def delete(self, scope: scope_pb2.Scope, name_or_id: str) -> tuple[str, Sequence[IndexVersion], int]:
        """Hide a collection; return its id, the index versions to purge, and its number of chunks."""
        found = await self.find(scope, name_or_id, Access.MANAGE)
        collection_id = found.collection.id
        totals = await self._ledger.totals([(collection_id, found.index_version.number)], expired=True)
        return collection_id, await self._table.remove(collection_id), totals[collection_id].chunks

    async def with_counts(
        self, scope: scope_pb2.Scope, found: Sequence[Found], totals: Mapping[str, Totals] | None = None
    ) -> list[collection_pb2.Collection]:
        """Return collections as the caller may see them, with the numbers of searchable documents and chunks."""
        if totals is None:
            totals = await self._ledger.totals([(item.collection.id, item.index_version.number) for item in found])
        counted = []
        for item in found:
            collection = _shown(scope, item)
            collection.document_count = totals[collection.id].documents
            collection.chunk_count = totals[collection.id].chunks
            collection.chunks_without_vector = totals[collection.id].owed
            counted.append(collection)
        return counted

    async def with_effective(
        self, scope: scope_pb2.Scope, found: Found, *, counted: bool = True
    ) -> collection_pb2.Collection:
        """Return a collection like `with_counts`, with the effective settings that this stage reads.

        Counting takes longer the more documents it has.
        """
        collection = (await self.with_counts(scope, [found]))[0] if counted else _shown(scope, found)
        collection.effective_settings.CopyFrom(found.effective)
        for group in ("retrieval", "rerank", "prompt", "generation"):
            collection.effective_settings.ClearField(group)
        return collection

    def _nearest(self, scope: scope_pb2.Scope, name_or_id: str, called: Sequence[Stored]) -> Found:
        """Return the collection of this name with the highest precedence; raises `ambiguous` if several have it."""
        if not called:
            raise collection_missing(name_or_id)
        ranked = [(nearness(scope, one.collection, name_or_id), one) for one in called]
        nearest = min(rank for rank, _ in ranked)
        meant = [one for rank, one in ranked if rank == nearest]
        if len(meant) > 1:
            raise ambiguous(name_or_id, [one.collection for one in meant])
        return self._found(meant[0])

    def _found(self, stored: Stored) -> Found:
        effective = resolve(self._deployment, stored.collection.settings)
        return Found(stored.collection, stored.index_version, effective)


def _shown(scope: scope_pb2.Scope, found: Found) -> collection_pb2.Collection:
    collection = collection_pb2.Collection()
    collection.CopyFrom(found.collection)
    held = access_of(scope, found.collection)
    collection.may_write, collection.may_manage = held >= Access.WRITE, held >= Access.MANAGE
    if not collection.may_manage:
        collection.ClearField("grants")
    return collection


def _keep_embedder(old: collection_pb2.EmbeddingSettings, new: collection_pb2.EmbeddingSettings) -> None:
    """Let a collection keep its first embedder when a change names none, whatever has been installed since."""
    if not new.provider and not new.model and not new.dimensions:
        new.CopyFrom(old)
    new.provider = new.provider or old.provider


def _reconsidered(
    before: collection_pb2.Collection, changed: collection_pb2.Collection, paths: Sequence[str]
) -> collection_pb2.EmbeddingSettings:
    """Drop values that were filled in for the previous provider or model, unless one of the paths includes them."""

    def named(field: str) -> bool:
        return any(f"{_EMBEDDING}.{field}.".startswith(f"{path}.") for path in paths)

    old, new = before.settings.embedding, collection_pb2.EmbeddingSettings()
    new.CopyFrom(changed.settings.embedding)
    if new.provider != old.provider and new.model == old.model and not named("model"):
        new.model = ""
    if brings_own(new):
        return new  # nothing is filled in here: any collection may get own vectors of its model's length
    other_model = (new.provider, new.model) != (old.provider, old.model)
    if other_model and new.dimensions == old.dimensions and not named("dimensions"):
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


class Hiding:
    """Hides collections and restores them."""

    def __init__(self, table: CollectionRecords, collections: Collections) -> None:
        self._table = table
        self._collections = collections

    async def hide(self, scope: Scope, name_or_id: str) -> str:
        """Hide a collection that the caller may manage and return its id; its name becomes free."""
        found = (await self._collections.find(scope, name_or_id, Access.MANAGE)).collection
        await self._table.hide(found)
        return found.id

    async def restore(self, scope: Scope, collection_id: str) -> str:
        """Make a collection visible again and return its id; AlreadyExists when another one took its name."""
        if not is_system(scope):
            raise collection_missing(collection_id)
        found = (await self._collections.find(scope, collection_id)).collection
        await self._table.restore(found)
        return found.id
