"""Deletes leftover files and expired documents in the background."""

from __future__ import annotations

from footnote_kit.logs import get_logger

from footnote_ingestion.documents.changes import Changes
from footnote_ingestion.ports import Documents, Files

_log = get_logger("footnote.ingestion.sweeper")


class Sweeper:
    """Deletes them in rounds; the next round retries failures."""

    def __init__(self, documents: Documents, changes: Changes, files: Files) -> None:
        self._documents = documents
        self._changes = changes
        self._files = files

    async def sweep(self) -> int:
        """Run one round; return how many files were deleted."""
        await self._documents.delete_expired()
        await self._changes.forget()
        keys = list(await self._documents.doomed())
        for key in keys:
            await self._files.delete(key)
        await self._documents.deleted(keys)
        if keys:
            _log.info("files_swept", count=len(keys))
        return len(keys)
