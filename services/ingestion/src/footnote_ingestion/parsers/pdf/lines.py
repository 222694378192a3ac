"""Lines of a PDF page with their place and type, read from PDFium's text page.

Only the first and last characters of a line are queried for box, size and font. That costs microseconds; querying every
character would cost more than extracting the text.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import partial
from statistics import median

import pypdfium2.raw as pdfium

from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.pdf import pdfium_calls
from footnote_ingestion.parsers.pdf.bidi import has_letters
from footnote_ingestion.parsers.pdf.glyphs import HYPHEN, Glyphs, has_no_character
from footnote_ingestion.parsers.pdf.turns import degrees_to_turn, loose_box_turned

# PDFium reports no line break after the hyphen of a word that continues in the next line, and keeps a U+2010.
_BREAK = re.compile(r"\r\n?|\n|\ufffe|\u2010(?<=[^\W\d_]\u2010)(?:\r\n?|\n)")
_HYPHENS = frozenset((HYPHEN, "\u2010"))
_BOLD = re.compile(rb"bold|black|heavy|semibold|demi|cmbx|-bd|medi\b", re.IGNORECASE)
_WORD = re.compile(r"\S+")
_NAME_BYTES = 96
_WIDEST = 1.2
"""Maximum width of a letter as a multiple of its height; wider "words" are several with gaps."""
_SLOPE, _MUCH_LARGER = 0.25, 1.5
"""A line that rises or falls by more than this fraction of its length is not just of a page that was scanned askew."""
_SPACES = frozenset((0x20, 0xA0, 0x0A, 0x0D))
# Longer lines are not checked for bold type.
_MAY_BE_HEADING = 90


@dataclass(slots=True)
class Line:
    """One line: its text as extracted, its box in points (y grows upwards), type size in points.

    The box is turned as most of the page's text is upright; `rotated` text then still runs up or down. `bold` is set
    for short lines that are bold throughout. `hyphen`: its last word continues. Not `mapped`: the font does not name
    its glyphs' characters.
    """

    text: str
    page: int
    left: float
    right: float
    top: float
    bottom: float
    size: float
    bold: bool
    hyphen: bool
    rotated: bool = False
    mapped: bool = True
    unit: int = -1
    """Offset of its first character in the page's text, in UTF-16 units; -1 for a line that is in no text page."""
    char: int = -1
    """PDFium's index of that character."""
    marks: tuple[tuple[int, str], ...] = ()
    """Signs to insert into its text, with their places, to separate raised figures from others."""
    backwards: bool = False
    """Whether it is read from right to left; set if it has right-to-left letters."""
    watermark: bool = False
    """Whether it runs aslant over the page, in much larger type than most lines; it is `rotated` then."""


@dataclass(slots=True)
class Word:
    """A word of a line with its box in points."""

    text: str
    left: float
    right: float
    top: float
    bottom: float
    line: Line
    more: tuple[Line, ...] = ()
    """Other lines from which parts of it are."""
    mirrored: bool = False
    """Whether its place is mirrored, with left and right exchanged."""


