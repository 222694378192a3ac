"""Deletes rows with own vectors, and takes them out of stored answers."""

import asyncio
from contextlib import suppress

from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote_kit.errors import FootnoteError, InvalidArgument

from footnote_edge.conversations.ports import Forgetting
from footnote_edge.documents.vanished import VanishedOrigins
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.ports import Stages


class RowDeletion:
    """Deletes rows; nothing but indexing has a record of them, so that a crash is made up for by `VanishedOrigins`."""

    def __init__(
        self, stages: Stages, vanished: VanishedOrigins, forgetting: Forgetting, jobs: Jobs, timeout: float
    ) -> None:
        self._indexing = stages.indexing
        self._vanished = vanished
        self._forgetting = forgetting
        self._jobs = jobs
        self._timeout = timeout

    async def delete(self, request: indexing.DeleteVectorsRequest) -> int:
        """Delete rows of a collection, named by its id, and return their number; raises as indexing.

        Whatever indexing deletes is taken out of answers, even if the caller leaves meanwhile or the call fails.
        """
        work = asyncio.create_task(self._delete(request))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            self._jobs.store_in_background(_ended(work))
            raise

    async def _delete(self, request: indexing.DeleteVectorsRequest) -> int:
        try:
            deleted = (await self._indexing.DeleteVectors(request, timeout=self._timeout)).deleted
        except InvalidArgument:
            raise
        except FootnoteError:
            # This call or an earlier one may have deleted them all the same.
            self._jobs.run_in_background(self._vanished.look_at(request.collection, request.ids))
            raise
        self._jobs.remove_forgotten_from_memory(await self._forgetting.rows(request.collection, request.ids))
        return int(deleted)


async def _ended(work: asyncio.Task[int]) -> None:
    with suppress(FootnoteError):  # the caller has left
        await work
