"""Changes that a kill interrupts are wholly visible or wholly absent within 5 s of the services' return.

At each moment three calls are under way that nobody will be answered: new tags on a document, a call that adds rows of
own vectors, and a deletion. The first moments are those at which a database shows the first half of a change; the
others are drawn. `FOOTNOTE_SEED` repeats them, and `pytest -s` prints how long each took.
"""

import asyncio
import os
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from footnote.edge.v1 import documents_pb2 as documents
from footnote.edge.v1 import vectors_pb2 as vectors
from footnote.edge.v1.chunks_pb2 import Chunk
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_kit.errors import FootnoteError, NotFound
from support import own_vectors
from support.deployment import Deployment
from support.edge_client import EdgeClient, edge_client

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(1200)]

SEED = int(os.environ.get("FOOTNOTE_SEED", "0")) or random.randrange(1, 10**6)
WITHIN = 5.0
"""Seconds after which nothing is half visible; where the machine is crowded, as long as the start has taken."""
PATIENCE = 60.0
ROWS = 200
PARAGRAPHS = 400


def shown(place: str, query: str) -> Callable[[Path, int], bool]:
    """Return a moment: when this query of a database finds something."""

    def look(folder: Path, number: int) -> bool:
        with closing(sqlite3.connect(f"file:{folder / place}?mode=ro", uri=True, timeout=5)) as connection:
            return connection.execute(query.format(number=number)).fetchone() is not None

    return look


MOMENTS: dict[str, Callable[[Path, int], bool]] = {
    "tags written": shown("ingestion/documents.db", "SELECT 1 FROM documents WHERE relabelled IS NOT NULL"),
    "deletion marked": shown("ingestion/documents.db", "SELECT 1 FROM documents WHERE delete_time IS NOT NULL"),
    "rows entered": shown(
        "indexing/indexing.db", "SELECT 1 FROM indexing_revisions WHERE document_id LIKE '%/n{number}-%'"
    ),
}
DELAYS = 5


@dataclass
class Things:
    """What the calls are about."""

    kept: str
    deleted: str
    collection: str
    number: int


def passed(moment: float) -> bool:
    return time.monotonic() >= moment


def text(name: str) -> bytes:
    facts = (f"Fact {line} of {name} is {line * 7} and is kept in the hall." for line in range(PARAGRAPHS))
    return "\n\n".join(facts).encode()


async def begin(client: EdgeClient, number: int, collection: str) -> Things:
    kept = await client.put(text(f"kept {number}"), f"kept-{number}.txt", tags=["old"])
    deleted = await client.put(text(f"deleted {number}"), f"deleted-{number}.txt", tags=["old"])
    return Things(kept.id, deleted.id, collection, number)


async def changes(client: EdgeClient, things: Things) -> None:
    """Make the three calls at once, and ignore their results."""
    tags = documents.UpdateDocumentRequest(document_id=things.kept, resource=documents.Document(tags=["new"]))
    rows = [VectorRow(id=f"n{things.number}-{row}", text=f"Row {row}", vector=[1.0, row + 1.0]) for row in range(ROWS)]
    calls = (
        client.stub.UpdateDocument(tags),
        client.stub.AddVectors(vectors.AddVectorsRequest(collection=things.collection, rows=rows)),
        client.stub.DeleteDocument(documents.DeleteDocumentRequest(document_id=things.deleted)),
    )
    await asyncio.gather(*calls, return_exceptions=True)


async def chunks(client: EdgeClient, collection: str, document_id: str = "") -> list[Chunk]:
    found: list[Chunk] = []
    token = ""
    where = f'{{"document_id": "{document_id}"}}' if document_id else ""
    while True:
        request = documents.QueryChunksRequest(collection=collection, page_size=1000, page_token=token)
        request.filter.json = where
        page = await client.stub.QueryChunks(request, timeout=PATIENCE)
        found += page.chunks
        if not (token := page.next_page_token):
            return found


async def half(client: EdgeClient, things: Things) -> list[str]:
    """Return what is visible by half."""
    found = []
    kept = (await client.stub.GetDocument(documents.GetDocumentRequest(document_id=things.kept))).document
    tags = {tuple(one.tags) for one in await chunks(client, "default", things.kept)}
    if tags != {tuple(kept.tags)}:
        found.append(f"the document has tags {list(kept.tags)}, its chunks {sorted(tags)}")
    there = True
    try:
        await client.stub.GetDocument(documents.GetDocumentRequest(document_id=things.deleted))
    except NotFound:
        there = False
    if there != bool(left := await chunks(client, "default", things.deleted)):
        found.append(f"the document is {'' if there else 'not '}listed, and {len(left)} chunks of it are found")
    mine = f"n{things.number}-"
    pages = await own_vectors.pages(client, things.collection, page_size=500)
    listed = {row.id for page in pages for row in page if row.id.startswith(mine)}
    seen = {one.document_id.rpartition("/")[2] for one in await chunks(client, things.collection)}
    seen = {one for one in seen if one.startswith(mine)}
    if listed != seen or len(listed) not in (0, ROWS):
        found.append(f"{len(listed)} of {ROWS} rows are listed, and {len(seen)} found")
    return found


async def settled(running: Deployment, things: Things) -> tuple[float, list[str]]:
    """Wait until nothing is half visible; return after how many seconds, and what was half visible at first."""
    begun, first = time.monotonic(), None
    async with edge_client(running.address()) as client, asyncio.timeout(PATIENCE):
        while True:
            asked = time.monotonic()
            found: list[str] = ["a call was refused"]
            with suppress(FootnoteError):
                found = await half(client, things)
            first = found if first is None else first
            if not found:
                return asked - begun, first
            await asyncio.sleep(0.1)


async def struck(running: Deployment, things: Things, moment: Callable[[], bool]) -> None:
    """Make the calls, and kill everything at a moment."""
    async with edge_client(running.address()) as client:
        calling = asyncio.create_task(changes(client, things))
        while not calling.done() and not await asyncio.to_thread(moment):
            pass
        await asyncio.to_thread(running.kill)
        await calling


def test_what_a_kill_interrupts_is_whole_within_seconds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(SEED)
    running = Deployment(tmp_path)
    moments: list[tuple[str, Callable[[Path, int], bool] | float]] = list(MOMENTS.items())
    moments += [(f"{delay:.3f} s later", delay) for delay in (chance.uniform(0, 0.3) for _ in range(DELAYS))]
    too_long = []
    try:
        running.start()

        async def prepared(number: int, collection: str) -> Things:
            async with edge_client(running.address()) as client:
                return await begin(client, number, collection or await own_vectors.create(client, dimensions=2))

        collection = ""
        for number, (name, moment) in enumerate(moments):
            things = asyncio.run(prepared(number, collection))
            collection = things.collection
            ends = time.monotonic() + (0.0 if callable(moment) else moment)
            look = partial(moment, tmp_path, number) if callable(moment) else partial(passed, ends)
            asyncio.run(struck(running, things, look))
            begun = time.monotonic()
            running.start()
            started = time.monotonic() - begun
            seconds, first = asyncio.run(settled(running, things))
            with capsys.disabled():
                print(f"{name}: back after {started:.1f} s, whole {seconds:.1f} s later; at first {first}", flush=True)
            if seconds > max(WITHIN, started):
                too_long.append((name, seconds, started, first))
        assert not too_long, f"FOOTNOTE_SEED={SEED}: {too_long}"
    finally:
        running.stop()
