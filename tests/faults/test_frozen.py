"""A stage that is stopped (SIGSTOP): the calls that it does not hold up to their deadline, and what they get instead.

`FOOTNOTE_FROZEN=all` makes the other calls too, and prints the table of all.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from footnote.edge.v1.answers_pb2 import AskRequest, SearchRequest
from footnote.edge.v1.documents_pb2 import ListDocumentsRequest
from footnote_kit.errors import FootnoteError
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client
from support.frozen import freeze, thaw

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

DEADLINE = 30.0
IN_TIME = 20.0
"""Seconds after which a caller has something, well before its deadline, on a crowded machine."""


async def ask(client: EdgeClient) -> str:
    last = None
    async for event in client.stub.Ask(AskRequest(question="What is fact 3?"), timeout=DEADLINE):
        last = event
    assert last is not None
    degraded = [one.reason for one in last.completed.degradations]
    return f"answered{', degraded: ' + ', '.join(map(str, degraded)) if degraded else ''}"


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


HELD = {
    "indexing": ("Ask", "Search", "ListDocuments"),
    "ingestion": ("Ask", "Search"),
    "retrieval": ("Ask", "ListDocuments", "UploadDocument"),
    "augmentation": ("Ask", "Search", "ListDocuments", "UploadDocument"),
    "generation": ("Search", "ListDocuments", "UploadDocument"),
}
"""The calls that end in time while a stage is frozen."""
ALL = os.environ.get("FOOTNOTE_FROZEN") == "all"


async def outcomes(running: Deployment, victim: str) -> dict[str, tuple[str, float]]:
    """Make each call, and again while a stage is stopped; return how the second ended and after how long."""
    process = running.processes[victim]
    table: dict[str, tuple[str, float]] = {}
    async with edge_client(running.address()) as client:
        for call in CALLS.values():
            await call(client)
        freeze(process.pid)
        try:
            for name in CALLS if ALL else HELD[victim]:
                call = CALLS[name]
                began = time.monotonic()
                try:
                    ended = await call(client)
                except FootnoteError as error:
                    ended = f"{error.code} ({error.reason})"
                table[name] = (ended, time.monotonic() - began)
        finally:
            thaw(process.pid)
        async with asyncio.timeout(60):
            while True:
                try:
                    await ask(client)
                    await search(client)
                    break
                except FootnoteError:
                    await asyncio.sleep(0.5)
    return table


def test_a_frozen_stage_holds_nobody_up(tmp_path: Path) -> None:
    with deployment(tmp_path, separate=True) as running:

        async def look() -> dict[str, dict[str, tuple[str, float]]]:
            async with edge_client(running.address()) as client:
                text = "\n\n".join(f"Fact {one} is {one * 7}." for one in range(20))
                await client.put(text.encode(), "facts.txt")
            return {stage: await outcomes(running, stage) for stage in HELD}

        tables = asyncio.run(look())
    for stage, table in tables.items():
        for name, (ended, seconds) in table.items():
            print(f"| {stage} | {name} | {ended} | {seconds:.1f} s |")
    for stage, names in HELD.items():
        for name in names:
            ended, seconds = tables[stage][name]
            assert seconds < IN_TIME, (stage, name)
            assert ended.startswith(("answered", "accepted")) or ended[0] in "123456789", (stage, name, ended)
