"""Takes a column out of a table in a source: a question about it has no answer left there."""

from __future__ import annotations

from footnote.types.v1.answer_pb2 import Source
from footnote_text import tables


def column_of(source: Source, start: int, end: int, answers: tuple[str, ...]) -> int | None:
    """Return the one column that has an answer in the row that begins within `start:end`."""
    row = next((one for one in tables.rows(source) if start <= one.start < end), None)
    found = [cell.column for cell in row.cells if cell.text.strip() in answers] if row else []
    return found[0] if len(found) == 1 else None


def without_column(source: Source, column: int) -> Source:
    """Return a source without a column's header and cells."""
    cuts = []
    for anchor in source.anchors:
        if anchor.HasField("cell") and anchor.cell.column == column:
            start, end = anchor.span.start, anchor.span.end
            line = source.text.rfind("\n", 0, start) + 1
            before = source.text.rfind("; ", line, start)  # rows are "header: value; header: value"
            cuts.append((before, end) if before >= 0 else (line, end + 2 * source.text.startswith("; ", end)))
    cuts.sort()

    def moved(at: int) -> int:
        return at - sum(min(end, at) - start for start, end in cuts if start < at)

    found = Source()
    found.CopyFrom(source)
    del found.anchors[:]
    for anchor in source.anchors:
        if not (anchor.HasField("cell") and anchor.cell.column == column):
            kept = found.anchors.add()
            kept.CopyFrom(anchor)
            kept.span.start, kept.span.end = moved(anchor.span.start), moved(anchor.span.end)
    text, last = "", 0
    for start, end in cuts:
        text += source.text[last:start]
        last = end
    found.text = text + source.text[last:]
    for table in found.tables:
        if 0 < column <= len(table.columns):
            del table.columns[column - 1].headers[:]
    return found
