"""The services under measurement: store, indexing and retrieval in one process, with gRPC between them."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.indexing.v1.indexing_service_pb2_grpc import IndexingServiceStub
from footnote.retrieval.v1 import retrieval_service_pb2 as retrieval
from footnote.retrieval.v1.retrieval_service_pb2_grpc import RetrievalServiceStub
from footnote.stages.v1.parsing_pb2 import Block, BlockKind, ParsedMetadata
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.collection_pb2 import Collection, RetrievalSettings
from footnote.types.v1.role_pb2 import Role
from footnote_kit.degradations import word
from footnote_kit.settings import KitSettings

from footnote_cli.evaluation.dataset import CorpusDocument, Dataset
from footnote_cli.evaluation.together import together
from footnote_cli.supervise import Supervisor
from footnote_cli.targets import parse

SCOPE = Scope(tenant_id="evaluation", user_id="evaluation", roles=[Role.ROLE_ADMIN])
_IN_FLIGHT = 8
_QUERIES_IN_FLIGHT = 4
_PAGE = 100
_LOOK = 0.5  # seconds between checks for owed vectors
# This measures what is found, not how fast: on a busy machine, timeouts must not change the results.
_TIMEOUTS = {f"FOOTNOTE_RETRIEVAL_{name}_TIMEOUT": "50" for name in ("EMBED", "DENSE", "LEXICAL", "READ")}


class Bench:
    """A deployment with one collection per data set."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._indexing = IndexingServiceStub(supervisor.runtime.channel("indexing"))
        self._retrieval = RetrievalServiceStub(supervisor.runtime.channel("retrieval"))

    async def load(self, dataset: Dataset, settings: Collection, on_document: Callable[[], None]) -> str:
        """Create a collection of a data set's documents, cut like a user's documents; return its id.

        Waits for vectors that follow the words, so that the measured collection is complete.
        """
        collection = Collection(name=dataset.name)
        collection.settings.CopyFrom(settings.settings)
        created = await self._indexing.CreateCollection(
            indexing.CreateCollectionRequest(scope=SCOPE, collection=collection)
        )
        gate = asyncio.Semaphore(_IN_FLIGHT)

        async def one(number: int, document: CorpusDocument) -> None:
            async with gate:
                await self._index(created.collection.id, _document_id(dataset, number), document)
            on_document()

        await together(one(number, document) for number, document in enumerate(dataset.documents))
        # Another service makes them, so there is no event to wait for.
        while await self._without_vector(created.collection.id):  # noqa: ASYNC110
            await asyncio.sleep(_LOOK)
        return str(created.collection.id)

    async def _without_vector(self, collection_id: str) -> int:
        """Return how many chunks have no vector yet."""
        asked = indexing.GetCollectionRequest(scope=SCOPE, collection=collection_id)
        return int((await self._indexing.GetCollection(asked)).collection.chunks_without_vector)

    async def _index(self, collection_id: str, document_id: str, document: CorpusDocument) -> None:
        """Index a document as its Markdown would be parsed: the title as heading, the text as paragraphs."""
        blocks = list(_blocks(document))
        if not blocks:
            return
        # The name must not reveal the title: the search would profit from what users' files may lack.
        header = Document(
            id=document_id, collection_id=collection_id, tenant_id=SCOPE.tenant_id, owner_id=SCOPE.user_id,
            filename=f"{document_id.rsplit('-', 1)[-1]}.md", mime_type="text/markdown", document_type="md",
            source_type="upload",
            revision=1, title=document.title,
        )  # fmt: skip

        async def parts() -> AsyncIterator[indexing.IndexDocumentRequest]:
            yield indexing.IndexDocumentRequest(scope=SCOPE, header=indexing.IndexDocumentHeader(document=header))
            yield indexing.IndexDocumentRequest(blocks=indexing.BlockBatch(blocks=blocks))
            yield indexing.IndexDocumentRequest(metadata=ParsedMetadata(title=document.title, block_count=len(blocks)))

        async for _ in self._indexing.IndexDocument(parts()):
            pass

    async def rank(self, dataset: Dataset, collection_id: str, settings: RetrievalSettings) -> Ranking:
        """Ask every question; return each ranked list of documents, and the seconds that each took."""
        ids = {_document_id(dataset, number): document.id for number, document in enumerate(dataset.documents)}
        wanted = RetrievalSettings()
        wanted.CopyFrom(settings)
        wanted.limit = _PAGE
        gate = asyncio.Semaphore(_QUERIES_IN_FLIGHT)
        ranked: dict[str, list[str]] = {}
        seconds: dict[str, float] = {}
        degraded: dict[str, int] = {}

        async def one(query: str, text: str) -> None:
            async with gate:
                response = await self._retrieval.Retrieve(
                    retrieval.RetrieveRequest(scope=SCOPE, query=text, collections=[collection_id], settings=wanted)
                )
            # Several chunks of a document count as its best one.
            ranked[query] = list(dict.fromkeys(ids[scored.chunk.document_id] for scored in response.chunks))
            seconds[query] = response.timings[-1].duration.ToNanoseconds() / 1e9
            for found in response.degradations:
                degraded[word(found)] = degraded.get(word(found), 0) + 1

        await together(one(query, text) for query, text in dataset.queries.items())
        return Ranking(ranked, seconds, degraded)


class Ranking:
    """The results of a run over all questions."""

    def __init__(
        self, ranked: Mapping[str, Sequence[str]], seconds: Mapping[str, float], degraded: Mapping[str, int]
    ) -> None:
        self.ranked = ranked
        self.seconds = seconds
        self.degraded = degraded


def _document_id(dataset: Dataset, number: int) -> str:
    return f"{dataset.name}-n{number:06d}"


def _blocks(document: CorpusDocument) -> list[Block]:
    """Return title and paragraphs as the blocks of a parsed document, spans exact."""
    pieces: list[tuple[int, str]] = []
    if document.title.strip():
        pieces.append((BlockKind.BLOCK_KIND_HEADING, " ".join(document.title.split())))
    for paragraph in document.text.split("\n\n"):
        text = " ".join(paragraph.split())
        if text:
            pieces.append((BlockKind.BLOCK_KIND_PARAGRAPH, text))
    blocks = []
    start = 0
    for kind, text in pieces:
        heading = kind == BlockKind.BLOCK_KIND_HEADING
        block = Block(kind=kind, text=text, level=1 if heading else 0)  # type: ignore[arg-type]
        block.locator.span.start, block.locator.span.end = start, start + len(text)
        if document.title.strip() and not heading:
            block.locator.heading_path.append(" ".join(document.title.split()))
        blocks.append(block)
        start += len(text) + 1
    return blocks


@asynccontextmanager
async def open_bench() -> AsyncIterator[Bench]:
    """Start store, indexing and retrieval in a temporary folder, on free ports."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="footnote-eval-"))
        for name, seconds in _TIMEOUTS.items():
            os.environ.setdefault(name, seconds)
        settings = KitSettings(grace_seconds=1.0, call_timeout=60.0, stream_timeout=600.0)
        supervisor = Supervisor(parse("store,indexing,retrieval"), settings, Path(folder), 0)
        stack.push_async_callback(supervisor.stop)
        await supervisor.start()
        await supervisor.wait_ready()
        yield Bench(supervisor)
