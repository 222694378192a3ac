"""Batches concurrent uploads of single small files into calls for many files.

The first upload is sent at once; uploads that arrive during a call share the next one.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextvars import Context
from typing import NamedTuple

from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.context import detached

from footnote_edge.documents.many_uploads import MOST_FILES, ManyUploads, WholeFile
from footnote_edge.jobs.group_processing import MOST_BYTES

SMALL_BYTES = 256 * 1024
"""Maximum size of a file that shares a call."""


class _Key(NamedTuple):
    scope: bytes
    collection: str


class _Waiting(NamedTuple):
    file: WholeFile
    response: asyncio.Future[ingestion.UploadDocumentResponse]


class UploadBatches:
    """Uploads files by scope and collection; one call of each at a time."""

    def __init__(self, many: ManyUploads) -> None:
        self._many = many
        self._waiting: dict[_Key, deque[_Waiting]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def upload(self, scope: Scope, file: WholeFile) -> ingestion.UploadDocumentResponse:
        """Store a file and enqueue its job; raises what its own upload would.

        The file may be stored although its caller is cancelled, if its call has begun.
        """
        key = _Key(scope.SerializeToString(deterministic=True), file.metadata.collection)
        waiting = _Waiting(file, asyncio.get_running_loop().create_future())
        if key in self._waiting:
            self._waiting[key].append(waiting)
        else:
            self._waiting[key] = deque([waiting])
            # Outside the caller's context: the calls serve other callers too, and may outlast it.
            task = asyncio.create_task(self._run(key, scope), context=Context())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await waiting.response

    async def _run(self, key: _Key, scope: Scope) -> None:
        try:
            with detached("edge", scope):
                while line := self._waiting[key]:
                    if group := _taken(line):
                        await self._upload(scope, group)
        finally:
            for one in self._waiting.pop(key):
                one.response.cancel()

    async def _upload(self, scope: Scope, group: list[_Waiting]) -> None:
        outcomes: Sequence[ingestion.UploadDocumentResponse | Exception]
        try:
            outcomes = await self._many.upload(scope, [one.file for one in group])
        except asyncio.CancelledError:
            for one in group:
                one.response.cancel()
            raise
        except Exception as error:
            outcomes = [error] * len(group)
        for one, outcome in zip(group, outcomes, strict=True):
            if one.response.done():  # its caller was cancelled
                continue
            if isinstance(outcome, Exception):
                one.response.set_exception(outcome)
            else:
                one.response.set_result(outcome)


def _taken(line: deque[_Waiting]) -> list[_Waiting]:
    """Return the files of the next call, in order of arrival; none if no caller waits."""
    group: list[_Waiting] = []
    ids: set[str] = set()
    size = 0
    while line and len(group) < MOST_FILES:
        if line[0].response.done():  # its caller was cancelled
            line.popleft()
            continue
        data, metadata = line[0].file.data, line[0].file.metadata
        size += len(data) + metadata.ByteSize()
        if group and (size > MOST_BYTES or metadata.request_id in ids):
            break
        ids.update([metadata.request_id] if metadata.request_id else [])
        group.append(line.popleft())
    return group
