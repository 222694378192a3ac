"""Detects a file's type from its bytes. The name only decides between kinds of text, which look alike."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import filetype
import olefile  # type: ignore[import-untyped]

from footnote_ingestion.parsers import added
from footnote_ingestion.parsers.failures import CORRUPT, PASSWORD_PROTECTED, UNSUPPORTED, ParseError
from footnote_ingestion.parsers.texts.encoding import guess, is_plain
from footnote_ingestion.parsers.texts.source import is_source

MIME = {
    "txt": "text/plain",
    "code": "text/plain",
    "md": "text/markdown",
    "html": "text/html",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xlsb": "application/vnd.ms-excel.sheet.binary.macroenabled.12",
    "doc": "application/msword",
    "xls": "application/vnd.ms-excel",
    "ppt": "application/vnd.ms-powerpoint",
    "msg": "application/vnd.ms-outlook",
    "odt": "application/vnd.oasis.opendocument.text",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "odp": "application/vnd.oasis.opendocument.presentation",
    "epub": "application/epub+zip",
    "rtf": "application/rtf",
    "eml": "message/rfc822",
    "png": "image/png",
    "jpg": "image/jpeg",
    "tif": "image/tiff",
    "webp": "image/webp",
}
_PICTURES = {MIME[name]: name for name in ("png", "jpg", "tif", "webp")}
_HEAD = 65_536
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_OLE_STREAMS = (
    ("EncryptedPackage", ""),
    ("WordDocument", "doc"),
    ("Workbook", "xls"),
    ("Book", "xls"),
    ("PowerPoint Document", "ppt"),
    ("__properties_version1.0", "msg"),
)
_HTML = re.compile(rb"<!doctype\s+html|<html[\s>]|<head[\s>]|<body[\s>]", re.IGNORECASE)
_HTML_TAGS = re.compile(rb"</?(?:div|p|span|table|tr|td|h[1-6]|ul|li|a|br|script|meta|title)\b[^<>]*+>", re.IGNORECASE)
_MAIL = re.compile(
    rb"(?<![\w-])(?:received|return-path|from|to|cc|subject|date|message-id|mime-version|delivered-to|x-[\w-]++|"
    rb"content-[\w-]++|reply-to|sender|dkim-signature|authentication-results|arc-[\w-]++):\s",
    re.IGNORECASE,
)
_PDF_OBJECT = re.compile(rb"(?<!\d)\d{1,10}\s\d{1,5}\sobj\b")
# Text formats that must not be read as plain text.
_TEXT_FORMATS = (b"%!PS-", b"!<arch>")
_BY_NAME = {".md": "md", ".markdown": "md", ".mdx": "md", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".htm": "html",
            ".html": "html", ".xhtml": "html", ".eml": "eml"}  # fmt: skip
_TEXT_NAMES = frozenset([*_BY_NAME, ".txt", ".text", ".log", ".rst", ".py", ".json", ".xml"])
_BY_MARKS = ("eml", "html")  # kinds of text for which a name is only a hint


@dataclass(frozen=True, slots=True)
class FileType:
    """Media type and the short name of a format."""

    mime_type: str
    document_type: str


def sniff(path: Path, filename: str) -> FileType:
    """Return the type of the file at `path`; raises `ParseError` for a type without a parser."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    for other in added().values():
        if filename.lower().endswith(other.suffixes) and head.startswith(other.starts):
            return FileType(other.mime_type, other.document_type)
    if _is_pdf(path, head, filename):
        return _known("pdf")
    if head.startswith(_OLE):
        return _ole(path)
    if head.startswith(b"PK\x03\x04") or head.startswith(b"PK\x05\x06"):
        return _zip(path)
    if head.startswith(b"{\\rtf"):
        return _known("rtf")
    found = filetype.guess(head)
    # "BM", "MZ" and "ID3" begin words too: a signature counts only if the following bytes are no text.
    if found is not None and not (is_plain(head) and not head.startswith(_TEXT_FORMATS)):
        if found.mime in _PICTURES:
            return _known(_PICTURES[found.mime])
        raise _unsupported(found.mime, found.extension)
    if not guess(head):
        raise _unsupported("application/octet-stream", "binary")
    return _known(_text_type(head, filename))


