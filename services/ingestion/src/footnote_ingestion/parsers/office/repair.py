"""Repairs Office Open XML packages with missing or damaged parts, so that the rest can be read.

The libraries open a package completely or not at all, and some programs write relationships to missing parts.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.office.package import UNREADABLE_PACKAGE, transitional, xml_parser

T = TypeVar("T")
LOST_PARTS = "{count} parts of the package are missing or could not be read"
_RELATIONS = ".rels"
_XML = (".xml", _RELATIONS, ".vml")


def opened(path: Path, read: Callable[[str | io.BytesIO], T], failures: tuple[type[Exception], ...]) -> tuple[T, int]:
    """Return the result of `read` on a package, and the number of lost parts.

    If it fails with one of `failures`, or a relationship is broken, it reads a copy without the unreadable parts.
    Raises the error if the copy fails too.
    """
    if _leads_nowhere(path):
        return _mended(path, read)
    try:
        return read(transitional(path)), 0
    except failures:
        return _mended(path, read)


def _mended(path: Path, read: Callable[[str | io.BytesIO], T]) -> tuple[T, int]:
    copy, lost = _copy(path)
    return read(transitional(copy)), lost


def _leads_nowhere(path: Path) -> bool:
    """Return whether a relationship names a missing part; `read` finds parts that cannot be read at all."""
    try:
        with zipfile.ZipFile(path) as package:
            names = set(package.namelist())
            for name in names:
                if name.endswith(_RELATIONS):
                    root = etree.fromstring(package.read(name), xml_parser())
                    if any(_target(name, one) not in names for one in root if _is_inside(one)):
                        return True
    except (*UNREADABLE_PACKAGE, etree.XMLSyntaxError, OSError):
        return False
    return False


def _copy(path: Path) -> tuple[io.BytesIO, int]:
    """Return a package without unreadable parts and without relationships to missing parts."""
    found: dict[str, bytes] = {}
    lost = 0
    with zipfile.ZipFile(path) as package:
        named = set(package.namelist())
        for entry in package.infolist():
            try:
                data = package.read(entry)
                if entry.filename.endswith(_XML):
                    etree.fromstring(data, xml_parser())
            except (*UNREADABLE_PACKAGE, etree.XMLSyntaxError):
                lost += 1
            else:
                found[entry.filename] = data
    missing: set[str] = set()
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as written:
        for name, data in found.items():
            written.writestr(name, _without(name, data, found, missing) if name.endswith(_RELATIONS) else data)
    copy.seek(0)
    return copy, lost + len(missing - named)  # unreadable parts that were named are counted already


def _without(name: str, data: bytes, there: dict[str, bytes], missing: set[str]) -> bytes:
    """Return relationships without those to parts that are not `there`, which are added to `missing`."""
    root = etree.fromstring(data, xml_parser())
    for one in list(root):
        if _is_inside(one) and (target := _target(name, one)) not in there:
            missing.add(target)
            root.remove(one)
    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True))


def _is_inside(relation: etree._Element) -> bool:
    return isinstance(relation.tag, str) and relation.get("TargetMode") != "External"


def _target(name: str, relation: etree._Element) -> str:
    """Return the part that a relationship of the relationships part `name` points to."""
    folder = posixpath.dirname(posixpath.dirname(name))
    return posixpath.normpath(posixpath.join("/", folder, relation.get("Target", ""))).lstrip("/")
