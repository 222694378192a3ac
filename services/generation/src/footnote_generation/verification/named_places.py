"""A place that an answer names in words ("cell C13 of stock.xlsx") is checked against that place, and no other."""

from __future__ import annotations

from dataclasses import dataclass, replace

from footnote.types.v1.answer_pb2 import VERDICT_NOT_CONFIRMED, VERDICT_SUPPORTED, VERDICT_UNSUPPORTED, Source
from footnote.types.v1.locator_pb2 import TextSpan
from footnote.types.v1.reasons_pb2 import CLAIM_REASON_OTHER_PLACE
from footnote_text import locators

from footnote_generation.language.places import Place, find_places, fits, matching
from footnote_generation.language.words import Analysed, analyse, quantity_match
from footnote_generation.verification.doubts import Doubt
from footnote_generation.verification.support import Evidence, Judgement, judge, prepare

_SHOWN = 80  # characters of what stands at a place


@dataclass(frozen=True, slots=True)
class Named:
    """A place of a source that a statement names: its stretches in the source's text, in order."""

    spans: tuple[tuple[int, int], ...]
    label: str
    cell: bool

    @property
    def span(self) -> TextSpan:
        """The stretch from the first to the last."""
        return TextSpan(start=self.spans[0][0], end=self.spans[-1][1])


def find(statement: str, place: Place | None, source: Source, locale: str) -> Named | None:
    """Return the place inside a source that a marker (`place`) or else the statement names.

    None for none, and where the source is that place as a whole, so that there is no other in it.
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


def stated(statement: str, source: Source) -> str:
    """Return a statement without the words for a place that the source has: "as page 3 says" claims no 3."""
    kept, position = "", 0
    for one in find_places(statement, [source.filename]):
        if (one.page or one.line or one.slide) and matching(one, [source]):
            kept += statement[position : one.start]
            position = one.end
    return kept + statement[position:] if position else statement


def at_place(statement: str, evidence: Evidence, named: Named, verdict: Judgement) -> Judgement:
    """Return the verdict on a statement that names its place: as it is where that place says it, else UNSUPPORTED.

    A cell must hold what the statement gives for it; its row and headers, which name the subject, were read before.
    """
    first, last = named.spans[0][0], named.spans[-1][1]
    if verdict.support not in (VERDICT_SUPPORTED, VERDICT_NOT_CONFIRMED):
        return replace(verdict, start=first, end=last)
    if not named.cell:
        here = judge(statement, prepare(evidence.text[first:last], evidence.context_text, evidence.language))
        if here.support != VERDICT_UNSUPPORTED:
            return replace(here, start=here.start + first, end=here.end + first)
        found = evidence.text[first + here.start : first + here.end]
    else:
        claim = analyse(statement, evidence.language)
        if any(_says(claim, evidence.text[start:end], evidence.language) for start, end in named.spans):
            return verdict
        found = " ".join(evidence.text[start:end] for start, end in named.spans)
    doubt = Doubt(CLAIM_REASON_OTHER_PLACE, found=_short(found), subject=named.label)
    return Judgement(VERDICT_UNSUPPORTED, 0.0, first, last, doubt)


def _says(claim: Analysed, cell: str, language: str) -> bool:
    """Whether a statement gives what a cell holds: its numbers, else most of its words."""
    held = analyse(cell, language)
    if held.quantities:
        return any(quantity_match(quantity, held) for quantity in claim.quantities)
    return bool(held.stems) and 2 * len(held.stems & claim.stems) >= len(held.stems)


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[: _SHOWN - 1].rstrip() + "…"
