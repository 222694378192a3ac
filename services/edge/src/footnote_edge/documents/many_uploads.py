"""Uploads of many small files: one call of ingestion for all of them, and their jobs in one group."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass

from footnote.edge.v1 import documents_pb2 as edge
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.internal.ingestion.v1alpha1 import group_service_pb2 as groups
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.errors import FootnoteError, InvalidArgument, NotOffered
from footnote_kit.logs import get_logger
from footnote_kit.status import from_proto

from footnote_edge.collections.collections import Collections
from footnote_edge.documents.documents import PART_BYTES, Documents, check_metadata, upload_head
from footnote_edge.gateway import sizes
from footnote_edge.gateway.quotas import Quotas
from footnote_edge.jobs.group_processing import MOST_BYTES, MOST_DOCUMENTS
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings

MOST_FILES = MOST_DOCUMENTS
_AT_ONCE = 8
"""Files that are uploaded at once, each by its own call, where ingestion takes no groups."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file with all its bytes, the source item that it came from, and why it is refused, if so."""

    metadata: edge.UploadMetadata
    data: bytes
    origin: Mapping[str, str] | None = None
    refusal: InvalidArgument | None = None


Outcome = ingestion.UploadDocumentResponse | FootnoteError


class ManyUploads:
    """Stores several files of one collection, and enqueues their jobs."""

    def __init__(
        self, stages: Stages, documents: Documents, collections: Collections, quotas: Quotas, settings: Settings
    ) -> None:
        self._groups = stages.ingestion_groups
        self._documents = documents
        self._collections = collections
        self._quotas = quotas
        self._timeout = settings.job_timeout_seconds
        self._offered = True

    async def receive(self, scope: Scope, requests: AsyncIterator[edge.UploadDocumentsRequest]) -> list[WholeFile]:
        """Return the files of a call; raises InvalidArgument over the limits of one call, and for its collection."""
        heads: list[edge.UploadMetadata] = []
        refusals: list[InvalidArgument | None] = []
        contents: list[bytearray] = []
        size = 0
        async for request in requests:
            size += len(request.data) + request.metadata.ByteSize()
            if size > MOST_BYTES:
                raise InvalidArgument.field(
                    "data", f"must be at most {MOST_BYTES} bytes in one call; upload larger files by UploadDocument"
                )
            if request.HasField("metadata"):
                if len(heads) == MOST_FILES:
                    raise InvalidArgument.field("metadata", f"may come {MOST_FILES} times in one call; begin another")
                heads.append(request.metadata)
                refusals.append(await _refusal(request))
                contents.append(bytearray())
            elif not heads:
                raise InvalidArgument.field("metadata", "must come in the first message")
            contents[-1] += request.data
            self._quotas.rates.receive(scope.tenant_id, len(request.data))
        if not heads:
            raise InvalidArgument.field("metadata", "must come in the first message")
        return [
            WholeFile(head, bytes(content), refusal=refusal)
            for head, content, refusal in zip(heads, contents, refusals, strict=True)
        ]

    async def upload(self, scope: Scope, files: Sequence[WholeFile]) -> list[Outcome]:
        """Store files of one collection, at most MOST_FILES of MOST_BYTES; return the outcomes in order.

        Raises InvalidArgument for another collection or a repeated request id, and what fails the whole call.
        """
        name = files[0].metadata.collection
        if any(one.metadata.collection not in ("", name) for one in files):
            raise InvalidArgument.field("metadata.collection", "must be the same for all files of a call")
        ids = [one.metadata.request_id for one in files if one.metadata.request_id]
        if len(set(ids)) != len(ids):
            raise InvalidArgument.field("metadata.request_id", "must be another one for each file of a call")
        await self._quotas.admit(scope.tenant_id)
        collection = await self._collections.for_upload(scope, name)
        allowed = await self._quotas.allowances.of(scope.tenant_id)
        outcomes: dict[int, Outcome] = {}
        sent: dict[int, groups.WholeFile] = {}
        for index, one in enumerate(files):
            try:
                if one.refusal is not None:
                    raise one.refusal
                check_metadata(one.metadata)
                head = upload_head(one.metadata, collection, allowed, one.origin)
                sent[index] = groups.WholeFile(metadata=head, data=one.data)
            except FootnoteError as error:
                outcomes[index] = error
        if sent:
            outcomes |= zip(sent, await self._store(scope, list(sent.values())), strict=True)
        stored = [one for one in outcomes.values() if not isinstance(one, FootnoteError)]
        try:
            grouped = await self._documents.queue_in_groups(stored)
        except FootnoteError as error:  # of the stored files alone: what was refused stays refused for its own reason
            given = (outcomes[index] for index in range(len(files)))
            return [one if isinstance(one, FootnoteError) else error for one in given]
        return [await self._finish(scope, one, outcomes[index], grouped) for index, one in enumerate(files)]

    async def _finish(self, scope: Scope, file: WholeFile, outcome: Outcome, grouped: Collection[str]) -> Outcome:
        if isinstance(outcome, FootnoteError):
            return outcome
        try:
            await self._documents.finish_upload(scope, file.metadata, outcome, grouped)
        except FootnoteError as error:
            return error
        return outcome

    async def _store(self, scope: Scope, files: Sequence[groups.WholeFile]) -> list[Outcome]:
        if self._offered:
            request = groups.UploadDocumentsRequest(scope=scope, files=files)
            try:
                response = await self._groups.UploadDocuments(request, timeout=self._timeout)
            except NotOffered:
                self._offered = False
                _log.info("group_uploads_not_offered", files=len(files))
            else:
                return [one.stored if one.HasField("stored") else from_proto(one.error) for one in response.files]
        turns = asyncio.Semaphore(_AT_ONCE)

        async def alone(file: groups.WholeFile) -> Outcome:
            async with turns:
                try:
                    return await self._documents.store(scope, file.metadata, _parts(file.data))
                except FootnoteError as error:
                    return error

        return await asyncio.gather(*map(alone, files))


async def _refusal(request: edge.UploadDocumentsRequest) -> InvalidArgument | None:
    """Return why the file that a message begins is refused; raises it where it is about the collection, of all."""
    try:
        await sizes.check_all(request)
    except InvalidArgument as error:
        if any(one.field == "metadata.collection" for one in error.violations):
            raise
        return error
    return None


async def _parts(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), PART_BYTES):
        yield data[start : start + PART_BYTES]
