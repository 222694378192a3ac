"""What a deployment does end to end, by how many processes `serve all` divides its services among.

Real stages, the built-in embedder and answerer, and the client on the same machine, which takes its share. Divisions
take turns in one run; besides rates, which a machine with other work to do spoils, there is processor time: all of it,
and that of the busiest process of services, which bounds what a core can do. FOOTNOTE_BENCH_PROCESSES names divisions
("1,3"), FOOTNOTE_BENCH_ROUNDS how often each is measured, FOOTNOTE_BENCH_FILES the files of 33 kB taken in.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from footnote.edge.v1.answers_pb2 import AskRequest, SearchRequest
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from rich.console import Console
from rich.table import Table
from support.deployment import PART, Deployment
from support.edge_client import EdgeClient, edge_client
from support.scale.real_texts import questions, texts

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(1800)]

DIVISIONS = os.environ.get("FOOTNOTE_BENCH_PROCESSES", "1,3").split(",")
ROUNDS = int(os.environ.get("FOOTNOTE_BENCH_ROUNDS", "3"))
FILES = int(os.environ.get("FOOTNOTE_BENCH_FILES", "100"))
SECONDS = float(os.environ.get("FOOTNOTE_BENCH_SECONDS", "5"))


@dataclass
class Figures:
    """Of one division, a value each round."""

    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        self.values.setdefault(name, []).append(value)


def spent(running: Deployment) -> dict[str, float]:
    """Return seconds of processor time by process; those that are not of services are one."""
    first = psutil.Process(running.processes["all"].pid)
    found = {"": 0.0}
    for one in (first, *first.children(recursive=True)):
        with suppress(psutil.Error):
            times = one.cpu_times()
            service = one == first or one.name() == PART
            name = str(one.pid) if service else ""
            found[name] = found.get(name, 0.0) + times.user + times.system + (0.0 if service else times.children_user)
    return found


async def load(client: EdgeClient, streams: int, one: Callable[[str], Awaitable[float]]) -> tuple[int, list[float]]:
    """Have so many ask again and again; return how many were answered, and the seconds until each one's first word."""
    asked = questions()
    firsts: list[float] = []
    end = time.monotonic() + SECONDS

    async def caller(number: int) -> None:
        while time.monotonic() < end:
            firsts.append(await one(asked[number % len(asked)]))
            number += 37

    await asyncio.gather(*(caller(number) for number in range(streams)))
    return len(firsts), firsts


async def measure(running: Deployment, figures: Figures) -> None:
    """Take files in, search and ask; add the figures of this round."""

    async def timed(name: str, work: Callable[[], Awaitable[int]]) -> None:
        before, began = spent(running), time.perf_counter()
        number = await work()
        took, after = time.perf_counter() - began, spent(running)
        each = {process: (after[process] - before.get(process, 0.0)) / number * 1000 for process in after}
        figures.add(f"{name}/s", number / took)
        figures.add(f"{name}: processor ms, all", sum(each.values()))
        figures.add(f"{name}: processor ms, busiest", max(value for process, value in each.items() if process))

    async with edge_client(running.address()) as client:
        line = asyncio.Semaphore(24)  # a caller may watch 32 documents at once

        async def put(number: int, text: str) -> None:
            async with line:
                accepted = await client.upload(text.encode(), f"{number}.txt")
                assert (await client.settle(accepted.document.id)).state == DOCUMENT_STATE_INDEXED

        async def ingest() -> int:
            await asyncio.gather(*(put(number, text) for number, text in enumerate(texts(FILES))))
            return FILES

        async def search(question: str) -> float:
            began = time.perf_counter()
            await client.stub.Search(SearchRequest(query=question), timeout=60)
            return time.perf_counter() - began

        async def ask(question: str) -> float:
            began, first = time.perf_counter(), 0.0
            async for event in client.stub.Ask(AskRequest(question=question), timeout=60):
                if event.text_delta and not first:
                    first = time.perf_counter() - began
            return first

        await timed("files", ingest)
        for name, streams, one in (("searches", 8, search), ("answers", 50, ask)):

            async def crowd(
                streams: int = streams, one: Callable[[str], Awaitable[float]] = one, name: str = name
            ) -> int:
                number, firsts = await load(client, streams, one)
                cuts = statistics.quantiles(firsts, n=20)
                figures.add(f"{name}: p95 ms", cuts[18] * 1000)
                return number

            await timed(name, crowd)


def test_work_by_number_of_processes(tmp_path: Path) -> None:
    found = {division: Figures() for division in DIVISIONS}
    for turn in range(ROUNDS):
        for division, figures in found.items():
            folder = tmp_path / f"{turn}-{division}"
            folder.mkdir()
            running = Deployment(folder, env={"FOOTNOTE_PROCESSES": division})
            began = time.perf_counter()
            try:
                running.start()
                figures.add("start s", time.perf_counter() - began)
                figures.add("services' memory idle MB", running.memory_bytes() / 2**20)
                asyncio.run(measure(running, figures))
                figures.add("services' memory after MB", running.memory_bytes() / 2**20)
            finally:
                running.stop()
    table = Table(title=f"Medians of {ROUNDS}, load {os.getloadavg()[0]:.1f}; searches by 8, answers to 50 at once")
    table.add_column("")
    for division in DIVISIONS:
        table.add_column(division, justify="right")
    for name in found[DIVISIONS[0]].values:
        table.add_row(name, *(f"{statistics.median(figures.values[name]):.1f}" for figures in found.values()))
    Console(width=110).print(table)
