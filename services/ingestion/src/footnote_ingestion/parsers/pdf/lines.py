"""Lines of a PDF page with their place and type, straight from PDFium's text page.

Per line only its first and last characters are asked for box, size and font: that costs microseconds, while
asking for every character would cost more than the text itself.
"""

from __future__ import annotations

import ctypes
import math
import re
from dataclasses import dataclass

import pypdfium2.raw as pdfium

# PDFium writes U+FFFE for the hyphen of a word that goes on in the next line, and no line break after it.
HYPHEN = "\ufffe"
_BREAK = re.compile("\r\n?|\n|\ufffe|\x02(?:\r\n)?")
_BOLD = re.compile(rb"bold|black|heavy|semibold|demi|cmbx|-bd|medi\b", re.IGNORECASE)
_NAME_BYTES = 96
# Longer lines are not asked whether they are bold.
_MAY_BE_HEADING = 90


@dataclass(slots=True)
class Line:
    """One line: its text as extracted, its box in points (y grows upwards), type size in points.

    `bold` is told of short lines only; `rotated` text runs along the edge of the page; `hyphen`: its last word goes on.
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


class LineReader:
    """Reads the lines of one page's text page; keeps the C buffers between lines."""

    def __init__(self) -> None:
        self._first = pdfium.FS_RECTF()
        self._last = pdfium.FS_RECTF()
        self._matrix = pdfium.FS_MATRIX()
        self._name = ctypes.create_string_buffer(_NAME_BYTES)
        self._flags = ctypes.c_int()

    def read(self, text_page: object, page: int) -> tuple[list[Line], str]:
        """Return the lines in the order of the page's content, and its raw text."""
        count = pdfium.FPDFText_CountChars(text_page)
        if count <= 0:
            return [], ""
        buffer = ctypes.create_string_buffer((count * 2 + 1) * 2)
        written = pdfium.FPDFText_GetText(text_page, 0, count, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)))
        text = buffer.raw[: max(written - 1, 0) * 2].decode("utf-16-le", errors="replace")
        wide = any(char > "\uffff" for char in text) if len(text) != max(written - 1, 0) else False
        shifted = len(text) != count
        lines: list[Line] = []
        start = 0
        units = 0
        for found in _BREAK.finditer(text + "\n"):
            part = text[start : found.start()]
            stripped = part.strip()
            if stripped:
                lead = len(part) - len(part.lstrip())
                first = units + lead
                last = units + len(part.rstrip()) - 1
                if wide:
                    first, last = first, first + len(stripped.encode("utf-16-le")) // 2 - 1
                if shifted:
                    first = pdfium.FPDFText_GetCharIndexFromTextIndex(text_page, first)
                    last = pdfium.FPDFText_GetCharIndexFromTextIndex(text_page, last)
                lines.append(self._line(text_page, stripped, page, first, last, found[0][:1] in "\ufffe\x02"))
            advance = text[start : found.end()]
            units += len(advance.encode("utf-16-le")) // 2 if wide else len(advance)
            start = found.end()
        return lines, text

    def _line(self, text_page: object, text: str, page: int, first: int, last: int, hyphen: bool) -> Line:
        box, end, matrix = self._first, self._last, self._matrix
        if not (
            pdfium.FPDFText_GetLooseCharBox(text_page, first, box)
            and pdfium.FPDFText_GetLooseCharBox(text_page, last, end)
        ):
            return Line(text, page, 0.0, 0.0, 0.0, 0.0, 0.0, False, hyphen)
        size = pdfium.FPDFText_GetFontSize(text_page, first)
        rotated = False
        if pdfium.FPDFText_GetMatrix(text_page, first, matrix):
            size *= math.hypot(matrix.c, matrix.d)
            rotated = abs(matrix.b) > abs(matrix.a)
        bold = False
        if len(text) <= _MAY_BE_HEADING:
            length = pdfium.FPDFText_GetFontInfo(text_page, first, self._name, _NAME_BYTES, self._flags)
            bold = 0 < length <= _NAME_BYTES and _BOLD.search(self._name.value) is not None
        top, bottom = box.top, box.bottom
        if abs(top - end.top) < size:  # else the line is slanted or its end is somewhere else
            top, bottom = max(top, end.top), min(bottom, end.bottom)
        left, right = min(box.left, end.left), max(box.right, end.right)
        return Line(text, page, left, right, top, bottom, size, bold, hyphen, rotated)
