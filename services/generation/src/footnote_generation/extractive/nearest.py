"""The sentence or row that is nearest to a question which none answers: it is offered, and not given as an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from footnote.types.v1.answer_pb2 import Source

from footnote_generation.extractive.passages import Unit, units
from footnote_generation.extractive.question import read
from footnote_generation.extractive.ranking import Ranked, rank

LEAST = 0.35
"""The score from which a passage is near enough, with e5, whatever its words.

Of 100 questions of SQuAD-13 the best hit reaches it for 93 in our French, 84 in our German and 24 in our Chinese
(tests/bench/translated.tsv), and for 8 of 100 of PIAF-fr that nothing there answers. Both chose it, with the documents
of tests/e2e/test_languages.py (0.39 to 0.48 where one answers, to 0.21 where none does); no other set has been run.
"""


def by_words(question_text: str, sources: Sequence[Source]) -> Unit | None:
    """Return the nearest by shared words, None where none is near."""
    question = read(question_text)
    ranked = rank(question, units(sources, question.language), [source.score for source in sources])
    return first(ranked, {source.number: source for source in sources})


def first(ranked: Sequence[Ranked], sources: Mapping[int, Source]) -> Unit | None:
    """Return the first that is near: it shares a word with the question, or the search is sure of its passage."""
    for item in ranked:
        if not item.unit.is_heading and (item.covered > 0 or sources[item.unit.source].score >= LEAST):
            return item.unit
    return None
