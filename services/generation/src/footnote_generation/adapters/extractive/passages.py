"""Sources cut into the sentences and table rows that an answer can be made of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from footnote.types.v1.answer_pb2 import Source
from footnote_text import language as languages
from footnote_text import sentences

from footnote_generation.language.words import Analysed, analyse

_MAX_SENTENCES = 120


@dataclass(frozen=True, slots=True)
class Unit:
    """One sentence or row of a source: its place, its words, and those of its headings and neighbours."""

    source: int
    rank: int
    place: int
    start: int
    end: int
    text: str
    analysed: Analysed
    context: frozenset[str]
    before: frozenset[str]
    after: frozenset[str]
    is_row: bool


# A short line before one that begins anew: a heading. Wrapped lines are longer, or the next goes on in lower case.
_HEADING = re.compile(r"^(?=\S)[^\n]{0,59}[^\s.!?。！？:;,]\n(?=[^\W\d_a-zà-ÿ])", re.MULTILINE)
_BREAK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*•|#]|\d+[.)]\s))")


def units(sources: Sequence[Source], language: str) -> list[Unit]:
    """Every usable sentence of the sources, in their order."""
    result: list[Unit] = []
    for rank, source in enumerate(sources):
        own = languages.detect(source.text, (language,)) or language
        context = analyse(" . ".join([source.title, source.filename, *source.locator.heading_path]), own).stems
        row = source.locator.WhichOneof("place") == "sheet"
        spans = (_lines(source.text) if row else _spans(source.text, own))[:_MAX_SENTENCES]
        analysed = [analyse(source.text[start:end], own) for start, end in spans]
        for place, (start, end) in enumerate(spans):
            result.append(
                Unit(
                    source=source.number,
                    rank=rank,
                    place=place,
                    start=start,
                    end=end,
                    text=source.text[start:end],
                    analysed=analysed[place],
                    context=context,
                    before=analysed[place - 1].stems if place else frozenset(),
                    after=analysed[place + 1].stems if place + 1 < len(spans) else frozenset(),
                    is_row=row or "|" in source.text[start:end],
                )
            )
    return result


def _lines(text: str) -> list[tuple[int, int]]:
    """Return the lines of a passage out of a sheet: a row each."""
    return [match.span() for match in re.finditer(r"[^\n]+", text) if re.search(r"\w", match[0])]


def _spans(text: str, language: str) -> list[tuple[int, int]]:
    """Sentences; lines are kept whole only where they look like list items, rows or headings, since PDFs wrap lines."""
    found: list[tuple[int, int]] = []
    cuts = sorted({match.end() for pattern in (_HEADING, _BREAK) for match in pattern.finditer(text)} | {0, len(text)})
    for begin, stop in pairwise(cuts):
        found.extend((begin + start, begin + end) for start, end in sentences.split(text[begin:stop], language))
    return [(start, end) for start, end in found if any(char.isalnum() for char in text[start:end])]
