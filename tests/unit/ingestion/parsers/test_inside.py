"""Pictures within documents: OCR reads their words where it is asked for; others are warned of with their place."""

from __future__ import annotations

import base64
import io
import shutil
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import docx
import fpdf
import openpyxl
import pptx
import pypdfium2 as pdfium
import pytest
import xlrd  # type: ignore[import-untyped]
from docx.shared import Inches
from footnote.stages.v1.parsing_pb2 import Block
from footnote.types.v1.document_pb2 import ReadingWarning, WarningKind
from footnote_ingestion.parsers import inside, parser_for
from footnote_ingestion.parsers.base import NOTE, BlockWriter, Limits
from footnote_ingestion.parsers.failures import PICTURES_NOT_READ
from footnote_ingestion.parsers.inside import BEYOND, RECOGNISED, WITHOUT_WORDS
from footnote_ingestion.parsers.pdf import on_pages, scans
from footnote_ingestion.parsers.sheets import xls
from openpyxl.drawing.image import Image as SheetImage
from PIL import Image
from support.ingestion_client import assert_spans_exact
from support.lettering import lettering, png
from support.opendocument import NAMES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("tesseract") is None, reason="tesseract is missing (apt-get install tesseract-ocr)"
    ),
]
ENGLISH = Limits(ocr_languages="eng", ocr_pictures=True)
KEY = "The spare key hangs in room 12."
DRAW = 'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"'
FRAME = '<draw:frame><draw:image xlink:href="Pictures/{}.png"/></draw:frame>'


@pytest.fixture(scope="module")
def key() -> bytes:
    """A picture of words, as PNG."""
    return lettering(KEY)


@pytest.fixture(scope="module")
def red() -> bytes:
    """A picture without words, as PNG."""
    return png(Image.new("RGB", (60, 40), "red"))


def read(data: bytes, kind: str, folder: Path, limits: Limits = ENGLISH) -> tuple[list[Block], list[ReadingWarning]]:
    path = folder / f"file.{kind}"
    path.write_bytes(data)
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, limits)
    parser_for(kind).parse(path, out, limits)
    assert_spans_exact(blocks)
    return blocks, out.noticed.warnings()


def word(key: bytes, red: bytes) -> bytes:
    document = docx.Document()
    document.add_heading("Keys", 1)
    document.add_picture(io.BytesIO(key), width=Inches(3))
    document.add_picture(io.BytesIO(red), width=Inches(1))
    return saved(document)


def saved(document: object) -> bytes:
    made = io.BytesIO()
    document.save(made)  # type: ignore[attr-defined]
    return made.getvalue()


def slides(key: bytes, red: bytes) -> bytes:
    show = pptx.Presentation()
    for _ in range(2):
        slide = show.slides.add_slide(show.slide_layouts[5])
        slide.shapes.title.text = "Keys"
    slide.shapes.add_picture(io.BytesIO(key), 0, 0)
    slide.shapes.add_group_shape().shapes.add_picture(io.BytesIO(red), 0, 0)
    return saved(show)


def sheet(key: bytes, red: bytes) -> bytes:
    book = openpyxl.Workbook()
    book.active.append(["Key", "Room"])
    book.active.append(["spare", 12])
    book.active.add_image(SheetImage(io.BytesIO(key)), "C3")
    book.active.add_image(SheetImage(io.BytesIO(red)), "E3")
    return saved(book)


def open_document(kind: str, body: str) -> Callable[[bytes, bytes], bytes]:
    def made(key: bytes, red: bytes) -> bytes:
        packed = io.BytesIO()
        content = f"<office:document-content {NAMES} {DRAW}><office:body>{body}</office:body></office:document-content>"
        with zipfile.ZipFile(packed, "w") as package:
            package.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
            package.writestr("META-INF/manifest.xml", "<manifest/>")
            package.writestr("content.xml", content)
            package.writestr("Pictures/key.png", key)
            package.writestr("Pictures/red.png", red)
        return packed.getvalue()

    return made


def page(key: bytes, red: bytes) -> bytes:
    shown = (f'<img src="data:image/png;base64,{base64.b64encode(one).decode()}">' for one in (key, red))
    return f"<h1>Keys</h1><p>See {next(shown)}</p>{next(shown)}".encode()


