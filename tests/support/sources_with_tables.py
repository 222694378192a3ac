"""Adds to a test's source the tables that its lines show, as the parsers would have stored them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from footnote.types.v1.answer_pb2 import Source
from footnote.types.v1.locator_pb2 import Anchor, TextSpan
from footnote.types.v1.table_pb2 import Cell

_PAIR = re.compile(r"\s*(?P<header>[^:：;；|]{1,60})(?::\s+|：\s*)(?P<value>[^;；\n]+)")


def with_tables(source: Source) -> Source:
    """Return a source with the tables that its lines "Header: value; Header: value" or "| a | b |" show."""
    for table, row, found in _rows(source.text):
        headers = [header for header, _, _ in found]
        if len(source.tables) < table:
            source.tables.add(number=table)
        one = source.tables[table - 1]
        for header in headers:
            if header not in [column.headers[0] for column in one.columns]:
                one.columns.add(headers=[header])
        known = [column.headers[0] for column in one.columns]
        for header, start, end in found:
            cell = Cell(table=table - 1, row=row, column=known.index(header) + 1)
            mine = next((a for a in source.anchors if (a.span.start, a.span.end) == (start, end)), None)
            if mine is None:
                source.anchors.append(Anchor(span=TextSpan(start=start, end=end)))
                mine = source.anchors[-1]
            mine.cell.CopyFrom(cell)
    return source


def as_parsed(text: str) -> str:
    """Return a text with the rows of Markdown tables written as the parser writes them."""
    lines: list[str] = []
    header: list[str] = []
    for line in text.split("\n"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.count("|") < 2:
            header = []
            lines.append(line)
        elif not header:
            header = cells
        elif line.strip("|:- "):
            lines.append("; ".join(f"{name}: {cell}" for name, cell in zip(header, cells, strict=False) if cell))
    return "\n".join(lines)


def _rows(text: str) -> Iterator[tuple[int, int, list[tuple[str, int, int]]]]:
    """Return table, row and cells of each line that is a row: header, start and end."""
    table = offset = 0
    inside = False
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        parts = [one for one in re.finditer(r"[^;；\n]+", line) if one[0].strip(" 。.")]
        pairs = [(one.start(), _PAIR.fullmatch(one[0].rstrip("。 "))) for one in parts]
        found = [
            (pair["header"].strip(), offset + at + pair.start("value"), offset + at + pair.end("value"))
            for at, pair in pairs
            if pair
        ]
        is_row = len(found) == len(pairs) > 1
        table += is_row and not inside
        inside = is_row
        if is_row:
            yield table, number, found
        offset += len(line)
