"""What speaks for or against a sentence or row as the answer to a question, as numbers that a fitted model weighs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from footnote.types.v1.answer_pb2 import Source
from footnote_text.lexical import is_unspaced
from footnote_text.sentences import QUESTION_MARKS
from footnote_text.tables import Row
from numpy.typing import NDArray

from footnote_generation.extractive import cells
from footnote_generation.extractive.passages import Above, Unit, marks
from footnote_generation.extractive.question import Question
from footnote_generation.extractive.ranking import answers_kind, weigh
from footnote_generation.language import lexicon
from footnote_generation.language.words import Word, analyse

Table: TypeAlias = NDArray[np.float64]
"""A row per sentence, a column per sign."""

_SYNONYM = 0.7
SIGNS = (
    # Weight of the question's words that are said: by the sentence; it or what it stands under; those or its
    # neighbours; its passage; any passage.
    "own", "above", "near", "passage", "anywhere",
    # The rarest word that is missing: under the headings, in the passage, everywhere.
    "missing", "missing_passage", "missing_anywhere",
    # Names, and what has a digit: in sentence and headings, in the passage, in the question at all.
    "names", "names_passage", "has_names", "marks", "marks_passage", "has_marks",
    # The noun, and the kind of thing, that the question asks for.
    "sought", "kind",
    # The search's word on the passage.
    "score", "share", "rank",
    "row", "length", "question_mark", "unspaced", "foreign", "single", "fresh", "other_names",
    # Of rows: whether the asked column has a value, and how much of the question row names and headers say.
    "column", "no_value", "row_name", "headed",
    # Beside the other sentences.
    "own_lead", "above_lead", "own_order", "rivals",
)  # fmt: skip
_BESIDE = 4
_OF_ROWS = (
    "own", "above", "near", "passage", "missing", "missing_passage", "names", "marks", "kind", "score", "share",
    "sought", "own_lead", "above_lead", "rivals",
)  # fmt: skip
NAMES = (*SIGNS, *(f"row_{name}" for name in _OF_ROWS))
"""The columns: the signs, and those again that weigh otherwise in a row of a table, 0 for a sentence."""
LIKENESS = ("alike", "alike_lead", "alike_abroad")
"""The columns of likeness: itself, above the others, and beside the mean in another language than the question's.

In the question's language the mean says little: in a handbook, unlike an encyclopedia, all found are alike.
"""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question's words of meaning, each once, with weights and groups of synonyms."""

    words: tuple[Word, ...]
    weights: tuple[float, ...]
    groups: tuple[frozenset[int], ...]
    rarest: float
    names: tuple[bool, ...]


def signs(
    question: Question, found: Sequence[Unit], sources: Mapping[int, Source], tables: cells.Rows | None = None
) -> Table:
    """Return the signs NAMES of each sentence or row: shape (sentences, signs)."""
    asked = _asked(question, found)
    top = max((source.score for source in sources.values()), default=0.0) or 1.0
    anywhere = frozenset[str]().union(*(unit.around for unit in found))
    anywhere_groups = frozenset[int]().union(*(unit.groups for unit in found))
    everywhere = _said(asked, anywhere, anywhere_groups)
    wanted = marks(question.text) | marks(" ".join(word.text for word in question.subject))
    above = Above(found, sources).text
    rows_of = tables or cells.Rows(sources)
    by_source: dict[int, frozenset[int]] = {}
    for unit in found:
        by_source[unit.source] = by_source.get(unit.source, frozenset()) | unit.groups
    rows = [
        _row(
            question,
            asked,
            unit,
            rows_of.of(unit),
            sources[unit.source],
            above(unit),
            top,
            everywhere,
            wanted,
            by_source[unit.source],
        )
        for unit in found
    ]
    table = np.array(rows, dtype=np.float64).reshape(len(found), len(SIGNS) - _BESIDE)
    own, over = table[:, SIGNS.index("own")], table[:, SIGNS.index("above")]
    beside = np.stack([_lead(own), _lead(over), _order(own), (over[None, :] >= over[:, None] - 0.05).sum(1) / 10], 1)
    table = np.concatenate([table, beside], 1)
    again = table[:, [SIGNS.index(name) for name in _OF_ROWS]]
    return np.concatenate([table, again * table[:, [SIGNS.index("row")]]], 1)


def of_likeness(table: Table, likeness: NDArray[np.float64]) -> Table:
    """Return the signs LIKENESS of sentences with the signs `table`, at least one; `likeness` has one each."""
    abroad = (likeness - likeness.mean()) * table[:, SIGNS.index("foreign")]
    return np.stack([likeness, _lead(likeness), abroad], 1)


