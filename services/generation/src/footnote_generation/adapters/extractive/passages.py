"""Sources cut into the sentences and table rows that an answer can be made of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from footnote.types.v1.answer_pb2 import Source
from footnote_text import locales, sentences, signals

from footnote_generation.adapters.extractive import forms
from footnote_generation.language import tongues
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
    language: str
    is_row: bool
    same_line: bool
    """Whether the next sentence goes on in the same line."""

    @property
    def is_heading(self) -> bool:
        """Whether it only repeats words of the headings above it."""
        return not self.same_line and not self.is_row and self.analysed.stems <= self.context


# A short line before one that begins anew: a heading. Wrapped lines are longer, or the next goes on in lower case.
_HEADING = re.compile(r"^(?=\S)[^\n]{0,59}[^\s.!?。！？:;,]\n(?=[^\W\d_a-zà-ÿ])", re.MULTILINE)
_BREAK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*•|#]|\d+[.)]\s))")


def units(sources: Sequence[Source], language: str) -> list[Unit]:
    """Every usable sentence of the sources, in their order."""
    result: list[Unit] = []
    for rank, source in enumerate(sources):
        own = tongues.of_source(source.text, language) or language
        context = analyse(" . ".join([source.title, source.filename, *source.locator.heading_path]), own).stems
        row = source.locator.WhichOneof("place") == "sheet"
        spans = (_lines(source.text) if row else _spans(source.text, own))[:_MAX_SENTENCES]
        spans = [span for span in spans if not is_order(source.text[span[0] : span[1]], own, language)]
        analysed = [_with_other_forms(source.text[start:end], own) for start, end in spans]
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
                    language=own,
                    is_row=row or "|" in source.text[start:end],
                    same_line=place + 1 < len(spans) and "\n" not in source.text[end : spans[place + 1][0]],
                )
            )
    return result


def _with_other_forms(text: str, language: str) -> Analysed:
    found = analyse(text, language)
    more = forms.others(found, language)
    return replace(found, stems=found.stems | more) if more else found


def is_order(text: str, *spoken: str) -> bool:
    """Whether a sentence is said to the machine that reads it: no answer to a reader, whatever it claims."""
    return any(
        signals.is_order(text, locale)
        for locale in map(locales.known, dict.fromkeys((*spoken, locales.DEFAULT)))
        if locale is not None
    )


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
