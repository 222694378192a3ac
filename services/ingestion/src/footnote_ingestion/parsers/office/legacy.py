"""Word and PowerPoint 97 to 2003, binary: their text, read from the OLE streams; drawings of Excel too."""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path

import olefile  # type: ignore[import-untyped]
from footnote.types.v1.locator_pb2 import SlideLocator

from footnote_ingestion.parsers.base import LIST_ITEM, NOTE, PARAGRAPH, BlockWriter, Limits, Properties
from footnote_ingestion.parsers.cells import Cell, write_table
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.failures import (
    CONTENT_LEFT_OUT,
    CORRUPT,
    OTHER,
    PASSWORD_PROTECTED,
    UNSUPPORTED,
    ParseError,
)
from footnote_ingestion.parsers.rows import TableRows
from footnote_ingestion.parsers.texts.encoding import decode

_ENCRYPTED, _TABLE_1 = 0x0100, 0x0200
_WORD_97 = 0x00C1
_DRAWINGS = 0x22A
"""Where the header says in which part of the table stream the drawings are (fcDggInfo, MS-DOC 2.5.6)."""
_IN_LINE = "\x01"
"""Stands in the text for a picture in line with it; within the first part of a field, for the field's data."""
_BEFORE_97 = (b"\xdc\xa5", b"\xdb\xa5")
"""First bytes of Word 6, 95 and 2."""
_COMPRESSED = 0x40000000
_CELL_END, _END, _MARK = re.compile("\x07"), re.compile("[\r\x0c]"), re.compile("[\r\x07\x0c]")
"""Ends of cells and rows, of paragraphs and pages, and of all of these."""
_MOST_COLUMNS = 63
_MOST_LINES = 8
"""Paragraphs of a row's first cell before its last one: they look like text that ends the table."""
_UNEVEN = "{count} tables whose columns are not certain are read as text, without columns"
_FIELD_MARKS = re.compile("([\x13\x14\x15])")
_FORM = re.compile(r"\x13\s*+FORM(?:CHECKBOX|DROPDOWN)")
# PowerPoint record types.
_DOCUMENT, _SLIDE, _SLIDE_LIST, _PERSIST = 1000, 1006, 4080, 1011
_HEADER, _CHARS, _BYTES = 3999, 4000, 4008
_TITLES = (0, 6)
_CRYPT_TOKEN = 0xF3D1C4DF
_MAX_DEPTH = 40


class DocParser:
    """Reads Word 97-2003 documents. Paragraph styles are not read: headings become paragraphs."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Read the header."""
        with _open(path) as ole:
            _word_header(ole)

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write paragraphs and table rows; footnotes and similar text follow the body, as in the file."""
        with _open(path) as ole:
            text, body_length = _word_text(ole)
            properties = _properties(ole)
            drawn = _drawn_in_word(ole)
        width, between = 0, 0  # of the last table, and the paragraphs since
        for start, piece in _pieces_of(text):
            if isinstance(piece, str):
                between += 1
                out.add(PARAGRAPH if start < body_length else NOTE, piece)
                continue
            cells = _cells(piece)
            if cells is None:
                for row in piece:
                    out.add(PARAGRAPH if start < body_length else NOTE, "; ".join(filter(None, row)))
                out.warn(OTHER, _UNEVEN, under=out.heading_path())
            elif width == len(piece[0]) > 1 and between <= _MOST_LINES:  # may be the rest of it, so without a header
                table = TableRows(out, [()] * width)
                for number, row in enumerate(piece, 1):
                    table.row(number, row, None, typed=[*map(out.numbers.cell, row)])
            else:
                write_table(cells, out)
            width, between = max(map(len, piece)), 0
        out.pictures(_without_code(text).count(_IN_LINE) + drawn)
        if forms := len(_FORM.findall(text)):
            out.warn(CONTENT_LEFT_OUT, "{count} boxes and lists of forms are not read", forms)
        return properties


class PptParser:
    """Reads PowerPoint 97-2003 presentations."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Open the container and check whether it is encrypted."""
        with _open(path) as ole:
            _presentation(ole)

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write each slide's title, then its other text."""
        with _open(path) as ole:
            slides = _slides(_presentation(ole))
            properties = _properties(ole)
        properties.page_count = len(slides)
        for number, (texts, drawn) in enumerate(slides, 1):
            title = next((inline(text) for kind, text in texts if kind in _TITLES), "")
            place = SlideLocator(slide=number, title=title[:300])
            out.reset_headings()
            out.heading(title, 1, place)
            for kind, text in texts:
                if kind in _TITLES and inline(text) == title:
                    continue
                lines = [inline(line) for line in re.split("[\r\n]", text)]
                for line in lines:
                    out.add(LIST_ITEM if len(lines) > 1 else PARAGRAPH, line, place)
            out.pictures(drawn, place)
        return properties


