"""Table rows: only the cells that the question is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from footnote_generation.extractive.question import Question
from footnote_generation.language import lexicon
from footnote_generation.language.table_rows import CellSpan
from footnote_generation.language.words import Analysed, analyse


@dataclass(frozen=True, slots=True)
class _Cell:
    header: str
    value: str
    header_words: Analysed
    value_words: Analysed


def shorten(text: str, spans: Sequence[CellSpan], question: Question) -> str:
    """Return "name — Header: value" with the cells asked for, or the whole row if they cannot be determined."""
    cells = _cells(text, spans, question.language)
    if len(cells) < 2:
        return text
    wanted = frozenset(stem for word in (*question.about, *question.subject) for stem in word.stems) | question.sought
    groups = frozenset(group for stem in wanted for group in lexicon.groups(stem))
    names = [cell for cell in cells if cell.value_words.stems & wanted and not cell.value_words.quantities]
    asked = [cell for cell in cells if cell not in names and _matches(cell.header_words, wanted, groups)]
    if not asked or not names:
        return text
    name = ", ".join(dict.fromkeys(cell.value for cell in names))
    return f"{name} — " + "; ".join(f"{cell.header}: {cell.value}" for cell in asked)


def _matches(header: Analysed, wanted: frozenset[str], groups: frozenset[int]) -> bool:
    return any(stem in wanted or lexicon.groups(stem) & groups for stem in header.stems)


def _cells(text: str, spans: Sequence[CellSpan], language: str) -> list[_Cell]:
    found: list[_Cell] = []
    for header, start, end in spans:
        if header:
            value = text[start:end]
            found.append(_Cell(header, value, analyse(header, language), analyse(value, language)))
    return found
