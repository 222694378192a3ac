"""Character recognition page by page: pages among others, stamps, scans on their side, pictures as files."""

from __future__ import annotations

import asyncio
import contextlib
import io
import shutil
import time
from pathlib import Path

import psutil
import pypdfium2 as pdfium
import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote.types.v1.document_pb2 import WARNING_KIND_PAGES_WITHOUT_TEXT, WARNING_KIND_TEXT_RECOGNISED
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.failures import ParseError
from footnote_ingestion.parsers.sniff import sniff
from footnote_ingestion.worker import wire
from footnote_ingestion.worker.fork_server_client import Starter
from footnote_ingestion.worker.isolation import Workers
from footnote_ingestion.worker.pool import Pool
from fpdf import FPDF
from PIL import Image
from support.ingestion_client import assert_spans_exact
from support.matrices import crossed, sampled

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("tesseract") is None, reason="tesseract is missing (apt-get install tesseract-ocr)"
    ),
]
ENGLISH = Limits(ocr_languages="eng")
KEY = "The spare key hangs in room 12."
REACTOR = "The reactor shuts down at 450 degrees."
STAMP = "Received 4 May 2021"


def picture(*texts: str, degrees: int = 0) -> Image.Image:
    """A page with a text in each third, turned against the clock."""
    typed = FPDF(unit="pt", format=(600, 800))
    typed.add_page()
    typed.set_font("Helvetica", size=20)
    for number, text in enumerate(texts):
        typed.text(60, 100 + 250 * number, text)
    page = pdfium.PdfDocument(bytes(typed.output()))[0]
    return page.render(scale=2).to_pil().convert("RGB").rotate(degrees, expand=True)


def bound(tmp_path: Path, *pages: Image.Image | str | tuple[Image.Image, str]) -> Path:
    """A PDF of pictures, of texts, and of pictures with a stamp."""
    pdf = FPDF(unit="pt")
    for page in pages:
        image, text = page if isinstance(page, tuple) else (page, "") if isinstance(page, Image.Image) else (None, page)
        size = (image.width / 2, image.height / 2) if image else (600.0, 800.0)
        pdf.add_page(format=size)
        pdf.set_font("Helvetica", size=12)
        if image is not None:
            data = io.BytesIO()
            image.save(data, format="PNG")
            pdf.image(data, x=0, y=0, w=size[0], h=size[1])
        if text:
            pdf.text(60, 40, text)
    path = tmp_path / "bound.pdf"
    pdf.output(str(path))
    return path


def read(path: Path, limits: Limits = ENGLISH) -> tuple[list[Block], BlockWriter]:
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, limits)
    parser_for(sniff(path, path.name).document_type).parse(path, out, limits)
    assert_spans_exact(blocks)
    return blocks, out


def test_a_scan_among_pages_of_text_is_read_in_its_place(tmp_path: Path) -> None:
    blocks, out = read(bound(tmp_path, "First the text.", picture(KEY), "Then text again."))
    found = [(block.locator.page.page, block.text) for block in blocks]
    assert found == [(1, "First the text."), (2, KEY), (3, "Then text again.")]
    (warning,) = [one for one in out.noticed.warnings() if one.kind == WARNING_KIND_TEXT_RECOGNISED]
    assert [place.page.page for place in warning.places] == [2]


def test_without_recognition_a_scan_among_pages_is_warned_of(tmp_path: Path) -> None:
    blocks, out = read(bound(tmp_path, "First the text.", picture(KEY), (picture(KEY), STAMP)), Limits())
    assert [block.text for block in blocks] == ["First the text.", STAMP]
    pages = [
        place.page.page
        for one in out.noticed.warnings()
        if one.kind == WARNING_KIND_PAGES_WITHOUT_TEXT
        for place in one.places
    ]
    assert sorted(pages) == [2, 3]


def test_a_page_with_a_stamp_alone_is_read_and_the_stamp_once(tmp_path: Path) -> None:
    blocks, _ = read(bound(tmp_path, (picture(KEY, REACTOR), STAMP)))
    assert sorted(block.text for block in blocks) == sorted([STAMP, KEY, REACTOR])


