"""What collections need of edge's store."""

from collections.abc import Sequence
from typing import Protocol

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import Collection


class KnownCollections(Protocol):
    """Collections as each user last wrote to them; see `adapters.known_collections.KnownCollectionTable`."""

    async def read(self, scope: Scope, name: str) -> Collection | None:
        """Return a user's remembered collection; None for one that is unknown or cannot be read."""

    async def keep(self, scope: Scope, name: str, collection: Collection) -> None:
        """Remember a collection for a user."""

    async def forget(self, tenant_id: str, names: Sequence[str]) -> None:
        """Forget a collection of a tenant under all of its names."""
