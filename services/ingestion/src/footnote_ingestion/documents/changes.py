"""Changes to a collection's documents since a caller's last request."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_kit.errors import FailedPrecondition

from footnote_ingestion.documents.permissions import Permissions
from footnote_ingestion.model.values import deletion_micros, now_micros
from footnote_ingestion.ports import ChangeLog

BATCH = 100
BATCH_IDS = 1000
OVERLAP_MICROS = 5_000_000
"""A change gets its time before its commit makes it visible; so reading starts this much earlier."""
MARGIN_MICROS = 600_000_000
"""How much longer deletions are kept than promised."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some changes; the last batch has `until` (microseconds)."""

    documents: tuple[Document, ...] = ()
    deleted: tuple[str, ...] = ()
    until: int | None = None


class Changes:
    """Returns changes to callers that may read the collection."""

    def __init__(self, log: ChangeLog, permissions: Permissions, kept_seconds: float) -> None:
        self._log = log
        self._permissions = permissions
        self._kept_micros = int(kept_seconds * 1_000_000)

    async def since(self, scope: Scope, collection_id: str, since: int | None) -> AsyncGenerator[Batch, None]:
        """Yield the changes since a time, everything for None; raises FailedPrecondition for a time too long ago.

        So it does for a time still to come: the clock was set back since, and changes after that have earlier times.
        """
        await self._permissions.to_list(scope, [collection_id])
        now = now_micros()
        until = now - OVERLAP_MICROS
        if since is not None and since > now:
            raise FailedPrecondition(
                "The clock was set back since then; begin again without the token", reason="WATCH_EXPIRED"
            )
        if since is not None and since < until - self._kept_micros:
            raise FailedPrecondition(
                "What was deleted since then is forgotten; begin again without the token", reason="WATCH_EXPIRED"
            )
        after = (0 if since is None else since - 1, "")
        while found := await self._log.changed(scope.tenant_id, collection_id, after, BATCH):
            yield Batch(documents=tuple(stored.document for stored in found))
            last = found[-1].document
            after = (last.update_time.ToMicroseconds(), last.id)
            if len(found) < BATCH:
                break
        after = (0 if since is None else since - 1, "")
        while since is not None and (gone := await self._log.gone(scope.tenant_id, collection_id, after, BATCH_IDS)):
            yield Batch(deleted=tuple(document_id for _, document_id in gone))
            after = gone[-1]
            if len(gone) < BATCH_IDS:
                break
        yield Batch(until=until)

    async def forget(self) -> None:
        """Delete records of deletions that are too old to be asked for."""
        await self._log.forget_gone(deletion_micros() - self._kept_micros - MARGIN_MICROS)