def _open(path: Path) -> olefile.OleFileIO:
    try:
        return olefile.OleFileIO(str(path))
    except (OSError, ValueError, IndexError) as error:
        raise ParseError(CORRUPT, "The file is damaged and cannot be opened.") from error


def _properties(ole: olefile.OleFileIO) -> Properties:
    try:
        info = ole.get_metadata()
    except (OSError, ValueError, IndexError, AttributeError):
        return Properties()
    time = info.last_saved_time
    return Properties(
        title=inline(_decoded(info.title)),
        authors=[name for name in (inline(_decoded(info.author)),) if name],
        keywords=[word for part in _decoded(info.keywords).split(",") if (word := inline(part))],
        file_time=time.replace(tzinfo=UTC) if isinstance(time, datetime) and time.year > 1970 else None,
    )


def _decoded(value: object) -> str:
    return decode(value) if isinstance(value, bytes) else str(value or "")


def _word_header(ole: olefile.OleFileIO) -> bytes:
    """Return the WordDocument stream; refuses encrypted files and older versions."""
    data: bytes = ole.openstream("WordDocument").read()
    if data[:2] in _BEFORE_97:
        raise _too_old()
    if len(data) < 0x1AA or data[:2] != b"\xec\xa5":
        raise ParseError(CORRUPT, "The Word document is damaged and cannot be opened.")
    version, flags = struct.unpack_from("<H", data, 2)[0], struct.unpack_from("<H", data, 10)[0]
    if flags & _ENCRYPTED:
        raise ParseError(PASSWORD_PROTECTED, "The Word document opens only with a password.")
    if version < _WORD_97:
        raise _too_old()
    return data


def _too_old() -> ParseError:
    return ParseError(UNSUPPORTED, "The document is in a format from before 1997.", "Save it as docx and upload that.")


def _word_text(ole: olefile.OleFileIO) -> tuple[str, int]:
    """Return all text by the piece table, and the length of its body part."""
    data = _word_header(ole)
    flags = struct.unpack_from("<H", data, 10)[0]
    body_length = struct.unpack_from("<i", data, 0x4C)[0]
    start, length = struct.unpack_from("<II", data, 0x1A2)
    try:
        table: bytes = ole.openstream("1Table" if flags & _TABLE_1 else "0Table").read()
        return "".join(_pieces(data, table[start : start + length])), body_length
    except (struct.error, OSError, IndexError) as error:
        raise ParseError(CORRUPT, "The Word document is damaged: its text cannot be found.") from error


def _drawn_in_word(ole: olefile.OleFileIO) -> int:
    """Return the number of pictures beside the lines of text; 0 where their list is damaged."""
    data = _word_header(ole)
    flags = struct.unpack_from("<H", data, 10)[0]
    try:
        start, length = struct.unpack_from("<II", data, _DRAWINGS)
        art: bytes = ole.openstream("1Table" if flags & _TABLE_1 else "0Table").read()[start : start + length]
        _, group = struct.unpack_from("<II", art)
        at, found = 8 + group, 0  # behind what all drawings share
        while at + 9 <= len(art):  # a byte, then the drawing of the text, and that of headers
            size = 8 + int(struct.unpack_from("<I", art, at + 5)[0])
            found += sum(1 for _ in pictures(art, at + 1, min(at + 1 + size, len(art))))
            at += 1 + size
    except (struct.error, OSError, IndexError):
        return 0
    return found


