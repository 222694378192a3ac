"""The vector engine of a whole deployment is frozen (SIGSTOP): callers of the public API get an error within 20 s."""

import asyncio
import time
from pathlib import Path

import psutil
import pytest
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.documents_pb2 import Document, GetDocumentRequest
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED, WAITING_REASON_STORE_UNAVAILABLE
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client
from support.frozen import frozen

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(300)]

SAID_WITHIN = 20.0
"""Seconds from an upload until its document says what it waits for."""


def engine_of(running: Deployment) -> int:
    """Return the process id of the engine."""
    for process in running.processes.values():
        for child in psutil.Process(process.pid).children(recursive=True):
            if child.cmdline()[:1] and child.cmdline()[0].endswith("/milvus"):
                return child.pid
    raise LookupError("the deployment runs no engine")


async def state_of(client: EdgeClient, document_id: str) -> Document:
    return (await client.stub.GetDocument(GetDocumentRequest(document_id=document_id))).document


async def look(running: Deployment) -> float:
    """Upload while the engine is frozen, and return after how many seconds the document has its waiting reason."""
    async with edge_client(running.address()) as client:
        await client.put(b"The first fact is 7.", "before.txt")
        with frozen(engine_of(running)):
            began = time.monotonic()
            document = (await client.upload(b"The second fact is 14.", "during.txt")).document
            async with asyncio.timeout(240):
                while not document.waiting_reason:
                    await asyncio.sleep(0.1)
                    document = await state_of(client, document.id)
            said = time.monotonic() - began
            found = await client.stub.Search(SearchRequest(query="Which is the first fact?"), timeout=60)
        assert document.waiting_reason == WAITING_REASON_STORE_UNAVAILABLE
        assert "vector store" in document.waiting_message
        assert found.degradations
        assert (await client.settle(document.id)).state == DOCUMENT_STATE_INDEXED
    return said


def test_a_document_and_a_search_say_so_within_20_s_and_go_on(tmp_path: Path) -> None:
    with deployment(tmp_path) as running:
        said = asyncio.run(look(running))
    print(f"a document said that the store stands still {said:.1f} s after its upload began")
    assert said < SAID_WITHIN
