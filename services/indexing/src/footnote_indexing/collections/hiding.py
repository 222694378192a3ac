"""Hides collections that are about to be deleted from all callers except the services, and restores them."""

from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.access import Access, collection_missing, is_system

from footnote_indexing.collections.collections import Collections
from footnote_indexing.ports import CollectionRecords


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
