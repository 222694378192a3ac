"""Repeated uploads: by request id, or as the same bytes with other tags and metadata."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from footnote.stages.v1.stored_document_pb2 import Document
from footnote_kit.errors import InvalidArgument
from footnote_store.fields import check_metadata
from google.protobuf.struct_pb2 import Struct

MOST_TAGS = 100
_ELSE = "change that one, or set allow_duplicate"


@dataclass(frozen=True, slots=True, order=True)
class RequestKey:
    """A request id with its caller."""

    tenant_id: str
    user_id: str
    request_id: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an upload, with a digest of its content."""

    content: str
    document_id: str
    duplicate: bool
    merged: bool


@dataclass(frozen=True, slots=True)
class Request:
    """An upload that its caller may repeat, and a digest of its content."""

    key: RequestKey
    content: str


class Repeated(Exception):
    """A concurrent attempt of the same request finished first; this one has changed nothing."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__("the request was answered already")
        self.outcome = outcome


def digest(about: bytes, sha256: str) -> str:
    """Return a digest of an upload's content: the description of the file, and its bytes."""
    return hashlib.sha256(about + sha256.encode()).hexdigest()


def check_same(outcome: Outcome, content: str) -> None:
    """Raise InvalidArgument when a request id is reused with other content."""
    if outcome.content != content:
        raise InvalidArgument(
            "This request_id was used for another upload within 24 hours; take a new one", reason="REQUEST_ID_REUSED"
        )


def check_transfer(size: int, sha256: str, wanted_size: int | None, wanted_sha256: str) -> None:
    """Raise InvalidArgument when the received bytes differ from those announced."""
    if (wanted_size is not None and wanted_size != size) or (wanted_sha256 and wanted_sha256 != sha256):
        raise InvalidArgument(
            "The bytes received are not those that were announced; send them again",
            reason="TRANSFER_CORRUPT",
            metadata={"size_bytes": str(size), "sha256": sha256},
        )


def merge(document: Document, tags: tuple[str, ...], metadata: Struct) -> None:
    """Add missing tags and keys to a document.

    Raises InvalidArgument for a key with a different value, and for more than one document may have.
    """
    for key, value in metadata.fields.items():
        if key in document.metadata.fields and document.metadata.fields[key] != value:
            raise InvalidArgument.field(
                f"metadata.metadata.{key}",
                f"differs from what document '{document.id}' has, which has the same bytes; {_ELSE}",
            )
    new_tags = [tag for tag in tags if tag not in document.tags]
    new_keys = metadata.fields.keys() - document.metadata.fields.keys()
    document.tags.extend(new_tags)
    for key in new_keys:
        document.metadata.fields[key].CopyFrom(metadata.fields[key])
    both = f"those of document '{document.id}', which has the same bytes"
    if new_tags and len(document.tags) > MOST_TAGS:
        raise InvalidArgument.field("metadata.tags", f"and {both} are more than {MOST_TAGS}; {_ELSE}")
    try:
        if new_keys:
            check_metadata("metadata.metadata", document.metadata)
    except InvalidArgument as error:
        problem = f"and {both} are more than one document may have; {_ELSE}"
        raise InvalidArgument.field("metadata.metadata", problem) from error
