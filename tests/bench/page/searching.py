"""How long a hybrid search takes, alone and in a crowd."""

from __future__ import annotations

import asyncio

from bench.page.figures import Section, median, quantile
from bench.page.world import World, queries
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest

CALLERS = 8


async def search(world: World) -> list[Section]:
    """Search at each size, the bare engine in turns with the deployment."""
    return [await _at(world, size) for size in world.plan.sizes]


async def _at(world: World, size: int) -> Section:
    plan = world.plan
    world.say(f"filling up to {size} chunks")
    made = await world.fill(size)
    size = await world.stored()
    chunks = f"{size:,}".replace(",", " ")
    section = Section(f"Hybrid search in {chunks} chunks, top 5", "bare engine, hybrid_search")
    left_out = f"{made} chunks put into the store by the bench" if made else "all chunks taken in through the API"
    mine: list[float] = []
    bare: list[float] = []
    rates: list[tuple[float, float]] = []
    for turn in range(-1, plan.rounds):
        world.say(
            f"searching in {size} chunks" + (f", round {turn + 1} of {plan.rounds}" if turn >= 0 else ", warming up")
        )
        asked = world.questions(plan.searches if turn >= 0 else 5)
        known = queries(asked)
        found = [await world.caller.search(question) for question in asked]
        beside = await asyncio.to_thread(world.bare.searched, known)
        if turn < 0:
            continue
        mine += found
        bare += beside
        rate = await world.caller.search_crowd(asked, CALLERS, plan.seconds)
        rates.append((rate, await asyncio.to_thread(world.bare.crowded, known, CALLERS, plan.seconds)))
    note = f"{len(mine)} searches; {left_out}; the engine gets vectors and terms ready-made"
    for share in (0.5, 0.95):
        section.add(
            f"alone, p{share * 100:.0f}", "ms", quantile(mine, share) * 1000, quantile(bare, share) * 1000, note
        )
    section.add(
        f"{CALLERS} callers", "searches/s", median([rate for rate, _ in rates]), median([rate for _, rate in rates]),
        f"{plan.rounds} × {plan.seconds:.0f} s; callers in one process here, threads there",
    )  # fmt: skip
    if await world.stored() != size:
        raise AssertionError("rows went away while they were searched")
    return section


async def search_nothing(world: World) -> Section:
    """Search a collection without documents: what a search costs besides the engine's work."""
    section = Section("Hybrid search in an empty collection", "")
    request = CreateCollectionRequest()
    request.collection.name = "empty"
    await world.caller.stub.stub.CreateCollection(request)
    world.say("searching in nothing")
    taken = [await world.caller.search(question, "empty") for question in world.questions(world.plan.searches)]
    section.add("alone, p50", "ms", quantile(taken, 0.5) * 1000)
    return section
