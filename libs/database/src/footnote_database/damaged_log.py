"""Finds commits that a damaged write-ahead log would lose, before SQLite drops them in silence.

SQLite reads a log up to the first frame whose checksum fails. It takes everything after that for the leftovers of a
transaction that never committed, so that one flipped bit undoes every later commit. Two signs distinguish damage from
leftovers. The index beside the log (`-shm`) survives a killed process and has the number of committed frames. Without
it, an intact commit behind the failing frame is a sign.

A checkpoint may have copied frames behind the damage into the file already. SQLite would read the older pages of the
log's intact beginning over them, and mix two states: such a log has to be discarded instead.

Formats: https://www.sqlite.org/fileformat2.html#walformat and https://www.sqlite.org/walformat.html.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from operator import mul
from pathlib import Path

HEADER = 32
FRAME_HEADER = 24
_INDEX_COPY = 48
_INDEX_HEADER = 136
_MASK = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class LostCommits:
    """The number of commits that are neither readable nor in the file, and the time of the last write to the log.

    The number is None where not even the log's header can be read. The file is `ahead` when it holds commits from
    behind the damage, and `mixed` when a checkpoint was interrupted while it copied some. `frames` is how many frames
    are readable, are readable or in the file, and were committed.
    """

    count: int | None
    until: datetime
    ahead: bool = False
    mixed: bool = False
    frames: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame: whether it ends a transaction, and whether its checksum continues that of the frame before it."""

    commits: bool
    follows: bool


@dataclass(frozen=True, slots=True)
class _Index:
    """The index beside a log: frames committed, the log's salts, frames in the file, frames being copied there."""

    committed: int = 0
    salts: bytes = b""
    copied: int = 0
    copying: int = 0


def lost_commits(database: Path) -> LostCommits | None:
    """Return what SQLite would drop of a file's log, None for a sound log or none.

    Reads the files and changes nothing, so the result stays the same until a connection opens the database. While
    other processes write, a log that begins again during the check counts as sound.
    """
    log = database.with_name(database.name + "-wal")
    try:
        index = _index(database.with_name(database.name + "-shm"))
        content = log.read_bytes()
        until = datetime.fromtimestamp(log.stat().st_mtime, UTC)
        if len(content) < HEADER + FRAME_HEADER or not any(content[:HEADER]):
            return None
        with log.open("rb") as now:
            if now.read(HEADER) != content[:HEADER]:
                return None
        if not _is_sound(content):
            if index.salts != content[HEADER + 8 : HEADER + 16]:
                return LostCommits(None, until)
            count = 0 if 0 < index.committed == index.copied else None
            return LostCommits(count, until, index.copied > 0, index.copying > index.copied)
        frames = frames_of(content)
    except OSError:
        return None  # none there, or none that this user may read, which SQLite reports itself
    sound = next((number for number, frame in enumerate(frames) if not frame.follows), len(frames))
    read = max((number + 1 for number in range(sound) if frames[number].commits), default=0)
    if index.committed < read or index.salts != content[16:24]:  # from before a power cut, or of an earlier log
        index = _Index()
        # The first commit behind the failing frame ends its own transaction, which a power cut may have torn.
        torn = next((number for number in range(sound, len(frames)) if frames[number].commits), len(frames))
        committed = max((number + 1 for number in range(torn + 1, len(frames)) if _ends(frames, number)), default=read)
    else:
        # A writer may be killed between its commit and the index.
        newer = range(index.committed, len(frames))
        committed = max((number + 1 for number in newer if _ends(frames, number)), default=index.committed)
    if committed <= read:
        return None
    kept = max(read, index.copied)
    count = max(1, sum(frame.commits for frame in frames[kept:committed])) if committed > kept else 0
    mixed = index.copying > kept
    return LostCommits(count, until, index.copied > read, mixed, (read, kept, min(committed, len(frames))))


def discard(database: Path) -> None:
    """Remove a file's log that is behind the file; no connection may be open."""
    for suffix in ("-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)


def _ends(frames: list[Frame], number: int) -> bool:
    """Return whether a frame is an intact commit; a transaction that was rolled back leaves none."""
    return frames[number].commits and frames[number].follows


def _index(path: Path) -> _Index:
    """Read the index beside a log; empty when there is none, or a torn one."""
    try:
        with path.open("rb") as file:
            content = file.read(_INDEX_HEADER)
    except FileNotFoundError:
        return _Index()
    if len(content) < _INDEX_HEADER or content[:_INDEX_COPY] != content[_INDEX_COPY : 2 * _INDEX_COPY]:
        return _Index()
    (committed,), (copied,), (copying,) = (struct.unpack_from("=I", content, at) for at in (16, 96, 128))
    return _Index(committed, content[32:40], copied, copying)


def _is_sound(content: bytes) -> bool:
    """Return whether the header is whole."""
    return any(_add((0, 0), content[:24], order) == struct.unpack_from(">2I", content, 24) for order in "<>")


def frames_of(content: bytes) -> list[Frame]:
    """Return the frames of a log; those of earlier rounds carry other salts, and neither follow nor commit."""
    magic, _, page_size = struct.unpack_from(">3I", content)
    order = ">" if magic & 1 else "<"
    salts = content[16:24]
    before = struct.unpack_from(">2I", content, 24)
    frames = []
    for start in range(HEADER, len(content) - FRAME_HEADER - page_size + 1, FRAME_HEADER + page_size):
        page = start + FRAME_HEADER
        recorded = struct.unpack_from(">2I", content, start + 16)
        ours = content[start + 8 : start + 16] == salts
        follows = ours and recorded == _add(
            before, content[start : start + 8] + content[page : page + page_size], order
        )
        frames.append(Frame(ours and content[start + 4 : start + 8] != bytes(4), follows))
        before = recorded
    return frames


def _add(state: tuple[int, int], data: bytes, order: str) -> tuple[int, int]:
    """Continue a checksum.

    For each pair of words (x, y) the format adds s0 += x + s1, then s1 += y + s0. Both sums are linear in the words,
    so they are two products with numbers of Fibonacci, which Python forms without a loop.
    """
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for_first, for_second, (a, b, c, d) = _weights(len(words))
    first, second = state
    return (
        (a * first + b * second + sum(map(mul, for_first, words))) & _MASK,
        (c * first + d * second + sum(map(mul, for_second, words))) & _MASK,
    )


@cache
def _weights(words: int) -> tuple[list[int], list[int], tuple[int, int, int, int]]:
    """Return the weights of each word in both sums, and the matrix that carries the state over all words."""
    a, b, c, d = 1, 0, 0, 1
    for_first: list[int] = []
    for_second: list[int] = []
    for _ in range(words // 2):  # from the last pair to the first; a pair adds (x, x + y)
        for_first += [b, (a + b) & _MASK]
        for_second += [d, (c + d) & _MASK]
        a, b, c, d = (a + b) & _MASK, (a + 2 * b) & _MASK, (c + d) & _MASK, (c + 2 * d) & _MASK
    return for_first[::-1], for_second[::-1], (a, b, c, d)
