"""How fast documents become searchable, against the bare engine and the bare model in the same run.

`make benches` prints a table. The zero-cost provider gives constant vectors, so that what is measured is all of ours:
gRPC, cutting, terms, tokens, cache, rows, ledger. The bare engine gets the very same rows, made beforehand.
"""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest
from footnote.stages.v1 import parsing_pb2, stored_document_pb2
from footnote.types.v1 import collection_pb2
from footnote_indexing.app import build
from footnote_indexing.chunking.drafts import Drafter
from footnote_kit.collection_settings import resolve
from footnote_kit.registration import Kind, Registration, Registry
from footnote_kit.testing import serve_app
from footnote_providers import registry
from footnote_providers.base import Health, Vectors
from footnote_providers.builtin import Settings
from footnote_providers.onnx_files import find_files
from footnote_providers.onnx_local import OnnxEmbeddings
from footnote_providers.onnx_local import Settings as OnnxSettings
from footnote_providers.settings import OnnxSettings as OnnxDeployment
from footnote_store.rows import Row, encode_chunk
from footnote_store.store import VectorStore
from support.blocks import HEADING, PARAGRAPH, block, placed
from support.engine import running_engine
from support.indexing import Client
from support.shared import shared_dir

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(1200)]

CHUNKS = int(os.environ.get("FOOTNOTE_BENCH_CHUNKS", "20000"))
ONNX_CHUNKS = int(os.environ.get("FOOTNOTE_BENCH_ONNX_CHUNKS", "2000"))
PER_DOCUMENT = 250
ROUNDS = 8
WORDS = [
    "service", "retrieval", "vector", "index", "passage", "citation", "document", "answer", "ledger", "revision",
    "tenant", "query", "latency", "budget", "policy", "holiday", "invoice", "contract", "employee", "warehouse",
    "shipment", "temperature", "pressure", "boundary", "layer", "experiment", "results",
]  # fmt: skip


class ZeroCost:
    """Gives the same vectors to every text at once."""

    id = "zero"
    model = "zero"
    recommended_dense_weight = 0.0
    max_batch = 1000
    max_in_flight = 4

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions or 384
        self._vector = np.full(self.dimensions, 1.0 / np.sqrt(self.dimensions), dtype=np.float32)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.tile(self._vector, (len(texts), 1))

    async def embed_query(self, text: str) -> Vectors:
        return self._vector

    async def health(self) -> Health:
        return Health(True)

    async def close(self) -> None:
        pass


def paragraph(number: int, words: int = 100) -> str:
    """A paragraph of about 100 words, five sentences, unlike every other."""
    generator = np.random.default_rng(number)
    picked = [WORDS[i] for i in generator.integers(0, len(WORDS), words)]
    sentences = [" ".join(picked[i : i + 20]).capitalize() + f" {number}." for i in range(0, words, 20)]
    return " ".join(sentences)


def documents(chunks: int, offset: int = 0) -> list[list[parsing_pb2.Block]]:
    """Documents of 250 paragraphs; a paragraph makes a chunk."""
    made = []
    for first in range(offset, offset + chunks, PER_DOCUMENT):
        blocks = [block(HEADING, f"Report {first}", level=1)]
        blocks += [block(PARAGRAPH, paragraph(n), [f"Report {first}"]) for n in range(first, first + PER_DOCUMENT)]
        made.append(placed(blocks))
    return made


def settings(provider: str, model: str = "") -> dict[str, object]:
    chunking = collection_pb2.ChunkingSettings(
        strategy=collection_pb2.CHUNKING_STRATEGY_PARAGRAPH, size=1000, overlap_percent=0
    )
    return {"chunking": chunking, "embedding": {"provider": provider, "model": model}}


class Service:
    """A running service with a collection to index into."""

    def __init__(self, client: Client, name: str, collection_id: str) -> None:
        self._client = client
        self._name = name
        self._collection_id = collection_id
        self.seconds = 0.0
        self.chunks = 0
        self.memory: list[float] = []

    async def index(self, first: int, chunks: int, parallel: int = 4) -> None:
        """Index documents side by side, from the first block sent to the last document published."""
        turns = asyncio.Semaphore(parallel)

        async def one(number: int, blocks: list[parsing_pb2.Block]) -> int:
            async with turns:
                document_id = f"{self._name}-{first}-{number}"
                result = await self._client.index(self._collection_id, document_id, blocks, timeout=1000)
                self.memory.append(psutil.Process().memory_info().rss / 2**20)
                return result.chunks_stored

        work = documents(chunks, first)
        started = time.perf_counter()
        stored = await asyncio.gather(*(one(number, blocks) for number, blocks in enumerate(work)))
        self.seconds += time.perf_counter() - started
        self.chunks += sum(stored)

    @property
    def rate(self) -> float:
        """Chunks a second."""
        return self.chunks / self.seconds


@asynccontextmanager
async def service(uri: str, provider: str, model: str = "") -> AsyncIterator[Service]:
    """Run the service with a warm collection, and check at the end that the engine holds every chunk."""
    async with serve_app(build, vector_store_uri=uri) as served:
        client = Client(served.channel)
        name = f"bench {provider}"
        collection = await client.create(name, **settings(provider, model))
        await client.index(collection.id, f"{provider}-warm", documents(PER_DOCUMENT, 10**6)[0], timeout=1000)
        running = Service(client, provider, collection.id)
        yield running
        [item] = (await client.locate(name)).collections
        store = VectorStore(uri)
        rows = await store.count(item.space, f'collection_key == "{item.collection_key}"')
        await store.close()
        assert rows == (await client.get(name)).chunk_count > running.chunks


