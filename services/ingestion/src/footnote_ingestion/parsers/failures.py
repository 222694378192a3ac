"""Why a file cannot be parsed, with advice for its uploader; and warnings for text left out, guessed or unreadable."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass

from footnote.types.v1.document_pb2 import ReadingWarning, WarningKind
from footnote.types.v1.locator_pb2 import Locator
from footnote_kit.hints import FAILURE_HINTS
from footnote_kit.transient_errors import FULL

PASSWORD_PROTECTED = "PASSWORD_PROTECTED"
CORRUPT = "CORRUPT"
NO_TEXT = "NO_TEXT"
TOO_LARGE = "TOO_LARGE"
TIMEOUT = "TIMEOUT"
UNSUPPORTED = "UNSUPPORTED"
OUT_OF_MEMORY = "OUT_OF_MEMORY"
PARSER_CRASHED = "PARSER_CRASHED"
PARSER_KILLED = "PARSER_KILLED"
INTERNAL = "INTERNAL"
NO_ROOM = "NO_ROOM"
"""The worker's disk is full: no fault of the file's, which is read again later and never fails for it."""


@dataclass(frozen=True, slots=True)
class FailureInfo:
    """A failure as plain values: `reason` is a FailureReason name without prefix."""

    reason: str
    message: str
    hint: str


class ParseError(Exception):
    """A file cannot be parsed; `reason` is a FailureReason name without prefix, `hint` says what to do."""

    def __init__(self, reason: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.hint = hint or FAILURE_HINTS[reason]

    @property
    def info(self) -> FailureInfo:
        """Return the failure as plain values."""
        return FailureInfo(self.reason, self.message, self.hint)


def is_no_room(error: BaseException) -> bool:
    """Return whether a disk is full. DuckDB says so in words alone, which others may quote from the file."""
    if isinstance(error, OSError):
        return error.errno in FULL
    return type(error).__module__.strip("_").startswith("duckdb") and os.strerror(errno.ENOSPC) in str(error)


OTHER = WarningKind.WARNING_KIND_OTHER
PAGE_FURNITURE = WarningKind.WARNING_KIND_PAGE_FURNITURE
ENCODING_GUESSED = WarningKind.WARNING_KIND_ENCODING_GUESSED
BYTES_REPLACED = WarningKind.WARNING_KIND_BYTES_REPLACED
UNREADABLE_TEXT = WarningKind.WARNING_KIND_UNREADABLE_TEXT
PAGES_WITHOUT_TEXT = WarningKind.WARNING_KIND_PAGES_WITHOUT_TEXT
PARTS_UNREADABLE = WarningKind.WARNING_KIND_PARTS_UNREADABLE
TEXT_RECOGNISED = WarningKind.WARNING_KIND_TEXT_RECOGNISED
DAMAGED = WarningKind.WARNING_KIND_DAMAGED
CONTENT_LEFT_OUT = WarningKind.WARNING_KIND_CONTENT_LEFT_OUT

PICTURES_NOT_READ = "{count} pictures are not read, but for their alternative texts"
STRUCK_LEFT_OUT = "{count} pieces of struck text are left out"

MOST_PLACES = 10
MOST_WARNINGS = 50
"""Limit on different warnings of a file; further ones are counted in one that says so."""
_MORE = "{count} more kinds of things were noticed"


class ParseWarnings:
    """Collects warnings: the same text again raises the count and adds places."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str], ReadingWarning] = {}

    def add(
        self, kind: WarningKind.ValueType, words: str, count: int = 1, places: Iterable[Locator | None] = ()
    ) -> None:
        """Add a warning; `{count}` in `words` stands for the final count, nothing else is replaced."""
        if (kind, words) not in self._found and len(self._found) >= MOST_WARNINGS:
            kind, words, count, places = OTHER, _MORE, 1, ()
        found = self._found.setdefault((kind, words), ReadingWarning(kind=kind))
        found.count += count
        for place in places:
            if len(found.places) >= MOST_PLACES:
                break
            if place is not None and (place.WhichOneof("place") is not None or place.heading_path):
                found.places.append(place)

    def warnings(self) -> list[ReadingWarning]:
        """Return the warnings in the order of first occurrence."""
        made = []
        for (_, words), found in self._found.items():
            one = ReadingWarning(text=words.replace("{count}", str(found.count)))
            one.MergeFrom(found)
            made.append(one)
        return made