class LineReader:
    """Reads the lines of one page's text page; reuses the C buffers between lines."""

    def __init__(self) -> None:
        self._first = pdfium.FS_RECTF()
        self._last = pdfium.FS_RECTF()
        self._matrix = pdfium.FS_MATRIX()
        self._name = ctypes.create_string_buffer(_NAME_BYTES)
        self._flags = ctypes.c_int()
        self._of_name = (ctypes.byref(self._name), ctypes.c_ulong(_NAME_BYTES), ctypes.byref(self._flags))
        self._of_first, self._of_last = ctypes.byref(self._first), ctypes.byref(self._last)
        self._of_matrix = ctypes.byref(self._matrix)
        self.glyphs = Glyphs()
        self.wide = self.shifted = False
        """Whether the page's text holds characters of two units; whether its units are not its characters' indexes."""
        self.turn = 0
        """By how many degrees clockwise the page's boxes are turned, so that most of its text is upright."""
        self.loose_box = pdfium_calls.loose_box
        """PDFium's function for a character's box, turned."""
        self._directions = [0, 0, 0, 0]
        self._any_aslant = False

    def read(self, text_page: object, page: int) -> tuple[list[Line], str]:
        """Return the lines with visible characters in the order of the page's content, and its raw text."""
        count = pdfium.FPDFText_CountChars(text_page)
        if count <= 0:
            self._turn(0)
            return [], ""
        buffer = ctypes.create_string_buffer((count * 2 + 1) * 2)
        written = pdfium.FPDFText_GetText(text_page, 0, count, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)))
        text = buffer.raw[: max(written - 1, 0) * 2].decode("utf-16-le", errors="replace")
        text = self.glyphs.restored(text_page, text, count)
        wide = any(char > "\uffff" for char in text) if len(text) != max(written - 1, 0) else False
        shifted = len(text) != count
        holder = pdfium_calls.handle(text_page)
        self.wide, self.shifted = wide, shifted
        self._turn(0)
        lines = self._lines(holder, text, page)
        if turn := degrees_to_turn(self._directions):
            self._turn(turn)
            lines = self._lines(holder, text, page)
        if self._any_aslant:
            _note_watermarks(lines)
        return lines, text

    def _turn(self, degrees: int) -> None:
        self.turn, self._directions, self._any_aslant = degrees, [0, 0, 0, 0], False
        self.loose_box = partial(loose_box_turned, degrees=degrees) if degrees else pdfium_calls.loose_box

    def _lines(self, holder: pdfium_calls.Handle, text: str, page: int) -> list[Line]:
        wide, shifted = self.wide, self.shifted
        lines: list[Line] = []
        start = 0
        units = 0
        for found in _BREAK.finditer(text + "\n"):
            part = text[start : found.start()]
            stripped = part.strip()
            if inline(stripped):
                lead = len(part) - len(part.lstrip())
                first = units + lead
                last = units + len(part.rstrip()) - 1
                if wide:
                    first, last = first, first + len(stripped.encode("utf-16-le")) // 2 - 1
                unit = first
                if shifted:
                    first = pdfium_calls.char_index(holder, first)
                    last = pdfium_calls.char_index(holder, last)
                line = self._line(holder, stripped, page, first, last, found[0][0] in _HYPHENS)
                line.unit, line.char = unit, first
                lines.append(line)
            advance = text[start : found.end()]
            units += len(advance.encode("utf-16-le")) // 2 if wide else len(advance)
            start = found.end()
        return lines

    def parted(self, text_page: object, line: Line, hidden: Set[int]) -> tuple[list[Line], list[Line]]:
        """Split a line of the last read page into its visible parts and its `hidden` ones."""
        holder = pdfium_calls.handle(text_page)
        indexes: list[int] = []
        unit = line.unit
        for char in line.text:
            indexes.append(pdfium_calls.char_index(holder, unit) if self.shifted else unit)
            unit += 2 if self.wide and char > "\uffff" else 1
        if hidden.isdisjoint(indexes):
            return [line], []
        parts: tuple[list[Line], list[Line]] = ([], [])
        # White space belongs to what stands before it.
        kept = [index in hidden if not char.isspace() else None for char, index in zip(line.text, indexes, strict=True)]
        start = 0
        for end in range(1, len(kept) + 1):
            if end < len(kept) and kept[end] in (None, kept[start]):
                continue
            text = line.text[start:end].rstrip()
            if inline(text):
                last = start + len(text) - 1
                hyphen = line.hyphen and end == len(kept)
                part = self._line(holder, text, line.page, indexes[start], indexes[last], hyphen)
                part.char, part.backwards, part.watermark = indexes[start], line.backwards, line.watermark
                part.unit = line.unit + (_units(line.text[:start]) if self.wide else start)
                parts[bool(kept[start])].append(part)
            start = end
        return parts

    def words(self, text_page: object, line: Line) -> list[Word]:
        """Return the words of a line of the page that was read last, each with a visible character and with its box."""
        words: list[Word] = []
        holder = pdfium_calls.handle(text_page)
        for found in _WORD.finditer(line.text) if line.unit >= 0 else ():
            start, length = found.start(), len(found[0])
            if self.wide:
                start, length = _units(line.text[: found.start()]), _units(found[0])
            first, last = line.unit + start, line.unit + start + length - 1
            if self.shifted:
                first = pdfium_calls.char_index(holder, first)
                last = pdfium_calls.char_index(holder, last)
            made = self._word(holder, found[0], first, last, line)
            if line.marks and len(made) == 1:
                inner = ((at - found.start(), sign) for at, sign in line.marks if found.start() < at < found.end())
                made[0].text = marked(inner, found[0])
            words += (word for word in made if inline(word.text))
        return words

    def char_index(self, text_page: pdfium_calls.Handle, line: Line, at: int) -> int:
        """Return PDFium's index of a character of a line of the page that was read last."""
        unit = line.unit + (_units(line.text[:at]) if self.wide else at)
        return int(pdfium_calls.char_index(text_page, unit)) if self.shifted else unit

    def _word(self, text_page: pdfium_calls.Handle, text: str, first: int, last: int, line: Line) -> list[Word]:
        """Return a word, split where PDFium joins characters from several places: "1" above "2"."""
        box, end = self._first, self._last
        if not self.loose_box(text_page, first, self._of_first):
            return []
        if first == last:
            return [Word(text, box.left, max(box.right, box.left), box.top, box.bottom, line)]
        if not self.loose_box(text_page, last, self._of_last):
            return []
        if line.rotated:
            left, right = min(box.left, end.left), max(box.right, end.right)
            one = Word(text, left, right, max(box.top, end.top), min(box.bottom, end.bottom), line)
            apart = one.top - one.bottom > _WIDEST * max(right - left, 1.0) * len(text)
        else:
            if end.left < box.left and has_letters(text):
                box, end = end, box
            height = max(box.top - box.bottom, 1.0)
            # Half of the lower one is beside the other, like a full stop beside a letter.
            shared = min(box.top, end.top) - max(box.bottom, end.bottom)
            beside = shared > 0.5 * min(height, end.top - end.bottom)
            one = Word(text, box.left, max(end.right, box.left), box.top, box.bottom, line)
            apart = not beside or not -height < end.right - box.left < _WIDEST * height * len(text)
        if apart and last - first + 1 == len(text):
            middle = len(text) // 2
            return [
                *self._word(text_page, text[:middle], first, first + middle - 1, line),
                *self._word(text_page, text[middle:], first + middle, last, line),
            ]
        return [one]

    def _line(self, text_page: pdfium_calls.Handle, text: str, page: int, first: int, last: int, hyphen: bool) -> Line:
        box, end, matrix = self._first, self._last, self._matrix
        if not (self.loose_box(text_page, first, self._of_first) and self.loose_box(text_page, last, self._of_last)):
            return Line(text, page, 0.0, 0.0, 0.0, 0.0, 0.0, False, hyphen)
        size = pdfium_calls.font_size(text_page, first)
        direction, aslant = 0, False
        if pdfium_calls.matrix(text_page, first, self._of_matrix):
            across, up = (matrix.a, matrix.b) if size >= 0 else (-matrix.a, -matrix.b)
            mirrored = matrix.a * matrix.d < 0  # its lines follow one another as those of upright text do
            size = abs(size) * math.hypot(matrix.c, matrix.d)
            aslant = min(abs(up), abs(across)) > _SLOPE * max(abs(up), abs(across))
            if abs(up) > abs(across):
                direction = 1 if up > 0 else 3
            elif across < 0 and not mirrored:
                direction = 2
        self._directions[direction] += len(text)
        self._any_aslant |= aslant
        bold = False
        if len(text) <= _MAY_BE_HEADING:
            # A line that only begins in bold type is a paragraph with a run-in title or an emphasised word.
            middle = (first + last) // 2
            looked = dict.fromkeys((first, last, middle, (first + middle) // 2, (middle + last) // 2))
            bold = all(self._is_bold(text_page, index) for index in looked)
        top, bottom = box.top, box.bottom
        if abs(top - end.top) < size:  # else the line is slanted, or its end is elsewhere
            top, bottom = max(top, end.top), min(bottom, end.bottom)
        left, right = min(box.left, end.left), max(box.right, end.right)
        mapped = not has_no_character(text_page, first, last)
        rotated = (direction * 90 - self.turn) % 180 != 0
        return Line(text, page, left, right, top, bottom, size, bold, hyphen, rotated, mapped, watermark=aslant)

    def _is_bold(self, text_page: pdfium_calls.Handle, index: int) -> bool:
        """Return whether a character is bold by its font's name, or is white space."""
        length = pdfium_calls.font_info(text_page, index, *self._of_name)
        if 0 < length <= _NAME_BYTES and _BOLD.search(self._name.value) is not None:
            return True
        return pdfium_calls.unicode_of(text_page, index) in _SPACES


def _note_watermarks(lines: Sequence[Line]) -> None:
    """Let only those lines that run aslant be watermarks that are much larger than others."""
    usual = median([line.size for line in lines if not line.watermark] or [0.0])
    for line in lines:
        line.watermark = line.watermark and line.size > _MUCH_LARGER * usual
        line.rotated = line.rotated or line.watermark


def marked(marks: Iterable[tuple[int, str]], text: str) -> str:
    """Return a text with signs inserted at their places, which are in order."""
    parts, start = [], 0
    for at, sign in marks:
        parts += [text[start:at], sign]
        start = at
    return "".join((*parts, text[start:]))


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", errors="surrogatepass")) // 2
