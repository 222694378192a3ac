"""Separates superscript figures, marks of notes and exponents, from the number before them: "102^3", "10^6".

PDFium returns "1023" for 102 with a note 3. Only the first and last character of figures are checked. Checking letters
too would cost more than reading the page, and a mark after a word does not change a number.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence

import pypdfium2.raw as pdfium

from footnote_ingestion.parsers.clean import RAISED, joined
from footnote_ingestion.parsers.pdf import pdfium_calls
from footnote_ingestion.parsers.pdf.lines import Line, LineReader, Word, marked

_FIGURES = re.compile(r"\d[\d.,%)−–-]*\d")
_SIGN = "^"
_MINUS = "-−–"
# A superscript is at most this tall relative to its neighbours, and begins at least this much higher.
_SMALLER, _HIGHER = 0.85, 0.12
# One that ends at the same height must begin this much higher: old-style figures are as low as letters.
_AS_TALL, _MUCH_HIGHER = 0.02, 0.3
_LONGEST = 40
_RAISED_FIGURE = re.compile(r"[-−–+]?\d{1,3}[.,;)%]?")
_BESIDE = 0.2
"""Maximum distance of a superscript from its word, as a fraction of its height."""


def part_raised(reader: LineReader, text_page: object, lines: Sequence[Line]) -> None:
    """Record in the lines of the last read page where superscripts begin and end."""
    finder = _Finder(reader, text_page)
    for line in lines:
        finder.look(line)


def set_in(lines: Sequence[Line]) -> None:
    """Insert the recorded signs into the texts of lines, whose characters then no longer match those of the page."""
    for line in lines:
        if line.marks:
            line.text, line.marks, line.unit = marked(line.marks, line.text), (), -1


def with_raised(row: list[Word]) -> list[Word]:
    """Return the words of a row, from the left, with superscripts joined to their words: "10^6", "m²".

    PDFium reports raised characters as a line, and so as a word, of their own.
    """
    made: list[Word] = []
    for word in row:
        last = made[-1] if made else None
        if last is None or not _stands_at(word, last):
            made.append(word)
            continue
        text = joined((last.text, RAISED + word.text))
        lines = (*last.more, word.line, *word.more)
        made[-1] = Word(text, last.left, word.right, max(last.top, word.top), last.bottom, last.line, lines)
    return made


def _stands_at(word: Word, last: Word) -> bool:
    height = last.top - last.bottom
    return (
        _is_raised((word.bottom, word.top - word.bottom), (last.bottom, height))
        and -_BESIDE * height < word.left - last.right < _BESIDE * height
        and _RAISED_FIGURE.fullmatch(word.text) is not None
    )


class _Finder:
    """Finds superscripts; reuses the C buffer between lines."""

    def __init__(self, reader: LineReader, text_page: object) -> None:
        self._reader = reader
        self._page = pdfium_calls.handle(text_page)
        self._rectangle = pdfium.FS_RECTF()
        self._box = ctypes.byref(self._rectangle)

    def look(self, line: Line) -> None:
        """Record in a line of the last read page where its superscripts begin and end."""
        if line.unit < 0 or line.rotated:
            return
        for found in _FIGURES.finditer(line.text):
            first, last = self._place(line, found.start()), self._place(line, found.end() - 1)
            if first != last and len(found[0]) <= _LONGEST and (_is_raised(last, first) or _is_raised(first, last)):
                self._part(line, found.start(), found.end())

    def _part(self, line: Line, start: int, end: int) -> None:
        places = [self._place(line, at) for at in range(start, end)]
        base = max(places, key=lambda place: place[1])
        raised = [_is_raised(place, base) for place in places]
        for at in range(1, end - start):
            char = line.text[start + at]
            if raised[at] and not raised[at - 1] and (char.isdecimal() or char in _MINUS):
                line.marks += ((start + at, _SIGN),)
            elif raised[at - 1] and not raised[at] and char.isdecimal():
                line.marks += ((start + at, " "),)

    def _place(self, line: Line, at: int) -> tuple[float, float]:
        """Return the lower edge and the height of a character's box."""
        index = self._reader.char_index(self._page, line, at)
        if not self._reader.loose_box(self._page, index, self._box):
            return 0.0, 0.0
        return self._rectangle.bottom, self._rectangle.top - self._rectangle.bottom


def _is_raised(place: tuple[float, float], base: tuple[float, float]) -> bool:
    height, rise = base[1], place[0] - base[0]
    above = rise + place[1] - height > _AS_TALL * height
    return 0 < place[1] < _SMALLER * height and rise > (_HIGHER if above else _MUCH_HIGHER) * height
