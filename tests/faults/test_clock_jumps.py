"""The wall clock jumps by an hour or a day, forward and back, while documents come in: nothing stops or is lost."""

import asyncio
import time
from pathlib import Path

import pytest
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.documents_pb2 import DownloadDocumentRequest, UpdateDocumentRequest
from footnote.types.v1 import document_pb2 as doc
from footnote_kit.errors import Unavailable
from google.protobuf.field_mask_pb2 import FieldMask
from support import faked_time
from support.deployment import Deployment
from support.edge_client import EdgeClient, edge_client

HOUR, DAY = 3600, 86_400
JUMPS = {"an hour on": HOUR, "an hour back": -HOUR, "a day on": DAY, "a day back": -DAY}
PATIENCE = 60.0

pytestmark = [
    pytest.mark.full,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif((reason := faked_time.why_not()) is not None, reason=str(reason)),
]


@pytest.mark.parametrize("jump", JUMPS)
async def test_work_goes_on_over_a_jump_of_the_clock(tmp_path: Path, jump: str) -> None:
    clock = faked_time.Clock(tmp_path)
    env = {**clock.environment, "FOOTNOTE_INGESTION_SWEEP_SECONDS": "0.2", "FOOTNOTE_EDGE_RECONCILE_SECONDS": "1"}
    running = Deployment(tmp_path, env=env)
    try:
        await asyncio.to_thread(running.start)
        async with edge_client(running.address()) as client:
            before = [await put(client, f"before-{one}") for one in range(2)]
            asyncio.get_running_loop().call_later(0.5, clock.put, JUMPS[jump])
            during: list[str] = []
            ends = time.monotonic() + 4
            while time.monotonic() < ends:
                during += await asyncio.gather(*(put(client, f"during-{len(during)}-{one}") for one in range(4)))
            after = [await put(client, f"after-{one}") for one in range(2)]
            clock.put(0)
            last = await put(client, "last")
            for name in [*before, *during, *after, last]:
                found = await client.stub.Search(SearchRequest(query=f"watchword {name.replace('-', '')}"), timeout=30)
                assert any(hit.chunk.filename == f"{name}.txt" for hit in found.chunks), name
            listed = await client.documents("default")
            assert {one.state for one in listed} == {doc.DOCUMENT_STATE_INDEXED}
    finally:
        await asyncio.to_thread(running.stop)


async def put(client: EdgeClient, name: str) -> str:
    """Upload a document with a word of its own, wait until it is searchable, and return its name."""
    content = f"The watchword is {name.replace('-', '')}.".encode()
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                document = await client.put(content, f"{name}.txt")
                break
            except Unavailable as error:  # its stream to ingestion began just before the jump: clients repeat it
                if "The clock was set" not in error.message:
                    raise
    assert document.state == doc.DOCUMENT_STATE_INDEXED, document
    return name


async def test_a_clock_set_ahead_by_a_year_deletes_nothing(tmp_path: Path) -> None:
    clock = faked_time.Clock(tmp_path)
    running = Deployment(tmp_path, env={**clock.environment, "FOOTNOTE_INGESTION_SWEEP_SECONDS": "0.2"})
    try:
        await asyncio.to_thread(running.start)
        async with edge_client(running.address()) as client:
            await put(client, "lasting")
            (document,) = await client.documents("default")
            change = UpdateDocumentRequest(document_id=document.id, update_mask=FieldMask(paths=["expire_time"]))
            change.resource.expire_time.FromSeconds(int(time.time()) + DAY)
            await client.stub.UpdateDocument(change)
            clock.put(400 * DAY)
            await asyncio.sleep(6)  # both stages' sweeps have run several times
            assert await client.documents("default") == []  # it has expired, by this clock
            clock.put(0)
            assert [one.id for one in await client.documents("default")] == [document.id]
            found = await client.stub.Search(SearchRequest(query="watchword lasting"), timeout=30)
            assert [hit.chunk.document_id for hit in found.chunks] == [document.id]
            file = client.stub.DownloadDocument(DownloadDocumentRequest(document_id=document.id), timeout=30)
            assert b"".join([part.data async for part in file]) == b"The watchword is lasting."
    finally:
        await asyncio.to_thread(running.stop)
