"""A whole collection is cut again, then embedded again, while it is searched without a pause.

Every sentence of the documents carries a mark of its own, so that an answer limited to one document must hold each mark
exactly once: one missing was lost in the change, one found twice came from two revisions at once.
`FOOTNOTE_REINDEX_SECONDS=600` goes on changing the collection for so long.
"""

from __future__ import annotations

import asyncio
import collections
import itertools
import os
import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.chunks_pb2 import Chunk
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, GetCollectionRequest, UpdateCollectionRequest
from footnote.edge.v1.documents_pb2 import ReindexDocumentsRequest
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings, RetrievalSettings
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from google.protobuf.field_mask_pb2 import FieldMask
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient
from support.operations import ended

SECONDS = float(os.environ.get("FOOTNOTE_REINDEX_SECONDS", "0"))
"""How long to go on changing the collection; 0 for one change of each kind."""

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(400 + 2 * SECONDS)]

NAME = "changing"
DOCUMENTS, PARAGRAPHS, SENTENCES = 60, 18, 7
SIZES, LENGTHS = (1000, 500), (384, 256)
SEARCHERS = 2
MARK = re.compile(r"m\d{2}x\d{2}x\d")
WORDS = [
    "amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "heron", "islet", "jetty", "kayak", "ledge",
    "maple", "north", "ocean", "pearl", "quill", "ridge", "spruce", "thorn", "umber", "vapor", "wharf", "yacht",
    "zephyr", "anchor", "beacon", "canyon", "dune", "estuary",
]  # fmt: skip


@dataclass(slots=True)
class Seen:
    """What the searches were given."""

    searches: int = 0
    fewest: int = 10**6
    """Chunks in the shortest answer to a question about all documents."""
    wrong: list[str] = field(default_factory=list)
    revisions: collections.Counter[int] = field(default_factory=collections.Counter)


def text(number: int) -> str:
    """One document: paragraphs that fill a chunk of 1000 characters and not one of 500."""
    chooser = random.Random(number)
    lines = [f"# Report {number:02d} about topic{number:02d}"]
    for paragraph in range(PARAGRAPHS):
        sentences = [
            f"The topic{number:02d} note m{number:02d}x{paragraph:02d}x{sentence} tells of "
            + " ".join(chooser.choices(WORDS, k=12))
            + "."
            for sentence in range(SENTENCES)
        ]
        lines.append(" ".join(sentences))
    return "\n\n".join(lines)


def marks(number: int) -> collections.Counter[str]:
    """Every mark of a document, once."""
    return collections.Counter(MARK.findall(text(number)))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Deployment]:
    """One process with everything.

    Searches without a pause beside a reindex keep a machine of few cores so busy that one of them may take longer than
    a new revision's usual headstart.
    """
    with deployment(tmp_path, env={"FOOTNOTE_INDEXING_HEADSTART": "1"}) as started:
        yield started


async def search(edge: EdgeClient, query: str, limit: int, *document_ids: str) -> list[Chunk]:
    """Search; nothing may be missing from the answer because a part of the service did not do its work."""
    request = SearchRequest(
        query=query, collections=[NAME], document_ids=document_ids, settings=RetrievalSettings(limit=limit)
    )
    response = await edge.stub.Search(request, timeout=30)
    assert not response.degradations, response.degradations
    return [scored.chunk for scored in response.chunks]


async def look(edge: EdgeClient, ids: Sequence[str], chooser: random.Random, seen: Seen) -> None:
    """Search one document, then all of them."""
    number = chooser.randrange(DOCUMENTS)
    inside = await search(edge, f"what does the topic{number:02d} note tell", 100, ids[number])
    found = collections.Counter(mark for chunk in inside for mark in MARK.findall(chunk.text))
    revisions = sorted({chunk.revision for chunk in inside})
    if found != marks(number):
        lost, twice = marks(number) - found, found - marks(number)
        seen.wrong.append(f"document {number} in revisions {revisions}: {len(lost)} marks lost, {len(twice)} twice")
    seen.revisions.update(revisions)
    everywhere = await search(edge, " ".join(chooser.sample(WORDS, 3)), 20)
    places = sorted((c.document_id, c.locator.span.start, c.locator.span.end) for c in everywhere)
    doubled = [one for one, other in pairwise(places) if one[0] == other[0] and one[2] > other[1]]
    if doubled:
        seen.wrong.append(f"overlapping chunks in one answer: {doubled[:3]}")
    seen.fewest = min(seen.fewest, len(everywhere))
    seen.searches += 2


