"""Indexes one revision of a document: cuts its blocks, writes the chunks, publishes the revision."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from time import monotonic

from footnote.indexing.v1 import indexing_service_pb2
from footnote.stages.v1 import parsing_pb2, scope_pb2, stored_document_pb2
from footnote.types.v1 import answer_pb2, collection_pb2, document_pb2
from footnote_database.transactions import now_ms
from footnote_kit import names
from footnote_kit.errors import Aborted, InvalidArgument
from footnote_kit.telemetry import span
from footnote_providers.base import Vectors

from footnote_indexing.chunking.cutting import Cutter, Cutters
from footnote_indexing.chunking.drafts import Draft, fingerprint, settings_digest
from footnote_indexing.chunking.model import Chosen, SentenceVectors
from footnote_indexing.collections.collections import Found
from footnote_indexing.model import CURRENT, Entry
from footnote_indexing.revisions.revision_writer import Outcome, RevisionWriter, Tally
from footnote_indexing.settings import Settings
from footnote_indexing.writing.vectorizers import Vectorizer

_REPORT_EVERY = 0.2
_WORKERS = 4
"""Concurrent batches per document; providers and store limit them over all documents."""


@dataclass(frozen=True, slots=True)
class Result:
    """What was done with a revision."""

    chunks_expected: int
    chunks_stored: int
    chosen: Chosen
    settings_digest: str = ""
    tally: Tally = field(default_factory=Tally)

    @property
    def usage(self) -> answer_pb2.Usage:
        """Tokens sent to the provider, as we count them."""
        return answer_pb2.Usage(embedding_tokens=self.tally.tokens, estimated=True)

    def message(self) -> indexing_service_pb2.IndexResult:
        """Return it as the contract's message."""
        return indexing_service_pb2.IndexResult(
            chunks_expected=self.chunks_expected,
            chunks_stored=self.chunks_stored,
            chunking_strategy=self.chosen[0],
            chunking_choice=self.chosen[1],
            embedded=self.tally.embedded,
            cache_hits=self.tally.cache_hits,
            unchanged=self.tally.unchanged,
            usage=self.usage,
            settings_digest=self.settings_digest,
            chunks_without_vector=self.tally.owed,
        )


Part = Sequence[parsing_pb2.Block] | parsing_pb2.ParsedMetadata
"""What arrives after the header: blocks, and finally the parser's findings."""


def assign(document: stored_document_pb2.Document, found: Found, scope: scope_pb2.Scope) -> None:
    """Set a document's collection, tenant and, unless it has one, owner."""
    document.collection_id = found.collection.id
    document.tenant_id = scope.tenant_id
    document.owner_id = document.owner_id or scope.user_id


def dated(
    document: stored_document_pb2.Document, settings: collection_pb2.CollectionSettings
) -> stored_document_pb2.Document:
    """Return the document with its times.

    A recorded document expires as its record says. What has no `create_time`, as own vectors, is created now and
    expires after the collection's time to live.
    """
    copy = stored_document_pb2.Document()
    copy.CopyFrom(document)
    if not copy.HasField("create_time"):
        copy.create_time.FromMilliseconds(now_ms())
        if not copy.HasField("expire_time") and settings.HasField("ttl"):
            ttl = settings.ttl.ToMilliseconds()
            copy.expire_time.FromMilliseconds(copy.create_time.ToMilliseconds() + ttl)
    return copy


