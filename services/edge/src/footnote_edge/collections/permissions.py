"""Access checks on collections and documents, before edge acts on them; the stages check again.

Jobs run under the service's own account, so for them the check before they are enqueued is the only one.
"""

from collections.abc import Awaitable, Callable, Iterable

from footnote.stages.v1.passage_pb2 import Chunk
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.collection_pb2 import Collection
from footnote_kit.access import (
    Access,
    check,
    chunk_missing,
    collection_missing,
    document_missing,
    is_system,
    sees_all,
)
from footnote_kit.authorizer import Authorizer

from footnote_edge.collections.names import CollectionNames


class Permissions:
    """Raises NotFound for objects invisible to the caller, PermissionDenied for read-only ones."""

    def __init__(
        self, authorizer: Authorizer, names: CollectionNames, deleting: Callable[[str], Awaitable[set[str]]]
    ) -> None:
        self._authorizer = authorizer
        self._names = names
        self._deleting = deleting

    async def collection(self, scope: Scope, collection: Collection, needs: Access, *, exact: bool = True) -> None:
        """Check the access that the caller needs to a collection; unless `exact`, a cached answer suffices."""
        held = (await self._held(scope, [collection.id], exact=exact))[collection.id]
        check(held, needs, collection_missing(collection.name or collection.id))

    async def document(self, scope: Scope, document: Document, needs: Access) -> None:
        """Check the access that the caller needs to a document; a write is checked without the cache."""
        held = await self._held(scope, [document.collection_id], exact=needs > Access.READ)
        check(held[document.collection_id], needs, document_missing(document.id))

    async def chunk(self, scope: Scope, chunk: Chunk) -> None:
        """Check that the caller may read a chunk."""
        held = await self._held(scope, [chunk.collection_id])
        check(held[chunk.collection_id], Access.READ, chunk_missing(chunk.id))

    async def documents(self, scope: Scope, documents: list[Document], needs: Access) -> None:
        """Check many documents by one request."""
        ids = {document.collection_id for document in documents}
        held = await self._held(scope, ids, exact=needs > Access.READ)
        for document in documents:
            check(held[document.collection_id], needs, document_missing(document.id))

    async def readable(self, scope: Scope, collection_ids: Iterable[str]) -> set[str]:
        """Return those of the collections that the caller may read."""
        held = await self._held(scope, collection_ids)
        return {collection_id for collection_id, access in held.items() if access >= Access.READ}

    async def writable(self, scope: Scope, collection_ids: Iterable[str]) -> set[str]:
        """Return those of the collections that the caller may write to."""
        held = await self._held(scope, collection_ids)
        return {collection_id for collection_id, access in held.items() if access >= Access.WRITE}

    async def _held(self, scope: Scope, ids: Iterable[str], *, exact: bool = False) -> dict[str, Access]:
        held = await self._authorizer.several(scope, ids, exact=exact)
        if held and sees_all(scope) and not is_system(scope):
            # Administrators need no lookup; but a collection that is being deleted is invisible to them too.
            for collection_id in held.keys() & await self._deleting(scope.tenant_id):
                held[collection_id] = Access.NONE
        return held

    def changed(self, scope: Scope) -> None:
        """Invalidate the cache of a tenant's collections after a change."""
        self._authorizer.forget(scope.tenant_id)
        self._names.forget(scope.tenant_id)
