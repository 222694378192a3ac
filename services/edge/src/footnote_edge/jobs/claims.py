"""Claims of a replica on the documents that wait in its groups, so that other replicas' reconcilers leave them alone.

A claim is valid as long as its replica's lease: the replica that sees the lease expire deletes the claims
(`leases.py`) and enqueues their documents. Claims save work and guard nothing: a document that two replicas process is
indexed once, as each step is idempotent.
"""

from collections.abc import Collection
from datetime import datetime

from footnote_kit.logs import get_logger

from footnote_edge.jobs.ports import GroupClaims
from footnote_edge.jobs.retrying import until_available

_log = get_logger(__name__)


class Claims:
    """One replica's claims; without a table there is no other replica, and every document is its own."""

    def __init__(self, table: GroupClaims | None = None, replica: str = "", ceiling: float = 10.0) -> None:
        self._table = table
        self._replica = replica
        self._ceiling = ceiling

    async def take(self, document_ids: Collection[str]) -> set[str]:
        """Claim documents in one transaction; return those that are this replica's now."""
        return set(document_ids) if self._table is None else await self._table.take(self._replica, document_ids)

    async def kept(self, document_ids: Collection[str]) -> set[str]:
        """Return those of documents that are still this replica's: its lease may have expired while it stood still."""
        if (table := self._table) is None:
            return set(document_ids)
        return await until_available(lambda: table.kept(self._replica, document_ids), self._ceiling)

    async def release(self, document_ids: Collection[str]) -> None:
        """Give up claims; those that stay in spite of that go with the replica's lease."""
        if (table := self._table) is None:
            return
        try:
            await until_available(lambda: table.release(self._replica, document_ids), self._ceiling)
        except Exception as error:
            _log.error("claims_not_released", documents=len(document_ids), error=type(error).__name__)

    async def elsewhere(self, document_id: str) -> bool:
        """Return whether another replica has a document."""
        return self._table is not None and await self._table.holder(document_id) not in (None, self._replica)

    async def oldest(self) -> datetime | None:
        """Return when the oldest claim of all replicas was made."""
        return None if self._table is None else await self._table.oldest()
