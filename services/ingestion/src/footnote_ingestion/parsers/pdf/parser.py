"""Parses PDF: text by PDFium, headings by outline or type size; pypdf is the fallback if PDFium fails."""

from __future__ import annotations

import re
from collections.abc import Set
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from itertools import islice
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from footnote.types.v1.locator_pb2 import PageLocator

from footnote_ingestion.parsers.base import BlockWriter, Limits, Properties
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.failures import (
    CORRUPT,
    DAMAGED,
    MOST_PLACES,
    NO_TEXT,
    PAGES_WITHOUT_TEXT,
    PARTS_UNREADABLE,
    PASSWORD_PROTECTED,
    TEXT_RECOGNISED,
    TOO_LARGE,
    UNREADABLE_TEXT,
    ParseError,
)
from footnote_ingestion.parsers.ocr import Area, Recognised
from footnote_ingestion.parsers.pdf import page_annotations, right_to_left, scans
from footnote_ingestion.parsers.pdf.bidi import has_letters
from footnote_ingestion.parsers.pdf.glyphs import unreadable as unreadable_lines
from footnote_ingestion.parsers.pdf.grids import Grid
from footnote_ingestion.parsers.pdf.hidden import HiddenTextFinder, has_hidden_layers, shown_area
from footnote_ingestion.parsers.pdf.layout import Outline, Page, write_pages
from footnote_ingestion.parsers.pdf.lines import Line, LineReader
from footnote_ingestion.parsers.pdf.on_pages import read_pictures, unread_pictures
from footnote_ingestion.parsers.pdf.order import in_order
from footnote_ingestion.parsers.pdf.rotated import turn_back
from footnote_ingestion.parsers.pdf.superscripts import part_raised, set_in
from footnote_ingestion.parsers.pdf.tables import read_tables
from footnote_ingestion.parsers.pdf.turns import rulings_turned, turned

_DATE = re.compile(r"(?:D:)?(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?(?:([-+Z])(\d{2})?'?(\d{2})?)?")
_OUTLINE_MOST = 5_000
_STAMP = 200
"""Characters that a page may have besides its picture, such as a stamp or a number."""
_MOST_PICTURES, _MOST_OF_PAGE = 100, 0.6
_NOWHERE = (0.0, 0.0, 0.0, 0.0)


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
            sight = HiddenTextFinder(has_hidden_layers(path))
            pages, unreadable, pictures, annotated = _read(document, sight, out)
            beside = page_annotations.read(document, annotated, out)
            jumble = _jumble(pages)
            outline = _outline(document)
        finally:
            document.close()
        readable = any(id(line) not in jumble for page in pages for line in page.lines)
        if not readable and not beside and count == len(unreadable):
            return _second_try(path, out, limits, ParseError(CORRUPT, "None of the pages can be read."))
        if limits.ocr_languages:
            jumble = _recognised(path, pages, jumble, pictures, out, limits, readable=readable or bool(beside))
        read_pictures(path, pages, out)
        if not readable and not beside and not any(page.recognised for page in pages):
            if jumble:
                raise _no_letters()
            if any(page.hidden for page in pages):
                raise _nothing_seen()
            return _second_try(path, out, limits, _no_text(count, bool(pictures)))
        write_pages(pages, outline, out, jumble, beside)
        read = {page.number for page in pages if page.lines or page.recognised}
        empty = [PageLocator(page=page.number) for page in pages if page.number not in read | unreadable]
        hardly = [page.number for page in pages if page.lines and page.number in pictures and not page.recognised]
        if hardly:
            places = [PageLocator(page=number) for number in hardly[:MOST_PLACES]]
            words = "{count} pages are a picture with hardly any text, and the picture was not read"
            out.warn(PAGES_WITHOUT_TEXT, words, len(hardly), places)
        if unreadable:
            places = [PageLocator(page=number) for number in sorted(unreadable)[:MOST_PLACES]]
            out.warn(PARTS_UNREADABLE, f"{{count}} of {count} pages could not be read", len(unreadable), places)
        if empty:
            out.warn(PAGES_WITHOUT_TEXT, f"{{count}} of {count} pages hold no text", len(empty), empty[:MOST_PLACES])
        return properties


