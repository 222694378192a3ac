"""Unread content is reported with its place: pictures in every format, media of pages, the other form of a mail."""

from __future__ import annotations

import io
import zipfile
from email.message import EmailMessage
from pathlib import Path

import docx
import fpdf
import olefile  # type: ignore[import-untyped]
import openpyxl
import pptx
import pytest
from docx.oxml import parse_xml
from footnote.stages.v1.parsing_pb2 import Block
from footnote.types.v1.document_pb2 import ReadingWarning, WarningKind
from footnote.types.v1.locator_pb2 import Locator
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.failures import ParseError
from openpyxl.drawing.image import Image as SheetImage
from PIL import Image
from pptx.util import Inches
from support.opendocument import NAMES, spreadsheet

DRAW = (
    'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
    'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" '
    'xmlns:xlink="http://www.w3.org/1999/xlink"'
)
FRAME = '<draw:frame><draw:image xlink:href="Pictures/a.png"/><svg:desc>A red square</svg:desc></draw:frame>'
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:v="urn:schemas-microsoft-com:vml"'
WORDS = "{} pictures are not read, but for their alternative texts"


def read(data: bytes, kind: str, folder: Path) -> tuple[list[str], list[ReadingWarning]]:
    path = folder / f"file.{kind}"
    path.write_bytes(data)
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    parser_for(kind).parse(path, out, Limits())
    return [block.text for block in blocks], out.noticed.warnings()


def unread(warnings: list[ReadingWarning], count: int) -> list[Locator]:
    """Return the places of the one warning, which counts `count` pictures."""
    (one,) = warnings
    assert (one.kind, one.text, one.count) == (
        WarningKind.WARNING_KIND_CONTENT_LEFT_OUT, WORDS.format(count), count,
    )  # fmt: skip
    return list(one.places)


def picture() -> io.BytesIO:
    made = io.BytesIO()
    Image.new("RGB", (40, 40), "red").save(made, "PNG")
    made.seek(0)
    return made


def saved(document: object) -> bytes:
    made = io.BytesIO()
    document.save(made)  # type: ignore[attr-defined]
    return made.getvalue()


def test_pictures_of_a_pdf_have_their_page(tmp_path: Path) -> None:
    book = fpdf.FPDF()
    for page in (1, 2):
        book.add_page()
        book.set_font("Helvetica", size=12)
        book.cell(text=f"All prices rose in the year {page}.")
        if page == 2:
            book.image(picture(), x=20, y=100, w=30)
            book.image(picture(), x=20, y=150, w=1, h=1)  # a bullet
    _, warnings = read(bytes(book.output()), "pdf", tmp_path)
    assert [one.page.page for one in unread(warnings, 1)] == [2]


def test_a_picture_under_text_of_a_pdf_is_a_background(tmp_path: Path) -> None:
    book = fpdf.FPDF()
    book.add_page()
    book.image(picture(), x=5, y=5, w=190)
    book.set_font("Helvetica", size=12)
    book.cell(text="All prices rose in the year 1.")
    assert read(bytes(book.output()), "pdf", tmp_path)[1] == []


