"""Processor time of a hybrid search, by process, beside another checkout of Footnote in the same run.

Real stages through the public API, the built-in embedder, FOOTNOTE_BENCH_CHUNKS (10000) chunks, eight callers, so that
what services do in the background weighs little. The chunks are put into the store by the bench. FOOTNOTE_BENCH_BEFORE
names the other checkout's folder; both take turns of FOOTNOTE_BENCH_CALLS (200) searches, FOOTNOTE_BENCH_ROUNDS (5)
times. How many searches gave equal results and scores is printed; recency, which changes by the second, is left out.
"""

from __future__ import annotations

import asyncio
import os
import statistics
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import psutil
import pytest
from bench.page.bare import rows_of, write
from bench.page.texts import find_texts
from bench.page.world import made_rows
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.types.v1.collection_pb2 import RetrievalSettings
from support.checkouts import import_path
from support.deployment import Deployment
from support.edge_client import EdgeClient, edge_client
from support.replicas.tables import table

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(1800)]

CHUNKS = int(os.environ.get("FOOTNOTE_BENCH_CHUNKS", "10000"))
CALLS = int(os.environ.get("FOOTNOTE_BENCH_CALLS", "200"))
CALLERS = 8
Found = list[tuple[str, float]]
"""Texts and scores of one search, best first."""
ROUNDS = int(os.environ.get("FOOTNOTE_BENCH_ROUNDS", "5"))
BEFORE = os.environ.get("FOOTNOTE_BENCH_BEFORE", "")


def spent(running: Deployment) -> dict[str, float]:
    """Return seconds of processor time by process."""
    found: dict[str, float] = {}
    for process in running.processes.values():
        first = psutil.Process(process.pid)
        for at, one in enumerate((first, *first.children(recursive=True))):
            line = one.cmdline()
            name = "engine" if line and line[0].endswith("/milvus") else f"part {at}"
            times = one.cpu_times()
            found[name] = found.get(name, 0.0) + times.user + times.system
    return found


async def _searched(client: EdgeClient, questions: list[str]) -> list[Found]:
    line = asyncio.Semaphore(CALLERS)

    async def one(question: str) -> Found:
        request = SearchRequest(query=question, settings=RetrievalSettings(recency_weight=0.0))
        async with line:
            response = await client.stub.Search(request, timeout=60)
        assert response.chunks
        return [(one.chunk.text, one.score) for one in response.chunks]

    return list(await asyncio.gather(*map(one, questions)))


def test_what_a_search_spends(tmp_path: Path) -> None:
    world = find_texts()
    sides = {"now": ""} | ({"before": BEFORE} if BEFORE else {})
    spending: dict[str, dict[str, list[float]]] = {side: {} for side in sides}
    results: dict[str, list[Found]] = {side: [] for side in sides}

    async def measured(running: dict[str, Deployment]) -> None:
        async with AsyncExitStack() as stack:
            clients = {side: await stack.enter_async_context(edge_client(running[side].address())) for side in sides}
            for side, client in clients.items():
                accepted = await client.upload(world.text(1, 3_000).encode(), "first.txt")
                await client.settle(accepted.document.id)
                [like] = rows_of(running[side].store_uri(), most=1)
                rows = made_rows(world, like, 0, CHUNKS)
                for start in range(0, CHUNKS, 5_000):
                    write(running[side].store_uri(), rows[start : start + 5_000])
            for turn in range(-1, ROUNDS):
                asked = [world.questions[(turn + 1) * CALLS + at] for at in range(CALLS)]
                for side, client in clients.items():
                    before = spent(running[side])
                    found = await _searched(client, asked)
                    after = spent(running[side])
                    if turn >= 0:
                        results[side] += found
                        for name in after:
                            took = (after[name] - before.get(name, 0.0)) / CALLS * 1000
                            spending[side].setdefault(name, []).append(took)

    with ExitStack() as stack:
        running = {}
        for side, folder in sides.items():
            (tmp_path / side).mkdir()
            env = {"PYTHONPATH": import_path(folder)} if folder else {}
            running[side] = Deployment(tmp_path / side, env=env, patience=300.0)
            stack.callback(running[side].stop)
            running[side].start()
        asyncio.run(measured(running))
    rows = []
    for side, processes in spending.items():
        medians = {name: statistics.median(times) for name, times in processes.items()}
        services = sum(took for name, took in medians.items() if name != "engine")
        rows.append((side, f"{services:.2f}", *(f"{medians[name]:.2f}" for name in sorted(medians))))
    names = sorted(spending["now"])
    print("\nProcessor ms of a search\n" + table(("of", "services", *names), rows))
    if BEFORE:
        pairs = list(zip(results["now"], results["before"], strict=True))
        print(f"{sum(one == other for one, other in pairs)} of {len(pairs)} searches with equal results and scores")
        for one, other in [(one, other) for one, other in pairs if one != other][:3]:
            print([(text[:20], score) for text, score in one], [(text[:20], score) for text, score in other], sep="\n")