def _is_pdf(path: Path, head: bytes, filename: str) -> bool:
    """Return whether it is a PDF, by signature and an object or its name; else by objects, trailer and binary bytes."""
    at = head[:1024].find(b"%PDF-")
    begins = at >= 0 and not head[:at].strip(b"\xef\xbb\xbf\0 \t\r\n\x0c")
    named = PurePosixPath(filename.lower()).suffix
    if begins and named not in _TEXT_NAMES:
        return True
    if _PDF_OBJECT.search(head) is None:
        return False
    if begins:
        return True
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 2048, 0))
        end = file.read()
    ended = b"startxref" in end or b"%%EOF" in end
    return (at >= 0 or ended) and (named == ".pdf" or (ended and not is_plain(head)))


def _known(document_type: str) -> FileType:
    return FileType(MIME[document_type], document_type)


def _unsupported(mime: str, what: str) -> ParseError:
    hint = ""
    if mime.startswith("image/"):
        hint = "Run OCR on the picture and upload the result as a searchable PDF."
    elif what in ("zip", "gz", "tar", "7z", "rar", "bz2", "xz", "zst"):
        hint = "Unpack the archive and upload the files in it."
    return ParseError(UNSUPPORTED, f"The file is {mime} ({what}), which is not read.", hint)


def _ole(path: Path) -> FileType:
    """Return the type by the container's own streams: those of attached and embedded files lie in its storages."""
    try:
        with olefile.OleFileIO(str(path)) as container:
            found = {stream for stream, _ in _OLE_STREAMS if container.exists(stream)}
    except Exception:  # damaged in any way: the names still stand in its directory, in UTF-16
        data = path.read_bytes()
        found = {stream for stream, _ in _OLE_STREAMS if f"{stream}\0".encode("utf-16-le") in data}
    for stream, document_type in _OLE_STREAMS:
        if stream in found:
            if not document_type:
                raise ParseError(PASSWORD_PROTECTED, "The Office file opens only with a password.")
            return _known(document_type)
    raise _unsupported("application/x-ole-storage", "ole")


def _zip(path: Path) -> FileType:
    try:
        with zipfile.ZipFile(path) as package:
            names = set(package.namelist())
            kind = _open_document(package) if "mimetype" in names else ""
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise ParseError(CORRUPT, "The file is a damaged zip package; it was probably cut off.") from error
    if kind:
        return _known(kind)
    for part, document_type in (("word/", "docx"), ("ppt/", "pptx"), ("xl/workbook.bin", "xlsb"), ("xl/", "xlsx")):
        if any(name.startswith(part) for name in names):
            return _known(document_type)
    raise _unsupported("application/zip", "zip")


def _open_document(package: zipfile.ZipFile) -> str:
    with package.open("mimetype") as file:
        mime = file.read(100).decode("ascii", errors="replace").strip()
    return next((name for name, known in MIME.items() if mime == known), "")


def _text_type(head: bytes, filename: str) -> str:
    """Return the kind of text: mail and HTML by their markers, the others by name."""
    narrow = head.replace(b"\0", b"") if b"\0" in head else head
    named = _BY_NAME.get(PurePosixPath(filename.lower()).suffix, "")
    start = narrow.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")[:4096]
    if named not in ("", *_BY_MARKS):
        return named
    lines = start.split(b"\n", 12)
    if _MAIL.match(lines[0]) and sum(1 for line in lines if _MAIL.match(line)) >= (2 if named == "eml" else 3):
        return "eml"
    if start[:1] != b"<" and is_source(filename):
        return "code"
    if _HTML.search(start[:2048]) or (named == "html" and start[:1] == b"<"):
        return "html"
    if named == "html" or (start[:1] == b"<" and len(_HTML_TAGS.findall(start)) >= 3):
        return "html"
    if named == "eml":
        return named
    return "code" if is_source(filename) else "txt"
