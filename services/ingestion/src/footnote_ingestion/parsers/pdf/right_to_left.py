"""Puts lines with Hebrew or Arabic in reading order by the places of their characters.

PDFium reverses the letters of such words but not the words of a Latin name among them, swaps brackets, and begins at
the wrong end if Latin letters are in the majority. The places of characters are reliable.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import category

import pypdfium2.raw as pdfium

from footnote_ingestion.parsers.pdf import pdfium_calls
from footnote_ingestion.parsers.pdf.bidi import has_letters, lean, logical
from footnote_ingestion.parsers.pdf.lines import Line, LineReader


@dataclass(slots=True)
class _Unit:
    """A character with its marks, or the letters of a ligature: its text and place."""

    text: str
    left: float
    right: float


def note_direction(lines: Sequence[Line]) -> None:
    """Record in the lines of a page whether most of its words are read from the right."""
    backwards = sum(lean(line.text) for line in lines) > 0
    for line in lines:
        line.backwards = backwards and has_letters(line.text)


def put_in_order(reader: LineReader, text_page: object, lines: Sequence[Line]) -> None:
    """Put lines with such letters in reading order; their characters no longer match those of the page.

    The lines must be of the page that was read last.
    """
    found = [line for line in lines if line.unit >= 0 and not line.rotated and line.size > 0 and has_letters(line.text)]
    if not found:
        return
    places = _Places(reader, text_page)
    for line in found:
        units = places.of(line)
        if not units:
            continue
        line.text, line.backwards = logical([unit.text for unit in units], line.backwards)
        line.left, line.right = min(unit.left for unit in units), max(unit.right for unit in units)
        line.marks, line.unit = (), -1


class _Places:
    """Reads the units of lines with their places; reuses the C buffer between lines."""

    def __init__(self, reader: LineReader, text_page: object) -> None:
        self._reader = reader
        self._page = pdfium_calls.handle(text_page)
        self._rectangle = pdfium.FS_RECTF()
        self._box = ctypes.byref(self._rectangle)

    def of(self, line: Line) -> list[_Unit] | None:
        """Return the units of a line from the left; None if a place is unknown."""
        marks = dict(line.marks)
        units: list[_Unit] = []
        spaces = 0
        box = self._rectangle
        for at, char in enumerate(line.text):
            if not self._reader.loose_box(self._page, self._reader.char_index(self._page, line, at), self._box):
                return None
            if char == " " and box.left == box.right:  # inserted by PDFium: its place is that of a neighbouring word
                spaces += 1
                continue
            text = marks.get(at, "") + char
            last = units[-1] if units else None
            if last and (category(char) == "Mn" or (char != " " and last.left == box.left and last.right == box.right)):
                last.text += text
            else:
                units.append(_Unit(text, box.left, box.right))
        units.sort(key=lambda unit: unit.left + unit.right)
        return _spaced(units, spaces)


def _spaced(units: list[_Unit], count: int) -> list[_Unit]:
    """Return units from the left with this many spaces at the widest gaps."""
    gaps = sorted((one.right - other.left, at) for at, (one, other) in enumerate(pairwise(units), 1))
    for _, at in sorted(gaps[:count], key=lambda gap: -gap[1]):
        units.insert(at, _Unit(" ", units[at - 1].right, units[at].left))
    return units
