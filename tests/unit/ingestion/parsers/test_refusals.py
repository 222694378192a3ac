"""Nothing is refused for how it begins: bytes that name a format count only with a second sign."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import docx
import fpdf
import openpyxl
import pptx
import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.failures import ParseError
from footnote_ingestion.parsers.sniff import sniff


def texts(folder: Path, name: str, data: bytes) -> tuple[str, list[str]]:
    """The type and the texts of the blocks."""
    path = folder / name
    path.write_bytes(data)
    kind = sniff(path, name).document_type
    parser = parser_for(kind)
    parser.inspect(path, Limits())
    found: list[str] = []
    parser.parse(path, BlockWriter(lambda block: found.append(block.text), Limits()), Limits())
    return kind, found


BEGINNINGS = [
    "BM", "BMW sells cars", "MZ", "MZ is a band", "GIF89a is a format", "GIF87a", "ID3 tags hold titles", "PK",
    "PK is short for primary key", "RIFF and WAVE", "OggS", "fLaC", "8BPS", "FLV", "FWS", "CWS", "SQLite format 3",
    "wOFF", "II*", "MM", "Rar!", "BZh9", "7z", "MThd", "FORM", "Cr24", "MSCF", "{\\rt", "070701",
]  # fmt: skip


@pytest.mark.parametrize("start", BEGINNINGS)
def test_text_that_begins_like_another_format_is_text(start: str, tmp_path: Path) -> None:
    text = f"{start}: the café on the corner opens at nine. It closes at six, and on Sundays at five.\n" * 5
    for name in ("notes.txt", "notes.md", "notes"):
        for codec in ("utf-8", "cp1252"):
            kind, found = texts(tmp_path, name, text.encode(codec))
            assert kind == ("md" if name.endswith("md") else "txt")
            assert "the café on the corner" in " ".join(found)


@pytest.mark.parametrize(
    "data",
    [
        b"BM" + (70).to_bytes(4, "little") + bytes(8) + b"\x36\0\0\0\x28\0\0\0" + b"\xff" * 4000,
        b"MZ\x90\0\x03\0\0\0" + bytes(range(256)) * 8,
        b"GIF89a\x10\0\x10\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\x10\0\x10\0\0\x02\x0e\x8c\x8f\xa9\xcb\xed\0;",
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4,
        b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(range(255, -1, -1)) * 4,
        b"!<arch>\ndebian-binary   1700000000  0     0     100644  4         `\n2.0\n",
    ],
)
def test_what_is_such_a_format_is_refused(data: bytes, tmp_path: Path) -> None:
    for name in ("a.txt", "a.md", "a.bin"):
        with pytest.raises(ParseError) as caught:
            texts(tmp_path, name, data)
        assert caught.value.reason == "UNSUPPORTED"


PDF_TALK = """# How a file begins

Every file begins with a line such as

    %PDF-1.7
    1 0 obj

and ends with `startxref`, a number and `%%EOF`. The café has a poster of it.
"""


@pytest.mark.parametrize("name", ["format.md", "format.txt", "format"])
def test_text_about_pdf_is_text(name: str, tmp_path: Path) -> None:
    kind, found = texts(tmp_path, name, PDF_TALK.encode())
    assert kind in ("md", "txt")
    assert "%PDF-" in " ".join(found)


@pytest.mark.parametrize("name", ["format.md", "format.txt"])
def test_text_that_begins_with_the_mark_of_pdf_is_text(name: str, tmp_path: Path) -> None:
    data = b"%PDF-1.4 is what the first line of such a file says, and people print it on shirts.\n" * 3
    kind, found = texts(tmp_path, name, data)
    assert kind in ("md", "txt")
    assert "%PDF-" in " ".join(found)


def made_pdf() -> bytes:
    pdf = fpdf.FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=12)
    pdf.cell(text="The heron waits by the river.")
    return bytes(pdf.output())


@pytest.mark.parametrize("name", ["a.pdf", "a", "a.txt"])
@pytest.mark.parametrize(
    "junk", [b"", b"\n\n  ", b"\xef\xbb\xbf", b"HTTP/1.1 200 OK\r\nContent-Type: x\r\n\r\n", bytes(500)]
)
def test_a_pdf_with_bytes_before_it(junk: bytes, name: str, tmp_path: Path) -> None:
    kind, found = texts(tmp_path, name, junk + made_pdf())
    assert kind == "pdf"
    assert found == ["The heron waits by the river."]


@pytest.mark.parametrize("name", ["a.pdf", "a"])
def test_a_pdf_without_its_header(name: str, tmp_path: Path) -> None:
    whole = made_pdf()
    data = whole[whole.index(b"\n") + 1 :]
    assert b"%PDF-" not in data
    kind, found = texts(tmp_path, name, data)
    assert kind == "pdf"
    assert found == ["The heron waits by the river."]


def strict(data: bytes) -> bytes:
    """The package under the names of the Strict kind of Office Open XML."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as package, zipfile.ZipFile(result, "w") as written:
        for name in package.namelist():
            part = package.read(name)
            if name.endswith((".xml", ".rels")):
                part = re.sub(
                    rb"http://schemas\.openxmlformats\.org/(officeDocument|\w+ml)/2006/",
                    rb"http://purl.oclc.org/ooxml/\1/",
                    part,
                )
                part = part.replace(b"/extended-properties", b"/extendedProperties")
            written.writestr(name, part)
    return result.getvalue()


