"""Starting, memory, and what an installation weighs."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

import psutil
from bench.page import installed
from bench.page.calling import Asked, calling
from bench.page.figures import Section, median
from bench.page.files import SMALL, plain_files
from bench.page.processor import megabytes
from bench.page.texts import Texts
from bench.page.world import timed_start
from footnote.edge.v1.answers_pb2 import AskRequest
from support.deployment import Deployment

SETTLING = 3.0


@dataclass
class Starts:
    """Seconds from the command to health, and to the last word of the first answer; the first start by itself."""

    fresh: float = 0.0
    ready: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    idle: float = 0.0
    """MB of all processes a few seconds after the last start."""


async def start(running: Deployment, texts: Texts, restarts: int) -> Starts:
    """Start a deployment over an empty folder, then with a document again and again; leave it running."""
    starts = Starts(fresh=await timed_start(running))
    if restarts:
        async with calling(running.address()) as caller:
            await caller.take_in(plain_files(texts, 1, SMALL, 990_000))
    for _ in range(restarts):
        await asyncio.to_thread(running.stop)
        began = time.perf_counter()
        starts.ready.append(await timed_start(running))
        asked = Asked()
        async with calling(running.address()) as caller:
            await caller.ask(AskRequest(question=texts.questions[0]), asked)
        if not asked.wholes:
            raise AssertionError(f"the first question was not answered: {dict(asked.errors)}")
        starts.answered.append(time.perf_counter() - began)
    await asyncio.sleep(SETTLING if restarts else 0.1)
    starts.idle = megabytes(running)
    return starts


def bare_megabytes() -> float:
    """Return the memory of engines that this process has started, the bare one."""
    found = [one for one in psutil.Process().children() if one.name() == "milvus"]
    return float(sum(one.memory_full_info().pss for one in found) / 1e6)


def stand(starts: Starts, running: Deployment, bare_start: float, bare_idle: float) -> Section:
    """Return the section, with the memory of now as what is used afterwards."""
    section = Section("Starting, memory, disk", "bare engine")
    again = f"{len(starts.ready)} starts over a folder with a document" if starts.ready else "not measured"
    section.add("first start, command to ready", "s", starts.fresh, bare_start, "an empty folder; one start")
    if starts.ready:
        section.add("start, command to ready", "s", median(starts.ready), bare_start, again)
        section.add("start, command to the end of the first answer", "s", median(starts.answered), note=again)
    section.add("memory idle", "MB", starts.idle, bare_idle, "all processes, the engine's too; shared pages once")
    section.add("memory after this run", "MB", megabytes(running), bare_megabytes(), "the same")
    names = installed.needed("footnote") - {"footnote", "footnote-client"}
    engine = installed.needed("pymilvus") | installed.needed("milvus-lite")
    section.add(
        "installed packages", "MB", installed.megabytes(names), installed.megabytes(engine),
        f"{len(names)} packages of the extra server beside {len(engine)}; without Python, Footnote's own code, and e5",
    )  # fmt: skip
    return section
