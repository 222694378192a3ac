"""Files of documents: those that are added, the one of each revision, and how a new one replaces it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DocumentFile
from footnote_kit.document_files import FIELDS, searched, take_replacement
from footnote_kit.errors import NotFound

from footnote_ingestion.model import lifecycle
from footnote_ingestion.model.repeats import Request
from footnote_ingestion.model.values import Stored


@dataclass(frozen=True, slots=True)
class Addition:
    """A file to add: its new document, or the id of the document that has its bytes already.

    `merged` returns that document with the labels of this file, the same object if nothing changes; it may raise.
    """

    sha256: str
    size: int
    allow_duplicate: bool
    merged: Callable[[Stored], Stored]
    request: Request | None = None
    new: Stored | None = None
    same: str = ""


@dataclass(frozen=True, slots=True)
class Added:
    """The document, whether it existed before, and whether labels were added to it."""

    stored: Stored
    duplicate: bool = False
    merged: bool = False


def file_of(stored: Stored, revision: int | None) -> tuple[DocumentFile, str]:
    """Return the file of a revision and its key; None means the searched revision, or the newest if none is.

    Raises `NotFound` for an unknown revision and for one whose file is no longer kept.
    """
    document = stored.document
    shown = DocumentFile(first_revision=stored.first_revision, last_revision=stored.last_revision or document.revision)
    for name in FIELDS:
        setattr(shown, name, getattr(document, name))
    if revision is None or shown.first_revision <= revision <= shown.last_revision:
        return shown, stored.searched_key or stored.blob_key
    if document.HasField("replacement") and document.replacement.first_revision <= revision <= document.revision:
        return document.replacement, stored.blob_key
    raise NotFound(
        f"The file of revision {revision} of document '{document.id}' is not kept; searches see revision "
        f"{document.indexed_revision}, and the newest is {document.revision}",
        reason="REVISION_NOT_FOUND",
        metadata={
            "document_id": document.id,
            "revision": str(revision),
            "indexed_revision": str(document.indexed_revision),
            "newest_revision": str(document.revision),
        },
    )


def is_of_searched_file(stored: Stored, revision: int) -> bool:
    """Return whether a revision was made from the file that searches see."""
    return stored.first_revision <= revision <= (stored.last_revision or stored.document.revision)


def with_searched_file(stored: Stored) -> Stored:
    """Return a document as it would be without the replacement that is not searched yet."""
    if not stored.searched_key:
        return stored
    return replace(
        stored, document=searched(stored.document), blob_key=stored.searched_key, parsed_key="", searched_key=""
    )


def with_new_file(before: Stored, file: DocumentFile, key: str) -> Stored:
    """Return a document with a new revision and file; the searched file is kept beside it."""
    document = Document()
    document.CopyFrom(before.document)
    last = document.revision
    lifecycle.begin_revision(document)
    document.state = lifecycle.UPLOADED
    file.first_revision = document.revision
    file.last_revision = document.revision
    changed = replace(before, document=document, blob_key=key, parsed_key="")
    if not document.HasField("replacement"):
        changed = replace(changed, searched_key=before.blob_key, last_revision=last)
    document.replacement.CopyFrom(file)
    if not document.indexed_revision:
        take_replacement(document)
        first = document.revision
        return replace(changed, searched_key="", first_revision=first, last_revision=0)
    return changed


def moved(before: Stored, document: Document) -> Stored:
    """Return a document after a transition: an indexed revision's file becomes the searched one."""
    if not document.HasField("replacement") or document.indexed_revision != document.revision:
        return replace(before, document=document)
    first = document.replacement.first_revision
    take_replacement(document)
    return replace(before, document=document, searched_key="", first_revision=first, last_revision=0)
