"""The way of a long file as a watch shows it, through all services."""

import asyncio

import pytest
from footnote.edge.v1.documents_pb2 import WatchDocumentRequest
from footnote.types.v1 import document_pb2 as doc
from fpdf import FPDF
from support.edge_client import EdgeClient

pytestmark = pytest.mark.full

PAGES = 120


def handbook() -> bytes:
    """A PDF of many pages, each with a heading and texts of its own."""
    pdf = FPDF()
    for page in range(1, PAGES + 1):
        pdf.add_page()
        pdf.set_font("Helvetica", "B", 16)
        pdf.cell(text=f"Crane {page}", new_x="LMARGIN", new_y="NEXT")
        pdf.set_font("Helvetica", "", 11)
        for part in range(8):
            said = f"Part {part} of crane {page} lifts {page * 10 + part} tons above hall {part}. " * 4
            pdf.multi_cell(0, text=said, new_x="LMARGIN", new_y="NEXT")
    return bytes(pdf.output())


async def test_pages_blocks_and_chunks_of_a_long_file_never_fall_and_all_stand_in_the_last_message(
    edge: EdgeClient,
) -> None:
    accepted = await edge.upload(await asyncio.to_thread(handbook), "cranes.pdf")
    request = WatchDocumentRequest(document_id=accepted.document.id, until_vectors=True)
    told = [event async for event in edge.stub.WatchDocument(request, timeout=300)]
    steps = [event.progress for event in told]
    for name in ("pages_parsed", "blocks_parsed", "chunks_total", "chunks_embedded", "chunks_stored"):
        counts = [getattr(one, name) for one in steps]
        assert counts == sorted(counts), (name, counts)
    phases = [one.phase for one in steps]
    assert phases == sorted(phases)
    assert all(not one.chunks_stored or one.phase > doc.PROGRESS_PHASE_QUEUED for one in steps)
    last, document = steps[-1], told[-1].document
    assert document.state == doc.DOCUMENT_STATE_INDEXED
    assert (last.phase, last.pages_parsed, last.pages_total) == (doc.PROGRESS_PHASE_DONE, PAGES, PAGES)
    assert last.blocks_parsed >= 2 * PAGES
    assert last.chunks_total == last.chunks_stored == last.chunks_embedded == document.chunk_count > PAGES
    assert (last.chunks_without_vector, last.bytes_total) == (0, document.size_bytes)
