"""The files of a document: the searchable one, and the newest one, which may still be in ingestion."""

from __future__ import annotations

from footnote.stages.v1.stored_document_pb2 import Document

FIELDS = ("filename", "mime_type", "document_type", "size_bytes", "sha256")
"""The file fields that Document and DocumentFile have in common."""


def newest(document: Document) -> Document:
    """Return the document with the file of its newest revision; the same object when there is no replacement."""
    if not document.HasField("replacement"):
        return document
    made = Document()
    made.CopyFrom(document)
    take_replacement(made)
    return made


def searched(document: Document) -> Document:
    """Return the document as of its searched revision, without a replacement."""
    made = Document()
    made.CopyFrom(document)
    made.ClearField("replacement")
    made.revision = document.indexed_revision or document.revision
    return made


def take_replacement(document: Document) -> None:
    """Overwrite the document's file fields with those of its newest revision."""
    for name in FIELDS:
        setattr(document, name, getattr(document.replacement, name))
    document.ClearField("replacement")
