"""Deletes in the background what should not be there any more: left-over files and expired documents."""

from __future__ import annotations

from footnote_kit.logs import get_logger

from footnote_ingestion.documents.changes import Changes
from footnote_ingestion.ports import Documents, Files

_log = get_logger("footnote.ingestion.sweeper")


class Sweeper:
    """Deletes it, a round at a time; what fails is there at the next one."""

    def __init__(self, documents: Documents, changes: Changes, files: Files) -> None:
        self._documents = documents
        self._changes = changes
        self._files = files

    async def sweep(self) -> int:
        """Sweep once; returns how many files were deleted."""
        await self._documents.delete_expired()
        await self._changes.forget()
        keys = list(await self._documents.doomed())
        for key in keys:
            await self._files.delete(key)
        await self._documents.deleted(keys)
        if keys:
            _log.info("files_swept", count=len(keys))
        return len(keys)
