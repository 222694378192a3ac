"""Parsers: one module per family of formats, all behind the `Parser` protocol; loaded when first needed."""

from __future__ import annotations

from importlib import import_module

from footnote_ingestion.failures import UNSUPPORTED, ParseError
from footnote_ingestion.parsers.base import Parser

# To be raised when a parser's output changes: blocks kept of an older version are then read anew.
VERSION = 2
# document_type -> (module, class).
_PARSERS = {
    "txt": ("text", "TextParser"),
    "md": ("markdown", "MarkdownParser"),
    "html": ("html", "HtmlParser"),
    "csv": ("sheets", "CsvParser"),
    "tsv": ("sheets", "CsvParser"),
    "pdf": ("pdf", "PdfParser"),
    "docx": ("docx", "DocxParser"),
    "pptx": ("pptx", "PptxParser"),
    "xlsx": ("sheets", "WorkbookParser"),
    "xlsb": ("sheets", "WorkbookParser"),
    "xls": ("sheets", "WorkbookParser"),
    "ods": ("sheets", "WorkbookParser"),
    "odt": ("opendocument", "OpenDocumentParser"),
    "odp": ("opendocument", "OpenDocumentParser"),
    "epub": ("opendocument", "EpubParser"),
    "rtf": ("rtf", "RtfParser"),
    "eml": ("mail", "EmlParser"),
    "msg": ("mail", "MsgParser"),
    "doc": ("legacy", "DocParser"),
    "ppt": ("legacy", "PptParser"),
}


def supported() -> frozenset[str]:
    """Return the document types that have a parser."""
    return frozenset(_PARSERS)


def parser_for(document_type: str) -> Parser:
    """Return the parser of a document type; raises `ParseError` UNSUPPORTED when there is none."""
    if document_type not in _PARSERS:
        raise ParseError(UNSUPPORTED, f"Files of type '{document_type}' are not read.")
    module, name = _PARSERS[document_type]
    parser: Parser = getattr(import_module(f"footnote_ingestion.parsers.{module}"), name)()
    return parser
