"""Lines of a page with Hebrew or Arabic, put in the order in which they are read by the places of their characters.

PDFium turns the letters of such words around, but not the words of a Latin name among them, takes a bracket for the
other one, and begins at the wrong end where Latin letters are in the majority. What stands where is sure.
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
    """A character with the marks on it, or the letters of a ligature: its text and where it stands."""

    text: str
    left: float
    right: float


def note_direction(lines: Sequence[Line]) -> None:
    """Note in the lines of a page whether most of its words are read from the right."""
    backwards = sum(lean(line.text) for line in lines) > 0
    for line in lines:
        line.backwards = backwards and has_letters(line.text)


def put_in_order(reader: LineReader, text_page: object, lines: Sequence[Line]) -> None:
    """Give lines with such letters the order in which they are read; their characters are no longer those of the page.

    The lines are of the page that was read last.
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
    """Gives the units of lines by their places; keeps the C buffer between lines."""

    def __init__(self, reader: LineReader, text_page: object) -> None:
        self._reader = reader
        self._page = pdfium_calls.handle(text_page)
        self._rectangle = pdfium.FS_RECTF()
        self._box = ctypes.byref(self._rectangle)

    def of(self, line: Line) -> list[_Unit] | None:
        """Return the units of a line from the left; None where a place is not known."""
        marks = dict(line.marks)
        units: list[_Unit] = []
        spaces = 0
        box = self._rectangle
        for at, char in enumerate(line.text):
            if not pdfium_calls.loose_box(self._page, self._reader.char_index(self._page, line, at), self._box):
                return None
            if char == " " and box.left == box.right:  # PDFium's own: its place is that of either word beside it
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
    """Return units from the left with so many spaces where they are furthest apart."""
    gaps = sorted((one.right - other.left, at) for at, (one, other) in enumerate(pairwise(units), 1))
    for _, at in sorted(gaps[:count], key=lambda gap: -gap[1]):
        units.insert(at, _Unit(" ", units[at - 1].right, units[at].left))
    return units
