"""Parsers: a module for each format, all behind the `Parser` protocol; loaded when first needed."""

from __future__ import annotations

from importlib import import_module

from footnote_ingestion.parsers.base import Parser
from footnote_ingestion.parsers.failures import UNSUPPORTED, ParseError

# To be raised when a parser's output changes: blocks kept of an older version are then read anew.
VERSION = 2
# document_type -> (module, class).
_PARSERS = {
    "txt": ("texts.plain", "TextParser"),
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
    "epub": ("office.opendocument", "EpubParser"),
    "rtf": ("texts.rtf", "RtfParser"),
    "eml": ("mail", "EmlParser"),
    "msg": ("mail", "MsgParser"),
    "doc": ("office.legacy", "DocParser"),
    "ppt": ("office.legacy", "PptParser"),
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
