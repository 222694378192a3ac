"""Values that the logic and its adapters share."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import uuid4

from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DocumentState
from footnote_kit.paging import Kind, Page, micros, text
from footnote_kit.wall_clock import deletion_time

# A stored file without a document may be deleted after this time: its upload has ended or died by then.
GRACE_MICROS = 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Stored:
    """A document with data only this service has: keys of its files and of its parsed blocks ("" for none)."""

    document: Document
    blob_key: str
    """The newest revision's file."""
    parsed_key: str
    """The parsed blocks of that file."""
    version: int
    searched_key: str = ""
    """The searched file, while `document.replacement` is another one; else ""."""
    first_revision: int = 1
    """The first revision with the bytes that `document.sha256` names."""
    last_revision: int = 0
    """The last one, while `document.replacement` is another file; else 0."""

    def labels(self) -> tuple[object, ...]:
        """Return what chunks copy from it and can change without being embedded again."""
        return (self.document.tags, self.document.metadata, self.document.expire_time)

    def blob_keys(self) -> list[str]:
        """Return all its keys."""
        tables = [tables_key(key) for key in (self.parsed_key and self.blob_key, self.searched_key) if key]
        return [key for key in (self.blob_key, self.parsed_key, self.searched_key, *tables) if key]


def tables_key(blob_key: str) -> str:
    """Return the key of a file's tables; they come from the same parse as its kept blocks."""
    return blob_key.replace("uploads/", "tables/", 1)


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a list; ties are broken by document id."""

    field: str
    descending: bool = False

    @property
    def kind(self) -> Kind:
        """The type of the field in a page token."""
        return text if self.field == "filename" else micros


NEWEST_FIRST = Order("create_time", descending=True)
ORDERS = {
    f"{name} desc" if descending else name: Order(name, descending)
    for name in ("create_time", "filename", "size_bytes", "update_time")
    for descending in (True, False)
}
"""The orders by their names in requests."""


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Which documents to list; `tenant_id` "" means all tenants. Empty filters match everything.

    `collection_ids` None means every collection; an empty set matches nothing.
    """

    tenant_id: str
    collection_ids: frozenset[str] | None = None
    states: Sequence[DocumentState.ValueType] = ()
    filename_contains: str = ""
    tags: Sequence[str] = ()
    """All of them are required."""
    document_types: Sequence[str] = ()
    languages: Sequence[str] = ()
    outdated_for: str = ""
    """Only documents indexed with a settings digest other than this."""
    created_after: int | None = None
    """Microseconds since 1970, inclusive."""
    created_before: int | None = None
    """Exclusive."""
    order: Order = field(default_factory=lambda: NEWEST_FIRST)
    page: Page = field(default_factory=Page.first)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A document with work that may be unfinished after a crash: its deletion, or updating its chunks' labels."""

    document: Document
    deletion: bool
    labels: bool


def now_micros() -> int:
    """Return microseconds since 1970."""
    return int(datetime.now(UTC).timestamp() * 1_000_000)


def deletion_micros() -> int:
    """Return the time by which things are old enough to be deleted, in microseconds since 1970."""
    return int(deletion_time() * 1_000_000)


def new_key(tenant_id: str, user_id: str) -> str:
    """Return a fresh key `uploads/{tenant}/{user}/{yyyy-mm-dd}/{uuid}`; ids other than plain words are hashed."""
    day = datetime.now(UTC).date().isoformat()
    return f"uploads/{_segment(tenant_id)}/{_segment(user_id)}/{day}/{uuid4().hex}"


def _segment(value: str) -> str:
    """Return `value` as one path segment that no client can control; distinct values give distinct segments."""
    plain = value.isascii() and value.replace("-", "").replace("_", "").isalnum() and value == value.lower()
    if plain and len(value) <= 64 and not value.startswith(("-", "h_")):
        return value
    return "h_" + hashlib.sha256(value.encode("utf-8", errors="surrogatepass")).hexdigest()[:40]
