"""Collections that are about to be deleted: out of everybody's sight but the services', and back where one is kept."""

import sqlalchemy as sa
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.access import Access, collection_missing, is_system
from footnote_kit.errors import AlreadyExists
from sqlalchemy.exc import IntegrityError

from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.sharing import holder
from footnote_indexing.adapters.tables import collections
from footnote_indexing.collections.collections import Collections


class Hiding:
    """Hides collections and restores them."""

    def __init__(self, database: Database, collections_: Collections) -> None:
        self._database = database
        self._collections = collections_

    async def hide(self, scope: Scope, name_or_id: str) -> str:
        """Take a collection out of sight, which the caller may manage, and return its id; its name is free then."""
        found = (await self._collections.find(scope, name_or_id, Access.MANAGE)).collection
        # No user has an id with a slash: see footnote_kit.identifiers.
        await self._write(found, hidden=True, holder=f"hidden/{found.id}")
        return found.id

    async def restore(self, scope: Scope, collection_id: str) -> str:
        """Put a collection back in sight and return its id; AlreadyExists when its name was given to another one."""
        if not is_system(scope):
            raise collection_missing(collection_id)
        found = (await self._collections.find(scope, collection_id)).collection
        try:
            await self._write(found, hidden=False, holder=holder(found))
        except IntegrityError as error:
            raise AlreadyExists(
                f"Collection '{found.name}' already exists", metadata={"collection": found.name}
            ) from error
        return found.id

    async def _write(self, found: Collection, *, hidden: bool, holder: str) -> None:
        async with self._database.write() as connection:
            change = sa.update(collections).where(collections.c.id == found.id).values(hidden=hidden, holder=holder)
            if (await connection.execute(change)).rowcount != 1:
                raise collection_missing(found.id)
