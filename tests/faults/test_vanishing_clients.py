"""Hundreds of callers that disconnect before they are answered: later callers are served at once.

`FOOTNOTE_VANISHING=5000` asks for that many calls.
"""

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
from footnote.ingestion.v1 import ingestion_service_pb2 as pb
from footnote.internal.ingestion.v1alpha1 import upkeep_service_pb2 as upkeep
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_ingestion.app import build
from footnote_kit.errors import FootnoteError
from footnote_kit.testing import serve_app
from support.ingestion_client import Client

CALLS = int(os.environ.get("FOOTNOTE_VANISHING", "400"))
AT_ONCE = 20
DEADLINE = 0.05
PATIENCE = 10.0
"""Seconds for a later call: far more than any takes, far less than a leaked lock was held."""

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
async def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    """A client of ingestion that sweeps five times a second."""
    monkeypatch.setenv("FOOTNOTE_INGESTION_SWEEP_SECONDS", "0.2")
    async with serve_app(build, data_dir=tmp_path) as served:
        yield Client(served)


async def test_callers_that_vanish_hold_nobody_up(client: Client) -> None:
    chance = random.Random(19)
    documents = [(await client.upload(b"Document %d." % one, f"{one}.txt")).document.id for one in range(10)]
    gone = 0

    async def call(number: int) -> None:
        nonlocal gone
        stub, scope, chosen = client.stub, client.scope, chance.choice(documents)
        tagged = Document(tags=[str(number)])
        mask = {"paths": ["tags"]}
        update = pb.UpdateDocumentRequest(scope=scope, document_id=chosen, resource=tagged, update_mask=mask)
        head = pb.UploadMetadata(collection_id="c", filename="a.txt", allow_duplicate=True)
        parts = iter([pb.UploadDocumentRequest(scope=scope, metadata=head), pb.UploadDocumentRequest(data=b"Text.")])
        timeout = chance.uniform(0, DEADLINE)
        one = chance.choice(
            (
                lambda: stub.UpdateDocument(update, timeout=timeout),
                lambda: stub.UploadDocument(parts, timeout=timeout),
                lambda: stub.ListDocuments(pb.ListDocumentsRequest(scope=scope), timeout=timeout),
                lambda: client.upkeep.BeginDeletion(
                    upkeep.BeginDeletionRequest(scope=scope, document_id=chosen, undo=True), timeout=timeout
                ),
            )
        )
        try:
            await one()
        except (FootnoteError, grpc.aio.AioRpcError):
            gone += 1

    for first in range(0, CALLS, AT_ONCE):
        await asyncio.gather(*(call(first + one) for one in range(AT_ONCE)))
        began = time.monotonic()
        async with asyncio.timeout(PATIENCE):
            after = (await client.upload(b"After %d." % first, f"after-{first}.txt")).document
            assert (await client.list(page_size=1)).total_size
        assert time.monotonic() - began < PATIENCE
        documents.append(after.id)
    assert gone > CALLS // 10, "hardly anybody vanished"
