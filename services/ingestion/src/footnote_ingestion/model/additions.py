"""Files that are added to a collection, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
