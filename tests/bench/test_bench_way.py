"""What a document costs on its way from upload to searchable: calls, statements, commits, changes of thread.

Counted inside a whole deployment in one process, with the built-in embedder and the client elsewhere. What is looked at
by the clock (queues of jobs, health, sweeps) is among it, and weighs the more the slower the machine is.
FOOTNOTE_BENCH_FILES is how many files of 33 kB are taken in.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from bench.test_bench_processes import FILES, spent, texts
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from rich.console import Console
from rich.table import Table
from support.deployment import Deployment
from support.edge_client import EdgeClient, edge_client

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(1800)]

COUNTING = Path(__file__).parents[1] / "support" / "counting"
WARM = 10
LEAST = 0.05
"""Counts a document below which a line is left out."""


async def take_in(client: EdgeClient, files: list[str]) -> None:
    """Upload files, some at once, and wait until all are searchable."""
    line = asyncio.Semaphore(24)  # a caller may watch 32 documents at once

    async def put(number: int, text: str) -> None:
        async with line:
            accepted = await client.upload(text.encode(), f"{number}.txt")
            assert (await client.settle(accepted.document.id)).state == DOCUMENT_STATE_INDEXED

    await asyncio.gather(*(put(number, text) for number, text in enumerate(files)))


async def counted(running: Deployment, base: Path) -> Counter[str]:
    """Have the process write what it counted until now, and return it."""
    pid = running.processes["all"].pid
    path = base.with_name(f"{base.name}.{pid}")
    path.unlink(missing_ok=True)
    psutil.Process(pid).send_signal(signal.SIGUSR2)
    async with asyncio.timeout(30):
        while not path.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.05)
    return Counter(json.loads(path.read_text()))


def test_what_a_document_costs(tmp_path: Path) -> None:
    base, folder = tmp_path / "counts", tmp_path / "data"
    folder.mkdir()
    where = os.pathsep.join([str(COUNTING), os.environ.get("PYTHONPATH", "")])
    env = {"FOOTNOTE_PROCESSES": "1", "FOOTNOTE_COUNTS": str(base), "PYTHONPATH": where}
    running = Deployment(folder, env=env)

    async def measure() -> tuple[Counter[str], float, float]:
        async with edge_client(running.address()) as client:
            await take_in(client, [f"{number} {text}" for number, text in enumerate(texts(WARM))])
            before, processor, began = await counted(running, base), spent(running), time.perf_counter()
            await take_in(client, texts(FILES))
            took, ended = time.perf_counter() - began, spent(running)
            after = await counted(running, base)
        ours = sum(ended[key] - processor.get(key, 0.0) for key in ended if key)
        return after - before, took, ours

    try:
        running.start()
        found, took, ours = asyncio.run(measure())
    finally:
        running.stop()
    table = Table(title=f"Per file of 33 kB, of {FILES}; load {os.getloadavg()[0]:.1f}")
    table.add_column("")
    table.add_column("each", justify="right")
    table.add_row("files/s", f"{FILES / took:.1f}")
    table.add_row("services' processor ms", f"{ours / FILES * 1000:.1f}")
    for name in sorted(found):
        if found[name] / FILES >= LEAST:
            table.add_row(name, f"{found[name] / FILES:.2f}")
    Console(width=100).print(table)
    assert found["calls: IndexingService/IndexDocument"] >= FILES
