"""`make bench-peers`: LanceDB, Haystack, LangChain and LlamaIndex beside Footnote and the bare engine, in one run.

Each gets the chunks and vectors that Footnote made of the files, ready-made, and searches by its own hybrid search.
Needs a package index the first time: the environments are kept.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bench.page.bare import Query, rows_of, running_bare
from bench.page.calling import calling
from bench.page.figures import quantile
from bench.page.files import LARGE, plain_files
from bench.page.report import number
from bench.page.texts import find_texts
from bench.page.world import PATIENCE, queries, timed_start
from rich.console import Console
from support.deployment import ROOT, Deployment

HERE = Path(__file__).resolve().parent
# Pinned, and without what runs models: vectors are given.
PEERS = {
    "LanceDB": ("with_lancedb", ("lancedb==0.40.0", "numpy==2.4.6")),
    "Haystack": ("with_haystack", ("haystack-ai==3.4.0", "numpy==2.4.6")),
    "LangChain": (
        "with_langchain",
        ("langchain-core==1.7.2", "langchain-classic==1.0.8", "langchain-community==0.4.2", "rank_bm25==0.2.2"),
    ),
    "LlamaIndex": ("with_llamaindex", ("llama-index-core==0.14.25", "llama-index-retrievers-bm25==0.8.0")),
}
THREADS = 8


@dataclass(frozen=True)
class Line:
    """What one of them does."""

    name: str
    ingest: float
    """MB/s of the files' text."""
    p50: float
    p95: float
    """Milliseconds of a search."""
    rate: float
    """Searches a second of eight threads."""


def environment(folder: Path, script: str, pins: Sequence[str]) -> Path:
    """Make an environment where it is not made yet for these pins; return its Python."""
    python, mark = folder / script / "bin" / "python", folder / script / "pins"
    if not mark.is_file() or mark.read_text() != "\n".join(pins):
        subprocess.run([sys.executable, "-m", "venv", str(folder / script)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *pins], check=True)
        mark.write_text("\n".join(pins))
    return python


