"""The interface of every parser, a function from a file to blocks, and the writer that takes the blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from footnote.stages.v1.parsing_pb2 import Block, BlockKind, Structure
from footnote.types.v1.document_pb2 import WarningKind
from footnote.types.v1.locator_pb2 import (
    Anchor,
    LineLocator,
    Locator,
    PageLocator,
    SheetLocator,
    SlideLocator,
    TextSpan,
)
from footnote.types.v1.table_pb2 import Table
from footnote_text.scripts import HAN, KANA

from footnote_ingestion.parsers.failures import (
    CONTENT_LEFT_OUT,
    PICTURES_NOT_READ,
    TOO_LARGE,
    ParseError,
    ParseWarnings,
)
from footnote_ingestion.parsers.numbers import Numbers

HEADING = BlockKind.BLOCK_KIND_HEADING
PARAGRAPH = BlockKind.BLOCK_KIND_PARAGRAPH
LIST_ITEM = BlockKind.BLOCK_KIND_LIST_ITEM
TABLE_ROW = BlockKind.BLOCK_KIND_TABLE_ROW
CODE = BlockKind.BLOCK_KIND_CODE
NOTE = BlockKind.BLOCK_KIND_NOTE
FURNITURE = BlockKind.BLOCK_KIND_FURNITURE

# Longer blocks are split at a space: a block must fit in a message, and a citation must not cover a whole book.
MAX_BLOCK = 50_000
_LONGEST_LINE = 200
_SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？")

Place = PageLocator | SheetLocator | SlideLocator | LineLocator
_WORD = re.compile(r"\w+")
_SAMPLE_CHARS = 200_000
_ASCII_WORDS = {code: " " for code in range(128) if not _WORD.match(chr(code))}
# Scripts written without spaces: each character counts as a word there.
_UNSPACED = re.compile(f"[{KANA}{HAN}]")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for one file; beyond them parsing ends with TOO_LARGE."""

    pages: int = 10_000
    rows: int = 1_000_000
    characters: int = 50_000_000
    decompressed_bytes: int = 512 * 1024 * 1024
    ratio: int = 250
    ocr_languages: str = ""
    """OCR languages ("eng+fra"); empty for no OCR."""
    ocr_pictures: bool = False
    """Whether OCR reads pictures within documents too, not only scanned pages."""


@dataclass(slots=True)
class Properties:
    """A file's own properties. `page_count` counts pages, slides or sheets.

    Warnings with kind, count and places go to the `BlockWriter`; those here are texts only.
    """

    title: str = ""
    authors: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)
    file_time: datetime | None = None
    page_count: int = 0
    language: str = ""
    warnings: list[str] = field(default_factory=list)


