"""Deletes in the background what should not be there any more: left-over files and expired documents."""

from __future__ import annotations

import asyncio

from footnote_kit.context import detached
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger

from footnote_ingestion.documents.changes import Changes
from footnote_ingestion.ports import Documents, Files

_log = get_logger("footnote.ingestion.sweeper")


class Sweeper:
    """Sweeps every `seconds`."""

    def __init__(self, documents: Documents, changes: Changes, files: Files, seconds: float) -> None:
        self._documents = documents
        self._changes = changes
        self._files = files
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to sweep in the background."""
        self._task = asyncio.create_task(self._run(), name="ingestion-sweeper")

    async def stop(self) -> None:
        """Stop sweeping."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def sweep(self) -> int:
        """Sweep once; returns how many files were deleted."""
        await self._documents.delete_expired()
        await self._changes.forget()
        keys = list(await self._documents.doomed())
        for key in keys:
            await self._files.delete(key)
        await self._documents.deleted(keys)
        return len(keys)

    async def _run(self) -> None:
        with detached("ingestion"):
            while True:
                try:
                    if count := await self.sweep():
                        _log.info("files_swept", count=count)
                except FootnoteError as error:
                    _log.warning("sweep_failed", reason=error.reason)
                except Exception:
                    _log.exception("sweep_failed")
                await asyncio.sleep(self._seconds)
