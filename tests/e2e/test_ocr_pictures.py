"""OCR reads pictures within documents where the collection asks for it: searched, with their place, at every step."""

from __future__ import annotations

import asyncio
import io
import shutil
from pathlib import Path

import docx
import pytest
from docx.shared import Inches
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, UpdateCollectionRequest
from footnote.edge.v1.documents_pb2 import ReindexDocumentsRequest
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings
from footnote.types.v1.document_pb2 import WARNING_KIND_CONTENT_LEFT_OUT, WARNING_KIND_TEXT_RECOGNISED
from google.protobuf.field_mask_pb2 import FieldMask
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client
from support.lettering import lettering

pytestmark = [
    pytest.mark.full,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        shutil.which("tesseract") is None, reason="tesseract is missing (apt-get install tesseract-ocr)"
    ),
]
KEY = "The spare key hangs in room 12."


def letter() -> bytes:
    document = docx.Document()
    document.add_heading("Keys", 1)
    document.add_paragraph("All keys are shown below.")
    document.add_picture(io.BytesIO(lettering(KEY)), width=Inches(3))
    made = io.BytesIO()
    document.save(made)
    return made.getvalue()


async def found(client: EdgeClient, collection: str) -> list[str]:
    """Return the headings above the passages that hold the words of the picture."""
    request = SearchRequest(query="Where does the spare key hang?", collections=[collection])
    chunks = (await client.stub.Search(request)).chunks
    return ["/".join(one.chunk.locator.heading_path) for one in chunks if KEY in one.chunk.text]


async def look(running: Deployment) -> None:
    async with edge_client(running.address()) as client:
        made = {}
        for name, settings in {"read": CollectionSettings(ocr_pictures=True), "unread": CollectionSettings()}.items():
            await client.stub.CreateCollection(
                CreateCollectionRequest(collection=Collection(name=name, settings=settings))
            )
            made[name] = await client.put(letter(), "keys.docx", name)
        assert [one.kind for one in made["read"].warnings] == [WARNING_KIND_TEXT_RECOGNISED]
        assert [one.kind for one in made["unread"].warnings] == [WARNING_KIND_CONTENT_LEFT_OUT]
        assert [list(one.warnings[0].places[0].heading_path) for one in made.values()] == [["Keys"], ["Keys"]]
        assert await found(client, "read") == ["Keys"]
        assert await found(client, "unread") == []

        changed = Collection(settings=CollectionSettings(ocr_pictures=True))
        mask = FieldMask(paths=["settings.ocr_pictures"])
        await client.stub.UpdateCollection(
            UpdateCollectionRequest(collection="unread", resource=changed, update_mask=mask)
        )
        document = made["unread"]
        await client.stub.ReindexDocuments(ReindexDocumentsRequest(document_ids=[document.id]))
        async with asyncio.timeout(240):
            while not await found(client, "unread"):  # noqa: ASYNC110 - asked of other processes
                await asyncio.sleep(0.2)
        assert [one.kind for one in (await client.settle(document.id)).warnings] == [WARNING_KIND_TEXT_RECOGNISED]


def test_a_collection_asks_for_it_and_documents_that_are_there_are_read_so_when_indexed_again(tmp_path: Path) -> None:
    with deployment(tmp_path, env={"FOOTNOTE_INGESTION_OCR_LANGUAGES": "eng"}) as running:
        asyncio.run(look(running))
