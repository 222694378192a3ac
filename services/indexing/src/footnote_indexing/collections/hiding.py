"""Collections that are about to be deleted: out of everybody's sight but the services', and back where one is kept."""

from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.access import Access, collection_missing, is_system

from footnote_indexing.adapters.collection_table import CollectionTable
from footnote_indexing.collections.collections import Collections


class Hiding:
    """Hides collections and restores them."""

    def __init__(self, table: CollectionTable, collections: Collections) -> None:
        self._table = table
        self._collections = collections

    async def hide(self, scope: Scope, name_or_id: str) -> str:
        """Take a collection out of sight, which the caller may manage, and return its id; its name is free then."""
        found = (await self._collections.find(scope, name_or_id, Access.MANAGE)).collection
        await self._table.hide(found)
        return found.id

    async def restore(self, scope: Scope, collection_id: str) -> str:
        """Put a collection back in sight and return its id; AlreadyExists when its name was given to another one."""
        if not is_system(scope):
            raise collection_missing(collection_id)
        found = (await self._collections.find(scope, collection_id)).collection
        await self._table.restore(found)
        return found.id
