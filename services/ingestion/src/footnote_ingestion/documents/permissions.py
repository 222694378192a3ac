"""A caller's permissions on documents: those in their collection."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.access import Access, check, collection_missing, document_missing, sees_all
from footnote_kit.errors import NotFound, Unavailable

from footnote_ingestion.model.values import Stored
from footnote_ingestion.ports import Collections, Documents

_NOWHERE = "0" * 32


class Permissions:
    """Checks permissions before every document; documents that a caller may not read are reported as missing."""

    def __init__(self, documents: Documents, collections: Collections) -> None:
        self._documents = documents
        self._collections = collections

    async def still_to_upload(self, scope: Scope, collection_id: str) -> None:
        """Check again what `to_upload` allowed; while nobody can say, its answer counts."""
        if not self._collections.silent:
            with suppress(Unavailable):
                await self.to_upload(scope, collection_id, exact=True)

    async def to_upload(self, scope: Scope, collection_id: str, *, exact: bool = False) -> None:
        """Raise NotFound or PermissionDenied unless the caller may put documents into a collection."""
        if sees_all(scope):
            if not await self._collections.exists(scope, collection_id):
                raise collection_missing(collection_id)
            return
        access = await self._collections.access(scope, collection_id, exact=exact)
        check(access, Access.WRITE, collection_missing(collection_id))

    async def document(self, scope: Scope, document_id: str, needs: Access) -> Stored:
        """Return a document for which the caller has the access `needs`; raises NotFound, PermissionDenied.

        While collections cannot be looked up, cached access suffices for reading, never for changes.
        """
        missing = document_missing(document_id)
        exact = needs > Access.READ
        try:
            stored = await self._documents.get(scope.tenant_id, document_id)
        except NotFound:
            # Also asked when the document is missing: response time must not distinguish hidden from absent.
            await self._collections.access(scope, _NOWHERE, exact=exact)
            raise missing from None
        check(await self._collections.access(scope, stored.document.collection_id, exact=exact), needs, missing)
        return stored

    async def to_change(self, scope: Scope, document_id: str) -> None:
        """Raise NotFound or PermissionDenied unless the caller may change and delete a document."""
        if not sees_all(scope):
            await self.document(scope, document_id, Access.WRITE)

    async def to_list(self, scope: Scope, collection_ids: Sequence[str]) -> frozenset[str] | None:
        """Return the collections whose documents to list, None for the whole tenant; NotFound for a hidden one."""
        if sees_all(scope):
            return frozenset(collection_ids) or None
        if not collection_ids:
            return await self._collections.visible(scope)
        held = await self._collections.several(scope, collection_ids)
        for collection_id, access in held.items():
            check(access, Access.READ, collection_missing(collection_id))
        return frozenset(held)
