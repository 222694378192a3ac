"""Which functions a search, and a file of 33 kB that is taken in, spend a deployment's processor time in.

Real stages through the public API, `serve all`, the built-in embedder. py-spy (`pip install py-spy`; it reads other
processes' stacks) samples every process while eight callers work. FOOTNOTE_BENCH_FILES (300) files are taken in, then
FOOTNOTE_BENCH_CALLS (1500) searches asked. A share is of all samples of all processes, the engine's excluded, in which
the processor was busy; a function's is with all that it calls, so that shares overlap.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from bench.page.calling import Caller
from bench.page.files import LARGE, plain_files
from bench.page.texts import find_texts
from footnote.edge.v1.answers_pb2 import SearchRequest
from support.deployment import Deployment
from support.edge_client import edge_client
from support.replicas.tables import table
from support.scale.real_texts import questions

pytestmark = [
    pytest.mark.bench,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(shutil.which("py-spy") is None, reason="py-spy is not installed (pip install py-spy)"),
]

FILES = int(os.environ.get("FOOTNOTE_BENCH_FILES", "300"))
CALLS = int(os.environ.get("FOOTNOTE_BENCH_CALLS", "1500"))
AT_ONCE = 8
RATE = 97
"""Samples a second; a round number would meet what happens every tenth of a second again and again."""
LEAST, SHOWN = 2.0, 40
_IDLE = re.compile(r"^(EpollSelector\.select|select|Condition\.wait|_?wait|Thread\.run|)( |$)")
_OURS = re.compile(r"^(?P<name>\S+) \((?:.*?/src/)?(?P<package>footnote_\w+)/(?P<file>[\w/]+)\.py:\d+\)$")
_FRAME = re.compile(r"/site-packages/(?P<package>\w+)/")
_EVERYWHERE = re.compile(r"^cli: |, (<module>|main|serve)$")
"""Below every sample, whatever is done."""


@contextmanager
def sampled(running: Deployment, folder: Path) -> Iterator[Counter[tuple[str, ...]]]:
    """Sample a deployment's processes while the block runs; what was found is there afterwards, by stack."""
    found: Counter[tuple[str, ...]] = Counter()
    outs = []
    with ExitStack() as stack:
        for process in running.processes.values():
            outs.append(folder / f"{process.pid}.stacks")
            command = ["py-spy", "record", "--subprocesses", "--nonblocking", "--full-filenames", "--format", "raw"]
            command += ["--rate", str(RATE), "--duration", "3600", "--output", str(outs[-1]), "--pid", str(process.pid)]
            sampler = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(sampler.wait)
            stack.callback(sampler.send_signal, signal.SIGINT)
        yield found
    for out in outs:
        for line in out.read_text().splitlines():
            stack_of, _, count = line.rpartition(" ")
            frames = tuple(stack_of.split(";"))
            if not _IDLE.match(frames[-1]):
                found[frames] += int(count)


def shares(found: Counter[tuple[str, ...]]) -> list[tuple[str, str]]:
    """Return the share of each function of Footnote with what it calls, and of each library by its own lines."""
    total = found.total()
    functions: Counter[str] = Counter()
    libraries: Counter[str] = Counter()
    for frames, count in found.items():
        ours = {
            f"{one['package'].removeprefix('footnote_')}: {one['file']}, {one['name'].replace('.<locals>', '')}"
            for frame in frames
            if (one := _OURS.match(frame))
        }
        functions.update({name: count for name in ours if not _EVERYWHERE.search(name)})
        last = _OURS.match(frames[-1]) or _FRAME.search(frames[-1].partition(" (")[2])
        libraries[last["package"] if last else "Python and its library"] += count
    rows = [(name, count) for name, count in functions.most_common(SHOWN) if count * 100 >= LEAST * total]
    rows += [(f"(own lines of {name})", count) for name, count in libraries.most_common(12)]
    return [(name, f"{count / total:.1%}") for name, count in rows]


def test_where_the_time_goes(tmp_path: Path) -> None:
    asked = questions()

    async def measured(running: Deployment) -> dict[str, Counter[tuple[str, ...]]]:
        async with edge_client(running.address()) as client:
            caller = Caller([client])
            await caller.take_in(plain_files(find_texts(), 20, LARGE, 0))  # what is loaded at first use is loaded
            (tmp_path / "files").mkdir()
            with sampled(running, tmp_path / "files") as taken:
                await asyncio.sleep(2)  # samplers begin
                await caller.take_in(plain_files(find_texts(), FILES, LARGE, 100), look=0.5)
            line = asyncio.Semaphore(AT_ONCE)

            async def search(number: int) -> None:
                async with line:
                    query = f"{asked[number % len(asked)]} {number}"
                    assert (await client.stub.Search(SearchRequest(query=query), timeout=60)).chunks

            (tmp_path / "searches").mkdir()
            with sampled(running, tmp_path / "searches") as searched:
                await asyncio.sleep(2)
                await asyncio.gather(*map(search, range(CALLS)))
        return {f"taking in {FILES} files of 33 kB": taken, f"{CALLS} searches": searched}

    running = Deployment(tmp_path, patience=300.0)
    try:
        running.start()
        found = asyncio.run(measured(running))
    finally:
        running.stop()
    for what, stacks in found.items():
        assert stacks.total() > 100, "py-spy saw nothing"
        print(
            f"\n{what}, {stacks.total()} samples\n" + table(("function, with what it calls", "share"), shares(stacks))
        )