def _pieces(data: bytes, clx: bytes) -> Iterator[str]:
    offset = 0
    while clx[offset] == 1:  # formatting, not text
        offset += 3 + struct.unpack_from("<H", clx, offset + 1)[0]
    size = struct.unpack_from("<I", clx, offset + 1)[0]
    plc = clx[offset + 5 : offset + 5 + size]
    count = (len(plc) - 4) // 12
    ends = struct.unpack_from(f"<{count + 1}I", plc)
    for index in range(count):
        length = max(ends[index + 1] - ends[index], 0)
        where = struct.unpack_from("<I", plc, 4 * (count + 1) + 8 * index + 2)[0]
        if where & _COMPRESSED:
            begin = (where & ~_COMPRESSED) // 2
            yield data[begin : begin + length].decode("cp1252", errors="replace")
        else:
            yield data[where : where + 2 * length].decode("utf-16-le", errors="replace")


def _pieces_of(text: str) -> Iterator[tuple[int, str | list[list[str]]]]:
    """Yield paragraphs and the rows of tables, with their position."""
    at = 0
    while at < len(text):
        if _in_table(text, at):
            rows, end = _table(text, at)
            yield at, [[_read(cell) for cell in row] for row in rows]
        else:
            found = _END.search(text, at)
            end = found.end() if found else len(text)
            if piece := _read(text[at:end]):
                yield at, piece
        at = end


def _read(piece: str) -> str:
    return inline(_without_code(piece).replace("\x1e", "-").replace("\x0b", " "))


def _without_code(text: str) -> str:
    """Return a text without the code of its fields, results of inner fields in it included."""
    kept: list[str] = []
    fields: list[int] = []  # for each open field, the number of parts before its code; in its result, all of them
    for part in _FIELD_MARKS.split(text):
        if part == "\x13":
            fields.append(len(kept))
        elif part in ("\x14", "\x15"):
            if fields:
                del kept[fields.pop() :]
            if part == "\x14":
                fields.append(sys.maxsize)
        else:
            kept.append(part)
    return "".join(kept[: min(fields, default=None)])


def _in_table(text: str, at: int) -> bool:
    found = _MARK.search(text, at)
    return found is not None and found[0] == "\x07"


def _table(text: str, start: int) -> tuple[list[list[str]], int]:
    """Return the rows of the table that begins at a position, and where it ends.

    The end of a row has the mark of a cell's end, so that it looks like an empty cell: the width decides, with which
    all rows end with a mark of their own. Where none does, or a single row with empty cells, rows end at two marks.
    """
    marks = [one.start() for one in islice(_CELL_END.finditer(text, start), _MOST_COLUMNS + 1)]
    for width in (number for number, (one, other) in enumerate(pairwise(marks), 1) if other == one + 1):
        rows: list[list[str]] = []
        at = start
        while (found := _row(text, at, width)) is not None:
            row, at = found
            rows.append(row)
            if not _in_table(text, at):
                if len(rows) > 1 or all(row):
                    return rows, at
                break
    last = _END.search(text, start)
    end = text.rfind("\x07", start, last.start() if last else len(text)) + 1
    return [row.split("\x07") for row in text[start:end].removesuffix("\x07\x07").split("\x07\x07")], end


def _cells(rows: list[list[str]]) -> list[list[Cell]] | None:
    """Return the cells of a table, a row's only one over all columns; None where the columns are not certain.

    Two rows of one cell that follow each other may be one row with an empty cell between them.
    """
    widths = [len(row) for row in rows]
    width = max(widths)
    if min(widths) < width:
        if any(one not in (1, width) for one in widths) or (1, 1) in pairwise(widths):
            return None
        if not all(map(all, rows)):
            return None
    return [[Cell(value, 1, width if len(row) == 1 else 1) for value in row] for row in rows]


def _row(text: str, at: int, width: int) -> tuple[list[str], int] | None:
    """Return the cells of a row of so many, and where the next one begins; None if its end is not there."""
    row: list[str] = []
    for _ in range(width):
        end = text.find("\x07", at)
        if end < 0:
            return None
        row.append(text[at:end])
        at = end + 1
    return (row, at + 1) if text.startswith("\x07", at) else None


def _presentation(ole: olefile.OleFileIO) -> bytes:
    """Return the main stream; refuses encrypted files."""
    if ole.exists("Current User"):
        user: bytes = ole.openstream("Current User").read(16)
        if len(user) >= 16 and struct.unpack_from("<I", user, 12)[0] == _CRYPT_TOKEN:
            raise ParseError(PASSWORD_PROTECTED, "The presentation opens only with a password.")
    return bytes(ole.openstream("PowerPoint Document").read())


