"""Scanned pages: refused with a hint, or read by OCR where the deployment asks for it."""

import io
import shutil
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.failures import ParseError
from footnote_ingestion.parsers.pdf.parser import PdfParser
from footnote_ingestion.worker import wire
from footnote_ingestion.worker.fork_server_client import Starter
from footnote_ingestion.worker.isolation import Workers
from footnote_ingestion.worker.pool import Pool
from fpdf import FPDF
from support.ingestion_client import assert_spans_exact

pytestmark = pytest.mark.slow


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    """A PDF whose two pages are pictures of text."""
    typed = FPDF()
    typed.set_font("Helvetica", size=20)
    for text in ("The reactor shuts down at 450 degrees.", "The spare key hangs in room 12."):
        typed.add_page()
        typed.multi_cell(0, 12, text)
    scanned = FPDF()
    for page in pdfium.PdfDocument(bytes(typed.output())):
        scanned.add_page()
        picture = io.BytesIO()
        page.render(scale=2).to_pil().save(picture, format="PNG")
        scanned.image(picture, x=0, y=0, w=scanned.w)
    path = tmp_path / "scan.pdf"
    scanned.output(str(path))
    return path


def read(path: Path, limits: Limits) -> list[Block]:
    blocks: list[Block] = []
    PdfParser().parse(path, BlockWriter(blocks.append, limits), limits)
    assert_spans_exact(blocks)
    return blocks


def test_without_ocr_a_scan_is_refused_with_what_to_do(scan: Path) -> None:
    with pytest.raises(ParseError) as caught:
        read(scan, Limits())
    assert caught.value.reason == "NO_TEXT"
    assert "OCR" in caught.value.hint


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is missing (apt-get install tesseract-ocr)")
def test_ocr_reads_the_pages_where_it_is_switched_on(scan: Path) -> None:
    blocks = read(scan, Limits(ocr_languages="eng"))
    assert [(block.locator.page.page, block.text) for block in blocks] == [
        (1, "The reactor shuts down at 450 degrees."),
        (2, "The spare key hangs in room 12."),
    ]


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is missing (apt-get install tesseract-ocr)")
async def test_ocr_works_in_a_worker_that_is_shut_in(scan: Path, tmp_path: Path) -> None:
    program = shutil.which("tesseract")
    assert program is not None
    starter = Starter()
    pool = Pool(1, 60.0, Workers(2**30, tmp_path, programs=[program]), starter, 10, 10)
    try:
        job = wire.Job("parse", str(scan), "pdf", scan.name, Limits(ocr_languages="eng"))
        frames = [frame async for frame in pool.run(job, "t")]
    finally:
        await pool.close()
        await starter.close()
    texts = [block.text for kind, payload in frames if kind == wire.BLOCKS for block in wire.unpack_blocks(payload)]
    assert texts == ["The reactor shuts down at 450 degrees.", "The spare key hangs in room 12."]


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is missing (apt-get install tesseract-ocr)")
def test_a_language_that_is_not_installed_is_named(scan: Path) -> None:
    with pytest.raises(ParseError, match="OCR failed"):
        read(scan, Limits(ocr_languages="xxx"))


def test_without_the_program_the_server_is_named_as_the_place_to_mend(
    scan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ParseError, match="not installed on the server"):
        read(scan, Limits(ocr_languages="eng"))
