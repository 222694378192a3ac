"""Builds answers computed from tables: the text with its markers, and the used cells as footnotes."""

from __future__ import annotations

from collections.abc import Sequence

from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.types.v1.answer_pb2 import (
    BASIS_COMPUTED,
    FINISH_REASON_ANSWERED,
    VERDICT_NOT_A_CLAIM,
    VERDICT_NOT_CONFIRMED,
    VERDICT_SUPPORTED,
    Answer,
    Citation,
    Claim,
    Reliability,
    Source,
)
from footnote.types.v1.locator_pb2 import Locator, SheetLocator, TextSpan
from footnote.types.v1.table_pb2 import ComputedCells, TableCell, TableComputation
from footnote_kit.origins import origin_of
from footnote_text import tables
from footnote_text.a1 import cell_position, corners
from footnote_text.locators import label

MOST_DOCUMENTS = 20
PROVIDER, MODEL = "tables", "question-forms"
_SHEETS = frozenset({"csv", "tsv", "xlsx", "xlsm", "xlsb", "xls", "ods"})
"""Document types whose places are sheet cells; in other types, rows count from the start of their table."""


def documents_of(chunks: Sequence[ScoredChunk]) -> list[str]:
    """Return the documents with tables behind the best passages, the best first."""
    found = dict.fromkeys(one.chunk.document_id for one in chunks if one.chunk.tables)
    return list(found)[:MOST_DOCUMENTS]


def begins_with_table(chunks: Sequence[ScoredChunk]) -> bool:
    """Return whether the best passage is from a table; then a model may write a query for any question."""
    return bool(chunks) and bool(chunks[0].chunk.tables)


def is_placed(computation: TableComputation, chunks: Sequence[ScoredChunk]) -> bool:
    """Return whether a computation names the cells that it rests on, and reads documents of the passages alone."""
    documents = {one.chunk.document_id for one in chunks}
    placed = all(one.ranges and all(map(corners, one.ranges)) for one in computation.cells)
    return bool(computation.cells) and placed and documents.issuperset(_read(computation))


def _read(computation: TableComputation) -> list[str]:
    """Return the documents that a computation reads, those with cells that it adds or shows first.

    A name that stands in the answer may come from a document that was only joined.
    """
    return list(dict.fromkeys([*(one.document_id for one in computation.cells), *computation.document_ids]))


def answer_of(
    computed: TableComputation, sources: Sequence[Source], chunks: Sequence[ScoredChunk], locale: str
) -> tuple[Answer, list[Source]]:
    """Return the answer, and the extra sources that it needs: one for each document without a source yet."""
    known = {source.document_id: source.number for source in reversed(sources)}
    added: list[Source] = []
    by_document = {one.chunk.document_id: one.chunk for one in reversed(chunks)}
    places: list[tuple[int, Citation]] = []
    # The cells confirm the number. With doubts it is open whether the query is what the question asks for.
    verdict, score = (VERDICT_NOT_CONFIRMED, 0.5) if computed.doubts else (VERDICT_SUPPORTED, 1.0)
    for document_id in _read(computed):
        if document_id not in known:
            chunk = by_document[document_id]
            known[document_id] = len(sources) + len(added) + 1
            added.append(
                Source(
                    number=known[document_id], chunk_id=chunk.id, document_id=chunk.document_id,
                    revision=chunk.revision, collection=chunk.collection, collection_id=chunk.collection_id,
                    filename=chunk.filename, title=chunk.title, mime_type=chunk.mime_type, sha256=chunk.sha256,
                    locator=chunk.locator, text=chunk.text, label=label(chunk.filename, chunk.locator, locale),
                    origin=origin_of(chunk.metadata),
                    create_time=chunk.create_time if chunk.HasField("create_time") else None,
                )
            )  # fmt: skip
    for cells in computed.cells:
        chunk = by_document[cells.document_id]
        place, cell = _place(cells, chunk.document_type), _cell(cells, chunks)
        quote = f"{', '.join(cells.ranges)} ({cells.column}, {cells.count})"
        places.append(
            (
                known[cells.document_id],
                Citation(
                    number=known[cells.document_id], chunk_id=chunk.id, document_id=chunk.document_id,
                    filename=chunk.filename, title=chunk.title, revision=chunk.revision, sha256=chunk.sha256,
                    locator=place, quote=quote, label=label(chunk.filename, place, locale, cell), cell=cell,
                    support=verdict, support_score=score, basis=BASIS_COMPUTED,
                ),
            )
        )  # fmt: skip
    return _written(computed, places, len(sources) + len(added)), added


