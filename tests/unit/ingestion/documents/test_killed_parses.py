"""A file whose parser is killed is tried five times again within an hour, one such file at a time."""

import asyncio

from footnote_ingestion.documents.killed_parses import MOST_RETRIES, PAUSES, WINDOW_SECONDS, KilledParses


async def test_five_retries_in_an_hour_and_then_none() -> None:
    now = 0.0
    parses = KilledParses(lambda: now)
    given = [parses.note_kill("a") for _ in range(MOST_RETRIES + 1)]
    assert given == [*PAUSES, None]
    assert parses.note_kill("a") == PAUSES[0], "given up, and reindexed by its owner: from the start"
    assert parses.note_kill("b") == PAUSES[0], "files count alone"
    now = WINDOW_SECONDS + 1
    assert parses.note_kill("b") == PAUSES[0], "an hour later"
    parses.forget("b")
    assert parses.note_kill("b") == PAUSES[0]


async def test_one_killed_file_at_a_time_and_others_beside_it() -> None:
    parses = KilledParses()
    for key in "ab":
        parses.note_kill(key)
    order: list[str] = []
    first_in, may_end = asyncio.Event(), asyncio.Event()

    async def parse(key: str) -> None:
        async with parses.turn(key):
            order.append(f"{key} begins")
            if key == "a":
                first_in.set()
                await may_end.wait()
            order.append(f"{key} ends")

    first = asyncio.create_task(parse("a"))
    await first_in.wait()
    second = asyncio.create_task(parse("b"))
    await parse("c")
    may_end.set()
    await asyncio.gather(first, second)
    assert order == ["a begins", "c begins", "c ends", "a ends", "b begins", "b ends"]
