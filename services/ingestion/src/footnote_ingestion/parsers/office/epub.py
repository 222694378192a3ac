"""EPUB books: their chapters as HTML, in spine order; DRM-protected books are refused with a clear message."""

from __future__ import annotations

import posixpath
import re
import zipfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.base import BlockWriter, Limits, Properties
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.failures import (
    CONTENT_LEFT_OUT,
    CORRUPT,
    OTHER,
    PARTS_UNREADABLE,
    PASSWORD_PROTECTED,
    ParseError,
)
from footnote_ingestion.parsers.office.opendocument import first_text, read_part, xml_of
from footnote_ingestion.parsers.office.package import check_package, moment, packed_file
from footnote_ingestion.parsers.texts.encoding import decode, decode_declared
from footnote_ingestion.parsers.texts.html import write_html

_DC = "{http://purl.org/dc/elements/1.1/}"
_CONTAINER, _LOCKS = "META-INF/container.xml", "META-INF/encryption.xml"
# HTML has no such tag without an end: the rest of the page would become the title, or a script.
_ENDED = re.compile(r"<(title|script|style|textarea|iframe|noscript|xmp)(?![\w-])([^<>]*+)(?<=/)>", re.IGNORECASE)
_DECLARED = re.compile(rb"""<\?xml[^<>]{0,100}?encoding\s{0,9}=\s{0,9}["']([\w-]{1,40})""")
_READ = ("", "application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document")
_DECLARED_IN = 200


@dataclass(slots=True)
class _Spine:
    """The chapters of a book by name: those in reading order, and those that others refer to."""

    chapters: dict[str, None] = field(default_factory=dict)
    aside: dict[str, None] = field(default_factory=dict)
    contents: dict[str, None] = field(default_factory=dict)
    others: dict[str, None] = field(default_factory=dict)
    unknown: int = 0
    again: int = 0


class EpubParser:
    """Reads EPUB books, chapter by chapter."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Open the package, find the list of chapters and check whether they are encrypted."""
        check_package(path, limits)
        _refuse_locked(path, _spine(path)[0])

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write the chapters in reading order, then the others: answers, long notes."""
        check_package(path, limits)
        spine, properties = _spine(path)
        _refuse_locked(path, spine)
        if spine.unknown:
            out.warn(PARTS_UNREADABLE, "{count} chapters are missing", spine.unknown)
        if spine.again:
            out.warn(OTHER, "{count} times a chapter is named again in the reading order: it is read once", spine.again)
        if spine.others:
            out.warn(CONTENT_LEFT_OUT, "{count} pages of the book are pictures or the like", len(spine.others))
        contents = spine.contents if spine.chapters or spine.aside else {}
        if contents:
            out.warn(CONTENT_LEFT_OUT, "{count} tables of contents are left out", len(contents))
        if spine.aside:
            words = "{count} parts beside the reading order stand after it"
            out.warn(OTHER, words, len(spine.aside))
        with zipfile.ZipFile(path) as package:
            for name in (*spine.chapters, *spine.aside, *(() if contents else spine.contents)):
                try:
                    data = read_part(package, name)
                except ParseError as error:
                    if error.reason != CORRUPT:
                        raise
                    out.warn(PARTS_UNREADABLE, "{count} chapters are missing")
                    continue
                html = _ENDED.sub(r"<\1\2></\1>", _decoded(data, out))
                write_html(html, out, files=partial(_beside, path, posixpath.dirname(name)))
        return properties


def _beside(path: Path, folder: str, address: str) -> bytes:
    """Return the file of a book that a chapter in `folder` names."""
    return packed_file(path, _name(folder, address))


def _decoded(data: bytes, out: BlockWriter) -> str:
    """Decode a chapter with its declared encoding if that fits, else with the likeliest."""
    declared = _DECLARED.match(data[:_DECLARED_IN])
    if declared is not None:
        return decode_declared(data, declared[1].decode("ascii"), out)
    return decode(data, out)


def _refuse_locked(path: Path, spine: _Spine) -> None:
    """Raise `ParseError` for a book with encrypted chapters; encrypted fonts do not prevent reading."""
    try:
        root = xml_of(read_part(path, _LOCKS))
    except ParseError as error:
        if error.reason != CORRUPT:
            raise
        return
    locked = {_name("", one.get("URI") or "") for one in root.iter("{*}CipherReference")}
    if not locked.isdisjoint((*spine.chapters, *spine.aside)):
        raise ParseError(
            PASSWORD_PROTECTED,
            "The book is locked by its publisher's rights management (DRM): its chapters cannot be read.",
            "Upload a copy without DRM, if you have the right to.",
        )


def _name(folder: str, href: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))


def _spine(path: Path) -> tuple[_Spine, Properties]:
    """Return a book's chapters in reading order, without duplicates, and its properties."""
    container = xml_of(read_part(path, _CONTAINER))
    package_name = next((root.get("full-path") or "" for root in container.iter("{*}rootfile")), "")
    package = xml_of(read_part(path, package_name))
    items = {item.get("id"): item for item in package.iter("{*}item")}
    folder = posixpath.dirname(package_name)
    spine = _Spine()
    for reference in package.iter("{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or not item.get("href"):
            spine.unknown += 1
            continue
        name = _name(folder, item.get("href"))
        if "nav" in (item.get("properties") or "").split():
            spine.contents[name] = None
        elif (item.get("media-type") or "").lower() not in _READ:
            spine.others[name] = None
        else:
            chapters = spine.aside if reference.get("linear") == "no" else spine.chapters
            spine.again += name in chapters
            chapters[name] = None
    spine.aside = {name: None for name in spine.aside if name not in spine.chapters}
    return spine, _properties(package)


def _properties(package: etree._Element) -> Properties:
    return Properties(
        title=first_text(package, f"{_DC}title"),
        authors=[inline(one.text) for one in package.iter(f"{_DC}creator") if one.text],
        keywords=[inline(one.text) for one in package.iter(f"{_DC}subject") if one.text],
        language=first_text(package, f"{_DC}language")[:2].lower(),
        file_time=moment(first_text(package, f"{_DC}date")),
    )
