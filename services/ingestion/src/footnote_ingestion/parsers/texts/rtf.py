"""Rich Text Format: paragraphs, headings, lists, tables, notes in place, and the wrapped HTML of messages."""

from __future__ import annotations

import re
from bisect import bisect_left
from pathlib import Path

from footnote_ingestion.parsers.base import (
    FURNITURE,
    LIST_ITEM,
    NOTE,
    PARAGRAPH,
    BlockWriter,
    Limits,
    Properties,
)
from footnote_ingestion.parsers.cells import joined_down, write_table
from footnote_ingestion.parsers.clean import RAISED, inline, joined, starts_as_figure
from footnote_ingestion.parsers.failures import CONTENT_LEFT_OUT, OTHER, PAGE_FURNITURE
from footnote_ingestion.parsers.texts import rtf_reader as reader
from footnote_ingestion.parsers.texts.html import write_html
from footnote_ingestion.parsers.texts.plain import write_text
from footnote_ingestion.parsers.texts.rtf_reader import Piece

_HEADING = re.compile(r"(?:heading|titre|überschrift|título|intestazione|kop) ?(\d)", re.IGNORECASE)
_HEADED = 4096
_NEAR = 30
"""In twips: cell edges within this distance belong to the same column."""
_PARAGRAPH_ENDS = frozenset(("par", "sect", "page", "column"))
_MOST_CELLS = 200


class RtfParser:
    """Reads rtf files."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Accept any text that begins as RTF."""

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write paragraphs, headings and tables in order, each note after its paragraph."""
        return write_rtf(path.read_bytes(), out)


def write_rtf(data: bytes, out: BlockWriter) -> Properties:
    """Write the text of an RTF file, or the HTML that it wraps; return its properties."""
    if b"\\fromhtml1" in data[:_HEADED]:
        return _write_wrapped(data, out)
    writer = _Writer(out)
    for piece in reader.pieces(data):
        writer.take(piece)
    return writer.end()


def _write_wrapped(data: bytes, out: BlockWriter) -> Properties:
    """Write the HTML from which a mail program made the RTF ([MS-OXRTFEX])."""
    parts: list[str] = []
    for piece in reader.pieces(data):
        if piece.of in (reader.HTML, reader.BODY, reader.HIDDEN):
            parts.append(piece.text or ("\n" if piece.word in _PARAGRAPH_ENDS else ""))
    write_html("".join(parts), out)
    return Properties()


class _Row:
    """A row's cells as they are read, with its layout: right edges, and which cells continue others."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.layout: list[tuple[int, bool, bool]] = []
        self.head = False


