"""The files of a document: the one that searches see, and the newest, which may be another one."""

from __future__ import annotations

from footnote.types.v1.document_pb2 import Document

FIELDS = ("filename", "mime_type", "document_type", "size_bytes", "sha256")
"""What a document and a DocumentFile say of a file, by the same names."""


def newest(document: Document) -> Document:
    """Return a document whose file is the one of its newest revision; itself where it has no other one."""
    if not document.HasField("replacement"):
        return document
    made = Document()
    made.CopyFrom(document)
    take_replacement(made)
    return made


def take_replacement(document: Document) -> None:
    """Let the newest revision's file be the document's."""
    for name in FIELDS:
        setattr(document, name, getattr(document.replacement, name))
    document.ClearField("replacement")
