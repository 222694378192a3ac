"""The passage that is offered with a refusal: the nearest to the question, with its place."""

from __future__ import annotations

from collections.abc import Sequence

from footnote.types.v1.answer_pb2 import Citation, Source
from footnote.types.v1.locator_pb2 import TextSpan
from footnote_text import locators

from footnote_generation.extractive.foreign_passages import LEAST
from footnote_generation.extractive.passages import units
from footnote_generation.extractive.question import read
from footnote_generation.extractive.ranking import rank


def nearest(question_text: str, sources: Sequence[Source], locale: str) -> Citation | None:
    """Return the sentence or row that is nearest to a question, with its place; None where none is near.

    One is near if it or its surroundings share a word with the question, or if the search says so of its passage.
    """
    question = read(question_text)
    found = units(sources, question.language)
    by_number = {source.number: source for source in sources}
    for item in rank(question, found, [source.score for source in sources]):
        source = by_number[item.unit.source]
        if not item.unit.is_heading and (item.covered > 0 or source.score >= LEAST):
            return _offered(source, item.unit.start, item.unit.end, locale)
    return None


def _offered(source: Source, start: int, end: int, locale: str) -> Citation:
    locator = locators.narrow(source.locator, source.anchors, (start, end))
    return Citation(
        number=source.number,
        chunk_id=source.chunk_id,
        document_id=source.document_id,
        revision=source.revision,
        sha256=source.sha256,
        filename=source.filename,
        title=source.title,
        locator=locator,
        quote=source.text[start:end],
        quote_span=TextSpan(start=start, end=end),
        label=locators.label(source.filename or source.title or source.document_id, locator, locale),
    )
