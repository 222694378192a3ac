"""Latency of searches through the retrieval service, beside the bare engine in the same run.

Sizes by FOOTNOTE_BENCH_SIZES, "10000,50000" unless set. FOOTNOTE_BENCH_PLOT names a picture (.png, .svg) to draw the
curve in, for example over "10000,25000,50000,100000,200000"; that needs matplotlib.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import statistics
import time
from collections.abc import Awaitable, Callable

import numpy as np
import pytest
from footnote.retrieval.v1 import retrieval_service_pb2 as pb
from footnote.types.v1.answer_pb2 import MemoryMessage, MessageRole
from footnote.types.v1.collection_pb2 import EmbeddingSettings, RetrievalSettings, SearchStrategy
from footnote_kit.testing import SCOPE
from footnote_providers.registry import check, make
from footnote_store.filters import RowScope
from footnote_store.rows import MessageRow, Row
from footnote_text.lexical import lexical_text
from pymilvus import AnnSearchRequest, MilvusClient, WeightedRanker
from rich.console import Console
from rich.table import Table
from support.chunks import make_chunk
from support.library import Library, Shelf, open_library

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(1800)]

SIZES = [int(size) for size in os.environ.get("FOOTNOTE_BENCH_SIZES", "10000,50000").split(",")]
DIMENSIONS = 384
ROUNDS = 200
# Set where the engine's own hybrid_search took 2.5 ms at 10 000 chunks and 10 ms at 50 000: 2.4 and 1.5 times as long.
BARS = {10_000: "bar: p50 6, p95 18, 2.4 ×; ", 50_000: "bar: p50 15, p95 45, 1.5 ×; "}
VOCABULARY = [f"{a}{b}{c}" for a in "bcdfglmnprst" for b in ("al", "er", "in", "or", "un", "ast") for c in "aeioukmst"]


def words(rng: random.Random, count: int) -> str:
    """Words as frequent as in language: the n-th about 1/n as often as the first."""
    return " ".join(
        VOCABULARY[min(int(len(VOCABULARY) ** rng.random()) - 1, len(VOCABULARY) - 1)] for _ in range(count)
    )


async def fill(library: Library, shelf: Shelf, start: int, end: int) -> None:
    rng = random.Random(start)
    vectors = np.random.default_rng(start).normal(size=(end - start, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = []
    for index in range(start, end):
        text = words(rng, 120)
        chunk = make_chunk(text, document_id=f"d{index // 50:06d}", ordinal=index % 50, collection_id="t-bench")
        rows.append(Row(chunk, shelf.key, vectors[index - start], lexical_text(text, "en")))
        if len(rows) == 1000:
            await library.store.upsert(shelf.space, rows)
            rows = []
    if rows:
        await library.store.upsert(shelf.space, rows)
    shelf.collection.chunk_count = end


async def times(*calls: Callable[[int], Awaitable[float]], rounds: int = ROUNDS) -> list[list[float]]:
    """Milliseconds of each round of each call after a few to warm up; a call returns what is to be taken off.

    The calls take turns, so that a machine that is slow for a while is so for all of them.
    """
    taken: list[list[float]] = [[] for _ in calls]
    for index in range(-10, rounds):
        for call, mine in zip(calls, taken, strict=True):
            began = time.perf_counter()
            off = await call(index)
            if index >= 0:
                mine.append((time.perf_counter() - began) * 1000 - off)
    return taken


def row(table: Table, name: str, taken: list[float], note: str = "") -> None:
    cuts = statistics.quantiles(taken, n=20)
    table.add_row(name, f"{statistics.median(taken):.2f}", f"{cuts[18]:.2f}", note)


def new_table(title: str) -> Table:
    table = Table(title=title)
    for heading in ("", "p50 ms", "p95 ms", ""):
        table.add_column(heading)
    return table


async def test_search_latency_by_size(uri: str) -> None:
    console = Console(width=110)
    async with open_library(uri, ready_interval=5.0) as library:
        shelf = await library.add_collection("bench")
        rng = random.Random(0)
        queries = [words(rng, 7) + "?" for _ in range(ROUNDS)]
        provider = make(check(EmbeddingSettings()))
        vectors = [await provider.embed_query(query) for query in queries]
        client = MilvusClient(uri)
        loaded = 0
        curve: dict[str, list[float]] = {}
        for size in SIZES:
            await fill(library, shelf, loaded, size)
            loaded = size
            scope = RowScope("t", (shelf.key,), (), time.time())

            async def bare_dense(index: int, scope: RowScope = scope) -> float:
                await library.store.search_dense(shelf.space, vectors[index % ROUNDS], scope, 10)
                return 0.0

            async def bare_lexical(index: int, scope: RowScope = scope) -> float:
                await library.store.search_lexical(shelf.space, lexical_text(queries[index % ROUNDS], "en"), scope, 10)
                return 0.0

            async def bare_both(index: int, scope: RowScope = scope) -> float:
                await asyncio.gather(bare_dense(index, scope), bare_lexical(index, scope))
                return 0.0

            async def yardstick(index: int) -> float:
                terms = lexical_text(queries[index % ROUNDS], "en")
                client.hybrid_search(
                    shelf.space,
                    [AnnSearchRequest([vectors[index % ROUNDS]], "dense", {}, 5, expr='tenant_id == "t"'),
                     AnnSearchRequest([terms], "sparse", {}, 5, expr='tenant_id == "t"')],
                    WeightedRanker(0.5, 0.5), limit=5, output_fields=["text"],
                )  # fmt: skip
                return 0.0

            async def through(index: int, strategy: SearchStrategy.ValueType) -> float:
                found: pb.RetrieveResponse = await library.stub.Retrieve(
                    pb.RetrieveRequest(
                        scope=SCOPE, query=queries[index % ROUNDS], settings=RetrievalSettings(strategy=strategy)
                    )
                )
                assert len(found.chunks) == 5
                embed = [timing for timing in found.timings if timing.step == "embed"]
                return embed[0].duration.ToNanoseconds() / 1e6 if embed else 0.0

            async def hybrid(index: int) -> float:
                return await through(index, SearchStrategy.SEARCH_STRATEGY_HYBRID)

            async def full_text(index: int) -> float:
                return await through(index, SearchStrategy.SEARCH_STRATEGY_FULLTEXT)

            gc.collect()
            gc.freeze()  # as the launcher does when the services stand
            table = new_table(f"Search in {size} chunks, top 5 (embedding time taken off)")
            dense, bm25, bare, own, lexical, whole = await times(
                bare_dense, bare_lexical, bare_both, yardstick, full_text, hybrid
            )
            row(table, "engine: dense, top 10", dense)
            row(table, "engine: BM25, top 10", bm25)
            row(table, "engine: both side by side", bare)
            row(table, "engine: its own hybrid_search, top 5", own)
            row(table, "service: full text", lexical)
            share = statistics.median(whole) / statistics.median(own)
            row(table, "service: hybrid", whole, f"{BARS.get(size, '')}{share:.2f} × hybrid_search")
            for name, taken in (
                ("hybrid, p95", [statistics.quantiles(whole, n=20)[18]]), ("hybrid, p50", whole),
                ("full text, p50", lexical), ("bare engine, both channels, p50", bare),
            ):  # fmt: skip
                curve.setdefault(name, []).append(statistics.median(taken))
            steps: dict[str, list[float]] = {}
            for query in queries[:50]:
                found = await library.stub.Retrieve(pb.RetrieveRequest(scope=SCOPE, query=query))
                for timing in found.timings:
                    steps.setdefault(timing.step or "whole", []).append(timing.duration.ToNanoseconds() / 1e6)
            parts = ", ".join(f"{name} {statistics.median(taken):.2f}" for name, taken in steps.items())
            console.print(table)
            console.print(f"hybrid by step (p50 ms): {parts}")
            console.print(f"16 clients: {await throughput(library, queries):.0f} hybrid searches/s")
        client.close()
    if picture := os.environ.get("FOOTNOTE_BENCH_PLOT"):
        draw(curve, picture)


def draw(curve: dict[str, list[float]], picture: str) -> None:
    """Draw milliseconds against chunks, one line a name."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5), dpi=120)
    for name, milliseconds in curve.items():
        axes.plot(SIZES, milliseconds, marker="o", label=name)
    axes.set(xlabel="chunks", ylabel="milliseconds", title="Search through the retrieval service, top 5", ylim=0)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(picture)


