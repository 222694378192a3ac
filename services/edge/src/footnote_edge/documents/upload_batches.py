"""Batches concurrent uploads of single small files into calls for many files.

An upload without others beside it is a call of its own. Those that come while a few calls are under way share the next
one, so that a crowd of uploads costs few transactions and does not hold up other users.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextvars import Context
from typing import NamedTuple

from footnote.edge.v1.documents_pb2 import UploadMetadata
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit import names
from footnote_kit.context import detached
from footnote_kit.telemetry import current_traceparent, remote_context, span

from footnote_edge.documents.documents import Documents, check_metadata
from footnote_edge.documents.many_uploads import MOST_FILES, ManyUploads, WholeFile
from footnote_edge.jobs.group_processing import MOST_BYTES

MOST_SHARED_BYTES = 256 * 1024
"""Maximum size of a file that shares a call."""
AT_ONCE = 2
"""Concurrent calls for one scope and collection: a file that takes long to check does not hold up all others."""


class _Key(NamedTuple):
    scope: bytes
    collection: str


class _Waiting(NamedTuple):
    file: WholeFile
    response: asyncio.Future[ingestion.UploadDocumentResponse]
    traceparent: str


class UploadBatches:
    """Uploads files by scope and collection."""

    def __init__(self, documents: Documents, many: ManyUploads) -> None:
        self._documents = documents
        self._many = many
        self._running: Counter[_Key] = Counter()
        self._waiting: dict[_Key, deque[_Waiting]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def receive(
        self,
        scope: Scope,
        metadata: UploadMetadata,
        parts: AsyncIterator[bytes],
        origin: Mapping[str, str] | None = None,
    ) -> ingestion.UploadDocumentResponse:
        """Store a file and enqueue its job, or find the document with the same bytes; raises InvalidArgument.

        A small file may share a call, and is then stored even if its caller is cancelled once the call has begun. A
        large one is streamed. `origin` is the source item that it came from; callers cannot set it.
        """
        check_metadata(metadata)
        received = self._documents.metered(scope, parts)
        begun: list[bytes] = []
        size = 0
        while max(size, metadata.size_bytes) <= MOST_SHARED_BYTES:
            if (part := await anext(received, None)) is None:
                return await self.upload(scope, WholeFile(metadata, b"".join(begun), origin))
            begun.append(part)
            size += len(part)
        return await self._documents.upload(scope, metadata, _chained(begun, received), origin)

    async def upload(self, scope: Scope, file: WholeFile) -> ingestion.UploadDocumentResponse:
        """Store a whole file; raises what its own call would."""
        key = _Key(scope.SerializeToString(deterministic=True), file.metadata.collection)
        if self._running[key] >= AT_ONCE:
            waiting = _Waiting(file, asyncio.get_running_loop().create_future(), current_traceparent())
            self._waiting.setdefault(key, deque()).append(waiting)
            return await waiting.response
        self._running[key] += 1
        try:
            [outcome] = await self._many.upload(scope, [file])
        finally:
            self._ended(key, scope)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _ended(self, key: _Key, scope: Scope) -> None:
        """Begin the next call, if uploads wait for one."""
        self._running[key] -= 1
        group = _next_group(self._waiting.get(key, deque()))
        if not self._waiting.get(key):
            self._waiting.pop(key, None)
        if group:
            self._running[key] += 1
            # Outside the caller's context: the call serves other callers, and may outlast this one.
            task = asyncio.create_task(self._share(key, scope, group), context=Context())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif not self._running[key]:
            del self._running[key]

    async def _share(self, key: _Key, scope: Scope, group: list[_Waiting]) -> None:
        """Upload files by one call, which outlasts any of its callers."""
        links = tuple(link for one in group if (link := remote_context(one.traceparent)) is not None)
        outcomes: Sequence[ingestion.UploadDocumentResponse | Exception]
        try:
            with detached("edge", scope), span("upload documents", {names.TENANT_ID: scope.tenant_id}, links=links):
                outcomes = await self._many.upload(scope, [one.file for one in group])
        except asyncio.CancelledError:
            for one in [*group, *self._waiting.pop(key, ())]:
                one.response.cancel()
            raise
        except Exception as error:
            outcomes = [error] * len(group)
        finally:
            self._ended(key, scope)
        for one, outcome in zip(group, outcomes, strict=True):
            if one.response.done():  # its caller was cancelled
                continue
            if isinstance(outcome, Exception):
                one.response.set_exception(outcome)
            else:
                one.response.set_result(outcome)


async def _chained(begun: Sequence[bytes], rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    for part in begun:
        yield part
    async for part in rest:
        yield part


def _next_group(line: deque[_Waiting]) -> list[_Waiting]:
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
