"""Parts of a Word document that are files of another format: Word reads them when it opens the document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.base import BlockWriter
from footnote_ingestion.parsers.failures import CONTENT_LEFT_OUT, PARTS_UNREADABLE
from footnote_ingestion.parsers.texts.encoding import decode
from footnote_ingestion.parsers.texts.html import write_html
from footnote_ingestion.parsers.texts.plain import write_text
from footnote_ingestion.parsers.texts.rtf import write_rtf

_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_READ: dict[str, Callable[[bytes, BlockWriter], object]] = {
    "text/html": lambda data, out: write_html(decode(data, out), out),
    "application/xhtml+xml": lambda data, out: write_html(decode(data, out), out),
    "text/plain": lambda data, out: write_text(decode(data, out), out, with_lines=False),
    "application/rtf": write_rtf,
    "text/rtf": write_rtf,
}


def write_imported(element: etree._Element, part: Any, out: BlockWriter) -> None:
    """Write the file that a `w:altChunk` of a part names; warn of one that is missing or of a format not known here."""
    try:
        found = part.rels[element.get(_ID) or ""].target_part
    except (KeyError, AttributeError, ValueError):
        out.warn(PARTS_UNREADABLE, "{count} files within the document are missing")
        return
    read = _READ.get(str(found.content_type).partition(";")[0].strip().lower())
    if read is None:
        out.warn(CONTENT_LEFT_OUT, "{count} files within the document are not read", under=out.heading_path())
    else:
        read(found.blob, out)