def _open(path: Path) -> pdfium.PdfDocument:
    # PDFium does not reset the last error on some failures: without this, a broken file after a protected one would
    # count as protected too.
    raw.FPDF_LoadMemDocument(b"-", 1, None)
    try:
        return scans.open_pdf(path)
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


def _no_letters() -> ParseError:
    return ParseError(
        NO_TEXT,
        "The pages show text, but their fonts do not say which letters.",
        "Run OCR on the file, or print it to PDF again from the program that wrote it.",
    )


def _nothing_seen() -> ParseError:
    return ParseError(
        NO_TEXT,
        "All text of the PDF is hidden: a reader of its pages does not see it.",
        "If the text is wanted, print the pages again with the text visible.",
    )


def _jumble(pages: list[Page]) -> set[int]:
    """Return the ids of lines that are glyph numbers instead of text."""
    return unreadable_lines([(line.text, id(line)) for line in page.lines if not line.mapped] for page in pages)


def _recognised(
    path: Path, pages: list[Page], jumble: set[int], pictures: set[int], out: BlockWriter, limits: Limits, *,
    readable: bool,
) -> set[int]:  # fmt: skip
    """Read pages that are pictures or have a jumble by OCR, and return the rest of the jumble.

    Raises `ParseError` if that fails and nothing else is `readable`.
    """
    wanted = [page for page in pages if page.number in pictures or any(id(line) in jumble for line in page.lines)]
    try:
        for page, found in zip(
            wanted, scans.pages(path, [page.number for page in wanted], limits.ocr_languages), strict=True
        ):
            if page.lines and not any(id(line) in jumble for line in page.lines):
                found = _but_for(found, page)
            if found.paragraphs:
                page.recognised = found
            out.pages(page.number, len(pages))
    except ParseError:
        if not readable:
            raise
        words = "{count} pages are pictures, and character recognition failed: see the service's settings"
        out.warn(PARTS_UNREADABLE, words, len(wanted), [PageLocator(page=page.number) for page in wanted[:MOST_PLACES]])
    read = [page for page in wanted if page.recognised]
    for page in read:
        page.lines = [line for line in page.lines if id(line) not in jumble]
    if read:
        places = [PageLocator(page=page.number) for page in read[:MOST_PLACES]]
        out.warn(TEXT_RECOGNISED, "{count} pages were recognised and may hold errors", len(read), places)
    left = {id(line) for page in pages for line in page.lines}
    return jumble & left


def _but_for(found: Recognised, page: Page) -> Recognised:
    """Return the recognised lines without those that the page has as text in the same place."""
    kept = []
    for paragraph in found.paragraphs:
        rest = [
            line for line in paragraph if not any(_same_place(turned(line.box, page.turn), one) for one in page.lines)
        ]
        if rest:
            kept.append(rest)
    return Recognised(found.page, kept)


def _same_place(box: Area, line: Line) -> bool:
    across = min(box[2], line.right) - max(box[0], line.left)
    middle = (box[1] + box[3]) / 2
    return across > 0.6 * (box[2] - box[0]) and line.bottom <= middle <= line.top


def _read(
    document: pdfium.PdfDocument, sight: HiddenTextFinder, out: BlockWriter
) -> tuple[list[Page], set[int], set[int], list[int]]:
    """Return the pages with their lines, and the numbers of unreadable ones, of pictures and of annotated ones."""
    reader = LineReader()
    pages: list[Page] = []
    unreadable: set[int] = set()
    pictures: set[int] = set()
    annotated: list[int] = []
    for index in range(len(document)):
        lines: list[Line] = []
        hidden: list[Line] = []
        tables: list[Grid] = []
        seen: list[Area] = []
        area = _NOWHERE
        try:
            page = document[index]
            try:
                area = shown_area(page)
                text_page = page.get_textpage()
                try:
                    lines, text = reader.read(text_page.raw, index + 1)
                    if two_ways := has_letters(text):
                        right_to_left.note_direction(lines)
                    _warn_of_glyphs(reader, index + 1, out)
                    if unseen := sight.hidden(page, text_page.raw, lines, reader.turn):
                        lines, hidden = _parted(reader, text_page.raw, lines, unseen)
                    part_raised(reader, text_page.raw, lines)
                    tables = read_tables(
                        [line for line in lines if not line.watermark],
                        partial(reader.words, text_page.raw),
                        partial(rulings_turned, page.raw, reader.turn),
                        out,
                    )
                    turn_back(tables, reader.turn)
                    if two_ways:
                        right_to_left.put_in_order(reader, text_page.raw, [*lines, *hidden])
                    set_in(lines)
                    lines = in_order(lines, tables)
                finally:
                    text_page.close()
                if page_annotations.annotated(page):
                    annotated.append(index + 1)
                if _is_picture(page, lines):
                    pictures.add(index + 1)
                elif lines:
                    seen = unread_pictures(page, lines, reader.turn)
            finally:
                page.close()
        except pdfium.PdfiumError:
            unreadable.add(index + 1)
        out.pages(index + 1, len(document))
        label = _label(document, index)
        pages.append(Page(index + 1, label, area, lines, tables, hidden=hidden, pictures=seen, turn=reader.turn))
    return pages, unreadable, pictures, annotated