def saved(what: object) -> bytes:
    buffer = io.BytesIO()
    what.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()


def test_strict_word(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_heading("Leave", 1)
    document.add_paragraph("Thirty days.")
    table = document.add_table(2, 2)
    for at, value in enumerate(("Grade", "Days", "A", "30")):
        table.cell(at // 2, at % 2).text = value
    data = strict(saved(document))
    assert b"purl.oclc.org/ooxml/wordprocessingml/main" in zipfile.ZipFile(io.BytesIO(data)).read("word/document.xml")
    assert texts(tmp_path, "a.docx", data) == ("docx", ["Leave", "Thirty days.", "Grade: A; Days: 30"])


def test_strict_slides(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Cranes"
    slide.placeholders[1].text_frame.text = "They wait."
    assert texts(tmp_path, "a.pptx", strict(saved(presentation))) == ("pptx", ["Cranes", "They wait."])


def test_strict_sheets(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["City", "People"], ["Ghent", 260000]):
        book.active.append(row)  # type: ignore[union-attr]
    assert texts(tmp_path, "a.xlsx", strict(saved(book))) == ("xlsx", ["City: Ghent; People: 260000"])


@pytest.mark.slow
def test_a_stray_cell_in_the_last_row(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["City", "People"], ["Ghent", 260000], ["Bruges", 118000]):
        sheet.append(row)
    sheet.cell(1_048_576, 1, "x")
    path = tmp_path / "a.xlsx"
    book.save(path)
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    parser_for("xlsx").parse(path, out, Limits())
    assert [block.text for block in blocks] == ["City: Ghent; People: 260000", "City: Bruges; People: 118000", "x"]
    assert blocks[-1].locator.sheet.range == "A1048576"


def test_rows_that_hold_something_are_still_limited(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for number in range(60):
        book.active.append([number, "a"])  # type: ignore[union-attr]
    path = tmp_path / "a.xlsx"
    book.save(path)
    with pytest.raises(ParseError) as caught:
        parser_for("xlsx").parse(path, BlockWriter(lambda _: None, Limits()), Limits(rows=50))
    assert caught.value.reason == "TOO_LARGE"


def binary_workbook(sheet: bytes) -> bytes:
    """Return an xlsb with one sheet of these records."""
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    name = b"\x01\0\0\0S\0"
    bundle = bytes(4) + b"\x01\0\0\0" + b"\x04\0\0\0r\0I\0d\x001\0" + name
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as package:
        package.writestr("[Content_Types].xml", "<Types/>")
        records = b"\x83\x01\0" + b"\x8f\x01\0" + b"\x9c\x01" + bytes([len(bundle)]) + bundle + b"\x90\x01\0\x84\x01\0"
        package.writestr("xl/workbook.bin", records)
        package.writestr(
            "xl/_rels/workbook.bin.rels",
            f'<Relationships xmlns="{relations}"><Relationship Id="rId1" Type="worksheet" '
            'Target="worksheets/sheet1.bin"/></Relationships>',
        )
        package.writestr("xl/worksheets/sheet1.bin", sheet)
    return made.getvalue()


def test_a_binary_workbook_that_stops_its_library_is_refused_with_the_cause(tmp_path: Path) -> None:
    short = b"\x81\x01\0" + b"\x94\x01\x07" + bytes(7)  # the library reads sixteen bytes of this record
    with pytest.raises(ParseError, match="The sheet 'S' cannot be read: the library for workbooks stopped") as raised:
        texts(tmp_path, "prices.xlsb", binary_workbook(short))
    assert (raised.value.reason, raised.value.hint) == ("UNSUPPORTED", "Save the workbook as xlsx and upload that.")