def test_pictures_of_word_have_the_headings_above_them(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_heading("Prices", 1)
    document.add_picture(picture(), width=Inches(1))
    cell = document.add_table(2, 2).cell(0, 0)
    cell.text = "All rose."
    run = cell.paragraphs[0].add_run()
    run.add_picture(picture(), width=Inches(1))
    run._r.find(".//{*}docPr").set("descr", "A red square")
    document.sections[0].header.paragraphs[0].add_run().add_picture(picture(), width=Inches(1))
    texts, warnings = read(saved(document), "docx", tmp_path)
    assert "A red square" in texts
    assert [list(one.heading_path) for one in unread(warnings, 3)] == [["Prices"], ["Prices"]]


def test_the_picture_of_an_object_of_word_is_not_counted_beside_it(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("All prices rose.")
    image = (
        '<w:object><v:shape><v:imagedata/></v:shape><o:OLEObject xmlns:o="urn:schemas-microsoft-com:office:office"/>'
    )
    document.element.body.insert(1, parse_xml(f"<w:p {W}><w:r>{image}</w:object></w:r></w:p>"))
    document.element.body.insert(2, parse_xml(f"<w:p {W}><w:r><w:pict><v:imagedata/></w:pict></w:r></w:p>"))
    _, warnings = read(saved(document), "docx", tmp_path)
    assert {one.text for one in warnings} == {"1 embedded objects are not read", WORDS.format(1)}


def test_pictures_of_slides_have_their_slide(tmp_path: Path) -> None:
    show = pptx.Presentation()
    for number in (1, 2):
        slide = show.slides.add_slide(show.slide_layouts[5])
        slide.shapes.title.text = f"Slide {number}"
        if number == 2:
            slide.shapes.add_picture(picture(), 0, 0)
            slide.shapes.add_group_shape().shapes.add_picture(picture(), 0, 0)
    _, warnings = read(saved(show), "pptx", tmp_path)
    assert [one.slide.slide for one in unread(warnings, 2)] == [2, 2]


def test_pictures_of_a_sheet_have_their_cell(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["Land", "Price"])
    book.active.append(["Chad", 7])
    book.active.add_image(SheetImage(picture()), "C3")
    _, warnings = read(saved(book), "xlsx", tmp_path)
    assert [(one.sheet.sheet, one.sheet.range) for one in unread(warnings, 1)] == [("Sheet", "C3")]


def test_pictures_of_an_opendocument_sheet_have_their_cell(tmp_path: Path) -> None:
    rows = (
        '<table:table-row><table:table-cell office:value-type="string"><text:p>Land</text:p></table:table-cell>'
        f"<table:table-cell>{FRAME}</table:table-cell></table:table-row>"
    )
    table = f'<table:table {DRAW} table:name="Prices">{rows}</table:table>'
    path = spreadsheet(tmp_path / "made.ods", table)
    _, warnings = read(path.read_bytes(), "ods", tmp_path)
    assert [one.sheet.range for one in unread(warnings, 1)] == ["B1"]


def open_document(body: str) -> bytes:
    made = io.BytesIO()
    content = f"<office:document-content {NAMES} {DRAW}><office:body>{body}</office:body></office:document-content>"
    with zipfile.ZipFile(made, "w") as package:
        package.writestr("content.xml", content)
    return made.getvalue()


def test_pictures_of_an_opendocument_text_have_the_headings_above_them(tmp_path: Path) -> None:
    thing = "<draw:frame><draw:object/><draw:image/></draw:frame>"
    heading = '<text:h text:outline-level="1">Prices</text:h>'
    body = f"<office:text>{heading}<text:p>See {FRAME}</text:p><text:p>{thing}</text:p></office:text>"
    texts, warnings = read(open_document(body), "odt", tmp_path)
    assert texts == ["Prices", "See", "A red square"]
    assert [(one.text, [list(at.heading_path) for at in one.places]) for one in warnings] == [
        (WORDS.format(1), [["Prices"]]), ("1 charts and embedded objects are not read", [["Prices"]]),
    ]  # fmt: skip


def test_pictures_of_opendocument_slides_have_their_slide_and_text(tmp_path: Path) -> None:
    body = f"<office:presentation><draw:page/><draw:page>{FRAME}</draw:page></office:presentation>"
    texts, warnings = read(open_document(body), "odp", tmp_path)
    assert texts == ["A red square"]
    assert [one.slide.slide for one in unread(warnings, 1)] == [2]


def test_pictures_and_media_of_a_page_have_the_headings_above_them(tmp_path: Path) -> None:
    page = "<h1>Prices</h1><p>See <img alt='a map'></p><h2>Costs</h2><table><tr><td>Chad<td><img alt='a flag'></tr>"
    page += "<tr><td>Peru<td>9</tr></table><svg><path/></svg><video src='a.mp4'></video>"
    texts, warnings = read(page.encode(), "html", tmp_path)
    assert texts == ["Prices", "See a map", "Costs", "Chad: Peru; a flag: 9"]
    assert [(one.text, [list(at.heading_path) for at in one.places]) for one in warnings] == [
        ("1 <video> elements are left out", [["Prices", "Costs"]]),
        (WORDS.format(3), [["Prices"], ["Prices", "Costs"], ["Prices", "Costs"]]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ('<input value="Peru">', "Land: Peru"),
        ('<input type="date" value="2024-05-01">', "Land: 2024-05-01"),
        ('<input type="hidden" value="Peru">', "Land:"),
        ('<input type="password" value="Peru">', "Land:"),
        ('<input type="checkbox" value="x" checked> Peru', "Land: ☑ Peru"),
        ('<input type="RADIO"> Peru', "Land: ☐ Peru"),
    ],
)
def test_values_of_fields_are_read_as_a_page_shows_them(field: str, text: str, tmp_path: Path) -> None:
    assert read(f"<p>Land: {field}</p>".encode(), "html", tmp_path)[0] == [text]
    row = f"<table><tr><td>Name<td>Ann</tr><tr><td>Land:<td>{field}</tr></table>"
    assert text.removeprefix("Land:").strip() in read(row.encode(), "html", tmp_path)[0][-1]


def mail(plain: str, html: str) -> bytes:
    message = EmailMessage()
    message["Subject"] = "Prices"
    message.set_content(plain)
    message.add_alternative(html, subtype="html")
    return message.as_bytes()


def test_the_form_of_a_mail_that_says_more_is_read(tmp_path: Path) -> None:
    more = mail("This mail is in HTML.", "<p>This mail says that all prices rose in Peru.</p>")
    texts, warnings = read(more, "eml", tmp_path)
    assert texts[-1] == "This mail says that all prices rose in Peru."
    assert [(one.text, one.count) for one in warnings] == [
        ("2 words stand only in the plain text of a message and are not read", 2)
    ]


def test_a_mail_whose_forms_say_the_same_is_read_as_plain_text(tmp_path: Path) -> None:
    same = mail(
        "All prices rose: https://example.com/prices", '<p>All <a href="https://example.com">prices</a> rose</p>'
    )
    texts, warnings = read(same, "eml", tmp_path)
    assert texts[-1] == "All prices rose: https://example.com/prices"
    assert warnings == []


@pytest.mark.parametrize(
    "magic", [b"\xdc\xa5\x65\x00", b"\xdc\xa5\x68\x00", b"\xec\xa5\xc0\x00"], ids=["6", "95", "old"]
)
def test_a_word_document_from_before_1997_is_called_so(
    magic: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    path = tmp_path / "letter.doc"
    path.write_bytes(b"")

    class Container:
        def __enter__(self) -> Container:
            return self

        def __exit__(self, *_: object) -> None: ...

        def openstream(self, _: str) -> io.BytesIO:
            return io.BytesIO(magic + bytes(0x200))

    monkeypatch.setattr(olefile, "OleFileIO", lambda _: Container())
    with pytest.raises(ParseError) as raised:
        parser_for("doc").inspect(path, Limits())
    assert (raised.value.reason, raised.value.message) == (
        "UNSUPPORTED",
        "The document is in a format from before 1997.",
    )
    assert "docx" in raised.value.hint