class Parser(Protocol):
    """Reads one format. Raises `ParseError` when the file cannot be read."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Check cheaply, before the file is stored, that it opens without a password and within the limits."""

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Pass the blocks in reading order to `out` and return the file's properties."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format that another package reads, registered by an entry point in the group `footnote.parsers`.

    The name's suffix (".ipynb") identifies files and, if `starts` is not empty, so do their first bytes. The parser
    runs in the sandboxed process that reads the file, without network or other files, like ours.
    """

    document_type: str
    mime_type: str
    suffixes: tuple[str, ...]
    make: Callable[[], Parser]
    starts: bytes = b""


def count_words(text: str) -> int:
    """Return the number of words; a Han or Kana character counts as one."""
    if text.isascii():
        return len(text.translate(_ASCII_WORDS).split())
    unspaced = len(_UNSPACED.findall(text))
    return len(_WORD.findall(_UNSPACED.sub(" ", text) if unspaced else text)) + unspaced


def anchor(start: int, end: int, place: Place) -> Anchor:
    """Return an anchor for `text[start:end]` of a block, at `place`."""
    return Anchor(span=TextSpan(start=start, end=end), locator=locate(place))


def locate(place: Place | None, heading_path: Sequence[str] = ()) -> Locator:
    """Make a locator from its parts."""
    locator = Locator()
    _fill(locator, place, heading_path, None)
    return locator


def _fill(locator: Locator, place: Place | None, heading_path: Sequence[str], span: tuple[int, int] | None) -> None:
    if heading_path:
        locator.heading_path.extend(heading_path)
    if span is not None:
        locator.span.start, locator.span.end = span
    match place:
        case PageLocator():
            locator.page.CopyFrom(place)
        case SheetLocator():
            locator.sheet.CopyFrom(place)
        case SlideLocator():
            locator.slide.CopyFrom(place)
        case LineLocator():
            locator.lines.CopyFrom(place)
        case None:
            pass


class BlockWriter:
    """Creates blocks with exact spans and heading paths, counts, samples the text and passes each block on.

    The text of the document is every block's text followed by one line feed; spans index it in code points.
    """

    def __init__(
        self,
        emit: Callable[[Block], None],
        limits: Limits,
        pages: Callable[[int, int], None] = lambda read, total: None,
    ) -> None:
        self._emit = emit
        self.pages = pages
        """Call it with the number of pages, slides or sheets parsed so far, and the total."""
        self._limits = limits
        self._offset = 0
        self._headings: list[tuple[int, str]] = []
        self._above: list[tuple[int, str]] = []
        self._sample: list[str] = []
        self._sample_room = _SAMPLE_CHARS
        self.block_count = 0
        self.word_count = 0
        self.first_heading = ""
        self.structure = Structure()
        self.tables = 0
        self.noticed = ParseWarnings()
        self.numbers = Numbers()
        """Parses the cells of all tables of the file; those of an embedded file have their own separators."""
        self.ocr_languages = limits.ocr_languages if limits.ocr_pictures else ""
        """OCR languages for pictures within documents; empty for none."""
        self.pictures_read: dict[str, str] = {}
        """Pictures by their checksum that OCR has been asked for, each with what to warn of."""
        self._part: Table | None = None
        self.line_above = ""
        """The block just written if it is a line that is no sentence, as a table's title; else ""."""

    @property
    def char_count(self) -> int:
        """Code points of the document's text, including one line feed after each block."""
        return self._offset

    @property
    def sample(self) -> str:
        """The beginning of the text, for language and keywords."""
        return "\n".join(self._sample)

    def heading_path(self) -> list[str]:
        """Return the headings above the next block."""
        return [title for _, title in self._headings]

    def reset_headings(self) -> None:
        """Clear the headings: the next block belongs to another sheet, chapter or message."""
        self._headings = list(self._above)

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """Put everything written in the block under `name`, an embedded file, above that file's own headings."""
        headings, above, pages, numbers = self._headings, self._above, self.pages, self.numbers
        self._above = [*headings, (0, name[:300])]
        self._headings = list(self._above)
        self.pages = lambda read, total: None
        self.numbers = Numbers()
        try:
            yield
        finally:
            self._headings, self._above, self.pages, self.numbers = headings, above, pages, numbers

    def warn(
        self,
        kind: WarningKind.ValueType,
        words: str,
        count: int = 1,
        places: Iterable[Place | None] = (),
        *,
        under: Sequence[str] | None = None,
    ) -> None:
        """Record what is left out, guessed or unreadable; `{count}` in `words` stands for the final count.

        Formats without places give the headings that it stands `under` instead.
        """
        path = [name for _, name in self._above]
        located = [locate(place, path) for place in places if place is not None]
        if under and not located:
            located = [locate(None, under)]
        self.noticed.add(kind, words, count, located)

    def pictures(self, count: int, place: Place | None = None) -> None:
        """Warn of pictures that are not read, at `place` or under the headings of the next block."""
        if count:
            self.warn(CONTENT_LEFT_OUT, PICTURES_NOT_READ, count, [place], under=self.heading_path())

    def new_table(self) -> int:
        """Return the number for the rows of a new table."""
        self.tables += 1
        return self.tables

    def heading(self, text: str, level: int, place: Place | None = None, anchors: Sequence[Anchor] = ()) -> None:
        """Write a heading of `level` 1..6; the following blocks are under it."""
        if not text:
            return
        level = min(max(level, 1), 6)
        while len(self._headings) > len(self._above) and self._headings[-1][0] >= level:
            self._headings.pop()
        self.add(HEADING, text, place, level=level, anchors=anchors)
        self._headings.append((level, text[:300]))
        self.first_heading = self.first_heading or text

    def add(
        self,
        kind: BlockKind.ValueType,
        text: str,
        place: Place | None = None,
        *,
        level: int = 0,
        anchors: Sequence[Anchor] = (),
        packed: bytes = b"",
        table: int = 0,
        part: Table | None = None,
        above: tuple[int, Sequence[str]] = (0, ()),
    ) -> None:
        """Add one block; empty text is skipped. `text` must be clean already; long text becomes several blocks.

        Table rows come with their anchors `packed` as the block's field and the columns that they are a `part` of.
        `above` holds the sections above the row, with its number.
        """
        if not text or text.isspace():
            return
        if len(text) > MAX_BLOCK:
            anchors = [*anchors, *Block.FromString(packed).anchors]
            for start, end in _pieces(text):
                mine = _clip(anchors, start, end)
                self.add(kind, text[start:end], place, level=level, anchors=mine, table=table, part=part, above=above)
            return
        end = self._offset + len(text)
        if end > self._limits.characters:
            raise ParseError(TOO_LARGE, f"The text is longer than the {self._limits.characters} characters allowed.")
        block = Block(
            kind=kind,
            text=text,
            level=level,
            anchors=anchors,
            table=table,
        )
        _fill(block.locator, place, self.heading_path(), (self._offset, end))
        if packed:
            block.MergeFromString(packed)
        if part is not None:
            if part is not self._part:
                block.table_part.CopyFrom(part)
                self._part = part
            if above[1]:
                block.table_part.rows.add(number=above[0], headers=above[1])
        self._emit(block)
        if kind not in (NOTE, FURNITURE):  # a footnote to a table's title stands between them
            is_line = kind in (HEADING, PARAGRAPH) and len(text) <= _LONGEST_LINE and not text.endswith(_SENTENCE_ENDS)
            self.line_above = text if is_line else ""
        self._offset = end + 1
        self._count(kind, text)

    def _count(self, kind: BlockKind.ValueType, text: str) -> None:
        self.block_count += 1
        if kind == FURNITURE:
            return
        self.word_count += count_words(text)
        if kind == HEADING:
            self.structure.heading_count += 1
        elif kind in (PARAGRAPH, LIST_ITEM):
            self.structure.paragraph_count += 1
        elif kind == TABLE_ROW:
            self.structure.table_row_count += 1
        if self._sample_room > 0:
            self._sample.append(text[: self._sample_room])
            self._sample_room -= len(text)


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield stretches of at most MAX_BLOCK characters, split before a space if possible and stripped."""
    start = 0
    while start < len(text):
        end = min(start + MAX_BLOCK, len(text))
        if end < len(text):
            space = max(text.rfind(" ", start + 1, end), text.rfind("\n", start + 1, end))
            end = space if space > 0 else end
        yield start, end
        start = end
        while start < len(text) and text[start].isspace():
            start += 1


def _clip(anchors: Sequence[Anchor], start: int, end: int) -> list[Anchor]:
    """Return the anchors of `text[start:end]`."""
    kept: list[Anchor] = []
    for one in anchors:
        first, last = max(one.span.start, start), min(one.span.end, end)
        if first < last:
            piece = Anchor(span=TextSpan(start=first - start, end=last - start))
            if one.HasField("locator"):
                piece.locator.CopyFrom(one.locator)
            if one.HasField("cell") and last - first == one.span.end - one.span.start:  # a part is another value
                piece.cell.CopyFrom(one.cell)
            kept.append(piece)
    return kept
