"""The footnote of a statement: the narrowest supporting place in the source, with its words."""

from __future__ import annotations

from dataclasses import dataclass

from footnote.types.v1.answer_pb2 import Citation, Claim, Source
from footnote.types.v1.locator_pb2 import TextSpan
from footnote.types.v1.table_pb2 import TableCell
from footnote_text import locators, tables

from footnote_generation.extractive.cells import asked_cell
from footnote_generation.extractive.question import read
from footnote_generation.language.quantities import find, same_dimension, same_value
from footnote_generation.verification.claims import PlacedMarker
from footnote_generation.verification.evidence import Evidence, roots
from footnote_generation.verification.judging import Judgement, likelihood


@dataclass(frozen=True, slots=True)
class Checked:
    """A statement with its verdict and its footnotes."""

    claim: Claim
    citations: tuple[Citation, ...]


def cite(
    marker: PlacedMarker, claim: TextSpan, statement: str, verdict: Judgement, named: TextSpan | None,
    evidence: Evidence, locale: str, question: str = "",
) -> Citation:  # fmt: skip
    """Return the footnote of a marker; a place named by the statement is never moved to where its words are.

    Of a row that the statement repeats whole, the footnote names the cell that the question asks for.
    """
    source = evidence.source
    start, end = verdict.start, verdict.end
    if start >= end:
        parts = evidence.index.parts
        start, end = (parts[0].start, parts[0].end) if parts else (0, len(source.text))
    place = TextSpan(start=start, end=end)
    if named is not None:
        place = named
    elif verdict.cell is not None:
        place = TextSpan(start=verdict.cell[0], end=verdict.cell[1])
    elif (value := _stated_cell(statement, question, evidence, start, end)) is not None:
        place = TextSpan(start=value.start, end=value.end)
    citation = quotation(source, start, end, place, locale, _cell_at(evidence, place))
    citation.MergeFrom(
        Citation(
            claim_span=claim,
            marker_span=TextSpan(start=marker.start, end=marker.end),
            support=verdict.support,
            support_score=likelihood(verdict.support, verdict.score),
            basis=verdict.basis,
        )
    )
    return citation


def quotation(
    source: Source, start: int, end: int, place: TextSpan, locale: str, cell: TableCell | None = None
) -> Citation:
    """Return a footnote that quotes `start:end` of a source, without a statement; `place` is what it names there."""
    locator = locators.narrow(source.locator, source.anchors, place)
    return Citation(
        number=source.number,
        chunk_id=source.chunk_id,
        document_id=source.document_id,
        revision=source.revision if source.sha256 else 0,  # own vectors have no file
        sha256=source.sha256,
        filename=source.filename,
        title=source.title,
        locator=locator,
        quote=source.text[start:end],
        quote_span=TextSpan(start=start, end=end),
        label=locators.label(source.filename or source.title or source.document_id, locator, locale, cell),
        cell=cell,
    )


def _cell_at(evidence: Evidence, place: TextSpan) -> TableCell | None:
    """Return the single cell of a place in a source."""
    for row in evidence.rows:
        for cell in row.cells:
            if (cell.start, cell.end) == (place.start, place.end):
                return tables.cell_message(row, cell)
    return None


def _stated_cell(statement: str, question: str, evidence: Evidence, start: int, end: int) -> tables.Cell | None:
    """Return the one cell of a table row whose value the statement gives; None for the whole row.

    Of several values, the one that the question asks for. A quantity wins over words; what names the row is no value.
    """
    rows = [row for row in evidence.rows if row.start < end and row.end > start]
    if len(rows) != 1:
        return None
    (row,) = rows
    stated, words = find(statement, evidence.language), roots(statement)
    names = row.names
    amounts: list[tables.Cell] = []
    texts: list[tables.Cell] = []
    for cell in row.cells:
        if cell in names:
            continue
        given = find(cell.text, evidence.language)
        if any(same_value(one, other) and same_dimension(one, other) for one in stated for other in given):
            amounts.append(cell)
        elif (own := roots(cell.text)) and own <= words:
            texts.append(cell)
    if len(amounts) + len(texts) > 1 and question:
        asked = asked_cell(read(question), row)
        if asked is not None and (asked in amounts or asked in texts):
            return asked
    found = amounts or texts
    return found[0] if len(found) == 1 else None