def _asked(question: Question, found: Sequence[Unit]) -> _Asked:
    words = tuple({word.stems: word for word in (*question.about, *question.subject)}.values())
    by_stem = weigh(words, found)
    weights = tuple(max(by_stem[stem] for stem in word.stems) for word in words)
    groups = tuple(frozenset(group for stem in word.stems for group in lexicon.groups(stem)) for word in words)
    rarest = 1.3 * math.log(2 + 2 * len(found))
    # German writes every noun with a capital: there a capital names nothing.
    names = tuple(word.name and question.language != "de" for word in words)
    return _Asked(words, weights, groups, rarest, names)


def _said(asked: _Asked, stems: frozenset[str], groups: frozenset[int]) -> list[float]:
    """Return how far a text says each word: 1, 0.7 by a synonym, or 0."""
    return [
        1.0 if not stems.isdisjoint(word.stems) else _SYNONYM if meant & groups else 0.0
        for word, meant in zip(asked.words, asked.groups, strict=True)
    ]


def _share(said: Sequence[float], weights: Sequence[float], default: float = 0.0) -> float:
    total = sum(weights)
    return sum(one * weight for one, weight in zip(said, weights, strict=True)) / total if total else default


def _missing(said: Sequence[float], asked: _Asked) -> float:
    return max((weight for one, weight in zip(said, asked.weights, strict=True) if not one), default=0.0) / asked.rarest


def _row(
    question: Question,
    asked: _Asked,
    unit: Unit,
    row: Row | None,
    source: Source,
    over: str,
    top: float,
    everywhere: Sequence[float],
    wanted: frozenset[str],
    groups: frozenset[int],
) -> list[float]:
    headings = analyse(over, unit.language).stems | unit.context
    own = _said(asked, unit.analysed.stems, unit.groups)
    under = _most(own, _said(asked, headings, _groups(headings)))
    near = _most(under, _said(asked, unit.before | unit.after, frozenset()))
    passage = _most(under, _said(asked, unit.around, groups))
    named = [float(name) for name in asked.names]
    ones = [1.0] * len(own)
    in_unit, in_passage = marks(f"{unit.text} . {over}"), marks(f"{source.text} . {over}")
    spoken = [word for word in unit.analysed.words if word.stems]
    fresh = [word for word in spoken if question.analysed.stems.isdisjoint(word.stems)]
    missing_names = any(name and not one for name, one in zip(asked.names, under, strict=True))
    sought = _sought(question, unit.analysed.stems | headings)
    column = cells.asked(question, row)
    headed = (
        analyse(" . ".join(cell.header for cell in unit.cells), question.language).stems if unit.cells else frozenset()
    )
    name = cells.name_of(row, question.language)
    if row is not None and (key := cells.key_of(question, row)):
        column, name, headed = True, headings, analyse(key, question.language).stems
    return [
        _share(own, asked.weights),
        _share(under, asked.weights),
        _share(near, asked.weights),
        _share(passage, asked.weights),
        _share(everywhere, asked.weights),
        _missing(under, asked),
        _missing(passage, asked),
        _missing(everywhere, asked),
        _share(under, named, 1.0),
        _share(passage, named, 1.0),
        float(any(named)),
        len(wanted & in_unit) / len(wanted) if wanted else 1.0,
        len(wanted & in_passage) / len(wanted) if wanted else 1.0,
        float(bool(wanted)),
        sought,
        answers_kind(question, unit),
        source.score,
        source.score / top,
        min(unit.rank, 10) / 10,
        float(unit.is_row),
        min(3.0, math.log(1 + len(unit.analysed.words)) / 2),
        float(unit.text.rstrip().endswith(QUESTION_MARKS)),
        float(any(is_unspaced(char) for char in question.text[:20])),
        float(unit.language != question.language),
        float(len(asked.words) <= 1),
        len(fresh) / len(spoken) if spoken else 0.0,
        min(3, sum(word.name for word in fresh)) / 3 if missing_names else 0.0,
        0.0 if column is None else float(column),
        0.0 if column is None else float(not column),
        _share(_said(asked, name, frozenset()), ones),
        _share(_said(asked, headed, _groups(headed)), ones),
    ]


def _groups(stems: frozenset[str]) -> frozenset[int]:
    return frozenset(group for stem in stems for group in lexicon.groups(stem))


def _most(left: Sequence[float], right: Sequence[float]) -> list[float]:
    return [max(one, other) for one, other in zip(left, right, strict=True)]


def _sought(question: Question, stems: frozenset[str]) -> float:
    """Return whether a sentence says the noun that a question asks for: 1, 0, or 0.5 where it asks for none."""
    if not question.sought:
        return 0.5
    return float(bool(question.sought & stems) or bool(_groups(question.sought) & _groups(stems)))


def _lead(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much each value is above the greatest of the others."""
    if len(values) < 2:
        return values.copy()
    second, first = np.sort(values)[-2:]
    lead: NDArray[np.float64] = values - np.where(values >= first, second, first)
    return lead


def _order(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many values are greater than each, 10 at most, as a share of 10."""
    order: NDArray[np.float64] = np.minimum((values[None, :] > values[:, None] + 1e-9).sum(1), 10) / 10
    return order
