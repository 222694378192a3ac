"""Office documents whose every part carries a word of its own, and ways to damage one part of them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator

import docx
import pptx
import xlsxwriter  # type: ignore[import-untyped]
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.shared import Inches
from PIL import Image
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches as SlideInches

from support.opendocument import NAMES

_A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
_C = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
_R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_MANIFEST = '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'


def _picture() -> io.BytesIO:
    made = io.BytesIO()
    Image.new("RGB", (9, 9), "red").save(made, "PNG")
    made.seek(0)
    return made


def word() -> bytes:
    """Return a Word document with a comment, a head, a foot, footnotes, a chart, a list and a picture."""
    document = docx.Document()
    document.core_properties.title = "Titleword"
    paragraph = document.add_paragraph("Bodyword stands here.")
    document.add_comment(paragraph.runs, text="Commentword", author="Ann")
    document.add_paragraph("Listword", style="List Number")
    document.sections[0].header.paragraphs[0].text = "Headword"
    document.sections[0].footer.paragraphs[0].text = "Footword"
    document.add_picture(_picture(), width=Inches(1))
    package = document.part.package
    note = (
        f'<w:footnotes {_W}><w:footnote w:id="7"><w:p><w:r><w:t>Noteword</w:t></w:r></w:p></w:footnote></w:footnotes>'
    )
    part = Part(PackURI("/word/footnotes.xml"), "application/xml", note.encode(), package)
    document.part.relate_to(part, f"{RELATIONSHIP_TYPE.FOOTNOTES}")
    points = '<c:pt idx="0"><c:v>{}</c:v></c:pt>'
    chart = (
        f"<c:chartSpace {_C} {_A}><c:chart><c:plotArea><c:barChart><c:ser><c:val><c:numRef><c:numCache>"
        f"{points.format('4711')}</c:numCache></c:numRef></c:val></c:ser></c:barChart></c:plotArea></c:chart>"
        "</c:chartSpace>"
    )
    kind = "application/vnd.openxmlformats-officedocument.drawingml.chart+xml"
    part = Part(PackURI("/word/charts/chart1.xml"), kind, chart.encode(), package)
    number = document.part.relate_to(part, RELATIONSHIP_TYPE.CHART)
    drawing = (
        f"<w:r {_W} {_A} {_C} {_R}><w:drawing><a:graphic><a:graphicData><c:chart r:id='{number}'/></a:graphicData>"
        "</a:graphic></w:drawing></w:r>"
    )
    document.add_paragraph()._p.append(parse_xml(drawing))
    document.add_paragraph("Lastword stands here.")
    return _saved(document)


def slides() -> bytes:
    """Return a presentation of two slides with notes, a chart and a picture."""
    show = pptx.Presentation()
    show.core_properties.title = "Titleword"
    for name in ("Bodyword", "Lastword"):
        slide = show.slides.add_slide(show.slide_layouts[5])
        slide.shapes.title.text = name
        if name == "Bodyword":
            slide.notes_slide.notes_text_frame.text = "Noteword"
            data = CategoryChartData()
            data.categories = ["North"]
            data.add_series("Series", (4711,))
            box = [SlideInches(1)] * 4
            slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *box, data)
            slide.shapes.add_picture(_picture(), 0, 0)
    return _saved(show)


def workbook() -> bytes:
    """Return a workbook of two sheets with comments, charts, a hidden row, a form of numbers and a picture each."""
    made = io.BytesIO()
    book = xlsxwriter.Workbook(made, {"in_memory": True})
    percent = book.add_format({"num_format": "0.0%"})
    book.set_properties({"title": "Titleword"})
    for name in ("One", "Two"):
        sheet = book.add_worksheet(name)
        sheet.write("A1", f"{name}head")
        sheet.write("A2", 0.4711, percent)
        sheet.write("A3", f"Body{name}")
        sheet.write_comment("A3", f"Comment{name}")
        sheet.set_row(5, None, None, {"hidden": True})
        chart = book.add_chart({"type": "line"})
        chart.add_series({"values": f"={name}!$A$2:$A$2"})
        sheet.insert_chart("C1", chart)
        sheet.insert_image("C20", "red.png", {"image_data": _picture()})
    book.close()
    return made.getvalue()


def _opendocument(kind: str, body: str, styles: str = "") -> bytes:
    made = io.BytesIO()
    dc = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
    draw = 'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        package.writestr("META-INF/manifest.xml", _MANIFEST)
        inside = f"<office:body>{body}</office:body>"
        package.writestr("content.xml", f"<office:document-content {NAMES} {draw}>{inside}</office:document-content>")
        package.writestr("meta.xml", f"<office:meta {NAMES} {dc}><dc:title>Titleword</dc:title></office:meta>")
        masters = f"<office:master-styles><style:master-page>{styles}</style:master-page></office:master-styles>"
        package.writestr("styles.xml", f"<office:document-styles {NAMES}>{masters}</office:document-styles>")
        package.writestr("Pictures/red.png", _picture().getvalue())
    return made.getvalue()


def open_text() -> bytes:
    """Return an OpenDocument text with heads of pages and properties."""
    body = "<office:text><text:p>Bodyword stands here.</text:p><text:p>Lastword stands here.</text:p></office:text>"
    return _opendocument("text", body, "<style:header><text:p>Headword</text:p></style:header>")


def _saved(document: object) -> bytes:
    made = io.BytesIO()
    document.save(made)  # type: ignore[attr-defined]
    return made.getvalue()


MADE: dict[str, Callable[[], bytes]] = {"docx": word, "pptx": slides, "xlsx": workbook, "odt": open_text}


def parts(data: bytes) -> list[str]:
    """Return the names of a package's parts."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        return package.namelist()


def _without(data: bytes, name: str) -> bytes:
    return _changed(data, name, lambda _: None)


def _cut(data: bytes, name: str) -> bytes:
    return _changed(data, name, lambda content: content[: len(content) // 2])


def _other(data: bytes, name: str) -> bytes:
    return _changed(data, name, lambda _: b"\x00\x01 nothing of the kind")


def _changed(data: bytes, name: str, change: Callable[[bytes], bytes | None]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as package, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as written:
        for entry in package.infolist():
            content = package.read(entry)
            changed = change(content) if entry.filename == name else content
            if changed is not None:
                written.writestr(entry.filename, changed)
    return made.getvalue()


def _flipped(data: bytes, name: str) -> bytes:
    """Change bytes of a part as it lies in the file: its check sum does not fit any more, or it cannot be unpacked."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        entry = package.getinfo(name)
        start = entry.header_offset + 30 + len(entry.filename.encode())
        extra = int.from_bytes(data[entry.header_offset + 28 : entry.header_offset + 30], "little")
    at = start + extra + entry.compress_size // 2
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


DAMAGES: dict[str, Callable[[bytes, str], bytes]] = {
    "missing": _without, "cut": _cut, "other": _other, "flipped": _flipped,
}  # fmt: skip


def every() -> Iterator[tuple[str, str, str]]:
    """Yield every kind of document with each of its parts and each damage."""
    for kind, make in MADE.items():
        for name in parts(make()):
            for damage in DAMAGES:
                yield kind, name, damage
