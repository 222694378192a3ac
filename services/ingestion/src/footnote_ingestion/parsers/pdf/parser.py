"""PDF: text by PDFium, headings by outline or type size; pypdf tries again what PDFium cannot open or read."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pypdf
import pypdfium2 as pdfium
import pypdfium2.raw as raw
from pypdf.errors import PyPdfError

from footnote_ingestion.parsers.base import BlockWriter, Limits, Properties
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.failures import CORRUPT, NO_TEXT, PASSWORD_PROTECTED, TOO_LARGE, ParseError
from footnote_ingestion.parsers.pdf import ocr
from footnote_ingestion.parsers.pdf.layout import Outline, Page, write_pages
from footnote_ingestion.parsers.pdf.lines import Line, LineReader

_DATE = re.compile(r"(?:D:)?(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?(?:([-+Z])(\d{2})?'?(\d{2})?)?")
_OUTLINE_MOST = 5_000
# What pypdf raises on broken files beyond its own errors, as found by fuzzing.
_PYPDF_ERRORS = (
    PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, AssertionError, OverflowError, OSError,
    RecursionError, NotImplementedError, zlib.error,
)  # fmt: skip


class PdfParser:
    """Reads PDF files."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Open the file with either library."""
        try:
            document = _open(path)
        except ParseError as error:
            _check_with_pypdf(path, limits, error)
            return
        try:
            _check_pages(len(document), limits)
        finally:
            document.close()

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write the pages' text as paragraphs, headings and rows; pages count from 1."""
        try:
            document = _open(path)
        except ParseError as error:
            return _second_try(path, out, limits, error)
        try:
            count = len(document)
            _check_pages(count, limits)
            properties = _properties(document)
            properties.page_count = count
            pages, unreadable, pictures = _read(document, out)
            outline = _outline(document)
        finally:
            document.close()
        if not any(page.lines for page in pages):
            if count == unreadable:
                return _second_try(path, out, limits, ParseError(CORRUPT, "None of the pages can be read."))
            if pictures and limits.ocr_languages:
                ocr.recognise(path, out, limits.ocr_languages)
                properties.warnings.append("the text was recognised on scanned pages and may hold errors")
                return properties
            return _second_try(path, out, limits, _no_text(count, pictures))
        write_pages(pages, outline, out)
        empty = sum(1 for page in pages if not page.lines)
        if unreadable:
            properties.warnings.append(f"{unreadable} of {count} pages could not be read")
        if empty - unreadable > 0:
            properties.warnings.append(f"{empty - unreadable} of {count} pages hold no text")
        return properties


def _open(path: Path) -> pdfium.PdfDocument:
    # PDFium leaves the last error untouched on some failures: without this, a broken file after a protected one would
    # be taken for protected too.
    raw.FPDF_LoadMemDocument(b"-", 1, None)
    try:
        return pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise ParseError(PASSWORD_PROTECTED, "The PDF opens only with a password.") from error
        raise ParseError(CORRUPT, "The PDF is damaged and cannot be opened; it was probably cut off.") from error


def _check_pages(count: int, limits: Limits) -> None:
    if count > limits.pages:
        raise ParseError(TOO_LARGE, f"The PDF has {count} pages; at most {limits.pages} are read.")


def _no_text(count: int, pictures: bool) -> ParseError:
    if pictures:
        return ParseError(
            NO_TEXT, "The pages are pictures without text.", "Run OCR on the file, then upload the searchable PDF."
        )
    return ParseError(NO_TEXT, f"The PDF's {count} pages are blank." if count != 1 else "The PDF's only page is blank.")


def _read(document: pdfium.PdfDocument, out: BlockWriter) -> tuple[list[Page], int, bool]:
    """Return the pages with their lines, how many could not be read, whether pages without text have pictures."""
    reader = LineReader()
    pages: list[Page] = []
    unreadable = 0
    pictures = False
    for index in range(len(document)):
        lines: list[Line] = []
        height = 0.0
        try:
            page = document[index]
            try:
                height = page.get_height()
                text_page = page.get_textpage()
                try:
                    lines, _ = reader.read(text_page.raw, index + 1)
                finally:
                    text_page.close()
                if not lines and not pictures:
                    pictures = next(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3), None) is not None
            finally:
                page.close()
        except pdfium.PdfiumError:
            unreadable += 1
        out.pages(index + 1, len(document))
        pages.append(Page(index + 1, _label(document, index), height, _stamps_last(lines)))
    return pages, unreadable, pictures


