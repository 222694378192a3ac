"""A tenant's collections by name or id: look-ups, creation and changes, and what is known while indexing is down."""

import asyncio
import re
from collections.abc import Collection as Collected
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from footnote.edge.v1 import collections_pb2 as edge
from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import VISIBILITY_PRIVATE, Collection
from footnote.types.v1.role_pb2 import ROLE_ADMIN
from footnote_kit.access import Access, check_create
from footnote_kit.caches import EpochCache
from footnote_kit.epochs import EpochReader, received
from footnote_kit.errors import (
    AlreadyExists,
    DeadlineExceeded,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
    Unavailable,
)
from footnote_providers.own_vectors import brings_own, no_document

from footnote_edge.collections.outdated import Outdated
from footnote_edge.collections.permissions import Permissions
from footnote_edge.collections.stage_settings import StageSettings, asks_stages
from footnote_edge.gateway.allowances import Allowances
from footnote_edge.gateway.request_ids import RequestIds
from footnote_edge.ports import Stages


class KnownCollections(Protocol):
    """Collections as each user last wrote to them; see `adapters.known_collections.KnownCollectionTable`."""

    async def read(self, scope: Scope, name: str) -> Collection | None:
        """Return a user's remembered collection; None for one that is unknown or cannot be read."""

    async def keep(self, scope: Scope, name: str, collection: Collection) -> None:
        """Remember a collection for a user."""

    async def forget(self, tenant_id: str, names: Sequence[str]) -> None:
        """Forget a collection of a tenant under all of its names."""


DEFAULT = "default"
_RESOURCE = re.compile(r"\bcollection\.(?=[a-z])")
MOST_NAMED = 100
"""Maximum number of collections that a conversation may name; an empty list means all."""
_MOST_NOTED = 1024


