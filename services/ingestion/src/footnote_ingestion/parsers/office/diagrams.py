"""Texts of diagrams (SmartArt), which are in a separate part of the document or slide."""

from __future__ import annotations

from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.base import BlockWriter, Place
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.office.package import xml_parser
from footnote_ingestion.parsers.parse_warnings import PARTS_UNREADABLE

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_D = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def texts(element: etree._Element, part: Any, out: BlockWriter, place: Place | None = None) -> list[str]:
    """Return the text of each shape of the diagrams under an element, in the order of creation.

    `part` is the element's part; unreadable diagrams cause a warning.
    """
    found = []
    for names in element.iter(f"{_D}relIds"):
        try:
            data = part.rels[names.get(f"{_R}dm") or ""].target_part
            root = etree.fromstring(data.blob, xml_parser())
        except (KeyError, AttributeError, ValueError, etree.XMLSyntaxError):
            out.warn(PARTS_UNREADABLE, "{count} diagrams could not be read", 1, [place])
            continue
        for point in root.iter(f"{_D}pt"):
            lines = ("".join(one.text or "" for one in line.iter(f"{_A}t")) for line in point.iter(f"{_A}p"))
            found.append(inline(" ".join(lines)))
    return [text for text in found if text]
