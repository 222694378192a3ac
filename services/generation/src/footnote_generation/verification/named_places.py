"""Checks a statement only against the place that it names in words ("cell C13 of stock.xlsx")."""

from __future__ import annotations

from dataclasses import dataclass

from footnote.types.v1.answer_pb2 import Source
from footnote.types.v1.locator_pb2 import TextSpan
from footnote_text import locators

from footnote_generation.language.places import Place, find_places, fits, matching

STAND_IN = "document"  # replaces a place's words, since a lead-in can name a document too


@dataclass(frozen=True, slots=True)
class Named:
    """A place of a source that a statement names, as stretches of the source's text, in order."""

    spans: tuple[tuple[int, int], ...]
    label: str
    cell: bool

    @property
    def span(self) -> TextSpan:
        """The stretch from the first to the last."""
        return TextSpan(start=self.spans[0][0], end=self.spans[-1][1])


def find(statement: str, place: Place | None, source: Source, locale: str) -> Named | None:
    """Return the place inside a source that a marker (`place`) or else the statement names.

    Returns None without a place, and if the source as a whole is that place.
    """
    if len(source.anchors) < 2:
        return None
    places = [place] if place is not None else find_places(statement, [source.filename])
    for one in places:
        if not (one.cell or one.page or one.line or one.slide) or not matching(one, [source]):
            continue
        anchors = [anchor for anchor in source.anchors if fits(one, anchor.locator)]
        if anchors and len(anchors) < len(source.anchors):
            spans = tuple(sorted((anchor.span.start, anchor.span.end) for anchor in anchors))
            where = locators.narrow(source.locator, source.anchors, (spans[0][0], spans[-1][1]))
            label = where.sheet.range if one.cell else locators.label("", where, locale)
            return Named(spans, label, bool(one.cell))
    return None


def without_places(statement: str, source: Source) -> str:
    """Return a statement with one word per named place of the source: "as page 3 says" claims no 3."""
    kept, position = "", 0
    for one in find_places(statement, [source.filename]):
        if (one.page or one.line or one.slide or one.cell or one.sheet or one.filename) and matching(one, [source]):
            kept += statement[position : one.start] + STAND_IN
            position = one.end
    return kept + statement[position:] if position else statement
