"""Collections by name: found, made on demand when they are the default one, remembered for when indexing is down."""

from datetime import UTC, datetime

from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.scope_pb2 import ROLE_ADMIN, Scope
from footnote_kit.errors import AlreadyExists, DeadlineExceeded, InvalidArgument, NotFound, Unavailable
from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError

from footnote_edge.database import Database
from footnote_edge.stages import Stages
from footnote_edge.tables import KnownCollectionRow

DEFAULT = "default"


class Catalog:
    """Resolves what callers name to collections of their tenant."""

    def __init__(self, stages: Stages, database: Database, timeout: float) -> None:
        self._indexing = stages.indexing
        self._sessions = database.sessions
        self._timeout = timeout

    async def get(self, scope: Scope, name: str) -> Collection:
        """Return a collection by name or id; raises NotFound when there is none that the caller may see."""
        if not name:
            raise InvalidArgument.field("collection", "must be given")
        request = indexing.GetCollectionRequest(scope=scope, collection=name)
        response = await self._indexing.GetCollection(request, timeout=self._timeout)
        found: Collection = response.collection
        return found

    async def for_upload(self, scope: Scope, name: str) -> Collection:
        """Return the collection to put a file into: "default" is made on demand, others must exist.

        While indexing does not answer, a collection that this user has used before is taken as it was then.
        """
        name = name or DEFAULT
        try:
            collection = await self._get_or_default(scope, name)
        except (Unavailable, DeadlineExceeded) as error:
            known = await self._known(scope, name)
            if known is None:
                raise Unavailable(
                    f"Collections cannot be looked up now, and '{name}' was not used here before. Try again later.",
                    reason=error.reason,
                    metadata=error.metadata,
                    retry_after=error.retry_after or 5.0,
                ) from error
            return known
        await self._remember(scope, name, collection)
        return collection

    async def create(self, scope: Scope, collection: Collection) -> Collection:
        """Create a collection; raises AlreadyExists for a name in use."""
        request = indexing.CreateCollectionRequest(scope=scope, collection=collection)
        response = await self._indexing.CreateCollection(request, timeout=self._timeout)
        created: Collection = response.collection
        return created

    async def forget(self, scope: Scope, collection: Collection) -> None:
        """No longer accept uploads by memory into a collection that was deleted."""
        names = (collection.name, collection.id)
        async with self._sessions.begin() as session:
            await session.execute(
                delete(KnownCollectionRow).where(
                    KnownCollectionRow.tenant_id == scope.tenant_id, KnownCollectionRow.name.in_(names)
                )
            )

    async def _get_or_default(self, scope: Scope, name: str) -> Collection:
        try:
            return await self.get(scope, name)
        except NotFound as error:
            if name != DEFAULT:
                raise NotFound(
                    f"Collection '{name}' not found. Create it first, or upload to '{DEFAULT}'.",
                    reason=error.reason,
                    metadata=error.metadata,
                ) from None
        # Anyone who may upload may thereby make the default collection, whatever else its role allows.
        maker = Scope(tenant_id=scope.tenant_id, user_id=scope.user_id, roles=[ROLE_ADMIN])
        try:
            return await self.create(maker, Collection(name=DEFAULT, description="Made by the first upload."))
        except AlreadyExists:
            return await self.get(scope, DEFAULT)

    async def _known(self, scope: Scope, name: str) -> Collection | None:
        async with self._sessions() as session:
            query = select(KnownCollectionRow.payload).where(
                KnownCollectionRow.tenant_id == scope.tenant_id,
                KnownCollectionRow.user_id == scope.user_id,
                KnownCollectionRow.name == name,
            )
            payload = (await session.scalars(query)).one_or_none()
        return None if payload is None else Collection.FromString(payload)

    async def _remember(self, scope: Scope, name: str, collection: Collection) -> None:
        kept = Collection(id=collection.id, name=collection.name, settings=collection.settings)
        known = await self._known(scope, name)
        if known == kept:
            return
        row = {"tenant_id": scope.tenant_id, "user_id": scope.user_id, "name": name}
        try:
            await self._write(KnownCollectionRow(**row, payload=kept.SerializeToString()))
        except IntegrityError:
            # Another first upload wrote the row between our look and our insert; this time it is found and updated.
            await self._write(KnownCollectionRow(**row, payload=kept.SerializeToString()))

    async def _write(self, row: KnownCollectionRow) -> None:
        async with self._sessions.begin() as session:
            await session.merge(row)


def expiry(collection: Collection, ttl_seconds: float | None, now: datetime | None = None) -> datetime | None:
    """Return when an upload stops being searchable: after its own time, else after the collection's; None for never."""
    if ttl_seconds is None and collection.settings.HasField("ttl"):
        ttl_seconds = collection.settings.ttl.ToTimedelta().total_seconds()
    if ttl_seconds is None:
        return None
    if ttl_seconds <= 0:
        raise InvalidArgument.field("ttl", "must be positive")
    return datetime.fromtimestamp((now or datetime.now(UTC)).timestamp() + ttl_seconds, UTC)
