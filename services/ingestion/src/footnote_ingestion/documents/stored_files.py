"""The stored files of documents: none outlives its row for long, and no row refers to a missing one.

In the background, a sweeper deletes leftover files, and begins the deletion of expired documents.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from footnote.stages.v1.scope_pb2 import Scope
from footnote_database.cancel_safe import outcome
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import span

from footnote_ingestion.documents.changes import Changes
from footnote_ingestion.model.values import GRACE_MICROS, new_key, now_micros
from footnote_ingestion.ports import Documents, Files

_log = get_logger("footnote.ingestion")


class StoredFiles:
    """Stores and deletes files together with the table's deletion list."""

    def __init__(self, documents: Documents, files: Files) -> None:
        self._documents = documents
        self._files = files

    @asynccontextmanager
    async def stored(self, scope: Scope, paths: Sequence[Path]) -> AsyncIterator[list[str]]:
        """Yield the keys of files' stored copies; the copies are deleted unless the block gives them to documents.

        After a cancellation or a lost connection during the commit, the outcome is unknown. The deletion list then
        decides: the transaction that gives a file to a document takes it off the list.
        """
        if not paths:
            yield []
            return
        keys = [new_key(scope.tenant_id, scope.user_id) for _ in paths]
        await self._documents.doom(keys, now_micros() + GRACE_MICROS)
        try:
            with span("ingestion.store"):
                await self._files.put_all(dict(zip(keys, paths, strict=True)))
            yield keys
        except BaseException:
            await outcome(asyncio.ensure_future(self.give_up(keys)))
            raise

    async def give_up(self, keys: Sequence[str]) -> None:
        """Delete files now unless a document has them; if that is unknown, leave them to the sweeper."""
        if not keys:
            return
        try:
            doomed = await self._documents.give_up(keys)
        except FootnoteError as error:
            _log.warning("files_left_for_later", count=len(keys), reason=error.reason)
        else:
            await self.drop(doomed)

    async def drop(self, keys: Sequence[str]) -> None:
        """Delete files that are on the list now; the sweeper deletes those that the store does not."""
        try:
            for key in keys:
                await self._files.delete(key)
            await self._documents.deleted(keys)
        except FootnoteError as error:
            _log.warning("files_left_for_later", count=len(keys), reason=error.reason)


class Sweeper:
    """Deletes leftover files in rounds; the next round retries failures."""

    def __init__(self, documents: Documents, changes: Changes, files: Files) -> None:
        self._documents = documents
        self._changes = changes
        self._files = files

    async def sweep(self) -> int:
        """Run one round; return how many files were deleted."""
        await self._documents.delete_expired()
        await self._changes.forget()
        keys, failed = [], None
        for key in await self._documents.doomed():
            try:
                await self._files.delete(key)
                keys.append(key)
            except FootnoteError as error:
                failed = error
                if await self._files.check() is not None:
                    break  # the whole store is away, not this file
        await self._documents.deleted(keys)
        if keys:
            _log.info("files_swept", count=len(keys))
        if failed is not None:
            raise failed
        return len(keys)
