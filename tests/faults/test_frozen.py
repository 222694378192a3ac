"""A stage that is stopped (SIGSTOP): what callers get, well before their deadline the first time, then at once.

`FOOTNOTE_FROZEN=all` also slows each stage down and has each flap, and prints the table of all.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from footnote.edge.v1.answers_pb2 import AskRequest, SearchRequest, SearchResponse
from footnote.edge.v1.documents_pb2 import ListDocumentsRequest
from footnote_kit.degradations import word
from footnote_kit.epochs import EpochReader, path_of
from footnote_kit.errors import FootnoteError
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client
from support.frozen import FAULTS

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(900)]

DEADLINE = 60.0
IN_TIME = 45.0
"""Seconds after which a caller has something, before its deadline, on a crowded machine: 8 to 12 for the call to be
ended, 6 where it is repeated, and what the edge does besides."""
AT_ONCE = 20.0
"""The same of a second call: another attempt to connect may be under way."""


async def ask(client: EdgeClient) -> str:
    last = None
    async for event in client.stub.Ask(AskRequest(question="What is fact 3?"), timeout=DEADLINE):
        last = event
    assert last is not None
    degraded = sorted(map(word, last.completed.degradations))
    return f"answered without {', '.join(degraded)}" if degraded else "answered"


async def search(client: EdgeClient) -> str:
    found = await client.stub.Search(SearchRequest(query="fact 3"), timeout=DEADLINE)
    return f"{len(found.chunks)} found"


async def documents(client: EdgeClient) -> str:
    listed = await client.stub.ListDocuments(ListDocumentsRequest(), timeout=DEADLINE)
    return f"{len(listed.documents)} listed"


async def upload(client: EdgeClient) -> str:
    await client.upload(b"Another fact %d." % time.time_ns(), "more.txt")
    return "accepted"


CALLS: dict[str, Callable[[EdgeClient], Awaitable[str]]] = {
    "Ask": ask,
    "Search": search,
    "ListDocuments": documents,
    "UploadDocument": upload,
}


DEGRADED, REFUSED = ("answered without",), ("UNAVAILABLE (STAGE_UNAVAILABLE)",)
WELL = ("answered", "accepted", *"123456789")
EXPECTED: dict[str, dict[str, tuple[str, ...]]] = {
    # Where it stops amid an upload, what it wrote of that one is not known.
    "indexing": {"Ask": ("answered without DOCUMENTS_STALE",)},
    "ingestion": {"ListDocuments": REFUSED, "UploadDocument": REFUSED},
    "retrieval": {"Ask": DEGRADED, "Search": REFUSED},
    "augmentation": {"Ask": DEGRADED},
    "generation": {"Ask": REFUSED},
}
"""How calls end while a stage is frozen, where it is not well; questions of a frozen indexing may be well, too."""
ALL = os.environ.get("FOOTNOTE_FROZEN") == "all"
Outcome = tuple[str, float]


async def timed(call: Callable[[EdgeClient], Awaitable[str]], client: EdgeClient) -> Outcome:
    """Return how a call ended, and after how many seconds."""
    began = time.monotonic()
    try:
        ended = await call(client)
    except FootnoteError as error:
        ended = f"{error.code} ({error.reason})"
    return ended, time.monotonic() - began


async def outcomes(running: Deployment, victim: str, fault: str) -> dict[str, list[Outcome]]:
    """Make each call twice while a stage has a fault; return how they ended. Afterwards all works again."""
    table: dict[str, list[Outcome]] = {}
    async with edge_client(running.address()) as client:
        with FAULTS[fault](running.processes[victim].pid):
            for name, call in CALLS.items():
                table[name] = [await timed(call, client) for _ in range(2)]
        async with asyncio.timeout(240):
            for call in CALLS.values():
                while True:
                    if is_well(await timed(call, client)):
                        break
                    await asyncio.sleep(0.5)
    return table


def is_well(outcome: Outcome) -> bool:
    """Return whether a call returned everything that it should."""
    return outcome[0].startswith(WELL) and not outcome[0].startswith(DEGRADED)


def test_a_frozen_stage_holds_nobody_up(tmp_path: Path) -> None:
    kinds = [*FAULTS] if ALL else ["frozen"]
    with deployment(tmp_path, separate=True) as running:

        async def look() -> dict[tuple[str, str], dict[str, list[Outcome]]]:
            async with edge_client(running.address()) as client:
                text = "\n\n".join(f"Fact {one} is {one * 7}." for one in range(20))
                await client.put(text.encode(), "facts.txt")
                for call in CALLS.values():
                    await call(client)
            return {(kind, stage): await outcomes(running, stage, kind) for kind in kinds for stage in EXPECTED}

        tables = asyncio.run(look())
    for (kind, stage), table in tables.items():
        for name, twice in table.items():
            shown = " | ".join(f"{ended} | {seconds:.1f} s" for ended, seconds in twice)
            print(f"| {kind} | {stage} | {name} | {shown} |")
    for (kind, stage), table in tables.items():
        for name, twice in table.items():
            for (ended, seconds), bound in zip(twice, (IN_TIME, AT_ONCE), strict=True):
                wanted = EXPECTED[stage].get(name, WELL) if kind == "frozen" else WELL
                well = stage == "indexing" and is_well((ended, seconds))
                assert well or ended.startswith(wanted), (kind, stage, name, twice)
                assert seconds < bound, (kind, stage, name, twice)


def test_searches_go_on_where_indexing_stops_amid_uploads(tmp_path: Path) -> None:
    with deployment(tmp_path, separate=True) as running:

        async def look() -> tuple[SearchResponse, str]:
            epoch = EpochReader(path_of(tmp_path, "indexing"))
            async with edge_client(running.address()) as client:
                await client.put(b"Fact 3 is 21.", "facts.txt")
                await ask(client)
                before = epoch.current()
                while epoch.current() == before:  # the search gets a response of an epoch that is not cached yet
                    await client.stub.Search(SearchRequest(query="fact 3"), timeout=DEADLINE)
                    before = epoch.current()
                    await client.upload(b"Fact %d." % time.time_ns(), "more.txt")
                    for _ in range(20):
                        if epoch.current() != before:
                            break
                        await asyncio.sleep(0.005)
                with FAULTS["frozen"](running.processes["indexing"].pid):
                    found = await client.stub.Search(SearchRequest(query="fact 3"), timeout=DEADLINE)
                    return found, await ask(client)

        found, answered = asyncio.run(look())
    assert [word(one) for one in found.degradations] == ["DOCUMENTS_STALE"]
    assert "Fact 3 is 21." in [chunk.chunk.text for chunk in found.chunks]
    assert answered == "answered without DOCUMENTS_STALE"
