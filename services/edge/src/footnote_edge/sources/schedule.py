"""The synchronisation schedule: each replica checks every few seconds, and one of them begins a due run."""

import asyncio
import shutil
import time
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from footnote.edge.v1.operations_pb2 import OPERATION_KIND_SYNC_SOURCE
from footnote.stages.v1.scope_pb2 import Scope
from footnote_database.transactions import utc
from footnote_kit.errors import FailedPrecondition
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import observe

from footnote_edge.jobs.jobs import Jobs
from footnote_edge.jobs.ports import OperationStore, StoredOperation, new_operation
from footnote_edge.sources.registry import Openings
from footnote_edge.sources.secrets import Sealed, Vault
from footnote_edge.sources.stored import LISTING, SKEW, SourceStore, StoredSource

_log = get_logger(__name__)


class Schedule:
    """Begins due synchronisations, at most one per source at a time."""

    def __init__(
        self, sources: SourceStore, operations: OperationStore, jobs: Jobs, vault: Vault, openings: Openings
    ) -> None:
        self._sources = sources
        self._operations = operations
        self._jobs = jobs
        self._vault = vault
        self._openings = openings
        self._oldest = time.time()
        observe("footnote.edge.sources.age", lambda: max(0.0, time.time() - self._oldest))

    async def begin_due(self) -> int:
        """Begin due synchronisations, and delete sources of deleted collections; return how many began."""
        for source_id in await self._sources.of_deleted_collections():
            await self._sources.remove(source_id)
        now, begun = datetime.now(UTC), 0
        for source in await self._sources.due(now):
            latest = now + timedelta(seconds=source.interval_seconds) + SKEW
            retries = source.next_time is not None and now < source.next_time <= latest
            begun += await self.begin(source, retries_only=retries) is not None
        oldest = await self._sources.oldest()
        self._oldest = time.time() if oldest is None else oldest.timestamp()
        return begun

    async def begin(
        self, source: StoredSource, *, retries_only: bool = False, user_id: str = ""
    ) -> StoredOperation | None:
        """Begin to synchronise a source; None if another call, or replica, has begun it already.

        With `retries_only` nothing is listed: only failed items are retried.
        """
        scope = Scope(tenant_id=source.tenant_id, user_id=user_id or source.user_id)
        row = new_operation(scope, uuid4().hex, OPERATION_KIND_SYNC_SOURCE, source.collection_id)
        row.source_id, row.failed_only = source.id, retries_only
        if not await self._operations.add(row):
            return None
        await self._jobs.enqueue(row)
        return row

    async def follow(self, source: StoredSource, active: StoredOperation) -> None:
        """Make another run follow one that has listed the source already, or that only retries items."""
        listed = source.run_id == active.id and source.run_listed != LISTING
        if (active.failed_only or listed) and not _is_due(source):
            await self._sources.make_due(source.id)

    async def remove_folders(self) -> int:
        """Remove what deleted sources have left on this replica's disk; return the number of their folders."""
        names = await asyncio.to_thread(self._openings.folders)  # first: a source is recorded before it has one
        gone = names - await self._sources.existing(names)
        for source_id in gone:
            await asyncio.to_thread(shutil.rmtree, self._openings.folder(source_id), ignore_errors=True)
            _log.info("source_folder_removed", source_id=source_id)
        return len(gone)

    async def rekey(self) -> int:
        """Re-encrypt secrets of older keys with the first key; return the number of sources."""
        if not self._vault.primary:
            return 0
        moved = 0
        for source in await self._sources.sealed_with_others(self._vault.primary):
            try:
                secrets = self._vault.open(source.id, Sealed(source.secrets, source.secret_key))
            except FailedPrecondition as error:  # its key is missing, or they are damaged
                _log.warning("source_secrets_unreadable", source_id=source.id, error=error.message)
                continue
            sealed = self._vault.seal(source.id, secrets)
            await self._sources.reseal(source, sealed.data, sealed.key_id)
            moved += 1
        return moved


def _is_due(source: StoredSource) -> bool:
    return source.next_time is not None and utc(source.next_time) <= datetime.now(UTC)
