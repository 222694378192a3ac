"""Removes replaced revisions, expired documents, deleted collections and abandoned attempts."""

from time import monotonic

from footnote_database.times import now_ms
from footnote_kit.logs import get_logger

from footnote_indexing.ports import Generations, PurgeList
from footnote_indexing.revisions.indexing import Indexing
from footnote_indexing.settings import Settings
from footnote_indexing.upkeep.recovery import Recovery
from footnote_indexing.writing.store_writer import StoreWriter

_log = get_logger("footnote.indexing.sweeper")
_BATCH = 200
_AGAIN_MS = 60_000


class Sweeper:
    """Purges in the background what searches no longer see; the next round retries failures."""

    def __init__(
        self,
        purges: PurgeList,
        generations: Generations,
        writer: StoreWriter,
        indexing: Indexing,
        recovery: Recovery,
        settings: Settings,
    ) -> None:
        self._purges = purges
        self._generations = generations
        self._writer = writer
        self._indexing = indexing
        self._recovery = recovery
        self._next_recovery = 0.0
        self._settings = settings

    async def round(self) -> None:
        """Sweep, and compare store and ledger when that is due."""
        await self.sweep()
        if monotonic() >= self._next_recovery:
            await self._recovery.check_all()
            self._next_recovery = monotonic() + self._settings.recovery_interval

    async def sweep(self) -> int:
        """Purge what is due; return the number of rows removed."""
        now = now_ms()
        await self._purges.retire_stale(
            expired_before=now - int(self._settings.expired_after * 1000),
            abandoned_before=now - int(self._settings.abandon_after * 1000),
        )
        removed = 0
        while True:
            due = await self._purges.due(_BATCH)
            for entry in due:
                generation = await self._generations.find(entry.key.collection_id, entry.key.generation)
                if generation is not None:
                    await self._writer.ensure(generation)
                    removed += await self._writer.purge(generation.space, entry.key)
                await self._purges.forget(entry.key)
            if len(due) < _BATCH:
                break
        for generation in await self._generations.due():
            removed += await self._indexing.purge_generation(generation)
            if await self._purges.drop_generation(generation.collection_id, generation.number):
                await self._generations.postpone(generation, _AGAIN_MS)
            else:
                await self._generations.forget(generation)
        if removed:
            _log.info("swept", rows=removed)
        return removed
