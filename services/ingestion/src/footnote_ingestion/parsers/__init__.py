"""Parsers: one module per format, all behind the `Parser` protocol; loaded when first needed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable

from footnote_kit import plugins

from footnote_ingestion.parsers.base import Format, Parser
from footnote_ingestion.parsers.failures import UNSUPPORTED, ParseError

# document_type -> (module, class).
_PARSERS = {
    "txt": ("texts.plain", "TextParser"),
    "code": ("texts.source", "SourceParser"),
    "md": ("texts.markdown", "MarkdownParser"),
    "html": ("texts.html", "HtmlParser"),
    "csv": ("sheets.parser", "CsvParser"),
    "tsv": ("sheets.parser", "CsvParser"),
    "pdf": ("pdf.parser", "PdfParser"),
    "docx": ("office.docx", "DocxParser"),
    "pptx": ("office.pptx", "PptxParser"),
    "xlsx": ("sheets.parser", "WorkbookParser"),
    "xlsb": ("sheets.parser", "WorkbookParser"),
    "xls": ("sheets.parser", "WorkbookParser"),
    "ods": ("sheets.parser", "WorkbookParser"),
    "odt": ("office.opendocument", "OpenDocumentParser"),
    "odp": ("office.opendocument", "OpenDocumentParser"),
    "epub": ("office.epub", "EpubParser"),
    "rtf": ("texts.rtf", "RtfParser"),
    "eml": ("mail", "EmlParser"),
    "msg": ("mail", "MsgParser"),
    "doc": ("office.legacy", "DocParser"),
    "ppt": ("office.legacy", "PptParser"),
    "png": ("pictures", "PictureParser"),
    "jpg": ("pictures", "PictureParser"),
    "tif": ("pictures", "PictureParser"),
    "webp": ("pictures", "PictureParser"),
}

_SUFFIXES = frozenset(f".{name}" for name in _PARSERS) | {
    ".htm",
    ".xhtml",
    ".markdown",
    ".mdx",
    ".tab",
    ".jpeg",
    ".tiff",
}
ENTRY_POINT_GROUP = "footnote.parsers"
"""Where other packages register the `Format`s that they read."""


@cache
def version() -> str:
    """Return a digest of the code that parses, 16 hex digits: indexing again parses again what other code parsed.

    Takes 10 ms once. Versions of libraries and parsers of other packages do not count.
    """
    digest = hashlib.sha256()
    for package in ("footnote_ingestion.parsers", "footnote_ingestion.tables", "footnote_text"):
        for source in _sources(files(package)):
            digest.update(source)
    return digest.hexdigest()[:16]


def _sources(folder: Traversable) -> Iterator[bytes]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_file():
            yield entry.read_bytes()
        elif entry.name != "__pycache__":
            yield from _sources(entry)


@cache
def added() -> Mapping[str, Format]:
    """Return the formats of other packages, by document type; built-in ones cannot be replaced."""
    return plugins.installed(ENTRY_POINT_GROUP, Format, lambda format: format.document_type, _PARSERS, _wrong)


def _wrong(format: Format) -> str:
    if not format.suffixes or not all(suffix.startswith(".") and suffix.islower() for suffix in format.suffixes):
        return "suffixes must be given, as '.ipynb'"
    ours = sorted(_SUFFIXES.intersection(format.suffixes))
    return f"{', '.join(ours)} is read by a parser of ours" if ours else ""


def supported() -> frozenset[str]:
    """Return the document types that have a parser."""
    return frozenset(_PARSERS) | frozenset(added())


def parser_for(document_type: str) -> Parser:
    """Return the parser of a document type; raises `ParseError` UNSUPPORTED when there is none."""
    if document_type in added():
        return added()[document_type].make()
    if document_type not in _PARSERS:
        raise ParseError(UNSUPPORTED, f"Files of type '{document_type}' are not read.")
    module, name = _PARSERS[document_type]
    parser: Parser = getattr(import_module(f"footnote_ingestion.parsers.{module}"), name)()
    return parser
