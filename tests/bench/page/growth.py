"""How costs grow with stored data: in processor time, which a busy machine distorts less than wall time."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench.page.bare import running_bare
from bench.page.calling import Caller, calling
from bench.page.double import running_double
from bench.page.figures import median, verdict
from bench.page.files import SMALL, plain_files
from bench.page.processor import spent
from bench.page.report import number
from bench.page.texts import Texts
from bench.page.world import PATIENCE, Plan, World, timed_start
from footnote.edge.v1.documents_pb2 import ListDocumentsRequest
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from support.deployment import Deployment

UPLOADED, LISTED, SEARCHED = 50, 30, 100


@dataclass
class Curve:
    """What one thing costs at each size."""

    name: str
    unit: str
    sizes: list[int] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    note: str = ""

    def add(self, size: int, cost: float) -> None:
        """Add a point."""
        self.sizes.append(size)
        self.costs.append(cost)


class Curves(dict[str, Curve]):
    """By name, in the order in which they were begun."""

    def add(self, name: str, unit: str, size: int, cost: float, note: str = "") -> None:
        """Add a point to a curve."""
        curve = self.setdefault(name, Curve(name, unit))
        curve.add(size, cost)
        curve.note = note or curve.note


async def by_documents(world: World, sizes: Sequence[int], curves: Curves) -> None:
    """Upload small files up to each size; measure what the next ones cost, lists, and a start."""
    there = 0
    for size in sizes:
        async with calling(world.running.address()) as caller:
            world.say(f"taking in files up to {size}")
            await _take_in(caller, world.texts, there, size - there)
            there = size
            before = spent(world.running)
            await _take_in(caller, world.texts, there, UPLOADED)
            there += UPLOADED
            used = spent(world.running) - before
            curves.add("document of 1 kB uploaded, all processes", "ms", size, used.total / UPLOADED * 1000)
            before, began = spent(world.running), time.perf_counter()
            for _ in range(LISTED):
                await caller.stub.stub.ListDocuments(ListDocumentsRequest(page_size=100))
            took, used = time.perf_counter() - began, spent(world.running) - before
            curves.add("ListDocuments, first page of 100", "ms", size, used.total / LISTED * 1000)
            curves.add("ListDocuments, first page of 100, by the clock", "ms", size, took / LISTED * 1000)
        await _restarted(world, "documents", size, curves)


async def by_chunks(world: World, sizes: Sequence[int], curves: Curves) -> None:
    """Fill the store to each size; measure what a search costs, and a start."""
    for size in sizes:
        world.say(f"filling up to {size} chunks")
        made = await world.fill(size)
        note = "chunks put into the store by the bench" if made else ""
        async with calling(world.running.address()) as caller:
            for question in world.questions(10):
                await caller.search(question)
            world.say(f"searching in {size} chunks")
            before = spent(world.running)
            taken = [await caller.search(question) for question in world.questions(SEARCHED)]
            used = spent(world.running) - before
        curves.add("hybrid search, services", "ms", size, used.services / SEARCHED * 1000, note)
        curves.add("hybrid search, engine", "ms", size, used.engine / SEARCHED * 1000, note)
        curves.add("hybrid search, p50 by the clock", "ms", size, median(taken) * 1000, note)
        await _restarted(world, "chunks", size, curves, note)


async def _take_in(caller: Caller, texts: Texts, first: int, count: int) -> None:
    for at in range(first, first + count, 200):
        await caller.take_in(plain_files(texts, min(200, first + count - at), SMALL, at))


async def _restarted(world: World, what: str, size: int, curves: Curves, note: str = "") -> None:
    world.say(f"starting with {size} {what}")
    await asyncio.to_thread(world.running.stop)
    ready = await timed_start(world.running)
    used = spent(world.running)
    curves.add(f"start with {what} there, services", "ms", size, used.services * 1000, note)
    curves.add(f"start with {what} there, engine", "ms", size, used.engine * 1000, note)
    curves.add(f"start with {what} there, to ready by the clock", "ms", size, ready * 1000, note)


async def _measured(
    documents: Sequence[int], chunks: Sequence[int], plan: Plan, texts: Texts, progress: Progress, curves: Curves
) -> None:
    tick = progress.add_task("starting", total=None)
    for measure, sizes in ((by_documents, documents), (by_chunks, chunks)):
        with tempfile.TemporaryDirectory(prefix="fn-") as name, ExitStack() as stack:
            folder = Path(name)
            double = stack.enter_context(running_double())
            bare = stack.enter_context(running_bare(folder / "bare"))
            (folder / "data").mkdir()
            running = Deployment(folder / "data", patience=PATIENCE)
            stack.callback(running.stop)
            await timed_start(running)
            world = World(plan, texts, running, bare, double, 0.0)
            world.say = lambda words: progress.update(tick, description=words)
            async with calling(running.address()) as caller:
                await caller.take_in(plain_files(texts, 2, SMALL, 990_000))
            await measure(world, sizes, curves)


def table(curves: Curves, load: float) -> str:
    """Return the curves as Markdown."""
    lines = [
        "# How costs grow",
        "",
        f"Processor time of the deployment's processes a piece unless the line says by the clock; load {load:.1f}.",
        "",
        "| | at | grows | |",
        "|---|---|---|---|",
    ]
    for curve in curves.values():
        points = ", ".join(
            f"{size:,}: {number(cost)} {curve.unit}".replace(",", " ")
            for size, cost in zip(curve.sizes, curve.costs, strict=True)
        )
        lines.append(f"| {curve.name} | {points} | {verdict(curve.sizes, curve.costs)} | {curve.note} |")
    return "\n".join([*lines, ""])


def run(
    documents: Sequence[int], chunks: Sequence[int], plan: Plan, texts: Texts, out: Path, console: Console
) -> dict[str, object]:
    """Measure and write the table; return what JSON has."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    curves = Curves()
    out.mkdir(parents=True, exist_ok=True)
    try:
        with Progress(*columns, console=console) as progress:
            asyncio.run(_measured(documents, chunks, plan, texts, progress, curves))
    finally:  # of a run that was broken off there is what it had measured
        load = os.getloadavg()[0]
        (out / "growth.md").write_text(table(curves, load), encoding="utf-8")
    told: dict[str, object] = {"load": load, "texts": texts.source, "curves": [vars(one) for one in curves.values()]}
    (out / "growth.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
    return told
