"""Shared code of the Office Open XML and OpenDocument formats: a zip package with properties."""

from __future__ import annotations

import io
import mimetypes
import re
import zipfile
import zlib
from datetime import datetime
from pathlib import Path
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.base import Limits, Properties
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.failures import CORRUPT, PASSWORD_PROTECTED, TOO_LARGE, ParseError

UNREADABLE_PACKAGE = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, NotImplementedError)
"""What zipfile raises for a part that is missing or cannot be unpacked."""
_STRICT = b"http://purl.oclc.org/ooxml/"
_STRICT_NAME = re.compile(re.escape(_STRICT) + rb"(\w{1,40})((?:/\w{1,60}){0,4})")
_RELATED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MANY_ENTRIES = 20_000
_SMALL = 16 * 1024 * 1024
_NAMESPACES = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "cp": "http://schemas.openxmlformats.org/package/2006/metadata/core-properties",
}


def xml_parser() -> etree.XMLParser:
    """Return a parser that resolves no entities and reaches no network."""
    return etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False)


def check_package(path: Path, limits: Limits) -> None:
    """Refuse a zip file that is damaged, encrypted, or would unpack to too many bytes."""
    try:
        with zipfile.ZipFile(path) as package:
            entries = package.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise ParseError(CORRUPT, "The file is a damaged zip package; it was probably cut off.") from error
    if any(entry.flag_bits & 1 for entry in entries):
        raise ParseError(PASSWORD_PROTECTED, "The package opens only with a password.")
    if len(entries) > _MANY_ENTRIES:
        raise ParseError(TOO_LARGE, f"The package holds {len(entries)} parts; at most {_MANY_ENTRIES} are read.")
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > limits.decompressed_bytes:
        raise ParseError(
            TOO_LARGE, f"The file unpacks to {unpacked} bytes; at most {limits.decompressed_bytes} are read."
        )
    if unpacked > _SMALL and unpacked > path.stat().st_size * limits.ratio:
        raise ParseError(TOO_LARGE, f"The file unpacks to more than {limits.ratio} times its size.")


def transitional(path: Path | io.BytesIO) -> str | io.BytesIO:
    """Return what to open for an Office Open XML package: as it is, or a copy with the names that libraries know.

    A package of the Strict kind has the same parts under other namespaces.
    """
    with zipfile.ZipFile(path) as package:
        if _STRICT not in package.read("_rels/.rels"):
            return path if isinstance(path, io.BytesIO) else str(path)
        copy = io.BytesIO()
        with zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as written:
            for entry in package.infolist():
                data = package.read(entry)
                if entry.filename.endswith((".xml", ".rels", ".vml")):
                    data = _STRICT_NAME.sub(_as_transitional, data)
                written.writestr(entry.filename, data)
    copy.seek(0)
    return copy


def _as_transitional(name: re.Match[bytes]) -> bytes:
    rest = (name[2] or b"").replace(b"/extendedProperties", b"/extended-properties")
    rest = rest.replace(b"/customProperties", b"/custom-properties")
    return b"http://schemas.openxmlformats.org/" + name[1] + b"/2006" + rest


def core_properties(path: Path) -> Properties:
    """Return title, authors, keywords and dates of an Office Open XML package; all empty if it has none."""
    try:
        with zipfile.ZipFile(path) as package:
            root = etree.fromstring(package.read("docProps/core.xml"), xml_parser())
    except (*UNREADABLE_PACKAGE, etree.XMLSyntaxError, OSError):
        return Properties()
    return Properties(
        title=_field(root, "dc:title"),
        authors=[name for name in (_field(root, "dc:creator"),) if name],
        keywords=[word for part in _field(root, "cp:keywords").replace(";", ",").split(",") if (word := part.strip())],
        file_time=moment(_field(root, "dcterms:modified") or _field(root, "dcterms:created")),
    )


def blob_of(image: etree._Element, part: Any) -> bytes:
    """Return the file of a picture that an element of a part names; KeyError or ValueError when it is not there."""
    for name in ("embed", "id"):
        if related := image.get(f"{_RELATED}{name}"):
            return bytes(part.rels[related].target_part.blob)
    raise KeyError(image.tag)


def packed_file(path: Path, name: str) -> bytes:
    """Return a file of a package; KeyError, OSError or ValueError when it is missing or damaged."""
    try:
        with zipfile.ZipFile(path) as package:
            return package.read(name)
    except UNREADABLE_PACKAGE as error:  # or no package at all, as a workbook of Excel 97
        raise KeyError(name) from error


def alternative_text(element: etree._Element) -> str:
    """Return a picture's alternative text, unless it is only a file name that a program put there."""
    text = inline(element.get("descr") or "")
    return "" if (mimetypes.guess_type(text)[0] or "").startswith("image/") else text


def _field(root: etree._Element, name: str) -> str:
    return inline(root.findtext(f".//{name}", namespaces=_NAMESPACES) or "")


def moment(text: str) -> datetime | None:
    """Return an ISO date and time as it is written, or None for anything else."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
