"""What a reading left out, as its uploader sees it by gRPC, over HTTP, on the command line; what is not searched."""

from __future__ import annotations

import asyncio
import os
import sys
from uuid import uuid4

import fpdf
import httpx2
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.documents_pb2 import ListChunksRequest
from footnote.types.v1 import collection_pb2 as col
from footnote.types.v1 import document_pb2 as doc
from support.deployment import Deployment
from support.edge_client import EdgeClient


def paper(pages: int) -> bytes:
    """A paper with the page's number at the foot of each page."""
    pdf = fpdf.FPDF(unit="pt", format="A4")
    pdf.set_auto_page_break(False)
    for number in range(1, pages + 1):
        pdf.add_page()
        pdf.set_font("helvetica", "", 11)
        for line in range(5):
            pdf.text(72, 200 + 14 * line, f"Crane {number}{line} of the old harbour lifts forty tons and needs no oil.")
        pdf.set_font("helvetica", "", 8)
        pdf.text(72, 800, f"Page {number} of {pages}")
    return bytes(pdf.output())


async def test_a_warning_is_shown_with_its_places_and_furniture_is_not_found(
    edge: EdgeClient, running: Deployment
) -> None:
    name = f"papers-{uuid4().hex[:8]}"
    await edge.stub.CreateCollection(CreateCollectionRequest(collection=col.Collection(name=name)))
    document = await edge.put(paper(12), "cranes.pdf", collection=name)
    (warning,) = document.warnings
    assert (warning.kind, warning.count) == (doc.WARNING_KIND_PAGE_FURNITURE, 12)
    assert [place.page.page for place in warning.places] == list(range(1, 11))
    async with httpx2.AsyncClient(base_url=f"http://{running.address('http')}", timeout=60) as http:
        shown = (await http.get(f"/v1/documents/{document.id}")).json()["document"]["warnings"]
    assert shown[0]["kind"] == "WARNING_KIND_PAGE_FURNITURE"
    assert (int(shown[0]["count"]), shown[0]["places"][1]["page"]["page"]) == (12, 2)
    chunks = (await edge.stub.ListChunks(ListChunksRequest(document_id=document.id))).chunks
    assert chunks
    assert not any("Page " in chunk.text for chunk in chunks)
    found = await edge.stub.Search(SearchRequest(query="Page 3 of 12", collections=[name]))
    assert not any("Page " in one.chunk.text for one in found.chunks)
    command = [sys.executable, "-m", "footnote_cli.main", "documents", "get", document.id]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "FOOTNOTE_EDGE_ADDRESS": running.address(), "COLUMNS": "200"},
    )
    output, _ = await process.communicate()
    words = " ".join(output.decode().split())
    assert "12 running lines and page numbers are kept apart and not searched (page 1, page 2" in words, words
