"""Time from the start to ready, and of the first searches after it, by the number of rows in the vector store.

A deployment is filled through AddVectors with rows of its caller's own vectors, stopped in order, and started again as
often as FOOTNOTE_BENCH_ROUNDS says; FOOTNOTE_BENCH_ROWS names the numbers of rows. `ready` is when the health services
of all stages say so. Right then one search is made by words and vector, and then nine more: one that still had to load
rows would be slower than these. FOOTNOTE_BENCH_START=separate starts a process per service.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from pathlib import Path

import numpy as np
import pytest
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.types.v1.vector_pb2 import VectorRow
from rich.console import Console
from rich.table import Table
from support import own_vectors
from support.deployment import Deployment
from support.edge_client import edge_client

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(7200)]

ROWS = [int(one) for one in os.environ.get("FOOTNOTE_BENCH_ROWS", "1000,16000,100000").split(",")]
ROUNDS = int(os.environ.get("FOOTNOTE_BENCH_ROUNDS", "3"))
SEPARATE = os.environ.get("FOOTNOTE_BENCH_START", "") == "separate"
DIMENSIONS = 384
BATCH = 500
MORE = 9
PATIENCE = 600.0


def vectors(first: int, count: int) -> np.ndarray:
    """Return vectors of length 1 by number, the same in every run."""
    found = np.random.default_rng(first).standard_normal((count, DIMENSIONS), dtype=np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def text(number: int) -> str:
    return f"Record {number} of the archive lies in box {number % 997} on shelf {number % 61}, beside the river maps."


async def fill(running: Deployment, name: str, first: int, last: int) -> str:
    """Add rows from one number to another, to a new collection unless it has a name; return its name."""
    async with edge_client(running.address()) as edge:
        name = name or await own_vectors.create(edge, dimensions=DIMENSIONS)
        for start in range(first, last, BATCH):
            count = min(BATCH, last - start)
            rows = [
                VectorRow(id=f"r{start + at}", text=text(start + at), vector=vector)
                for at, vector in enumerate(vectors(start, count))
            ]
            await own_vectors.add(edge, name, rows)
        return name


async def searched(running: Deployment, name: str, number: int) -> tuple[float, bool]:
    """Search for a row by words and vector; return the seconds it took, and whether by both."""
    async with edge_client(running.address()) as edge:
        request = SearchRequest(
            collections=[name], query=f"record {number} of the archive", query_vector=vectors(number, 1)[0]
        )
        begun = time.perf_counter()
        found = await edge.stub.Search(request, timeout=PATIENCE)
        seconds = time.perf_counter() - begun
    assert found.chunks
    return seconds, not found.degradations


def started(running: Deployment, name: str) -> tuple[float, float, float, float]:
    """Start; return the seconds until ready, of the first search, the median of the next, and the share by both."""
    begun = time.perf_counter()
    running.spawn()
    running.wait(PATIENCE)
    ready = time.perf_counter() - begun
    first, *more = [asyncio.run(searched(running, name, BATCH * number)) for number in range(1 + MORE)]
    whole = [one for _, one in (first, *more)]
    return ready, first[0], statistics.median(seconds for seconds, _ in more), sum(whole) / len(whole)


def test_the_first_search_after_ready(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("rows", "start to ready, s", "first search, s", "next searches, median, s", "by words and vector")
    running = Deployment(tmp_path, separate=SEPARATE)
    name, there = "", 0
    try:
        for rows in sorted(ROWS):
            running.start()
            name, there = asyncio.run(fill(running, name, there, rows)), rows
            running.stop()
            figures = []
            for _ in range(ROUNDS):
                figures.append(started(running, name))
                running.stop()
            shown = ["/".join(f"{value:.2f}" for value in sorted(column)) for column in zip(*figures, strict=True)]
            table.add_row(f"{rows:,}", *shown)
            with capsys.disabled():
                print(rows, *shown, flush=True)
    finally:
        running.stop()
    with capsys.disabled():
        Console().print(table)