class Collections:
    """Resolves callers' names to collections of their tenant."""

    def __init__(
        self,
        stages: Stages,
        permissions: Permissions,
        allowances: Allowances,
        known: KnownCollections,
        request_ids: RequestIds,
        epochs: EpochReader,
        timeout: float,
    ) -> None:
        self._settings = StageSettings(stages, timeout)
        self.outdated = Outdated(stages, timeout)
        self._indexing = stages.indexing
        self._permissions = permissions
        self._allowances = allowances
        self._known = known
        self._request_ids = request_ids
        self._timeout = timeout
        self._cache: EpochCache[tuple[bytes, str], Collection] = EpochCache(epochs, _MOST_NOTED)
        """Indexing's collections in its current epoch, by caller and name; without counts."""
        self._noted: dict[tuple[str, str, str], Collection] = {}

    async def get(self, scope: Scope, name: str, needs: Access = Access.READ, *, counted: bool = True) -> Collection:
        """Return a collection by name or id in which the caller has the access it `needs`.

        With `counted` false the collection has no counts of documents and chunks.

        Raises NotFound if the caller can see no such collection, PermissionDenied if its access is lower.
        """
        if not name:
            raise InvalidArgument.field("collection", "must be given")
        found = await self._ask(scope, name) if counted else await self._uncounted(scope, name)
        if needs > Access.READ:
            await self._permissions.collection(scope, found, needs)
        return found

    async def _ask(self, scope: Scope, name: str) -> Collection:
        request = indexing.GetCollectionRequest(scope=scope, collection=name)
        found: Collection = (await self._indexing.GetCollection(request, timeout=self._timeout)).collection
        return found

    async def _uncounted(self, scope: Scope, name: str) -> Collection:
        """Return a collection from the cache if no collection has changed since it was fetched."""
        key = (scope.SerializeToString(deterministic=True), name)
        if (known := self._cache.get(key)) is not None:
            return known
        request = indexing.GetCollectionRequest(scope=scope, collection=name, without_counts=True)
        response, epochs = await received(self._indexing.GetCollection(request, timeout=self._timeout))
        asked: Collection = response.collection
        self._cache.keep(key, epochs.collections, asked)
        return asked

    async def described(self, scope: Scope, name: str) -> Collection:
        """Return a collection with all its effective settings, as far as the stages answer."""
        found = await self.get(scope, name)
        await asyncio.gather(self._settings.fill_in(scope, found), self.outdated.fill_in(scope, found))
        return found

    async def visible(self, scope: Scope) -> set[str]:
        """Return the ids of all collections that the caller may see."""
        request = indexing.ResolveCollectionsRequest(scope=scope)
        resolved = await self._indexing.ResolveCollections(request, timeout=self._timeout)
        return {one.id for one in resolved.collections}

    async def names(self, scope: Scope, ids: Collected[str]) -> dict[str, str]:
        """Return the names of the collections that the caller may see, by id."""
        if len(ids) == 1:
            try:
                found = [await self.get(scope, next(iter(ids)))]
            except NotFound:
                return {}
        else:
            request = indexing.ResolveCollectionsRequest(scope=scope)
            resolved = await self._indexing.ResolveCollections(request, timeout=self._timeout)
            found = list(resolved.collections)
        return {one.id: one.name for one in found if one.id in ids}

    async def chosen(self, scope: Scope, names: Sequence[str]) -> dict[str, str]:
        """Return the names by the collections' ids; raises NotFound for one that the caller may not see.

        While indexing is down a name stands for its id: every later use checks it.
        """
        if len(names) > MOST_NAMED:
            raise InvalidArgument.field("collections", f"must name at most {MOST_NAMED}")
        found: dict[str, str] = {}
        for index, name in enumerate(names):
            try:
                found.setdefault((await self.get(scope, name, counted=False)).id, name)
            except (Unavailable, DeadlineExceeded):
                return {**found, **{one: one for one in names[index:]}}
        return found

    async def ids(self, scope: Scope, names: Sequence[str]) -> list[str]:
        """Return the ids of collections by name; raises NotFound for one that the caller may not see."""
        return [(await self.get(scope, name, counted=False)).id for name in dict.fromkeys(names)]

    async def for_upload(self, scope: Scope, name: str) -> Collection:
        """Return the collection for an upload: "default" is created on demand, others must exist.

        Raises InvalidArgument(OWN_VECTORS) for a collection without documents.

        While indexing is down, the remembered collection serves if this user could write to it within the last minutes.
        """
        name = name or DEFAULT
        try:
            collection = await self._get_or_default(scope, name)
        except (Unavailable, DeadlineExceeded) as error:
            known = await self._known.read(scope, name)
            if known is None:
                raise Unavailable(
                    f"Collections cannot be looked up now, and '{name}' is not cached. Try again later.",
                    reason=error.reason,
                    metadata=error.metadata,
                    retry_after=error.retry_after or 5.0,
                ) from error
            await self._permissions.collection(scope, known, Access.WRITE, exact=False)
            return known
        await self._permissions.collection(scope, collection, Access.WRITE, exact=False)
        if brings_own(collection.settings.embedding):
            raise no_document(collection.name)
        await self._remember(scope, name, collection)
        return collection

    async def create_once(self, scope: Scope, request: edge.CreateCollectionRequest) -> Collection:
        """Create a collection, once under the request's id; raises as `create`."""
        return await self._request_ids.once(
            scope,
            request,
            lambda wanted: self.create(scope, request.collection, wanted),
            lambda made: self.get(scope, made),
        )

    async def create(self, scope: Scope, collection: Collection, collection_id: str = "") -> Collection:
        """Create a collection, or return the one created under its id; an empty id is generated.

        Raises AlreadyExists for a name in use, PermissionDenied.
        """
        try:
            return await self._create(scope, collection, collection_id)
        except (AlreadyExists, ResourceExhausted) as error:
            if not collection_id:
                raise
            try:
                return await self.get(scope, collection_id)
            except NotFound:
                raise error from None

    async def _create(self, scope: Scope, collection: Collection, collection_id: str) -> Collection:
        check_create(scope, collection)
        allowed = (await self._allowances.of(scope.tenant_id)).collections
        request = indexing.CreateCollectionRequest(
            scope=scope, collection=collection, max_tenant_collections=allowed, collection_id=collection_id
        )
        if asks_stages(collection.settings):
            # Indexing first: it rejects settings out of range and taken names without the other stages.
            request.validate_only = True
            checked = await self._indexing.CreateCollection(request, timeout=self._timeout)
            await self._settings.check(scope, checked.collection)
            request.validate_only = False
        response = await self._indexing.CreateCollection(request, timeout=self._timeout)
        created: Collection = response.collection
        self._permissions.changed(scope)
        return created

    async def update(self, scope: Scope, request: edge.UpdateCollectionRequest) -> Collection:
        """Change the fields that the mask names in a collection that the caller may manage."""
        before = await self.get(scope, request.collection, Access.MANAGE)
        change = indexing.UpdateCollectionRequest(
            scope=scope,
            collection=before.id,
            resource=request.resource,
            update_mask=request.update_mask if request.HasField("update_mask") else None,
        )
        with _about_resource():
            change.validate_only = True
            checked = await self._indexing.UpdateCollection(change, timeout=self._timeout)
            await self._settings.check(scope, checked.collection, before)
            change.validate_only = False
            try:
                response = await self._indexing.UpdateCollection(change, timeout=self._timeout)
            finally:
                self._permissions.changed(scope)
                if checked.collection.name != before.name:  # its files must not go to it under the former name
                    await self._forget_names(scope, before.name)
        changed: Collection = response.collection
        await self.outdated.fill_in(scope, changed)
        return changed

    async def forget(self, scope: Scope, collection: Collection) -> None:
        """Remove a deleted collection from memory, so that uploads to it are refused."""
        self._permissions.changed(scope)
        await self._forget_names(scope, collection.name, collection.id)

    async def _forget_names(self, scope: Scope, *names: str) -> None:
        await self._known.forget(scope.tenant_id, names)
        self._noted.clear()

    async def _get_or_default(self, scope: Scope, name: str) -> Collection:
        try:
            found = await self.get(scope, name, counted=False)
            # A user's private collection named "default" must not receive files that name no collection.
            if name != DEFAULT or found.visibility != VISIBILITY_PRIVATE or found.owner_id == scope.user_id:
                return found
        except InvalidArgument:
            if name != DEFAULT:
                raise
        except NotFound as error:
            if name != DEFAULT:
                raise NotFound(
                    f"Collection '{name}' not found. Create it first, or upload to '{DEFAULT}'.",
                    reason=error.reason,
                    metadata=error.metadata,
                ) from None
        # The one exception to who may create collections for a whole tenant: any uploader may thereby create the
        # default one, without choosing its settings. The guard has checked that the caller is a writer.
        maker = Scope(tenant_id=scope.tenant_id, user_id=scope.user_id, roles=[ROLE_ADMIN])
        try:
            return await self.create(maker, Collection(name=DEFAULT, description="Created by the first upload."))
        except AlreadyExists:
            return await self.get(scope, DEFAULT, counted=False)

    async def _remember(self, scope: Scope, name: str, collection: Collection) -> None:
        kept = Collection(
            id=collection.id,
            name=collection.name,
            settings=collection.settings,
            effective_settings=collection.effective_settings,
        )
        key = (scope.tenant_id, scope.user_id, name)
        if self._noted.get(key) == kept:
            return
        if len(self._noted) >= _MOST_NOTED:
            self._noted.clear()
        if await self._known.read(scope, name) == kept:
            self._noted[key] = kept
            return
        await self._known.keep(scope, name, kept)
        self._noted[key] = kept


@contextmanager
def _about_resource() -> Iterator[None]:
    """Rename fields in refusals to those of an Update request: the stages know only the collection."""
    try:
        yield
    except InvalidArgument as error:
        named = [(_RESOURCE.sub("resource.", field), problem) for field, problem in error.violations]
        message = _RESOURCE.sub("resource.", error.message)
        raise InvalidArgument(message, reason=error.reason, metadata=error.metadata, violations=named) from error
