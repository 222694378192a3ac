"""Company filings through the public API: is the right document among the ten best passages, and the right page?

The embedding provider by FOOTNOTE_BENCH_PROVIDER, "builtin" unless set, or "onnx:FOLDER". One question of the thirty is
0.033, so read no meaning into a difference under 0.1. Pages a second run from the first byte sent until every file is
searchable, by its words at least, and until every passage has its vector.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pytest
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.chunks_pb2 import Chunk
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, GetCollectionRequest
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from rich.console import Console
from rich.table import Table
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client
from support.shared import shared_dir

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(3600)]

PROVIDER = os.environ.get("FOOTNOTE_BENCH_PROVIDER", "builtin")
FIRST = 10


def pages(chunk: Chunk) -> set[int]:
    """The pages that a passage stands on, counted from 0."""
    places = [chunk.locator, *(anchor.locator for anchor in chunk.anchors)]
    return {
        page - 1
        for place in places
        if place.HasField("page")
        for page in range(place.page.page, max(place.page.page, place.page.last_page) + 1)
    }


async def fill(client: EdgeClient, files: Sequence[Path]) -> None:
    wanted = Collection(name="filings")
    wanted.settings.embedding.provider, _, wanted.settings.embedding.model = PROVIDER.partition(":")
    await client.stub.CreateCollection(CreateCollectionRequest(collection=wanted))
    count, began = sum(len(pdfium.PdfDocument(path)) for path in files), time.perf_counter()
    accepted = [await client.upload(path, collection="filings") for path in files]
    settled = await asyncio.gather(*(client.settle(one.document.id, timeout=3000) for one in accepted))
    assert all(document.state == DOCUMENT_STATE_INDEXED for document in settled)
    print(f"\n{count} pages: searchable at {count / (time.perf_counter() - began):.0f}/s")
    # Vectors that follow the words are made by another service: there is no event to wait for.
    while await without_vector(client):  # noqa: ASYNC110
        await asyncio.sleep(1)
    print(f"every passage with its vector at {count / (time.perf_counter() - began):.1f} pages/s")


async def without_vector(client: EdgeClient) -> int:
    """Return how many passages are found by their words alone yet."""
    found = await client.stub.GetCollection(GetCollectionRequest(collection="filings"))
    return int(found.collection.chunks_without_vector)


def dataset() -> tuple[list[dict[str, Any]], list[Path]]:
    """The questions, and the files that they ask about."""
    shared = shared_dir()
    folder = shared / "data" / "financebench-dev" if shared else None
    if folder is None or not folder.is_dir():
        pytest.skip("the shared data with FinanceBench's questions is not here")
    lines = (folder / "questions.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines], sorted((folder / "pdfs").glob("*.pdf"))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Deployment]:
    """A deployment whose searches may take long."""
    # What is found is measured here, not how soon.
    patience = {f"FOOTNOTE_RETRIEVAL_{name}_TIMEOUT": "50" for name in ("EMBED", "DENSE", "LEXICAL", "READ")}
    with deployment(tmp_path, env=patience) as started:
        yield started


async def test_filings_are_found_by_document_and_by_page(running: Deployment) -> None:
    questions, filings = dataset()
    documents = right_pages = 0
    table = Table(title=f"Filings, {PROVIDER}: place of the first passage of the right document, of the right page")
    for heading in ("question", "document", "page"):
        table.add_column(heading)
    async with edge_client(running.address()) as client:
        await fill(client, filings)
        for asked in questions:
            request = SearchRequest(query=asked["question"], collections=["filings"])
            request.settings.limit = FIRST
            found = [scored.chunk for scored in (await client.stub.Search(request)).chunks]
            places = [place for place, chunk in enumerate(found, 1) if chunk.filename == asked["document"]]
            exact = [place for place in places if pages(found[place - 1]) & set(asked["pages"])]
            documents += bool(places)
            right_pages += bool(exact)
            table.add_row(asked["question"][:80], str(min(places, default="-")), str(min(exact, default="-")))
    console = Console(width=120)
    console.print(table)
    count = len(questions)
    console.print(f"among the first {FIRST}: document {documents / count:.3f}, page {right_pages / count:.3f}")
    # None of these questions chose how names count (`ranking/affinity.py`).
    assert documents / count >= 0.92
    assert right_pages / count >= 0.52
