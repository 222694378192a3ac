"""Comments on slides, in both of PowerPoint's formats: by author and index, and as threads with replies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from footnote.types.v1.locator_pb2 import SlideLocator
from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.base import BlockWriter
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.office.package import xml_parser
from footnote_ingestion.parsers.parse_warnings import PARTS_UNREADABLE

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_THREADS = "{http://schemas.microsoft.com/office/powerpoint/2018/8/main}"
_MOST = 1_000


def remarks(slide: Any, out: BlockWriter, place: SlideLocator) -> list[str]:
    """Return the comments of a slide's part, in order; warn of unreadable ones."""
    found: list[str] = []
    for relation in slide.rels.values():
        if relation.is_external or not relation.reltype.endswith("/comments"):
            continue
        try:
            found += _texts(etree.fromstring(relation.target_part.blob, xml_parser()))
        except (KeyError, AttributeError, ValueError, etree.XMLSyntaxError):
            out.warn(PARTS_UNREADABLE, "{count} parts with comments could not be read", 1, [place])
    return [f"Comment: {text}" for text in found[:_MOST] if text]


def _texts(root: etree._Element) -> Iterator[str]:
    for remark in root.iter(f"{_P}cm", f"{_THREADS}cm", f"{_THREADS}reply"):
        if remark.tag == f"{_P}cm":
            yield inline(remark.findtext(f"{_P}text") or "")
        elif (body := remark.find(f"{_THREADS}txBody")) is not None:
            lines = ("".join(one.text or "" for one in line.iter(f"{_A}t")) for line in body.iter(f"{_A}p"))
            yield inline(" ".join(lines))