@pytest.mark.parametrize(("turned_by_the_file", "degrees"), crossed([False, True], [0, 90, 180, 270], every=4))
def test_scans_on_their_side_are_read_and_their_boxes_are_where_the_words_are(
    tmp_path: Path, degrees: int, turned_by_the_file: bool
) -> None:
    lines = [f"Line number {number} of this page says something of its own" for number in range(3)]
    path = bound(tmp_path, picture(*lines, degrees=degrees))
    if turned_by_the_file:
        document = pdfium.PdfDocument(path)
        document[0].set_rotation(degrees)  # the page is shown upright again
        document.save(str(path))
    blocks, _ = read(path)
    assert [block.text for block in blocks] == lines
    page = pdfium.PdfDocument(path)[0]
    page.set_rotation(0)
    ink = page.render(scale=1, grayscale=True).to_pil()
    for block in blocks:
        (one,) = block.anchors
        box = one.locator.page.box
        assert box == block.locator.page.box
        part = ink.crop(
            (int(box.left), int(ink.height - box.top), int(box.right) + 1, int(ink.height - box.bottom) + 1)
        )
        dark = sum(value < 128 for value in part.get_flattened_data()) / (part.width * part.height)
        assert dark > 0.1, "there are no words where the box is"
        assert part.width * part.height < 20_000


@pytest.mark.parametrize("name", sampled(["scan.png", "scan.jpg", "scan.tiff", "scan.webp", "no-name"], every=4))
def test_pictures_are_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    picture(KEY, REACTOR).save(path, format={"jpg": "JPEG", "tiff": "TIFF", "webp": "WEBP"}.get(name[5:], "PNG"))
    blocks, out = read(path)
    assert [block.text for block in blocks] == [KEY, REACTOR]
    assert blocks[0].locator.page.box.bottom > blocks[1].locator.page.box.top > 0
    assert WARNING_KIND_TEXT_RECOGNISED in [one.kind for one in out.noticed.warnings()]
    with pytest.raises(ParseError) as caught:
        parser_for(sniff(path, name).document_type).inspect(path, Limits())
    assert (caught.value.reason, "OCR" in caught.value.hint) == ("UNSUPPORTED", True)


def test_a_tiff_of_several_pictures_has_pages(tmp_path: Path) -> None:
    path = tmp_path / "scans.tiff"
    picture(KEY).save(path, save_all=True, append_images=[picture(REACTOR)])
    assert [(block.locator.page.page, block.text) for block in read(path)[0]] == [(1, KEY), (2, REACTOR)]


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n" + b"\0" * 40, b"\xff\xd8\xff\xe0" + b"\1" * 60])
def test_a_damaged_picture_is_refused_as_such(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad.png"
    path.write_bytes(data)
    with pytest.raises(ParseError) as caught:
        parser_for(sniff(path, path.name).document_type).inspect(path, ENGLISH)
    assert caught.value.reason == "CORRUPT"


def test_words_that_are_hardly_made_out_are_counted(tmp_path: Path) -> None:
    faint = picture(*["Some words that can be read, and others"] * 3).resize((170, 226)).resize((1200, 1600))
    _, out = read(bound(tmp_path, "A text.", faint))
    said = [one for one in out.noticed.warnings() if "certainty" in one.text]
    assert said
    assert said[0].count > 0
    assert said[0].places[0].page.page == 2
    assert said[0].places[0].page.HasField("box")


async def test_the_program_ends_with_a_reading_that_takes_too_long(tmp_path: Path) -> None:
    noise = Image.effect_noise((3900, 3900), 90).convert("RGB")
    path = bound(tmp_path, noise)
    program = shutil.which("tesseract")
    assert program is not None
    starter = Starter()
    pool = Pool(1, 1.0, Workers(2**30, tmp_path, programs=[program]), starter, 10, 10)
    try:
        with pytest.raises(ParseError) as caught:
            _ = [frame async for frame in pool.run(wire.Job("parse", str(path), "pdf", path.name, ENGLISH), "t")]
        assert caught.value.reason in {"TIMEOUT", "PARSER_KILLED"}  # the latter where the machine is too busy for it
        end = time.monotonic() + 30
        while left := started_for(tmp_path):
            assert time.monotonic() < end, left
            await asyncio.sleep(0.05)
    finally:
        await pool.close()
        await starter.close()


def started_for(folder: Path) -> list[psutil.Process]:
    """Return the OCR programs of a worker with this scratch folder, not those of other tests beside this one."""
    found = []
    for process in psutil.process_iter(["name"]):
        with contextlib.suppress(psutil.Error):
            if process.info["name"] == "tesseract" and process.environ().get("TMPDIR", "").startswith(str(folder)):
                found.append(process)
    return found
