"""The bare engine: the process that Footnote embeds, asked by pymilvus alone, with the very rows of a deployment."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from footnote_store import tls
from footnote_store.milvus import Milvus
from footnote_store.rows import chunk_schema, space_name
from footnote_store.store import index_parameters
from pymilvus import AnnSearchRequest, MilvusClient, WeightedRanker
from support.engine import running_engine

DIMENSIONS = 384
SPACE = space_name(DIMENSIONS)
TOP = 5
BATCH, WRITERS = 250, 4
PAGE = 1_000
PATIENCE = 60.0
"""Seconds that a connection may take."""
RowOf = dict[str, Any]


@dataclass(frozen=True)
class Query:
    """What is looked for: a question, its vector of shape (384,), and its search terms."""

    text: str
    vector: np.ndarray[Any, np.dtype[np.float32]]
    terms: str


def rows_of(uri: str, document_ids: Sequence[str] = (), most: int | None = None) -> list[RowOf]:
    """Return the rows in a deployment's store, all or those of documents, by their ids, as pymilvus writes them."""
    fields = [field.name for field in chunk_schema(SPACE, DIMENSIONS, partition_by_tenant=False).fields]
    fields.remove("sparse")  # the engine makes it
    client = MilvusClient(uri, dedicated=True, timeout=PATIENCE)
    try:
        found: list[RowOf] = []
        while most is None or len(found) < most:
            after = f'id > "{found[-1]["id"]}"' if found else 'id != ""'
            if document_ids:
                after += f" and document_id in {json.dumps(list(document_ids))}"
            limit = min(PAGE, most or PAGE)
            part = client.query(SPACE, filter=after, output_fields=fields, limit=limit)
            found += sorted((dict(row) for row in part), key=lambda row: str(row["id"]))
            if len(part) < limit:
                break
        return found[:most]
    finally:
        client.close()


def write(uri: str, rows: Sequence[RowOf]) -> float:
    """Insert rows, 250 at once and four under way, until they are found; return seconds."""
    client = MilvusClient(uri, dedicated=True, timeout=PATIENCE)
    try:
        batches = [list(rows[start : start + BATCH]) for start in range(0, len(rows), BATCH)]
        began = time.perf_counter()
        with ThreadPoolExecutor(WRITERS) as writers:
            for done in [writers.submit(client.insert, SPACE, batch) for batch in batches]:
                done.result()
        return time.perf_counter() - began
    finally:
        client.close()


async def _make(uri: str) -> None:
    client = Milvus(tls.address(uri))
    await client.create(chunk_schema(SPACE, DIMENSIONS, partition_by_tenant=False), PATIENCE)
    for field in ("dense", "sparse"):
        await client.index(SPACE, field, index_parameters(field, embedded=True), PATIENCE)
    await client.load(SPACE, PATIENCE)
    await client.close()


class Bare:
    """An engine with one collection like a deployment's: the same columns, indexes and filter."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        with ThreadPoolExecutor(1) as thread:  # callers have an event loop of their own
            thread.submit(asyncio.run, _make(uri)).result()

    def insert(self, rows: Sequence[RowOf]) -> float:
        """Write rows; return seconds."""
        return write(self.uri, rows)

    def searched(self, queries: Sequence[Query]) -> list[float]:
        """Ask each query by its own hybrid search, one after another; return seconds of each."""
        client = MilvusClient(self.uri, dedicated=True, timeout=PATIENCE)
        try:
            return [_timed(lambda query=query: _search(client, query)) for query in queries]  # type: ignore[misc]
        finally:
            client.close()

    def crowded(self, queries: Sequence[Query], callers: int, seconds: float) -> float:
        """Have so many threads search again and again, a connection each; return searches a second."""
        clients = [MilvusClient(self.uri, dedicated=True, timeout=PATIENCE) for _ in range(callers)]
        done = [0] * callers
        end = time.perf_counter() + seconds

        def caller(mine: int) -> None:
            for at in count(mine, callers):
                if time.perf_counter() >= end:
                    return
                _search(clients[mine], queries[at % len(queries)])
                done[mine] += 1

        began = time.perf_counter()
        with ThreadPoolExecutor(callers) as threads:
            for one in [threads.submit(caller, mine) for mine in range(callers)]:
                one.result()
        took = time.perf_counter() - began
        for client in clients:
            client.close()
        return sum(done) / took


def _search(client: MilvusClient, query: Query) -> None:
    channels = [
        AnnSearchRequest([query.vector], "dense", {}, TOP, expr='tenant_id == "default"'),
        AnnSearchRequest([query.terms], "sparse", {}, TOP, expr='tenant_id == "default"'),
    ]
    [found] = client.hybrid_search(SPACE, channels, WeightedRanker(0.5, 0.5), limit=TOP, output_fields=["text"])
    if not found:
        raise AssertionError("the bare engine found nothing: it does not hold what it is compared on")


def _timed(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@contextmanager
def running_bare(folder: Path) -> Iterator[Bare]:
    """Run an engine of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    with running_engine(folder) as uri:
        yield Bare(uri)