async def throughput(library: Library, queries: list[str], clients: int = 16, seconds: float = 5.0) -> float:
    ends = time.perf_counter() + seconds
    done = 0

    async def client(number: int) -> None:
        nonlocal done
        index = number
        while time.perf_counter() < ends:
            await library.stub.Retrieve(pb.RetrieveRequest(scope=SCOPE, query=queries[index % len(queries)]))
            done += 1
            index += clients

    await asyncio.gather(*(client(number) for number in range(clients)))
    return done / seconds


async def test_memory_latency(uri: str) -> None:
    console = Console(width=110)
    size = 10_000
    async with open_library(uri, ready_interval=5.0) as library:
        provider = make(check(EmbeddingSettings()))
        space = await library.store.ensure_message_space(provider.dimensions)
        rng = random.Random(0)
        for start in range(0, size, 1000):
            texts = [words(rng, 20) for _ in range(1000)]
            vectors = np.random.default_rng(start).normal(size=(1000, provider.dimensions)).astype(np.float32)
            rows = [
                MessageRow(
                    MemoryMessage(
                        message_id=f"m{start + i}", conversation_id="k", text=text, role=MessageRole.MESSAGE_ROLE_USER
                    ),
                    "t", "u", vectors[i],
                )
                for i, text in enumerate(texts)
            ]  # fmt: skip
            await library.store.upsert_messages(space, rows)

        async def recall(index: int) -> float:
            found = await library.stub.SearchMemory(pb.SearchMemoryRequest(scope=SCOPE, query=words(rng, 8)))
            assert found.enabled
            assert len(found.source_messages) == 5
            return 0.0

        table = new_table(f"Memory search in {size} messages of one user, embedding included")
        [taken] = await times(recall)
        row(table, "service: top 5", taken, "bar: p50 20")
        console.print(table)
