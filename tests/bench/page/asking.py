"""How soon questions are answered, alone and in a crowd."""

from __future__ import annotations

import asyncio

from bench.page.calling import Asked
from bench.page.double import A_SECOND, TOKENS
from bench.page.figures import Section, median, quantile
from bench.page.world import World

ANSWERERS = (("builtin", "the built-in answerer"), ("openai", f"a model double of {A_SECOND} tokens/s"))


async def ask(world: World) -> list[Section]:
    """Have crowds ask the built-in answerer, and a model."""
    return [await _answerer(world, provider, name) for provider, name in ANSWERERS]


async def _answerer(world: World, provider: str, name: str) -> Section:
    modelled = provider != "builtin"
    section = Section(f"Asking {name}", "the double asked alone, by one" if modelled else "")
    plan = world.plan
    first = whole = None
    if modelled:
        alone = await asyncio.to_thread(lambda: [world.double.asked_alone() for _ in range(3)])
        first, whole = (median([times[at] for times in alone]) * 1000 for at in (0, 1))
    await world.caller.ask_crowd(world.questions(2), 1, 0.01, provider)
    for streams in plan.streams:
        world.say(f"asking {name}, {streams} at once")
        before = world.double.spent()
        asked = await world.caller.ask_crowd(world.questions(400), streams, plan.ask_seconds, provider)
        note = _note(asked)
        if modelled:
            share = (world.double.spent() - before) / asked.seconds
            note += f"; {TOKENS} tokens an answer; the double took {share:.0%} of a core"
        title = f"{streams} {'stream' if streams == 1 else 'streams'}"
        section.add(f"{title}, first word, p50", "ms", quantile(asked.firsts, 0.5) * 1000, first, note)
        section.add(f"{title}, first word, p95", "ms", quantile(asked.firsts, 0.95) * 1000, first)
        section.add(f"{title}, whole answer, p50", "ms", quantile(asked.wholes, 0.5) * 1000, whole)
        ideal = streams / whole * 1000 if whole else None
        section.add(f"{title}, answers", "answers/s", asked.rate, ideal, "beside it: as many doubles" if whole else "")
        section.add(f"{title}, errors", "", sum(asked.errors.values()), note=_errors(asked))
    return section


def _note(asked: Asked) -> str:
    return f"{len(asked.wholes)} answers in {asked.seconds:.0f} s, one run"


def _errors(asked: Asked) -> str:
    return ", ".join(f"{name} {count}" for name, count in asked.errors.most_common()) or "none"
