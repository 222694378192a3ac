"""What holds a deployment's memory, idle and after work: by process, mapped file, Python package and type.

Real stages, the built-in embedder, `serve all`. MB of PSS: pages that several processes share count once in all. Python
objects are counted by a fork of each process (`support.heap`); malloc's free bytes are those that it got from the
system and has not given out. FOOTNOTE_BENCH_FILES are files of 33 kB taken in, FOOTNOTE_BENCH_CALLS searches and
answers, FOOTNOTE_BENCH_SHOWN how many packages, types and files each process shows.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
from bench.page.processor import tree
from footnote.edge.v1.answers_pb2 import AskRequest, SearchRequest
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from support import heap
from support.deployment import Deployment
from support.edge_client import EdgeClient, edge_client
from support.replicas.tables import table
from support.scale.real_texts import questions, texts

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(1800)]

FILES = int(os.environ.get("FOOTNOTE_BENCH_FILES", "100"))
CALLS = int(os.environ.get("FOOTNOTE_BENCH_CALLS", "300"))
SHOWN = int(os.environ.get("FOOTNOTE_BENCH_SHOWN", "12"))
AT_ONCE = 8
SETTLING, RESTING = 5.0, 75.0
"""Seconds until a look, and until the processes that wait for further files have ended."""


async def _work(running: Deployment) -> None:
    """Take files in, search and ask."""
    asked = questions()
    async with edge_client(running.address()) as client:
        line = asyncio.Semaphore(AT_ONCE)

        async def put(number: int, text: str) -> None:
            async with line:
                accepted = await client.upload(text.encode(), f"{number}.txt")
                assert (await client.settle(accepted.document.id)).state == DOCUMENT_STATE_INDEXED

        async def call(number: int) -> None:
            question = asked[number % len(asked)]
            async with line:
                await client.stub.Search(SearchRequest(query=question), timeout=60)
                await _answered(client, question)

        await asyncio.gather(*(put(number, text) for number, text in enumerate(texts(FILES))))
        await asyncio.gather(*map(call, range(CALLS)))


async def _answered(client: EdgeClient, question: str) -> None:
    async for _ in client.stub.Ask(AskRequest(question=question), timeout=60):
        pass


def _shown(title: str, found: list[heap.Held]) -> float:
    """Print what was found, and return the sum."""
    whole = sum(one.total for one in found)
    rows = [
        (
            one.name,
            *(f"{value:.1f}" for value in (one.total, one.anonymous, one.objects)),
            *(f"{one.malloc.get(name, 0.0):.1f}" for name in ("malloc used", "malloc free")),
            one.modules,
        )
        for one in found
    ]
    head = ("process", "PSS", "anonymous", "Python objects", "malloc used", "malloc free", "modules")
    print(f"\n{title}: {whole:.0f} MB\n" + table(head, rows))
    for one in found:
        for kind, sizes in (("files", one.mappings), ("packages", one.packages), ("types", one.types)):
            if sizes:
                print(f"{one.name}, {kind}: " + ", ".join(f"{name} {mb:.1f}" for name, mb in sizes.most_common(SHOWN)))
    return whole


def test_what_holds_memory(tmp_path: Path) -> None:
    reports, folder = tmp_path / "reports", tmp_path / "data"
    reports.mkdir()
    folder.mkdir()
    running = Deployment(folder, env=heap.environment(reports))
    try:
        running.start()
        time.sleep(SETTLING)
        idle = _shown("Idle", heap.held(tree(running), reports))
        asyncio.run(_work(running))
        time.sleep(SETTLING)
        after = _shown(f"After {FILES} files, {CALLS} searches and answers", heap.held(tree(running), reports))
        time.sleep(RESTING)
        later = _shown(f"{RESTING:.0f} s later", heap.held(tree(running), reports))
    finally:
        running.stop()
    print(f"{after / idle:.2f} and {later / idle:.2f} × idle")
    assert idle > 0
