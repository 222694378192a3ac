"""The systems of a run: a deployment, the bare engine, a model double, and operations on them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from bench.page.bare import SPACE, Bare, Query, RowOf, rows_of, write
from bench.page.calling import Caller
from bench.page.double import Double
from bench.page.texts import Texts
from footnote_providers.builtin import DIMENSIONS, embed
from footnote_store.rows import Row as StoreRow
from footnote_store.rows import encode_chunk
from footnote_text.lexical import lexical_text
from pymilvus import MilvusClient
from support.chunks import make_chunk
from support.deployment import Deployment

PER_DOCUMENT = 48
PATIENCE = 300.0
"""Seconds that a start may take: a bench on a busy machine is slow, not wrong."""
PASSAGE = 800  # characters, about what a chunk has


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    kind: str
    rounds: int
    small: int
    large: int
    mixed: int
    sizes: tuple[int, ...]
    searches: int
    seconds: float
    streams: tuple[int, ...]
    ask_seconds: float
    restarts: int


PLANS = {
    plan.kind: plan
    for plan in (
        Plan("tiny", 1, 2, 1, 6, (200,), 5, 0.5, (2,), 0.5, 0),
        Plan("quick", 1, 40, 20, 18, (10_000,), 100, 2.0, (1, 50, 200), 4.0, 1),
        Plan("full", 3, 200, 50, 60, (10_000,), 200, 5.0, (1, 50, 200), 10.0, 3),
    )
}


@dataclass
class World:
    """The systems of one run."""

    plan: Plan
    texts: Texts
    running: Deployment
    bare: Bare
    double: Double
    bare_start: float
    """Seconds that the bare engine took to start."""
    caller: Caller = field(init=False)
    say: Callable[[str], None] = lambda _: None
    _asked: int = 0

    def questions(self, count: int) -> list[str]:
        """Return questions not asked before, as far as there are any left."""
        every = self.texts.questions
        found = [every[(self._asked + at) % len(every)] for at in range(count)]
        self._asked += count
        return found

    async def stored(self) -> int:
        """Return how many rows the deployment's store holds."""
        return await asyncio.to_thread(count_rows, self.running.store_uri())

    async def fill(self, size: int) -> int:
        """Put made rows into both engines until the deployment's holds so many; return how many that were."""
        missing = max(0, size - await self.stored())
        for start in range(0, missing, 5_000):
            await asyncio.to_thread(self._fill, size - missing + start, min(5_000, missing - start))
        return missing

    def _fill(self, first: int, count: int) -> None:
        [like] = rows_of(self.running.store_uri(), most=1)
        rows = made_rows(self.texts, like, first, count)
        write(self.running.store_uri(), rows)
        self.bare.insert(rows)


def queries(questions: list[str]) -> list[Query]:
    """Return questions as the bare engine is asked them."""
    vectors = embed(questions, DIMENSIONS)
    return [
        Query(text, vector, lexical_text(text, "en"))
        for text, vector in zip(questions, np.asarray(vectors, dtype=np.float32), strict=True)
    ]


def made_rows(texts: Texts, like: RowOf, first: int, count: int) -> list[RowOf]:
    """Return rows of a row's tenant and collection, of texts cut again, with the vectors and terms that those have."""
    cut = [texts.text(10_000_000 + number, PASSAGE) for number in range(first, first + count)]
    vectors = [vector for at in range(0, count, 100) for vector in embed(cut[at : at + 100], DIMENSIONS)]
    rows = []
    for at, (text, vector) in enumerate(zip(cut, vectors, strict=True), first):
        chunk = make_chunk(
            text, document_id=f"filler-{at // PER_DOCUMENT:08d}", ordinal=at % PER_DOCUMENT, filename="filler.txt",
            tenant_id=like["tenant_id"], owner_id=like["owner_id"],
            collection_id=like["collection_key"].rpartition(":")[0],
        )  # fmt: skip
        stored = StoreRow(chunk, like["collection_key"], vector, lexical_text(text, "en"))
        rows.append(encode_chunk(stored, DIMENSIONS))
    return rows


def count_rows(uri: str) -> int:
    """Return how many rows an engine holds."""
    client = MilvusClient(uri, dedicated=True, timeout=PATIENCE)
    try:
        [found] = client.query(SPACE, filter='id != ""', output_fields=["count(*)"])
        return int(found["count(*)"])
    finally:
        client.close()


async def timed_start(running: Deployment) -> float:
    """Start a deployment; return seconds until every service says it is ready."""
    began = time.perf_counter()
    await asyncio.to_thread(running.start)
    return time.perf_counter() - began