async def watch(edge: EdgeClient, ids: Sequence[str], seed: int, seen: Seen, until: asyncio.Event) -> None:
    """Search without a pause."""
    chooser = random.Random(seed)
    while not until.is_set():
        await look(edge, ids, chooser, seen)


async def change(edge: EdgeClient, settings: CollectionSettings, path: str) -> None:
    """Change a setting and reindex every document."""
    request = UpdateCollectionRequest(
        collection=NAME, resource=Collection(settings=settings), update_mask=FieldMask(paths=[path])
    )
    await edge.stub.UpdateCollection(request)
    before = {document.id: document.revision for document in await edge.documents(NAME)}
    begun = await edge.stub.ReindexDocuments(ReindexDocumentsRequest(collection=NAME), timeout=60)
    last = await ended(edge.stub, begun.operation, timeout=200)
    assert (last.total, last.done) == (DOCUMENTS, DOCUMENTS)
    documents = await edge.documents(NAME)
    assert all(document.state == DOCUMENT_STATE_INDEXED for document in documents)
    assert all(document.indexed_revision == before[document.id] + 1 for document in documents)


async def chunk_count(edge: EdgeClient) -> int:
    """How many chunks the collection has."""
    return (await edge.stub.GetCollection(GetCollectionRequest(collection=NAME))).collection.chunk_count


async def test_searches_see_every_sentence_once_while_a_collection_changes(
    edge: EdgeClient, capsys: pytest.CaptureFixture[str]
) -> None:
    chunking = {"size": SIZES[0], "overlap_percent": 0}
    collection = Collection(name=NAME, settings=CollectionSettings(chunking=chunking))
    await edge.stub.CreateCollection(CreateCollectionRequest(collection=collection))
    accepted = [await edge.upload(text(n).encode(), f"report-{n:02d}.md", NAME) for n in range(DOCUMENTS)]
    ids = [(await edge.settle(one.document.id)).id for one in accepted]
    counts = [await chunk_count(edge)]
    assert counts[0] > 1000

    seen, until, chooser = Seen(), asyncio.Event(), random.Random(0)
    await look(edge, ids, chooser, seen)
    started = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for seed in range(1, SEARCHERS + 1):
            group.create_task(watch(edge, ids, seed, seen, until))
        try:
            for turn in itertools.count(1):
                resized = CollectionSettings(chunking={"size": SIZES[turn % 2]})
                await change(edge, resized, "settings.chunking.size")
                counts.append(await chunk_count(edge))
                await look(edge, ids, chooser, seen)
                remodelled = CollectionSettings(embedding={"dimensions": LENGTHS[turn % 2]})
                await change(edge, remodelled, "settings.embedding.dimensions")
                await look(edge, ids, chooser, seen)
                if time.monotonic() - started >= SECONDS:
                    break
        finally:
            until.set()
    elapsed = time.monotonic() - started
    with capsys.disabled():
        print(
            f"\n{DOCUMENTS} documents, {' then '.join(map(str, counts))} chunks: {seen.searches} searches in "
            f"{elapsed:.1f} s ({60 * seen.searches / elapsed:.0f} a minute), answers by revision "
            f"{dict(sorted(seen.revisions.items()))}, shortest answer {seen.fewest} chunks, {len(seen.wrong)} wrong"
        )
    assert seen.wrong == []
    assert seen.fewest > 0
    assert counts[1] > counts[0]
    assert sorted(seen.revisions) == list(range(1, 2 * len(counts)))
