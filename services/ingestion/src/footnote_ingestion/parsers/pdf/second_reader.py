"""Reads PDF by pypdf, where PDFium fails; loaded for such files alone, since it takes a tenth of a second and 20 MB."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import pypdf
from pypdf.errors import PyPdfError

from footnote_ingestion.parsers.base import BlockWriter
from footnote_ingestion.parsers.failures import PASSWORD_PROTECTED, ParseError
from footnote_ingestion.parsers.pdf.lines import Line

ERRORS = (
    PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, AssertionError, OverflowError, OSError,
    RecursionError, NotImplementedError, zlib.error,
)  # fmt: skip
"""What pypdf raises for broken files, besides its own exceptions: found by fuzzing."""


def opened(path: Path) -> pypdf.PdfReader:
    """Return pypdf's reader; raises `ParseError` if the file needs a password other than the empty one."""
    reader = pypdf.PdfReader(path, strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        raise ParseError(PASSWORD_PROTECTED, "The PDF opens only with a password.")
    return reader


def lines(reader: pypdf.PdfReader, out: BlockWriter) -> Iterator[list[Line]]:
    """Yield the lines of each page, none for a page that cannot be read."""
    for number, page in enumerate(reader.pages, 1):
        try:
            text = page.extract_text()
        except ERRORS:
            text = ""
        out.pages(number, len(reader.pages))
        yield [Line(line.strip(), number, 0, 0, 0, 0, 0, False, False) for line in text.splitlines() if line.strip()]
