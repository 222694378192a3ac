"""Names what the lost commits of a damaged log held, as far as their frames are legible.

The frames behind the damage are on disk and most of them are intact, but SQLite does not read them. Here they are put
into a copy in memory, which is read and never written back: pages of the damaged frames are older there.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from footnote_database.damaged_log import FRAME_HEADER, HEADER, LostCommits, frames_of

LARGEST_BYTES = 64 * 1024 * 1024
"""Size of a database and its log up to which they are read into memory, about four times."""
MOST = 20
"""Maximum names of one kind in a message."""

_VERSIONS = slice(18, 20)
_ROLLBACK = b"\x01\x01"
"""In a file's header: read without a log, which a database in memory cannot have."""


def names(database: Path, lost: LostCommits, queries: Mapping[str, str]) -> dict[str, list[str]]:
    """Return by kind what a query of one column finds with the lost commits and not without them, in order.

    A kind is left out where nothing is legible, or where there is nothing to name.
    """
    log = database.with_name(database.name + "-wal")
    with contextlib.suppress(OSError):
        if not queries or lost.frames is None or database.stat().st_size + log.stat().st_size > LARGEST_BYTES:
            return {}
        left, whole = _images(bytearray(database.read_bytes()), log.read_bytes(), lost)
        found = {}
        for kind, query in queries.items():
            if named := sorted(_rows(whole, query) - _rows(left, query)):
                found[kind] = named
        return found
    return {}


def sentence(found: Mapping[str, list[str]]) -> str:
    """Return names as a sentence, "" for none."""
    shown = []
    for kind, named in found.items():
        more = f" and {len(named) - MOST} more" if len(named) > MOST else ""
        shown.append(f"{kind} {', '.join(named[:MOST])}{more}")
    return f"Still legible of what they changed: {'; '.join(shown)}. " if shown else ""


def _images(image: bytearray, content: bytes, lost: LostCommits) -> tuple[bytes, bytes]:
    """Return the database without and with the legible frames of the lost commits."""
    assert lost.frames is not None
    read, kept, committed = lost.frames
    page_size = int.from_bytes(content[8:12], "big")
    frames = frames_of(content)

    def put(first: int, last: int) -> bytes:
        for number in range(first, last):
            start = HEADER + number * (FRAME_HEADER + page_size)
            page, size = (int.from_bytes(content[start + at : start + at + 4], "big") for at in (0, 4))
            if not frames[number].follows or not page:
                continue
            end = page * page_size
            image.extend(bytes(max(0, end - len(image))))
            image[end - page_size : end] = content[start + FRAME_HEADER : start + FRAME_HEADER + page_size]
            if size:
                del image[size * page_size :]
        image[_VERSIONS] = _ROLLBACK
        return bytes(image)

    left = put(0, 0 if lost.ahead else read)
    return left, put(kept, committed)


def _rows(image: bytes, query: str) -> set[str]:
    """Return a query's rows; nothing where the pages do not fit together."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.deserialize(image)
            return {str(name) for (name,) in connection.execute(query)}
        except sqlite3.Error:
            return set()