def _stamps_last(lines: list[Line]) -> list[Line]:
    """Return the lines with text set along the page's edge after the others: it would part their paragraphs."""
    rotated = [line for line in lines if line.rotated]
    if not rotated or len(rotated) * 2 > len(lines):
        return lines
    return [line for line in lines if not line.rotated] + rotated


def _label(document: pdfium.PdfDocument, index: int) -> str:
    """Return the printed page number where the file declares one that differs from the counted one."""
    try:
        label = inline(str(document.get_page_label(index) or ""))
    except (pdfium.PdfiumError, ValueError):
        return ""
    return label if label != str(index + 1) else ""


def _outline(document: pdfium.PdfDocument) -> list[Outline]:
    found: list[Outline] = []
    try:
        for bookmark in document.get_toc(max_depth=6):
            if len(found) >= _OUTLINE_MOST:
                break
            dest = bookmark.get_dest()
            page = dest.get_index() if dest is not None else None
            found.append(
                Outline(inline(bookmark.get_title()), bookmark.level + 1, (page or 0) + 1 if page is not None else 0)
            )
    except (pdfium.PdfiumError, ValueError, RecursionError):
        return found
    return found


def _properties(document: pdfium.PdfDocument) -> Properties:
    try:
        info = document.get_metadata_dict(skip_empty=True)
    except (pdfium.PdfiumError, ValueError):
        return Properties()
    return _from_info(
        info.get("Title"), info.get("Author"), info.get("Keywords"), info.get("ModDate") or info.get("CreationDate")
    )


def _from_info(title: object, author: object, keywords: object, date: object) -> Properties:
    authors = [name for part in re.split(r"[;\n]", str(author or "")) if (name := inline(part))]
    words = [word for part in re.split(r"[;,]", str(keywords or "")) if (word := inline(part))]
    return Properties(
        title=inline(str(title or "")), authors=authors, keywords=words[:30], file_time=_moment(str(date or ""))
    )


def _moment(text: str) -> datetime | None:
    """Return a PDF date ("D:20240131120000+01'00'") in UTC."""
    match = _DATE.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) if part else 0 for part in match.groups()[:6])
    offset = timedelta(hours=int(match[8] or 0), minutes=int(match[9] or 0))
    try:
        zone = timezone(-offset if match[7] == "-" else offset)
        return datetime(year, month or 1, day or 1, hour, minute, min(second, 59), tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _reader(path: Path) -> pypdf.PdfReader:
    """Return pypdf's reader; raises `ParseError` when the file needs a password and the empty one does not open it."""
    reader = pypdf.PdfReader(path, strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        raise ParseError(PASSWORD_PROTECTED, "The PDF opens only with a password.")
    return reader


def _check_with_pypdf(path: Path, limits: Limits, first: ParseError) -> None:
    """Let pass what pypdf opens, be it with the empty password; else the `first` failure stands."""
    try:
        _check_pages(len(_reader(path).pages), limits)
    except _PYPDF_ERRORS:
        raise first from None


def _second_try(path: Path, out: BlockWriter, limits: Limits, first: ParseError) -> Properties:
    """Read with pypdf; when that gives no text either, the `first` failure stands."""
    try:
        reader = _reader(path)
        info = reader.metadata
        count = len(reader.pages)
        _check_pages(count, limits)
        pages = [Page(number, "", 0.0, lines) for number, lines in enumerate(_pypdf_lines(reader, out), 1)]
    except _PYPDF_ERRORS:
        raise first from None
    if not any(page.lines for page in pages):
        # PDFium asked for a password where the empty one was enough: then it is the lack of text that counts.
        raise _no_text(count, pictures=False) if first.reason == PASSWORD_PROTECTED and count else first
    properties = _from_info(info.title, info.author, None, info.get("/ModDate")) if info else Properties()
    properties.page_count = count
    properties.warnings.append("the file is damaged; what could be read was read")
    write_pages(pages, [], out)
    return properties


def _pypdf_lines(reader: pypdf.PdfReader, out: BlockWriter) -> Iterator[list[Line]]:
    for number, page in enumerate(reader.pages, 1):
        try:
            text = page.extract_text()
        except _PYPDF_ERRORS:
            text = ""
        out.pages(number, len(reader.pages))
        yield [Line(line.strip(), number, 0, 0, 0, 0, 0, False, False) for line in text.splitlines() if line.strip()]
