"""Counts stored documents, for the callers that may see the figures."""

from __future__ import annotations

from dataclasses import dataclass

from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.access import sees_all
from footnote_kit.errors import InvalidArgument, PermissionDenied

from footnote_ingestion.model.quota import StoredTotals
from footnote_ingestion.ports import Documents

MOST_OWNERS = 1001
"""Owners read at once: a page of them, and one more to see whether there is a next page."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The caller's totals; for administrators, also the tenant's totals and owners."""

    own: StoredTotals
    tenant: StoredTotals | None
    owners: list[StoredTotals]


class Counting:
    """Counts documents for their owners, and for administrators and services."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    async def stored(self, scope: Scope, owners: int, after: str) -> Counted:
        """Count; raises PermissionDenied when a caller asks about others without being an administrator."""
        if not 0 <= owners <= MOST_OWNERS:
            raise InvalidArgument.field("owners", f"must be between 0 and {MOST_OWNERS}")
        if owners and not sees_all(scope):
            raise PermissionDenied("Only administrators can see what others store.")
        own = await self._documents.owner_totals(scope.tenant_id, scope.user_id)
        if not sees_all(scope):
            return Counted(own, None, [])
        used = await self._documents.used(scope.tenant_id)
        listed = await self._documents.totals_by_owner(scope.tenant_id, after, owners) if owners else []
        return Counted(own, StoredTotals("", used.tenant_documents, used.tenant_bytes), listed)
