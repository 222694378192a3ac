"""A footnote leads to the file that it was made of, whatever became of a replacement: gRPC, HTTP, command line."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest
from footnote.edge.v1 import documents_pb2 as docs
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.types.v1.answer_pb2 import Citation
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED
from footnote_kit.errors import NotFound
from pypdf import PdfWriter
from support.deployment import Deployment
from support.edge_client import EdgeClient

OLD = b"# Harbour\n\nThe old lighthouse of Brenmouth is 41 metres high and was built in 1872.\n"
NEW = b"# Harbour\n\nThe old lighthouse of Brenmouth is 43 metres high since its lamp was renewed.\n"


def blank() -> bytes:
    """A paper that is accepted and holds no text, so that its processing fails."""
    writer, buffer = PdfWriter(), BytesIO()
    writer.add_blank_page(200, 200)
    writer.write(buffer)
    return buffer.getvalue()


async def replaced(edge: EdgeClient, document_id: str, data: bytes, filename: str) -> docs.Document:
    def messages() -> Iterator[docs.ReplaceDocumentRequest]:
        head = docs.ReplaceMetadata(document_id=document_id, filename=filename)
        yield docs.ReplaceDocumentRequest(metadata=head)
        yield docs.ReplaceDocumentRequest(data=data)

    await edge.stub.ReplaceDocument(messages())
    return await edge.settle(document_id)


async def fetched(edge: EdgeClient, document_id: str, revision: int | None = None) -> bytes:
    request = docs.DownloadDocumentRequest(document_id=document_id, revision=revision)
    return b"".join([part.data async for part in edge.stub.DownloadDocument(request)])


async def footnote(edge: EdgeClient, collection: str) -> Citation:
    completed = await edge.answer("How high is the old lighthouse of Brenmouth?", collections=[collection])
    return completed.answer.citations[0]


async def test_a_footnote_leads_to_its_file(edge: EdgeClient, running: Deployment, tmp_path: Path) -> None:
    name = f"harbour-{uuid4().hex[:8]}"
    await edge.stub.CreateCollection(CreateCollectionRequest(collection=Collection(name=name)))
    document = await edge.put(OLD, "harbour.md", collection=name)
    failed = await replaced(edge, document.id, blank(), "harbour.pdf")
    assert (failed.state, failed.revision, failed.indexed_revision) == (DOCUMENT_STATE_ERROR, 2, 1)

    cited = await footnote(edge, name)
    digest = hashlib.sha256(OLD).hexdigest()
    assert (cited.revision, cited.sha256, cited.filename) == (1, digest, "harbour.md")
    assert (failed.sha256, failed.size_bytes, failed.filename) == (digest, len(OLD), "harbour.md")
    assert (failed.replacement.filename, failed.replacement.first_revision) == ("harbour.pdf", 2)
    assert await fetched(edge, document.id) == await fetched(edge, document.id, cited.revision) == OLD
    assert await fetched(edge, document.id, 2) == blank()

    async with httpx2.AsyncClient(base_url=f"http://{running.address('http')}", timeout=60) as http:
        path = f"/v1/documents/{document.id}:download"
        for query in ("", f"?revision={cited.revision}"):
            got = await http.get(path + query)
            assert (got.content, got.headers["etag"]) == (OLD, f'"{digest}"')
            assert got.headers["content-length"] == str(len(OLD))
            assert "harbour.md" in got.headers["content-disposition"]
        assert (await http.get(path + "?revision=2")).headers["content-type"] == "application/pdf"
        asked = {"model": name, "messages": [{"role": "user", "content": "How high is the old lighthouse?"}]}
        said = (await http.post("/v1/chat/completions", json=asked)).json()
        link = said["choices"][0]["message"]["annotations"][0]["url_citation"]["url"]
        assert f"{document.id}:download?revision=1" in link

        environment = {**os.environ, "FOOTNOTE_EDGE_ADDRESS": running.address()}
        command = [sys.executable, "-m", "footnote_cli.main", "documents", "download", document.id]
        for number, wanted in ((1, OLD), (2, blank())):
            target = tmp_path / str(number)
            process = await asyncio.create_subprocess_exec(
                *command, "--revision", str(number), "--output", str(target), env=environment
            )
            assert await process.wait() == 0
            assert target.read_bytes() == wanted

        after = await replaced(edge, document.id, NEW, "harbour.md")
        assert (after.state, after.indexed_revision, after.HasField("replacement")) == (
            DOCUMENT_STATE_INDEXED,
            3,
            False,
        )
        assert (await footnote(edge, name)).revision == 3
        with pytest.raises(NotFound) as caught:
            await fetched(edge, document.id, cited.revision)
        assert (caught.value.reason, caught.value.metadata["indexed_revision"]) == ("REVISION_NOT_FOUND", "3")
        gone = await http.get(f"{path}?revision=1")
        assert (gone.status_code, gone.json()["reason"]) == (404, "REVISION_NOT_FOUND")
