"""`make bench`: measures a deployment end to end against the bare engine, and writes a page, a picture and the figures.

python -m bench.page --quick                    # under two minutes on a quiet machine
python -m bench.page --sizes 10000,50000,200000 # chunks searched; what is more than was taken in the bench puts there
python -m bench.page --growth                   # how costs grow with documents and chunks, instead of the page
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bench.page import growth
from bench.page.asking import ask
from bench.page.bare import running_bare
from bench.page.calling import calling
from bench.page.double import running_double
from bench.page.figures import Section
from bench.page.picture import draw
from bench.page.report import Surroundings, page
from bench.page.searching import search, search_nothing
from bench.page.standing import bare_megabytes, stand, start
from bench.page.taking_in import take_in
from bench.page.texts import Texts, find_texts
from bench.page.world import PATIENCE, PLANS, Plan, World
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from support.deployment import ROOT, Deployment


async def measured(plan: Plan, texts: Texts, folder: Path, say: Progress, tick: int) -> list[Section]:
    """Measure everything that the page shows."""
    with ExitStack() as stack:
        say.update(tick, description="starting")  # type: ignore[arg-type]
        double = stack.enter_context(running_double())
        began = time.perf_counter()
        bare = stack.enter_context(running_bare(folder / "bare"))
        bare_start, bare_idle = time.perf_counter() - began, bare_megabytes()
        (folder / "data").mkdir()
        env = {
            "FOOTNOTE_OPENAI_BASE_URL": double.url,
            "FOOTNOTE_OPENAI_API_KEY": "none",
            "FOOTNOTE_OPENAI_MODEL": "double",
        }
        running = Deployment(folder / "data", env=env, patience=PATIENCE)
        stack.callback(running.stop)
        starts = await start(running, texts, plan.restarts)
        world = World(plan, texts, running, bare, double, bare_start)
        world.say = lambda words: say.update(tick, description=words)  # type: ignore[arg-type]
        async with calling(running.address()) as world.caller:
            sections = [await take_in(world)]
            say.advance(tick)  # type: ignore[arg-type]
            sections += [*await search(world), await search_nothing(world)]
            say.advance(tick)  # type: ignore[arg-type]
            sections += await ask(world)
            say.advance(tick)  # type: ignore[arg-type]
        return [*sections, stand(starts, running, bare_start, bare_idle)]


def machine() -> str:
    """Return what the figures were measured on."""
    return f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"


def run(plan: Plan, out: Path, console: Console) -> dict[str, object]:
    """Measure, write the page, its picture and its figures into a folder; return what JSON has."""
    began, before, texts = time.time(), os.getloadavg()[0], find_texts()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with tempfile.TemporaryDirectory(prefix="fn-") as folder, Progress(*columns, console=console) as progress:
        tick = progress.add_task("starting", total=3)
        sections = asyncio.run(measured(plan, texts, Path(folder), progress, tick))
    when = datetime.fromtimestamp(began, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    took, after = time.time() - began, os.getloadavg()[0]
    around = Surroundings(when, machine(), before, after, texts.source, plan.kind, took)
    out.mkdir(parents=True, exist_ok=True)
    drawn = draw(sections, out / "page.png")
    (out / "page.md").write_text(page(sections, around, "page.png" if drawn else ""), encoding="utf-8")
    told = {**vars(around), "sections": [section.told() for section in sections]}
    (out / "page.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
    if not drawn:
        console.print("No picture: matplotlib is not installed (the extra `bench`)")
    return told


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        prog="make bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one round of everything, with fewer files")
    parser.add_argument("--tiny", action="store_true", help="a look whether it runs at all; the figures say nothing")
    parser.add_argument("--sizes", help="chunks to search in, ascending: 10000,50000,200000")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--out", type=Path, default=ROOT / "bench", help="folder of the page")
    parser.add_argument("--growth", action="store_true", help="how costs grow, instead of the page")
    parser.add_argument("--documents", default="100,1000", help="with --growth: documents there, ascending")
    options = parser.parse_args(arguments)
    console = Console(stderr=True)
    plan = PLANS["tiny" if options.tiny else "quick" if options.quick else "full"]
    if options.sizes:
        plan = replace(plan, sizes=tuple(map(int, options.sizes.split(","))))
    if options.growth:
        sizes = plan.sizes if options.sizes or options.tiny else (10_000, 50_000)
        documents = tuple(map(int, options.documents.split(",")))
        told = growth.run(documents, sizes, plan, find_texts(), options.out, console)
    else:
        told = run(plan, options.out, console)
    name = "growth.md" if options.growth else "page.md"
    if options.json:
        print(json.dumps(told))
    else:
        print((options.out / name).read_text(encoding="utf-8"))
        print(f"Written to {options.out / name}", file=sys.stderr)


if __name__ == "__main__":
    main()