class BareEngine:
    """Writes rows made beforehand straight into the engine by pymilvus, by its `insert` or its `upsert`."""

    def __init__(self, store: VectorStore, space: str, operation: str) -> None:
        self._store = store
        self._space = space
        self.operation = operation
        self.seconds = 0.0
        self.rows = 0

    async def write(self, first: int, chunks: int) -> None:
        """Write the rows that documents give, 100 at once, four under way."""
        vector = np.full(384, 1.0 / np.sqrt(384), dtype=np.float32)
        made = []
        for blocks in documents(chunks, first):
            document = stored_document_pb2.Document(id=f"bare-{first}-{blocks[0].text}", revision=1, tenant_id="t")
            drafter = Drafter(document, resolve(collection_pb2.CollectionSettings(**settings("zero"))), no_vectors)
            drafts = drafter.feed(blocks) + drafter.finish(parsing_pb2.ParsedMetadata(language="en"))
            made += [encode_chunk(Row(draft.chunk, "bare:1", vector, draft.lexical_text), 384) for draft in drafts]
        batches = deque(made[start : start + 100] for start in range(0, len(made), 100))
        write = getattr(await self._store._connected(), self.operation)

        async def work() -> None:
            while batches:
                await write(self._space, batches.popleft(), timeout=60)

        started = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(4)))
        self.seconds += time.perf_counter() - started
        self.rows += len(made)

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.rows / self.seconds


def no_vectors(texts: Sequence[str]) -> Vectors:
    raise AssertionError("paragraphs need none")


@pytest.fixture
def zero_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedding provider that costs nothing, registered beside the others."""
    registration = Registration(
        kind=Kind.EMBEDDING,
        id="zero",
        display_name="Zero",
        settings=Settings,
        make=lambda wanted: ZeroCost(wanted.dimensions),
        default_model="zero",
    )
    known = Registry(Kind.EMBEDDING, [*registry.registrations().values(), registration])
    monkeypatch.setattr(registry, "registrations", lambda: known)


async def test_against_the_bare_engine(tmp_path: Path, zero_cost: None) -> None:
    with running_engine(tmp_path) as uri:
        store = VectorStore(uri)
        inserted = BareEngine(store, await store.ensure_space(384, 1), "insert")
        upserted = BareEngine(store, await store.ensure_space(384, 2), "upsert")
        for bare in (inserted, upserted):
            await bare.write(10**7, PER_DOCUMENT)
            bare.seconds = bare.rows = 0
        share = CHUNKS // ROUNDS
        # In turns, so that whatever else this machine does weighs on both alike.
        async with service(uri, "zero") as zero:
            gc.collect()
            gc.freeze()  # as the launcher does when the services stand
            for turn in range(ROUNDS):
                await zero.index(turn * share, share)
                for bare in (inserted, upserted):
                    await bare.write(10**8 + turn * share, share)
        await store.close()
        async with service(uri, "builtin") as builtin:
            await builtin.index(0, share * 2)
    half = len(zero.memory) // 2
    growth = max(zero.memory[half:]) - max(zero.memory[:half])
    print(f"\nzero-cost provider {zero.rate:.0f} chunks/s")
    for bare in (inserted, upserted):
        print(f"bare engine, {bare.operation} {bare.rate:.0f} rows/s: ratio {zero.rate / bare.rate:.2f}")
    print(f"{zero.chunks} chunks; memory {max(zero.memory):.0f} MiB at most, {growth:+.0f} MiB in the second half")
    print(f"built-in embedder {builtin.rate:.0f} chunks/s")


async def test_against_the_bare_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = shared_dir()
    folder = shared / "models" / "all-MiniLM-L6-v2-onnx" if shared else None
    if folder is None or not folder.is_dir():
        pytest.skip("the shared ONNX model is not beside the checkout (FOOTNOTE_SHARED names its folder)")
    monkeypatch.setenv("FOOTNOTE_ONNX_MODELS_DIR", str(folder.parent))  # elsewhere no folder can be named
    model = OnnxEmbeddings(find_files(str(folder), OnnxDeployment(), own=True), str(folder), OnnxSettings())
    rounds = max(1, min(ROUNDS, ONNX_CHUNKS // PER_DOCUMENT))
    seconds, texts_embedded, share = 0.0, 0, ONNX_CHUNKS // rounds
    with running_engine(tmp_path) as uri:
        async with service(uri, "onnx", str(folder)) as onnx:
            for turn in range(rounds):
                await onnx.index(turn * share, share)
                blocks = [b for document in documents(share, 10**8 + turn * share) for b in document]
                texts = [f"{b.locator.heading_path[0]}\n{b.text}" for b in blocks if b.kind == PARAGRAPH]
                started = time.perf_counter()
                for first in range(0, len(texts), 100):
                    model.encode(texts[first : first + 100])
                texts_embedded += len(texts)
                seconds += time.perf_counter() - started
    await model.close()
    bare = texts_embedded / seconds
    print(f"\nbare model {bare:.1f} texts/s, through the service {onnx.rate:.1f}: ratio {onnx.rate / bare:.2f}")