def _parted(
    reader: LineReader, text_page: object, lines: list[Line], unseen: Set[int]
) -> tuple[list[Line], list[Line]]:
    """Return the visible and the hidden lines; a partly hidden one is split."""
    parts = [reader.parted(text_page, line, unseen) for line in lines]
    return [line for seen, _ in parts for line in seen], [line for _, not_seen in parts for line in not_seen]


def _is_picture(page: pdfium.PdfPage, lines: list[Line]) -> bool:
    """Return whether a page is a picture: any without text, or one that covers most of a page with a stamp."""
    if sum(len(line.text) for line in lines) > _STAMP:
        return False
    pictures = page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3)
    if not lines:
        return next(pictures, None) is not None
    width, height = page.get_size()
    covered = 0.0
    for picture in islice(pictures, _MOST_PICTURES):
        left, bottom, right, top = picture.get_bounds()
        covered += max(0.0, right - left) * max(0.0, top - bottom)
    return bool(covered > _MOST_OF_PAGE * width * height)


def _warn_of_glyphs(reader: LineReader, page: int, out: BlockWriter) -> None:
    """Warn of the signs that replace glyphs without a character."""
    places = [PageLocator(page=page)]
    if reader.glyphs.strokes:
        words = "{count} flat strokes without a character were read as minus signs"
        out.warn(UNREADABLE_TEXT, words, reader.glyphs.strokes, places)
    if reader.glyphs.unknown:
        words = "{count} glyphs without a character are shown as U+FFFD"
        out.warn(UNREADABLE_TEXT, words, reader.glyphs.unknown, places)


def _label(document: pdfium.PdfDocument, index: int) -> str:
    """Return the printed page number if the file declares one that differs from the count."""
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


def _check_with_pypdf(path: Path, limits: Limits, first: ParseError) -> None:
    """Accept a file that pypdf opens, even with the empty password; else raise the `first` failure."""
    from footnote_ingestion.parsers.pdf import second_reader  # for such files alone, since loading it takes long

    try:
        _check_pages(len(second_reader.opened(path).pages), limits)
    except second_reader.ERRORS:
        raise first from None


def _second_try(path: Path, out: BlockWriter, limits: Limits, first: ParseError) -> Properties:
    """Read with pypdf; if that returns no text either, raise the `first` failure."""
    from footnote_ingestion.parsers.pdf import second_reader

    try:
        reader = second_reader.opened(path)
        info = reader.metadata
        count = len(reader.pages)
        _check_pages(count, limits)
        pages = [Page(number, "", _NOWHERE, lines) for number, lines in enumerate(second_reader.lines(reader, out), 1)]
    except second_reader.ERRORS:
        raise first from None
    if not any(page.lines for page in pages):
        # PDFium asked for a password although the empty one suffices: the failure is then the lack of text.
        raise _no_text(count, pictures=False) if first.reason == PASSWORD_PROTECTED and count else first
    properties = _from_info(info.title, info.author, None, info.get("/ModDate")) if info else Properties()
    properties.page_count = count
    out.warn(DAMAGED, "the file is damaged; what could be read was read", 0)
    write_pages(pages, [], out)
    return properties
