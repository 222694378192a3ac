"""What each service spends on a document, a search and an answer: processor time, by process, each service its own.

Real stages with the built-in embedder and answerer, the embedded engine, SQLite. Processor time, not time: what it says
holds on a machine that has other work too. `tests/bench/scale.py` reckons with these figures. FOOTNOTE_BENCH_FILES are
files of 33 kB taken in, FOOTNOTE_BENCH_CALLS searches and answers.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from footnote.edge.v1.answers_pb2 import AskRequest, SearchRequest
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_kit.settings import STAGES
from support.deployment import Deployment, deployment
from support.edge_client import edge_client
from support.replicas.tables import table
from support.scale.real_texts import questions, texts

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(1800)]

FILES = int(os.environ.get("FOOTNOTE_BENCH_FILES", "100"))
CALLS = int(os.environ.get("FOOTNOTE_BENCH_CALLS", "300"))
AT_ONCE, WARM = 4, 8


def spent(running: Deployment) -> dict[str, float]:
    """Return seconds of processor time by target, children included."""
    found = {}
    for target, process in running.processes.items():
        first = psutil.Process(process.pid)
        found[target] = 0.0
        for one in (first, *first.children(recursive=True)):
            with suppress(psutil.Error):
                found[target] += sum(one.cpu_times()[:4])  # what has ended is in its parent's
    return found


async def each(number: int, one: Callable[[int], Awaitable[None]]) -> None:
    """Run so many, a few at a time."""
    line = asyncio.Semaphore(AT_ONCE)

    async def held(index: int) -> None:
        async with line:
            await one(index)

    await asyncio.gather(*(held(index) for index in range(number)))


def test_what_each_service_spends(tmp_path: Path) -> None:
    files, asked = texts(FILES + WARM), questions()
    columns: dict[str, dict[str, float]] = {}

    async def measured(running: Deployment) -> None:
        async with edge_client(running.address()) as client:

            async def document(index: int) -> None:
                accepted = await client.upload(files[index].encode(), f"{index}.txt")
                assert (await client.settle(accepted.document.id)).state == DOCUMENT_STATE_INDEXED

            async def search(index: int) -> None:
                assert (await client.stub.Search(SearchRequest(query=asked[index % len(asked)]), timeout=60)).chunks

            async def answer(index: int) -> None:
                request = AskRequest(question=asked[index % len(asked)])
                async for _ in client.stub.Ask(request, timeout=60):
                    pass

            for name, number, one in (
                ("a document of 33 kB", FILES, document), ("a search", CALLS, search), ("an answer", CALLS, answer)
            ):  # fmt: skip
                await each(WARM, one)
                before = spent(running)
                await each(number, lambda index, one=one: one(index + WARM))
                after = spent(running)
                # What readers of files spent before they ended, when nobody needed them, is not told by anybody.
                columns[name] = {target: max(0.0, after[target] - before[target]) / number * 1000 for target in after}

    with deployment(tmp_path, separate=True) as running:
        asyncio.run(measured(running))
    rows = [(target, *(f"{column[target]:.1f}" for column in columns.values())) for target in (*STAGES, "store")]
    rows.append(("all", *(f"{sum(column.values()):.1f}" for column in columns.values())))
    print("\nProcessor ms\n" + table(("of", *columns), rows))
    assert all(sum(column.values()) > 0 for column in columns.values())