class DocumentIndexing:
    """Runs one revision: reads and cuts while embedding and storing, then publishes in every index version."""

    def __init__(
        self,
        found: Found,
        document: stored_document_pb2.Document,
        writers: Sequence[RevisionWriter],
        vectorizer: Vectorizer,
        settings: Settings,
        cutters: Cutters,
    ) -> None:
        self._cutters = cutters
        self._effective = found.effective
        self._audience = found.audience
        self._document = dated(document, found.effective)
        self._writers = writers
        self._settings = settings
        self._batches: asyncio.Queue[list[Draft] | None] = asyncio.Queue(maxsize=2 * _WORKERS)
        self._vectorizer = vectorizer
        self._blocks = 0
        self._total = 0
        self._complete = False
        self._started = monotonic()

    async def run(self, parts: AsyncIterator[Part]) -> AsyncIterator[document_pb2.Progress | Result]:
        """Yield progress and finally the result.

        Raises Unavailable(PROVIDER_FAILED or STORE_UNAVAILABLE), Aborted when the document was removed meanwhile, and
        InvalidArgument when the stream of parts breaks off. Nothing becomes visible then.
        """
        mark, digest = fingerprint(self._document, self._effective), settings_digest(self._effective)
        done = [await self._open(writer, mark) for writer in self._writers]
        first = done[0]
        if first is not None and all(entry is not None for entry in done):
            async for _ in parts:  # the sender is still sending
                pass
            yield Result(first.chunks_expected, first.chunks_stored, first.chosen, digest, Tally(owed=first.owed))
            return
        writers = [writer for writer, entry in zip(self._writers, done, strict=True) if entry is None]
        with span("index document", {names.DOCUMENT_ID: self._document.id, names.REVISION: self._document.revision}):
            work = asyncio.create_task(self._work(parts, writers))
            try:
                while not (await asyncio.wait([work], timeout=_REPORT_EVERY))[0]:
                    yield self._progress(writers)
                outcome = await work
            finally:
                work.cancel()
                work.add_done_callback(_looked_at)
            yield self._progress(writers)
        tally = writers[0].tally
        yield Result(outcome.chunks, tally.stored, outcome.chosen, digest, tally)

    async def _open(self, writer: RevisionWriter, mark: str) -> Entry | None:
        """Open the revision; return its entry if it is complete already."""
        opened = await writer.open(mark, self._effective.chunking.contextual_header)
        before = opened.before
        return before if before is not None and before.state == CURRENT else None

    async def _work(self, parts: AsyncIterator[Part], writers: Sequence[RevisionWriter]) -> Outcome:
        try:
            return await self._write_and_publish(parts, writers)
        except Aborted:
            for writer in writers:
                await writer.clean_up()
            raise

    async def _write_and_publish(self, parts: AsyncIterator[Part], writers: Sequence[RevisionWriter]) -> Outcome:
        vectors = self._sentence_vectors(asyncio.get_running_loop())
        async with self._cutters.cutting(self._document, self._effective, vectors) as cutter:
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._read(parts, cutter))
                    for _ in range(_WORKERS):
                        group.create_task(self._write(writers))
            except* Exception as errors:
                raise _first(errors) from None
            chosen, language, chunks, characters = cutter.state
        outcome = Outcome(
            chosen=chosen,
            language=language,
            chunks=chunks,
            characters=characters,
            expire_at=self._document.expire_time.ToMilliseconds() if self._document.HasField("expire_time") else None,
        )
        written = {writer.key.index_version for writer in self._writers}
        for writer in writers:
            await writer.publish(outcome, written)
        return outcome

    async def _read(self, parts: AsyncIterator[Part], cutter: Cutter) -> None:
        """Cut the arriving blocks into batches of drafts."""
        waiting: list[Draft] = []
        parsed: parsing_pb2.ParsedMetadata | None = None
        async for part in parts:
            if parsed is not None:
                raise InvalidArgument.field("payload", "must not go on after the metadata")
            if isinstance(part, parsing_pb2.ParsedMetadata):
                parsed = part
                waiting += await cutter.finish(part)
            else:
                self._blocks += len(part)
                waiting += await cutter.feed(part)
            waiting = await self._hand_over(waiting, last=parsed is not None)
        if parsed is None:
            raise InvalidArgument("The document broke off: its blocks ended without the metadata that closes it")
        self._complete = True
        for _ in range(_WORKERS):
            await self._batches.put(None)

    async def _hand_over(self, waiting: list[Draft], last: bool) -> list[Draft]:
        size = self._settings.store_batch
        while len(waiting) >= size or (last and waiting):
            self._total += len(waiting[:size])
            await self._batches.put(waiting[:size])
            waiting = waiting[size:]
        return waiting

    async def _write(self, writers: Sequence[RevisionWriter]) -> None:
        while (batch := await self._batches.get()) is not None:
            for writer in writers:
                await writer.write(batch)

    def _progress(self, writers: Sequence[RevisionWriter]) -> document_pb2.Progress:
        embedded = min(writer.tally.vectors for writer in writers)
        stored = min(writer.tally.stored for writer in writers)
        progress = document_pb2.Progress(
            phase=document_pb2.PROGRESS_PHASE_INDEXING,
            blocks_parsed=self._blocks,
            chunks_total=self._total if self._complete else 0,
            chunks_embedded=embedded,
            chunks_stored=stored,
        )
        if self._complete and stored:
            left = (monotonic() - self._started) / stored * (self._total - stored)
            progress.remaining.FromMicroseconds(int(left * 1_000_000))
        return progress

    def _sentence_vectors(self, loop: asyncio.AbstractEventLoop) -> SentenceVectors:
        """Return the function with which SEMANTIC chunking, on its thread, gets sentence vectors."""

        async def ask(texts: Sequence[str]) -> Vectors:
            keys = self._vectorizer.keys(self._audience, texts)
            return (await self._vectorizer.embed(keys, texts, {})).vectors

        return lambda texts: asyncio.run_coroutine_threadsafe(ask(texts), loop).result()


def _first(errors: BaseExceptionGroup[Exception]) -> BaseException:
    """Return the first exception of a group."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _looked_at(work: asyncio.Task[Outcome]) -> None:
    """Retrieve the exception of a task whose caller is gone, so that asyncio does not log it as unhandled."""
    if not work.cancelled():
        work.exception()