def book(key: bytes, red: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as package:
        package.writestr("mimetype", "application/epub+zip")
        package.writestr("META-INF/container.xml", '<container><rootfile full-path="o/book.opf"/></container>')
        package.writestr(
            "o/book.opf",
            '<package><manifest><item id="a" href="text/a.xhtml" media-type="application/xhtml+xml"/></manifest>'
            '<spine><itemref idref="a"/></spine></package>',
        )
        shown = '<img src="../pictures/a%20key.png"/><img src="../pictures/red.png"/><img src="../gone.png"/>'
        package.writestr("o/text/a.xhtml", f"<html><body><h1>Keys</h1><p>See {shown}</p></body></html>")
        package.writestr("o/pictures/a key.png", key)
        package.writestr("o/pictures/red.png", red)
    return made.getvalue()


def printed(key: bytes, red: bytes) -> bytes:
    made = fpdf.FPDF(unit="pt", format=(600, 800))
    made.set_font("Helvetica", size=12)
    for number in (1, 2):
        made.add_page()
        made.text(60, 60, f"All keys are shown on page {number}, and none of them is to be lent to strangers.")
    made.image(io.BytesIO(key), x=100, y=200, w=320)
    made.image(io.BytesIO(red), x=100, y=400, w=60)
    return bytes(made.output())


HEADED = '<text:h text:outline-level="1">Keys</text:h>'
ROWS = (
    '<table:table-row><table:table-cell office:value-type="string"><text:p>Key</text:p></table:table-cell>'
    f"<table:table-cell>{FRAME.format('key')}</table:table-cell>"
    f"<table:table-cell>{FRAME.format('red')}</table:table-cell></table:table-row>"
)
BOTH = FRAME.format("key") + FRAME.format("red")
FILES: dict[str, tuple[Callable[[bytes, bytes], bytes], str, str]] = {
    "pdf": (printed, "page 2", "page 2"),
    "docx": (word, "Keys", "Keys"),
    "pptx": (slides, "slide 2", "slide 2"),
    "xlsx": (sheet, "C3", "E3"),
    "odt": (open_document("text", f"<office:text>{HEADED}<text:p>{BOTH}</text:p></office:text>"), "Keys", "Keys"),
    "odp": (
        open_document(
            "presentation",
            f"<office:presentation><draw:page/><draw:page>{BOTH}</draw:page></office:presentation>",
        ),
        "slide 2", "slide 2",
    ),
    "ods": (
        open_document(
            "spreadsheet",
            f'<office:spreadsheet><table:table table:name="Keys">{ROWS}</table:table></office:spreadsheet>',
        ),
        "B1", "C1",
    ),
    "html": (page, "Keys", "Keys"),
    "epub": (book, "Keys", "Keys"),
}  # fmt: skip
"""What makes a file of each format, and where its two pictures are: one of words, one without."""


def where(locator: object) -> str:
    kind = locator.WhichOneof("place")  # type: ignore[attr-defined]
    if kind == "page":
        return f"page {locator.page.page}"  # type: ignore[attr-defined]
    if kind == "slide":
        return f"slide {locator.slide.slide}"  # type: ignore[attr-defined]
    if kind == "sheet":
        return str(locator.sheet.range)  # type: ignore[attr-defined]
    return "/".join(locator.heading_path)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", FILES)
def test_words_of_a_picture_are_read_and_one_without_words_is_warned_of(
    kind: str, key: bytes, red: bytes, tmp_path: Path
) -> None:
    make, of_words, without = FILES[kind]
    blocks, warnings = read(make(key, red), kind, tmp_path)
    found = next((block for block in blocks if block.text == KEY), None)
    assert found is not None, (blocks, warnings)
    assert where(found.locator) == of_words
    assert found.kind == NOTE or kind == "pdf"
    told = {(one.kind, one.text): [where(place) for place in one.places] for one in warnings}
    recognised = (WarningKind.WARNING_KIND_TEXT_RECOGNISED, RECOGNISED.format(count=1))
    nothing = (WarningKind.WARNING_KIND_CONTENT_LEFT_OUT, WITHOUT_WORDS.format(count=1))
    missing = (WarningKind.WARNING_KIND_CONTENT_LEFT_OUT, PICTURES_NOT_READ.format(count=1))
    assert told == {recognised: [of_words], nothing: [without], **({missing: ["Keys"]} if kind == "epub" else {})}


@pytest.mark.parametrize("limits", [Limits(), Limits(ocr_languages="eng")], ids=["no OCR", "OCR of scans"])
@pytest.mark.parametrize("kind", FILES)
def test_where_it_is_not_asked_for_both_are_warned_of_as_unread(
    kind: str, limits: Limits, key: bytes, red: bytes, tmp_path: Path
) -> None:
    blocks, warnings = read(FILES[kind][0](key, red), kind, tmp_path, limits)
    assert not any("spare key" in block.text for block in blocks)
    (one,) = warnings
    assert one.text == PICTURES_NOT_READ.format(count=3 if kind == "epub" else 2)


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
def test_the_place_on_a_page_is_that_of_the_line(turned: int, key: bytes, red: bytes, tmp_path: Path) -> None:
    document = pdfium.PdfDocument(printed(key, red))
    picture = png(Image.open(io.BytesIO(key)).rotate(turned, expand=True))  # upright once the page is turned
    made = fpdf.FPDF(unit="pt", format=(600, 800))
    made.set_font("Helvetica", size=12)
    made.add_page()
    made.text(60, 60, "All keys are shown on this page, and none of them is to be lent to strangers.")
    across = turned in (0, 180)
    made.image(io.BytesIO(picture), x=100, y=200, w=320 if across else 60, h=60 if across else 320)
    document = pdfium.PdfDocument(bytes(made.output()))
    document[0].set_rotation(turned)
    turned_file = io.BytesIO()
    document.save(turned_file)
    blocks, _ = read(turned_file.getvalue(), "pdf", tmp_path)
    (found,) = [block for block in blocks if block.text == KEY]
    box = found.locator.page.box
    left, right, bottom, top = (100, 420, 540, 600) if across else (100, 160, 280, 600)
    assert left <= box.left < box.right <= right
    assert bottom <= box.bottom < box.top <= top


def test_a_picture_that_comes_again_is_read_once(key: bytes, tmp_path: Path) -> None:
    show = pptx.Presentation()
    for _ in range(5):
        show.slides.add_slide(show.slide_layouts[6]).shapes.add_picture(io.BytesIO(key), 0, 0)
    blocks, warnings = read(saved(show), "pptx", tmp_path)
    assert [block.text for block in blocks] == [KEY]
    assert [(one.text, one.count) for one in warnings] == [(RECOGNISED.format(count=1), 1)]


def test_pictures_beyond_the_limit_are_warned_of(key: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inside, "MOST_PICTURES", 1)
    blocks, warnings = read(word(key, lettering("The other key is lost.")), "docx", tmp_path)
    assert [block.text for block in blocks] == ["Keys", KEY]
    assert {one.text for one in warnings} == {RECOGNISED.format(count=1), BEYOND.format(count=1)}


def test_words_on_no_ground_are_read(tmp_path: Path) -> None:
    ink = Image.open(io.BytesIO(lettering(KEY))).convert("L")
    clear = Image.new("RGBA", ink.size, (0, 0, 0, 0))
    clear.putalpha(ink.point(lambda shade: 255 - shade))
    document = docx.Document()
    document.add_picture(io.BytesIO(png(clear)), width=Inches(3))
    assert [block.text for block in read(saved(document), "docx", tmp_path)[0]] == [KEY]


def test_a_damaged_picture_is_warned_of(tmp_path: Path, key: bytes) -> None:
    damaged = page(key[: len(key) // 2], b"no picture")
    _, warnings = read(damaged, "html", tmp_path)
    assert [(one.text, one.count) for one in warnings] == [(PICTURES_NOT_READ.format(count=2), 2)]


def test_a_language_that_is_missing_fails_for_the_pictures_alone(tmp_path: Path, key: bytes, red: bytes) -> None:
    blocks, warnings = read(word(key, red), "docx", tmp_path, Limits(ocr_languages="xxx", ocr_pictures=True))
    assert [block.text for block in blocks] == ["Keys"]
    assert [one.text for one in warnings] == [inside.FAILED.format(count=2)]


@pytest.mark.parametrize("error", [struct.error, IndexError, TypeError, AttributeError, ArithmeticError])
def test_whatever_a_damaged_picture_raises_is_a_warning(
    error: type[Exception], key: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Image.Image) -> Image.Image:
        raise error

    monkeypatch.setattr(inside, "_grey", fail)
    _, (one,) = read(page(key, key), "html", tmp_path)
    assert one.text == PICTURES_NOT_READ.format(count=2)


def test_a_picture_too_large_for_the_memory_is_warned_of(
    key: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Image.Image) -> Image.Image:
        raise MemoryError

    monkeypatch.setattr(inside, "_grey", fail)
    _, (one,) = read(page(key, key), "html", tmp_path)
    assert one.text == BEYOND.format(count=2)


WORKBOOK = Path(__file__).parent / "sheets/files/numbers.xls"


def test_a_picture_in_a_workbook_of_excel_97_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = xlrd.open_workbook(WORKBOOK).sheet_names()[0]
    monkeypatch.setattr(xls, "drawn_by_sheet", lambda _: {name: xls.Drawn(["B3", ""])})
    _, warnings = read(WORKBOOK.read_bytes(), "xls", tmp_path)
    (one,) = [one for one in warnings if one.text == PICTURES_NOT_READ.format(count=2)]
    assert "B3" in [place.sheet.range for place in one.places]


def test_damaged_records_of_pictures_leave_the_formats_of_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> dict[str, xls.Drawn]:
        raise struct.error

    whole, _ = read(WORKBOOK.read_bytes(), "xls", tmp_path)
    monkeypatch.setattr(xls, "drawn_by_sheet", fail)
    blocks, warnings = read(WORKBOOK.read_bytes(), "xls", tmp_path)
    assert [block.text for block in blocks] == [block.text for block in whole]
    assert any("could not be read" in one.text for one in warnings)


def test_a_pdf_without_its_first_line_has_its_pictures_read(key: bytes, red: bytes, tmp_path: Path) -> None:
    blocks, _ = read(printed(key, red).replace(b"%PDF-1.", b"%XYZ-1.", 1), "pdf", tmp_path)
    assert KEY in [block.text for block in blocks]


def test_pages_beyond_the_limit_of_pictures_are_not_drawn(
    key: bytes, red: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []

    def shown(path: Path, numbers: list[int]) -> Iterator[scans.Shown]:
        for number, one in zip(numbers, scans.shown(path, numbers), strict=True):
            drawn.append(number)
            yield one

    monkeypatch.setattr(on_pages, "shown", shown)
    monkeypatch.setattr(inside, "MOST_PICTURES", 0)
    _, (one,) = read(printed(key, red), "pdf", tmp_path)
    assert (one.text, drawn) == (BEYOND.format(count=2), [])