def _written(computed: TableComputation, places: Sequence[tuple[int, Citation]], sources: int) -> Answer:
    answer = Answer(
        finish_reason=FINISH_REASON_ANSWERED, provider=PROVIDER, model=computed.model or MODEL, computation=computed
    )
    lines = computed.text.split("\n")
    numbers = list(dict.fromkeys(number for number, _ in places))
    text = ""
    for line in lines:
        start = len(text)
        leads_in = len(lines) > 1 and line is lines[0]
        text += line
        claim = Claim(span=TextSpan(start=start, end=len(text)), support=VERDICT_NOT_A_CLAIM)
        if not leads_in:
            claim.support, claim.score, claim.basis = places[0][1].support, places[0][1].support_score, BASIS_COMPUTED
            claim.sources.extend(numbers)
            text += " "
            for number, cited in places:
                marker = f"[{number}]"
                citation = answer.citations.add()
                citation.CopyFrom(cited)
                citation.claim_span.CopyFrom(claim.span)
                citation.marker_span.CopyFrom(TextSpan(start=len(text), end=len(text) + len(marker)))
                text += marker
        answer.claims.append(claim)
        text += "\n"
    answer.computation.ClearField("text")  # the answer's own text has it
    remarks = [*computed.doubts, *computed.notes]
    answer.text = "\n".join([text.rstrip("\n"), *(["", *remarks] if remarks else [])])
    claims = len(answer.citations) // max(1, len(places))
    answer.reliability.CopyFrom(
        Reliability(
            sources_used=len(numbers) / max(1, sources),
            claims_supported=0.0 if computed.doubts else 1.0,
            claims=claims,
            claims_computed=0 if computed.doubts else claims,
        )
    )
    return answer


def _cell(cells: ComputedCells, chunks: Sequence[ScoredChunk]) -> TableCell | None:
    """Return the cell of a result that rests on one, if a passage found holds it."""
    if cells.count != 1:
        return None
    number, place = cell_position(cells.ranges[0])
    for one in chunks:
        if one.chunk.document_id != cells.document_id:
            continue
        column = place - _left_of(cells, one.chunk) + 1
        for row in tables.rows(one.chunk):
            if (row.table.number, row.number) == (cells.table, number + 1):
                for cell in row.cells:
                    if cell.column == column:
                        return tables.cell_message(row, cell)
    return None


def _left_of(cells: ComputedCells, chunk: Chunk) -> int:
    """Return how many columns of its sheet stand left of a passage's table."""
    numbers = [table.number for table in chunk.tables]
    for anchor in chunk.anchors:
        if anchor.HasField("cell") and anchor.locator.sheet.range and numbers[anchor.cell.table] == cells.table:
            return cell_position(anchor.locator.sheet.range)[1] - (anchor.cell.column - 1)
    return 0


def _place(cells: ComputedCells, document_type: str) -> Locator:
    if document_type not in _SHEETS:
        return Locator(heading_path=[cells.name] if cells.name else [])
    sheet = "" if document_type in ("csv", "tsv") else cells.name
    first, last = cells.ranges[0].partition(":")[0], cells.ranges[-1].rpartition(":")[2]
    return Locator(sheet=SheetLocator(sheet=sheet, range=first if first == last else f"{first}:{last}"))