def _slides(data: bytes) -> list[tuple[list[tuple[int, str]], int]]:
    """Return each slide's texts with their kind, those of the outline first, and the number of its pictures."""
    slides: list[list[tuple[int, str]]] = []
    drawn: list[list[tuple[int, str]]] = []
    shown: list[int] = []
    for kind, _, container, start, end in records(data, 0, len(data)):
        if kind == _DOCUMENT and container:
            for inner, instance, _, first, last in records(data, start, end):
                if inner == _SLIDE_LIST and instance == 0:
                    slides = _outline(data, first, last)
        elif kind == _SLIDE and container:
            drawn.append(list(_texts(data, start, end, 0)))
            shown.append(sum(1 for _ in pictures(data, start, end)))
    for index, texts in enumerate(drawn[-len(slides) :] if slides else drawn):
        if index >= len(slides):
            slides.append([])
        known = {text for _, text in slides[index]}
        slides[index] += [(kind, text) for kind, text in texts if text not in known]
    shown = [*shown[-len(slides) :], *[0] * len(slides)]
    return list(zip(slides, shown, strict=False))


def _outline(data: bytes, start: int, end: int) -> list[list[tuple[int, str]]]:
    slides: list[list[tuple[int, str]]] = []
    kind = -1
    for record, _, _, first, last in records(data, start, end):
        if record == _PERSIST:
            slides.append([])
        elif record == _HEADER and last - first >= 4:
            kind = struct.unpack_from("<I", data, first)[0]
        elif record in (_CHARS, _BYTES) and slides:
            slides[-1].append((kind, _atom(data, record, first, last)))
    return slides


def _texts(data: bytes, start: int, end: int, depth: int) -> Iterator[tuple[int, str]]:
    kind = -1
    for record, _, container, first, last in records(data, start, end):
        if container and depth < _MAX_DEPTH:
            yield from _texts(data, first, last, depth + 1)
        elif record == _HEADER and last - first >= 4:
            kind = struct.unpack_from("<I", data, first)[0]
        elif record in (_CHARS, _BYTES):
            yield kind, _atom(data, record, first, last)


def _atom(data: bytes, record: int, start: int, end: int) -> str:
    return data[start:end].decode("utf-16-le" if record == _CHARS else "latin-1", errors="replace")


SHAPE, PROPERTIES, ANCHOR = 0xF004, 0xF00B, 0xF010
_PICTURE = 0x0104
"""The property "pib" of a shape: the number of its picture in the file's store, from 1."""
_PROPERTY_BYTES = 6


def records(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, bool, int, int]]:
    """Yield (type, instance, is a container, start, end) of the records between two offsets."""
    while start + 8 <= end:
        version, kind, length = struct.unpack_from("<HHI", data, start)
        body, after = start + 8, min(start + 8 + length, end)
        yield kind, version >> 4, version & 0xF == 0xF, body, after
        start = after if after > start else end


def pictures(data: bytes, start: int, end: int, depth: int = 0) -> Iterator[bytes]:
    """Yield the anchor of each shape that shows a picture, in the form of its application; empty for none."""
    for kind, _, container, first, last in records(data, start, end):
        if kind == SHAPE:
            parts = {one: (instance, begin, stop) for one, instance, _, begin, stop in records(data, first, last)}
            if PROPERTIES in parts and _shows_picture(data, *parts[PROPERTIES]):
                _, begin, stop = parts.get(ANCHOR, (0, 0, 0))
                yield data[begin:stop]
        elif container and depth < _MAX_DEPTH:
            yield from pictures(data, first, last, depth + 1)


def _shows_picture(data: bytes, count: int, start: int, end: int) -> bool:
    """Return whether the table of a shape's properties, `count` of them, names a picture."""
    for at in range(start, min(start + count * _PROPERTY_BYTES, end - _PROPERTY_BYTES + 1), _PROPERTY_BYTES):
        name, value = struct.unpack_from("<HI", data, at)
        if name & 0x3FFF == _PICTURE and value:
            return True
    return False
