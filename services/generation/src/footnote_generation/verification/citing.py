"""The footnote of a statement: the narrowest supporting place in the source, with its words."""

from __future__ import annotations

from dataclasses import dataclass

from footnote.types.v1.answer_pb2 import Citation, Claim, Source
from footnote.types.v1.locator_pb2 import TextSpan
from footnote.types.v1.table_pb2 import TableCell
from footnote_text import locators, tables

from footnote_generation.language.quantities import find, same_dimension, same_value
from footnote_generation.verification.calibration import likelihood
from footnote_generation.verification.claims import PlacedMarker
from footnote_generation.verification.evidence import Evidence, roots
from footnote_generation.verification.judging import Judgement


@dataclass(frozen=True, slots=True)
class Checked:
    """A statement with its verdict and its footnotes."""

    claim: Claim
    citations: tuple[Citation, ...]


def cite(
    marker: PlacedMarker, claim: TextSpan, statement: str, verdict: Judgement, named: TextSpan | None,
    evidence: Evidence, locale: str,
) -> Citation:  # fmt: skip
    """Return the footnote of a marker; a place named by the statement is never moved to where its words are."""
    source = evidence.source
    start, end = verdict.start, verdict.end
    if start >= end:
        parts = evidence.index.parts
        start, end = (parts[0].start, parts[0].end) if parts else (0, len(source.text))
    cell = TextSpan(start=verdict.cell[0], end=verdict.cell[1]) if verdict.cell else None
    place = named or cell or _value_span(statement, evidence, start, end) or TextSpan(start=start, end=end)
    locator = locators.narrow(source.locator, source.anchors, place)
    name = source.filename or source.title or source.document_id
    return Citation(
        number=marker.number,
        chunk_id=source.chunk_id,
        document_id=source.document_id,
        revision=source.revision,
        sha256=source.sha256,
        filename=source.filename,
        title=source.title,
        locator=locator,
        quote=source.text[start:end],
        quote_span=TextSpan(start=start, end=end),
        claim_span=claim,
        marker_span=TextSpan(start=marker.start, end=marker.end),
        support=verdict.support,
        support_score=likelihood(verdict.support, verdict.score),
        label=locators.label(name, locator, locale),
        cell=_cell_at(source, place),
        basis=verdict.basis,
    )


def _cell_at(source: Source, place: TextSpan) -> TableCell | None:
    """Return the single cell of a place in a source."""
    for row in tables.rows(source):
        for cell in row.cells:
            if (cell.start, cell.end) == (place.start, place.end):
                return tables.cell_message(row, cell)
    return None


def _value_span(statement: str, evidence: Evidence, start: int, end: int) -> TextSpan | None:
    """Return the stretch of the one cell in a table row whose value the statement gives; None for the whole row.

    Of several repeated cells, the one with a quantity wins, else the one farthest right, since tables name things on
    the left. A statement with several quantities rests on the whole row.
    """
    source = evidence.source
    if source.locator.WhichOneof("place") != "sheet" or not source.anchors:
        return None
    stated, words = find(statement, evidence.language), roots(statement)
    best: tuple[int, int, TextSpan] | None = None
    quantities = 0
    for anchor in source.anchors:
        first, last = anchor.span.start, anchor.span.end
        if last <= start or first >= end:
            continue
        text = source.text[first:last]
        if any(
            same_value(one, other) and same_dimension(one, other)
            for one in stated
            for other in find(text, evidence.language)
        ):
            rank = 2
            quantities += 1
        elif (own := roots(text)) and own <= words:
            rank = 1
        else:
            continue
        if best is None or (rank, first) > best[:2]:
            best = (rank, first, TextSpan(start=first, end=last))
    return best[2] if best and quantities < 2 else None
