"""Chunks that vanish from the store behind everybody's back are noticed and written again from the document's bytes."""

import asyncio
import json
from pathlib import Path

from footnote.edge.v1 import documents_pb2 as pb
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_store.store import VectorStore
from support.deployment import deployment
from support.edge_client import EdgeClient, edge_client

OFTEN = {"FOOTNOTE_INDEXING_RECOVERY_INTERVAL": "0.5", "FOOTNOTE_EDGE_RECONCILE_SECONDS": "0.5"}
PATIENCE = 90.0


async def ordinals(edge: EdgeClient, document_id: str) -> list[tuple[int, int]]:
    """Revision and ordinal of each chunk that can be found."""
    request = pb.QueryChunksRequest(collection="default", where=json.dumps({"document_id": document_id}), limit=1000)
    return [(chunk.revision, chunk.ordinal) for chunk in (await edge.stub.QueryChunks(request)).chunks]


async def mended(edge: EdgeClient, document_id: str, whole: list[tuple[int, int]]) -> None:
    """Wait until these chunks are found."""
    while True:
        if await ordinals(edge, document_id) == whole:
            return
        await asyncio.sleep(0.1)


def test_lost_chunks_are_written_again(tmp_path: Path) -> None:
    with deployment(tmp_path, env=OFTEN) as running:

        async def lose_and_wait() -> None:
            store = VectorStore(running.store_uri())
            async with edge_client(running.address()) as edge:
                text = "\n\n".join(
                    f"Rule {n}: " + "everybody keeps to it, every day of the year. " * 15 for n in range(12)
                )
                document = await edge.put(text.encode(), "rules.txt")
                assert document.state == DOCUMENT_STATE_INDEXED
                whole = await ordinals(edge, document.id)
                assert len(whole) > 5
                space = await store.ensure_space(384)
                assert await store.delete(space, f'document_id == "{document.id}" and ordinal == 3') == 1
                assert len(await ordinals(edge, document.id)) == len(whole) - 1
                async with asyncio.timeout(PATIENCE):
                    await mended(edge, document.id, [(2, ordinal) for _, ordinal in whole])
            await store.close()

        asyncio.run(lose_and_wait())
