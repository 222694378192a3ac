"""How fast files become searchable."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.page.bare import rows_of
from bench.page.figures import Section, median
from bench.page.files import LARGE, SMALL, File, mixed_files, plain_files
from bench.page.processor import spent
from bench.page.world import World

ALONE = 10


@dataclass(frozen=True)
class Round:
    """One set of files taken in, and its rows by the bare engine."""

    files: int
    bytes: int
    chunks: int
    seconds: float
    bare_seconds: float
    processor: float
    """Seconds that the deployment's processes spent."""


async def take_in(world: World) -> Section:
    """Take in small, large and mixed files, and have the bare engine insert the very rows that came of them."""
    section = Section("Taking files in, first byte to all searchable", "bare engine, insert")
    plan, texts = world.plan, world.texts
    kinds: list[tuple[str, int, Callable[[int, int], list[File]]]] = [
        ("files of 1 kB", plan.small, lambda count, first: plain_files(texts, count, SMALL, first)),
        ("files of 33 kB", plan.large, lambda count, first: plain_files(texts, count, LARGE, first)),
        ("md, html, csv, docx, xlsx, pdf", plan.mixed, lambda count, first: mixed_files(texts, count, first)),
    ]
    await world.caller.take_in(plain_files(texts, 2, SMALL, 900_000))  # what is made at the first file is made now
    for at, (name, count, make) in enumerate(kinds):
        rounds = []
        for turn in range(plan.rounds):
            world.say(f"taking in {count} {name}, round {turn + 1} of {plan.rounds}")
            files = await asyncio.to_thread(make, count, 100_000 * (at + 1) + turn * count)
            rounds.append(await _round(world, files))
        _rows(section, f"{count} {name}", rounds)
    alone = []
    world.say("taking in small files one by one")
    for name, content in plain_files(texts, min(ALONE, plan.small), SMALL, 950_000):
        began = time.perf_counter()
        await world.caller.put(name, content)
        alone.append((time.perf_counter() - began) * 1000)
    section.add("one file of 1 kB alone, p50", "ms", median(alone), note=f"{len(alone)} one after another")
    return section


async def _round(world: World, files: list[File]) -> Round:
    before = spent(world.running)
    taken = await world.caller.take_in(files)
    processor = (spent(world.running) - before).total
    rows = await asyncio.to_thread(rows_of, world.running.store_uri(), taken.document_ids)
    if not rows:
        raise AssertionError("files were taken in of which the store holds nothing")
    bare = await asyncio.to_thread(world.bare.insert, rows)
    return Round(len(files), taken.bytes, len(rows), taken.seconds, bare, processor)


def _rows(section: Section, name: str, rounds: list[Round]) -> None:
    note = (
        f"{'one round' if len(rounds) == 1 else f'median of {len(rounds)}'}; the engine gets rows, vectors ready-made"
    )
    for what, unit, amount in (
        ("", "files/s", lambda one: one.files),
        (", bytes", "MB/s", lambda one: one.bytes / 1e6),
        (", chunks", "chunks/s", lambda one: one.chunks),
    ):
        mine = median([amount(one) / one.seconds for one in rounds])
        bare = median([amount(one) / one.bare_seconds for one in rounds])
        section.add(f"{name}{what}", unit, mine, bare, note)
    section.add(
        f"{name}, processor time", "ms/file", median([one.processor / one.files * 1000 for one in rounds]),
        note="of all of the deployment's processes",
    )  # fmt: skip
