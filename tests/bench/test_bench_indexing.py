"""How fast documents become searchable, against the bare engine and the bare model in the same run.

`make bench` prints a table. The zero-cost provider gives constant vectors, so that what is measured is all of ours:
gRPC, cutting, terms, tokens, cache, rows, ledger. The bare engine gets the very same rows, made beforehand.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psutil
import pytest
from footnote.types.v1 import collection_pb2, document_pb2
from footnote_indexing.app import build
from footnote_kit.testing import serve_app
from footnote_providers import registry
from footnote_providers.base import Health, Vectors
from footnote_providers.builtin import Settings
from footnote_providers.onnx_local import OnnxEmbeddings, find_files
from footnote_providers.onnx_local import Settings as OnnxSettings
from footnote_store.rows import Row, encode_chunk
from footnote_store.store import VectorStore
from footnote_text.lexical import lexical_text
from support.blocks import HEADING, PARAGRAPH, block, placed
from support.engine import running_engine
from support.indexing import Client
from support.shared import shared_dir

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(1200)]

CHUNKS = int(os.environ.get("FOOTNOTE_BENCH_CHUNKS", "20000"))
ONNX_CHUNKS = int(os.environ.get("FOOTNOTE_BENCH_ONNX_CHUNKS", "2000"))
PER_DOCUMENT = 250
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


def documents(chunks: int, offset: int = 0) -> list[list[document_pb2.Block]]:
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


async def through_the_service(
    uri: str, provider: str, chunks: int, model: str = "", parallel: int = 4
) -> tuple[float, int, list[float]]:
    """Index documents over gRPC; return seconds, chunks, and MiB of memory along the way."""
    work = documents(chunks)
    memory: list[float] = []
    async with serve_app(build, vector_store_uri=uri) as served:
        client = Client(served.channel)
        collection = await client.create(f"bench {provider}", **settings(provider, model))
        await client.index(collection.id, f"{provider}-warm", documents(PER_DOCUMENT, 10**6)[0])
        turns = asyncio.Semaphore(parallel)

        async def index(number: int, blocks: list[document_pb2.Block]) -> int:
            async with turns:
                result = await client.index(collection.id, f"{provider}-{number}", blocks, timeout=1000)
                memory.append(psutil.Process().memory_info().rss / 2**20)
                return result.chunks_stored

        started = time.perf_counter()
        stored = await asyncio.gather(*(index(number, blocks) for number, blocks in enumerate(work)))
        seconds = time.perf_counter() - started
        [item] = (await client.resolve(f"bench {provider}")).collections
        store = VectorStore(uri)
        rows = await store.count(item.space, f'collection_key == "{item.collection_key}"')
        await store.close()
        assert rows == (await client.get(f"bench {provider}")).chunk_count > sum(stored)
    return seconds, sum(stored), memory


async def bare_engine(uri: str, source: str, chunks: int) -> float:
    """Write the rows that the service wrote straight into the engine; return seconds."""
    store = VectorStore(uri)
    space = await store.ensure_space(384, 7)
    stored = await store.query("chunks_384", f'collection_key == "{source}"', chunks)
    vector = np.full(384, 1.0 / np.sqrt(384), dtype=np.float32)
    rows = [Row(chunk, "bare:1", vector, lexical_text(chunk.text, "en")) for chunk in stored]
    batches = [[encode_chunk(row, 384) for row in rows[n : n + 100]] for n in range(0, len(rows), 100)]
    client = await store._connected()
    queue: asyncio.Queue[list[dict[str, object]]] = asyncio.Queue()
    for batch in batches:
        queue.put_nowait(batch)

    async def write() -> None:
        while not queue.empty():
            await client.upsert(space, queue.get_nowait(), timeout=60)

    started = time.perf_counter()
    await asyncio.gather(*(write() for _ in range(4)))
    seconds = time.perf_counter() - started
    assert await store.count(space, 'collection_key == "bare:1"') == len(rows)
    await store.close()
    return seconds


@pytest.fixture
def zero_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    registration = registry.Registration(
        id="zero",
        display_name="Zero",
        settings=Settings,
        make=lambda model, size, _: ZeroCost(size),
        default_model="zero",
    )
    known = {**registry.registrations(), "zero": registration}
    monkeypatch.setattr(registry, "registrations", lambda: known)


async def test_against_the_bare_engine(tmp_path: Path, zero_cost: None) -> None:
    with running_engine(tmp_path) as uri:
        print()
        seconds, stored, memory = await through_the_service(uri, "zero", CHUNKS)
        rate = stored / seconds
        half = len(memory) // 2
        growth = max(memory[half:]) - max(memory[:half])
        print(f"zero-cost provider: {stored} chunks in {seconds:.1f} s, {rate:.0f} chunks/s")
        print(f"memory: {max(memory):.0f} MiB at most, {growth:+.0f} MiB in the second half")
        store = VectorStore(uri)
        [key] = {hit.collection_key for hit in await store.read("chunks_384", 'tenant_id == "t"', 1)}
        await store.close()
        bare = await bare_engine(uri, key, stored)
        print(f"bare engine: {stored / bare:.0f} chunks/s; ratio {rate * bare / stored:.2f}")
        seconds, stored, _ = await through_the_service(uri, "builtin", CHUNKS)
        print(f"built-in embedder: {stored} chunks in {seconds:.1f} s, {stored / seconds:.0f} chunks/s")


async def test_against_the_bare_model(tmp_path: Path) -> None:
    shared = shared_dir()
    folder = shared / "models" / "all-MiniLM-L6-v2-onnx" if shared else None
    if folder is None or not folder.is_dir():
        pytest.skip("the shared ONNX model is not beside the checkout")
    texts = [b.text for blocks in documents(ONNX_CHUNKS) for b in blocks if b.kind == PARAGRAPH]
    model = OnnxEmbeddings(find_files(str(folder), None), str(folder), OnnxSettings())
    await model.embed_documents(texts[:100])
    started = time.perf_counter()
    for first in range(0, len(texts), 100):
        model.encode(texts[first : first + 100])
    bare = len(texts) / (time.perf_counter() - started)
    await model.close()
    with running_engine(tmp_path) as uri:
        seconds, stored, _ = await through_the_service(uri, "onnx", ONNX_CHUNKS, str(folder))
    rate = stored / seconds
    print(f"\nbare model {bare:.1f} texts/s; through the service {rate:.1f}; ratio {rate / bare:.2f}")