class Running:
    """A peer's process."""

    def __init__(self, python: Path, script: str, folder: Path) -> None:
        folder.mkdir()
        # Disables the libraries' telemetry.
        quiet = {"HAYSTACK_TELEMETRY_ENABLED": "False", "ANONYMIZED_TELEMETRY": "False", "DO_NOT_TRACK": "1"}
        self.process = subprocess.Popen(
            [str(python), str(HERE / f"{script}.py"), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env={**os.environ, **quiet, "PYTHONPATH": ""},
        )  # fmt: skip

    def told(self, **order: Any) -> dict[str, Any]:
        """Have it do something; return what it measured."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"a peer ended with {self.process.wait()}")
        told: dict[str, Any] = json.loads(line)
        return told

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.communicate(timeout=20)


def given(folder: Path, name: str, texts: Sequence[str], vectors: Any) -> dict[str, str]:
    """Write texts and vectors to files; return how an order names them."""
    (folder / f"{name}.json").write_text(json.dumps(list(texts)), encoding="utf-8")
    np.save(folder / f"{name}.npy", np.asarray(vectors, dtype=np.float32))
    return {"texts": str(folder / f"{name}.json"), "vectors": str(folder / f"{name}.npy")}


async def footnote(
    folder: Path, count: int, searches: int, seconds: float, say: Console
) -> tuple[list[Line], float, list[dict[str, Any]], list[Query]]:
    """Measure Footnote and the bare engine; return their lines, the MB of the files, the rows, what was asked."""
    texts = find_texts()
    files = plain_files(texts, count, LARGE, 0)
    asked = list(texts.questions[:: max(1, len(texts.questions) // searches)][:searches])
    (folder / "data").mkdir()
    running = Deployment(folder / "data", patience=PATIENCE)
    with ExitStack() as stack:
        stack.callback(running.stop)
        say.print(f"Footnote: {count} files of 33 kB ({texts.source})")
        await timed_start(running)
        async with calling(running.address()) as caller:
            await caller.take_in(plain_files(texts, 1, LARGE, 900_000))
            taken = await caller.take_in(files)
            times = [await caller.search(question) for question in asked]
            rate = await caller.search_crowd(asked, THREADS, seconds)
        megabytes = taken.bytes / 1e6
        rows = await asyncio.to_thread(rows_of, running.store_uri(), taken.document_ids)
        mine = _line("Footnote, through the API", megabytes / taken.seconds, times, rate)
        bare = stack.enter_context(running_bare(folder / "bare"))
        known = queries(asked)
        inserted = await asyncio.to_thread(bare.insert, rows)
        await asyncio.to_thread(bare.searched, known[:5])
        times = await asyncio.to_thread(bare.searched, known)
        rate = await asyncio.to_thread(bare.crowded, known, THREADS, seconds)
        lines = [mine, _line("bare engine, pymilvus", megabytes / inserted, times, rate)]
    return lines, megabytes, rows, known


def _line(name: str, ingest: float, times: Sequence[float], rate: float) -> Line:
    return Line(name, ingest, quantile(times, 0.5) * 1000, quantile(times, 0.95) * 1000, rate)


def table(lines: Sequence[Line], chunks: int, before: float, after: float) -> str:
    """Return the table: each figure, and as a multiple of Footnote's, which is the first line."""
    first = lines[0]

    def cell(value: float, other: float) -> str:
        return f"{number(value)} ({number(value / other)} ×)" if other else number(value)

    out = [
        f"{chunks} chunks; load {before:.1f} before, {after:.1f} after. Footnote's figures are through gRPC, of a",
        "store on disk; its ingest reads, cuts and embeds, its searches embed. The others get chunks and vectors",
        "ready-made, within one process, the bare engine besides its terms.",
        "× is the figure divided by Footnote's.",
        "",
        "| | ingest MB/s | hybrid p50 ms | p95 ms | searches/s, 8 threads |",
        "|---|---:|---:|---:|---:|",
    ]
    for one in lines:
        cells = (cell(getattr(one, key), getattr(first, key)) for key in ("ingest", "p50", "p95", "rate"))
        out.append(f"| {one.name} | " + " | ".join(cells) + " |")
    return "\n".join([*out, ""])


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="make bench-peers", description=__doc__)
    parser.add_argument(
        "--environments", type=Path, default=ROOT / "bench" / "environments", help="folder of environments"
    )
    parser.add_argument("--files", type=int, default=100, help="files of 33 kB")
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=5.0, help="of eight threads searching")
    parser.add_argument("--only", default=",".join(PEERS), help="peers, separated by commas")
    options = parser.parse_args(arguments)
    console, before = Console(stderr=True), os.getloadavg()[0]
    options.environments.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fn-") as name:
        folder = Path(name)
        pythons = {}
        for peer in options.only.split(","):
            console.print(f"{peer}: its environment")
            pythons[peer] = environment(options.environments.resolve(), *PEERS[peer])
        lines, megabytes, rows, known = asyncio.run(
            footnote(folder, options.files, options.searches, options.seconds, console)
        )
        chunks = given(folder, "chunks", [row["text"] for row in rows], [row["dense"] for row in rows])
        asked = given(folder, "asked", [query.text for query in known], [query.vector for query in known])
        for peer, python in pythons.items():
            console.print(peer)
            began, running = time.perf_counter(), Running(python, PEERS[peer][0], folder / PEERS[peer][0])
            try:
                ingested = running.told(do="ingest", **chunks)
                found = running.told(do="search", count=options.searches, **asked)
                crowd = running.told(do="crowd", threads=THREADS, seconds=options.seconds, **asked)
            finally:
                running.stop()
            console.print(f"  {time.perf_counter() - began:.0f} s")
            lines.append(_line(peer, megabytes / ingested["seconds"], found["times"], crowd["rate"]))
    print(table(lines, len(rows), before, os.getloadavg()[0]))


if __name__ == "__main__":
    main()
