"""Removes replaced revisions, expired documents, deleted collections and abandoned attempts."""

from time import monotonic

from footnote_kit.logs import get_logger
from footnote_kit.wall_clock import deletion_time

from footnote_indexing.model import BUILDING, DELETED, RevisionKey
from footnote_indexing.ports import IndexVersions, PurgeList
from footnote_indexing.revisions.collection_contents import CollectionContents
from footnote_indexing.settings import Settings
from footnote_indexing.upkeep.recovery import Recovery
from footnote_indexing.writing.store_writer import StoreWriter

_log = get_logger("footnote.indexing.sweeper")
_BATCH = 200
_AGAIN_MS = 60_000
_PAUSE = 10
"""How many times as long as a failed comparison took the next one waits."""


class Sweeper:
    """Purges in the background what searches no longer see; the next round retries failures."""

    def __init__(
        self,
        purges: PurgeList,
        index_versions: IndexVersions,
        writer: StoreWriter,
        contents: CollectionContents,
        recovery: Recovery,
        settings: Settings,
    ) -> None:
        self._purges = purges
        self._index_versions = index_versions
        self._writer = writer
        self._contents = contents
        self._recovery = recovery
        self._next_recovery = 0.0
        self._unsettled = False
        self._settings = settings

    async def round(self) -> None:
        """Sweep, and compare store and ledger when that is due."""
        await self.sweep()
        began, interval = monotonic(), self._settings.recovery_interval
        if began >= self._next_recovery:
            try:
                await self._recovery.check_all()
            except Exception:  # the longer it took, the later it is begun anew: nothing is swept meanwhile
                interval = min(interval, _PAUSE * (monotonic() - began))
                raise
            finally:
                self._next_recovery = monotonic() + interval

    async def sweep(self) -> int:
        """Purge what is due; return the number of rows removed."""
        now = int(deletion_time() * 1000)
        retired = await self._purges.retire_stale(
            expired_before=now - int(self._settings.expired_after * 1000),
            abandoned_before=now - int(self._settings.abandon_after * 1000),
        )
        self._unsettled |= bool(retired)
        if self._unsettled:
            for index_version in await self._index_versions.all():
                if index_version.state == BUILDING:  # it may hold every searched document now
                    await self._contents.settle(index_version.collection_id)
            self._unsettled = False
        removed = 0
        while True:
            due = await self._purges.due(_BATCH)
            for entry in due:
                removed += await self._purge(entry.key)
            if len(due) < _BATCH:
                break
        for index_version in await self._index_versions.take_due():
            if index_version.state == DELETED:  # the deletion itself may have been cut short, or have read no rows
                await self._contents.forget_index_version(index_version)
            removed += await self._contents.purge_index_version(index_version)
            if await self._purges.drop_index_version(index_version.collection_id, index_version.number):
                await self._index_versions.postpone(index_version, _AGAIN_MS)
            else:
                await self._index_versions.forget(index_version)
        if removed:
            _log.info("swept", rows=removed)
        return removed

    async def _purge(self, key: RevisionKey) -> int:
        """Remove a revision's rows and its entry, unless a new attempt has begun it again since it was listed."""
        index_version = await self._index_versions.find(key.collection_id, key.index_version)
        if index_version is not None:
            await self._writer.ensure(index_version)
        if not await self._purges.is_due(key):
            return 0
        removed = await self._writer.purge(index_version.space, key) if index_version is not None else 0
        await self._purges.forget(key)
        return removed
