"""Source code and similar text: programs, settings and data, in which line breaks matter."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath

from footnote.types.v1.locator_pb2 import Anchor
from pygments.lexers import LEXERS  # type: ignore[import-untyped]

from footnote_ingestion.parsers.base import CODE, MAX_BLOCK, BlockWriter, Limits, Properties, anchor
from footnote_ingestion.parsers.clean import counted_lines, preformatted
from footnote_ingestion.parsers.texts.encoding import decode
from footnote_ingestion.parsers.texts.plain import lines_at

# Pygments' languages whose lines are joined to paragraphs, and mail, which has a parser.
_PROSE = frozenset({"pygments.lexers.markup", "pygments.lexers.special", "pygments.lexers.email"})


def is_source(filename: str) -> bool:
    """Return whether a text file's name belongs to a language in Pygments' list whose line breaks matter."""
    name = PurePosixPath(filename).name
    suffixes, others = _names()
    return PurePosixPath(name).suffix in suffixes or any(fnmatchcase(name, pattern) for pattern in others)


@cache
def _names() -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the suffixes of such files, and the name patterns that are more than a suffix."""
    prose = {pattern for module, _, _, patterns, _ in LEXERS.values() if module in _PROSE for pattern in patterns}
    found = {pattern for module, _, _, patterns, _ in LEXERS.values() if module not in _PROSE for pattern in patterns}
    suffixes = {pattern[1:] for pattern in found - prose if pattern.startswith("*.") and pattern[2:].isalnum()}
    return frozenset(suffixes), tuple(sorted(one for one in found - prose if one[1:] not in suffixes))


class SourceParser:
    """Reads source code with lines and indentation, one block per stretch between blank lines."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Accept any text."""

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write the blocks, each line with its number."""
        lines = counted_lines(decode(path.read_bytes(), out))
        start = 0
        for at, line in enumerate([*lines, ""]):
            if not line.strip():
                write_code(lines[start:at], start, out)
                start = at + 1
        return Properties()


def write_code(lines: Sequence[str], first: int, out: BlockWriter) -> None:
    """Write lines as one block, or several if it would be too large; `first` is the number before the first line's."""
    start = size = 0
    for at, line in enumerate(lines):
        size += len(line) + 1
        if size > MAX_BLOCK and at > start:
            _write(lines[start:at], first + start, out)
            start, size = at, len(line) + 1
    _write(lines[start:], first + start, out)


def _write(lines: Sequence[str], first: int, out: BlockWriter) -> None:
    parts: list[str] = []
    anchors: list[Anchor] = []
    length = 0
    begin = end = first
    for number, line in enumerate(lines, first):
        part = preformatted(line)
        if not part and not parts:
            continue  # outer blank lines are left out
        if part:
            begin, end = begin if parts else number, number + 1
            anchors.append(anchor(length, length + len(part), lines_at(number, number + 1)))
        parts.append(part)
        length += len(part) + 1
    text = "\n".join(parts[: end - begin])
    out.add(CODE, text, lines_at(begin, end), anchors=anchors if len(anchors) > 1 else ())
