"""Table rows: only the cells that the question is about."""

from __future__ import annotations

from footnote_text.tables import Row

from footnote_generation.extractive.cells import asked_cells
from footnote_generation.extractive.question import Question
from footnote_generation.language.words import analyse

_SEPARATOR = " › "


def shorten(row: Row, question: Question) -> str:
    """Return "name — Header: value" with the cells asked for, "" if the question does not name row and column.

    Beside the names of the row stand its other cells that the question names: "Bus 14, Harbour — Repairs: 3".
    """
    asked = [cell for cell in asked_cells(question, row) if cell.header]
    if not asked:
        return ""
    wanted = frozenset(stem for word in (*question.about, *question.subject) for stem in word.stems) | question.sought
    own = row.names
    told = [cell for cell in row.cells if cell not in asked and _is_named(cell.text, wanted, question)]
    if not told:
        return ""
    names = dict.fromkeys(cell.text.strip() for cell in (*own, *(cell for cell in told if cell not in own)))
    values = "; ".join(f"{_SEPARATOR.join(cell.headers)}: {cell.text}" for cell in asked)
    return f"{', '.join(filter(None, names))} — {values}"


def _is_named(text: str, wanted: frozenset[str], question: Question) -> bool:
    words = analyse(text, question.language)
    return bool(words.stems & wanted) and not words.quantities
