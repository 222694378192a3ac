"""Streams a document's blocks from ingestion to indexing, and publishes the progress of both."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable

from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.parsing_pb2 import ParsedMetadata
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import PROGRESS_PHASE_PARSING, Progress
from footnote_kit.admission.fair_shares import Shares
from footnote_kit.document_files import newest
from footnote_kit.errors import FootnoteError, Internal, Unavailable

from footnote_edge.gateway.metering import Meter
from footnote_edge.gateway.ports import Spent
from footnote_edge.jobs.progress import DocumentProgress, ProgressBus
from footnote_edge.ports import Stages

LEAST_SECONDS, BYTES_PER_SECOND = 600.0, 4096
"""A document's time limit: a minimum in seconds, longer for a large file."""
STALL_SECONDS = 120.0
"""Seconds of silence after which a stage counts as hung; it normally reports progress several times a second."""
WITH_PICTURES = frozenset({"pdf", "docx", "pptx", "xlsx", "ods", "odt", "odp", "html", "epub", "eml", "msg"})
"""Types of documents whose pictures are read by OCR, or that hold such files."""
SETTINGS_SECONDS = 10.0
"""Time limit for asking indexing for a collection's settings."""
_OF_INGESTION = {"stage": "ingestion"}
TURN_SECONDS = 0.2
"""Seconds of use that each batch of a document's blocks adds to its tenant's share of this process."""


class BlockPipe:
    """Connects the two streams: each batch of blocks waits for its tenant's turn."""

    def __init__(self, stages: Stages, bus: ProgressBus, meter: Meter, shares: Shares, longest: float) -> None:
        """Documents get at most `longest` seconds."""
        self._stages = stages
        self._bus = bus
        self._meter = meter
        self._shares = shares
        self._longest = longest

    async def run(
        self, scope: Scope, document: Document, stored: Callable[[], Awaitable[None]], *, searched_file: bool = False
    ) -> tuple[ParsedMetadata, indexing.IndexResult]:
        """Parse and index a document's newest or searched file; return what both stages found.

        Raises the first stage's failure.

        `stored` is called at each report of chunks in the store: all that indexing needs is there.
        """
        # Blocks flow between the stages under HTTP/2 flow control; only one batch is here at a time.
        document = newest(document)
        progress = self.progress(document)
        self._bus.publish(document.id, document.collection_id, progress)
        reading = DocumentProgress(progress)
        limit = min(self._longest, LEAST_SECONDS + document.size_bytes / BYTES_PER_SECOND)
        request = ingestion.ParseDocumentRequest(scope=scope, document_id=document.id, searched_file=searched_file)
        request.ocr_pictures = await reads_pictures(self._stages, scope, document)
        parse = self._stages.ingestion.ParseDocument(request, timeout=limit)
        broken: list[FootnoteError] = []
        metadata: ParsedMetadata | None = None

        async def messages() -> AsyncIterator[indexing.IndexDocumentRequest]:
            nonlocal metadata
            header = indexing.IndexDocumentHeader(document=document)
            yield indexing.IndexDocumentRequest(scope=scope, header=header)
            try:
                async for part in parse:
                    if part.HasField("pages"):
                        reading.pages(part.pages.read, part.pages.total)
                        self._bus.publish(document.id, document.collection_id, progress)
                    if part.blocks:
                        await self._shares.job_turn(scope.tenant_id, scope.user_id, TURN_SECONDS)
                        reading.blocks(len(part.blocks))
                        self._bus.publish(document.id, document.collection_id, progress)
                        yield indexing.IndexDocumentRequest(blocks=indexing.BlockBatch(blocks=part.blocks))
                    if part.HasField("metadata"):
                        metadata = part.metadata
                        reading.read()
                        self._bus.publish(document.id, document.collection_id, progress)
            except FootnoteError as error:
                # A stream that ends without metadata makes indexing treat the document as broken off.
                error.metadata.setdefault("stage", "ingestion")
                broken.append(error)
                return
            if metadata is None:  # the stage was stopped amid the document; indexing must not publish what came
                broken.append(Unavailable("The ingestion service ended without metadata", metadata=_OF_INGESTION))
                return
            yield indexing.IndexDocumentRequest(metadata=metadata)

        result: indexing.IndexResult | None = None
        call = self._stages.indexing.IndexDocument(messages(), timeout=limit)
        try:
            async for event in _lively(call):
                if event.HasField("progress"):
                    reading.indexed(event.progress)
                    self._bus.publish(document.id, document.collection_id, progress)
                    if event.progress.chunks_stored:
                        await stored()
                elif event.HasField("result"):
                    result = event.result
                    reading.done(result)
                    self._meter.charge(scope.tenant_id, Spent.of(result.usage), document.owner_id)
        except FootnoteError as error:
            # The first failure is the cause; indexing only saw its input end.
            raise broken[0] if broken else error from None
        finally:
            call.cancel()
            parse.cancel()
        if broken:
            raise broken[0]
        if result is None or metadata is None:
            raise Internal("indexing ended without a result")
        return metadata, result

    def progress(self, document: Document) -> Progress:
        """Return the progress of a reading that begins, with the counts of an earlier attempt."""
        progress = Progress()
        progress.CopyFrom(self._bus.latest(document.id) or progress)
        progress.phase, progress.bytes_total = PROGRESS_PHASE_PARSING, newest(document).size_bytes
        progress.ClearField("remaining")
        return progress


async def reads_pictures(stages: Stages, scope: Scope, document: Document) -> bool:
    """Return whether the collection has OCR read pictures within its documents; False for types without any."""
    if document.document_type not in WITH_PICTURES:
        return False
    request = indexing.GetCollectionRequest(scope=scope, collection=document.collection_id, without_counts=True)
    response = await stages.indexing.GetCollection(request, timeout=SETTINGS_SECONDS)
    return bool(response.collection.effective_settings.ocr_pictures)


async def _lively(call: AsyncIterable[indexing.IndexDocumentResponse]) -> AsyncIterator[indexing.IndexDocumentResponse]:
    """Yield a stage's messages; raises Unavailable after a long silence: the stage hangs or is unreachable."""
    events = aiter(call)
    while True:
        try:
            async with asyncio.timeout(STALL_SECONDS):
                event = await anext(events)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Unavailable(f"The indexing service reported nothing for {STALL_SECONDS:g} s") from None
        yield event