class _Writer:
    """Collects paragraphs, cells and notes until something ends them."""

    def __init__(self, out: BlockWriter) -> None:
        self._out = out
        self._properties = Properties()
        self._parts: dict[str, list[str]] = {}
        self._notes: list[str] = []
        self._margins: dict[str, None] = {}
        self._rows: list[_Row] = []
        self._row = _Row()
        self._layout = _Row()
        self._down = self._across = False
        self._in_table = self._listed = False
        self._level = 0
        self._styles: dict[int, int] = {}
        self._style = 0
        self._hidden = self._formulas = self._changes = self._pictures = self._objects = 0
        self._last = ""

    def take(self, piece: Piece) -> None:
        """Process the next piece of the file."""
        if piece.of == reader.HIDDEN:
            self._hidden += bool(piece.text.strip())
            return
        if piece.of in (reader.SKIPPED, reader.CHOICE):  # these end nothing around them
            self._formulas += piece.word == "mmath"
            self._pictures += piece.word in ("pict", "shppict")
            self._objects += piece.word == "objdata"
            return
        if piece.of != self._last:
            self._end_of(self._last)
            self._last = piece.of
        if piece.text:
            self._text(piece)
        elif piece.of == reader.BODY:
            self._word(piece.word, piece.number)
        elif piece.of == reader.STYLE:
            self._of_style(piece.word, piece.number)
        elif piece.word in _PARAGRAPH_ENDS:
            self._parts.setdefault(piece.of, []).append(" ")
        elif piece.word.startswith(("footnote", "annotation", "header", "footer")):  # one after another
            self._end_of(piece.of)

    def end(self) -> Properties:
        """Write the rest of the text, then the parts beside it."""
        self._end_of(self._last)
        self._paragraph()
        self._table()
        out = self._out
        for number, words in (
            (self._hidden, "{count} pieces of hidden, deleted or struck text are left out"),
            (self._formulas, "{count} formulas are left out"),
            (self._objects, "{count} embedded objects are not read"),
        ):
            if number:
                out.warn(CONTENT_LEFT_OUT, words, number)
        out.pictures(max(self._pictures - self._objects, 0))  # a picture stands for each object
        if self._changes:
            out.warn(OTHER, "{count} tracked changes are read as if they were accepted", self._changes)
        if self._margins:
            out.reset_headings()
            for text in self._margins:
                out.add(FURNITURE, text)
            out.warn(PAGE_FURNITURE, "{count} headers and footers are kept apart and not searched", len(self._margins))
        return self._properties

    def _text(self, piece: Piece) -> None:
        if piece.of == reader.STYLE:
            if (named := _HEADING.search(piece.text)) is not None:
                self._styles.setdefault(self._style, int(named[1]))
            return
        raised = piece.raised and starts_as_figure(piece.text)
        self._parts.setdefault(piece.of, []).append(RAISED + piece.text if raised else piece.text.replace(RAISED, ""))

    def _of_style(self, word: str, number: int | None) -> None:
        if word in ("s", "cs", "ds", "ts"):
            self._style = number or 0 if word == "s" else -1  # a style of characters, sections or tables
        elif word == "outlinelevel" and number is not None and 0 <= number < 6:
            self._styles[self._style] = number + 1

    def _word(self, word: str, number: int | None) -> None:
        if word in _PARAGRAPH_ENDS:
            if self._in_table:
                self._parts.setdefault(reader.BODY, []).append(" ")
            else:
                self._paragraph()
        elif word == "cell":
            if len(self._row.texts) < _MOST_CELLS:
                self._row.texts.append(inline(joined(self._parts.pop(reader.BODY, ()))))
        elif word == "row":
            self._end_row()
        elif word == "pard":
            self._in_table = self._listed = False
            self._level = 0
        elif word == "intbl":
            self._in_table = True
        elif word == "s":
            self._level = self._level or self._styles.get(number or 0, 0)
        elif word == "outlinelevel":
            self._level = number + 1 if number is not None and 0 <= number < 6 else 0
        elif word in ("listtext", "pntext"):
            self._listed = True
        elif word == "revised":
            self._changes += 1
        else:
            self._of_row(word, number)

    def _of_row(self, word: str, number: int | None) -> None:
        layout = self._layout
        if word == "trowd":
            self._layout = _Row()
        elif word == "trhdr":
            layout.head = True
        elif word == "clvmrg":
            self._down = True
        elif word == "clmrg":
            self._across = True
        elif word == "cellx" and len(layout.layout) < _MOST_CELLS:
            layout.layout.append((number or 0, self._down, self._across))
            self._down = self._across = False

    def _end_row(self) -> None:
        row, layout = self._row, self._layout
        if left := inline(joined(self._parts.pop(reader.BODY, ()))):
            row.texts.append(left)
        row.layout, row.head = layout.layout, layout.head
        if row.texts:
            self._rows.append(row)
        self._row = _Row()

    def _paragraph(self) -> None:
        """Write the completed paragraph, and the table before it."""
        self._unfinished_row()
        text = joined(self._parts.pop(reader.BODY, ()))
        self._table()
        out = self._out
        if self._level and inline(text):
            out.heading(inline(text), self._level)
        elif self._listed:
            out.add(LIST_ITEM, inline(text))
        else:
            write_text(text, out, with_lines=False)
        self._listed = False
        self._write_notes()

    def _unfinished_row(self) -> None:
        if self._row.texts:
            self._rows.append(self._row)
            self._row = _Row()

    def _table(self) -> None:
        rows, self._rows = self._rows, []
        if not rows:
            return
        if max(len(row.texts) for row in rows) < 2:  # a frame around running text
            for row in rows:
                self._out.add(PARAGRAPH, row.texts[0])
        else:
            heads = next((at for at, row in enumerate(rows) if not row.head), len(rows))
            write_table(joined_down(_laid_out(rows)), self._out, None, heads if heads < len(rows) else 0)
        self._write_notes()

    def _write_notes(self) -> None:
        for note in self._notes:
            self._out.add(NOTE, note)
        self._notes.clear()

    def _end_of(self, of: str) -> None:
        """Keep the text collected from a part that is not the body."""
        if of in (reader.BODY, reader.AUTHOR) or of not in self._parts:
            return
        text = inline(joined(self._parts.pop(of)))
        if of == reader.NOTE and text:
            self._notes.append(text)
        elif of == reader.COMMENT and text:
            author = inline(joined(self._parts.pop(reader.AUTHOR, ())))
            self._notes.append(f"Comment by {author}: {text}" if author else f"Comment: {text}")
        elif of == reader.MARGIN and text:
            self._margins.setdefault(text)
        elif of == reader.TITLE:
            self._properties.title = text
        elif of == reader.WRITER and text:
            self._properties.authors = [text]


def _laid_out(rows: list[_Row]) -> list[list[tuple[str, int, bool]]]:
    """Return the cells of a table: text, number of columns covered, whether it continues the cell above."""
    edges: list[int] = []
    for edge in sorted({edge for row in rows for edge, _, _ in row.layout}):
        if not edges or edge - edges[-1] > _NEAR:
            edges.append(edge)
    made: list[list[tuple[str, int, bool]]] = []
    for row in rows:
        cells: list[tuple[str, int, bool]] = []
        before = 0
        for at, text in enumerate(row.texts):
            edge, down, across = row.layout[at] if at < len(row.layout) else (0, False, False)
            last = max(bisect_left(edges, edge - _NEAR) + 1, before + 1) if at < len(row.layout) else before + 1
            if across and cells and not text:
                cells[-1] = (cells[-1][0], cells[-1][1] + last - before, cells[-1][2])
            else:
                cells.append((text, last - before, down))
            before = last
        made.append(cells)
    return made
