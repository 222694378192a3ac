"""kill -9 of the indexing service in the middle of its work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.stages.v1 import parsing_pb2, stored_document_pb2
from footnote_kit.errors import FootnoteError
from footnote_kit.testing import stage_channel
from footnote_store.filters import RowScope
from footnote_store.store import VectorStore
from google.protobuf import timestamp_pb2
from support.blocks import article, text_of
from support.indexing import Client, requests
from support.indexing_process import IndexingProcess

pytestmark = [pytest.mark.full, pytest.mark.slow]
UPLOADED = timestamp_pb2.Timestamp(seconds=1_790_000_000)


async def index_until(
    client: Client, collection_id: str, document_id: str, blocks: list[parsing_pb2.Block], stored: int
) -> None:
    """Index until so many chunks are stored, then return with the call open and the document not sent to its end."""
    header = stored_document_pb2.Document(
        id=document_id, collection_id=collection_id, revision=1, filename=f"{document_id}.md", create_time=UPLOADED
    )

    async def most() -> AsyncIterator[pb.IndexDocumentRequest]:
        sent = [request async for request in requests(client.scope, header, blocks, batch=20)]
        for request in sent[: len(sent) * 4 // 5]:
            yield request
        await asyncio.Event().wait()

    async for event in client.stub.IndexDocument(most(), timeout=60):
        if event.progress.chunks_stored >= stored:
            return


async def test_nothing_is_missing_and_nothing_doubled_after_kill_and_restart(uri: str, tmp_path: Path) -> None:
    documents = {f"kill-{n}": article(sections=500, paragraphs=1, seed=f"Kill{n}") for n in range(3)}
    collection_id = ""
    for kill, at in enumerate((1, 150, 300)):
        process = IndexingProcess(tmp_path, uri)
        try:
            async with stage_channel(process.address, "indexing") as channel:
                client = Client(channel)
                if not collection_id:
                    collection_id = (await client.create("killed")).id
                try:
                    await index_until(client, collection_id, f"kill-{kill}", documents[f"kill-{kill}"], at)
                except FootnoteError as error:
                    pytest.fail(f"too early: {error}")
                process.kill()
        finally:
            process.kill()
    process = IndexingProcess(tmp_path, uri)
    store = VectorStore(uri)
    try:
        async with stage_channel(process.address, "indexing") as channel:
            client = Client(channel)
            [item] = (await client.locate("killed")).collections
            expr = RowScope("t", [item.collection_key], item.hidden_revisions, time.time()).rows()
            assert await store.count(item.space, expr) == 0, "a half-written revision can be seen"
            assert await store.count(item.space, f'collection_key == "{item.collection_key}"') > 0
            results = await asyncio.gather(
                *(
                    client.index(collection_id, document_id, blocks, create_time=UPLOADED)
                    for document_id, blocks in documents.items()
                )
            )
            assert all(r.chunks_stored == r.chunks_expected > 0 for r in results)
            assert sum(r.embedded + r.cache_hits for r in results) < sum(r.chunks_stored for r in results)
            [item] = (await client.locate("killed")).collections
            expr = RowScope("t", [item.collection_key], item.hidden_revisions, time.time()).rows()
            chunks = await store.query(item.space, expr, 10_000)
            assert len(chunks) == sum(r.chunks_stored for r in results)
            assert len({chunk.id for chunk in chunks}) == len(chunks)
            for document_id, blocks in documents.items():
                mine = [chunk for chunk in chunks if chunk.document_id == document_id]
                assert len({chunk.text for chunk in mine}) == len(mine)
                covered = {n for c in mine for n in range(c.locator.span.start, c.locator.span.end)}
                missing = [c for n, c in enumerate(text_of(blocks)) if n not in covered and not c.isspace()]
                assert not missing
            stats = (await client.stub.GetIndexStats(pb.GetIndexStatsRequest(scope=client.scope))).collections
            assert [(s.rows, s.visible_rows) for s in stats] == [(len(chunks), len(chunks))]
    finally:
        await store.close()
        process.kill()
