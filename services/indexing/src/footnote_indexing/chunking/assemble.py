"""Turns a cut into the chunk's text, locator and anchors."""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter

from footnote.stages.v1 import parsing_pb2
from footnote.types.v1 import locator_pb2, table_pb2
from footnote_kit.errors import InvalidArgument
from footnote_text import tables as cells
from footnote_text.locators import narrow

from footnote_indexing.chunking.model import Cut, PlacedBlock

_end = attrgetter("end")


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk's text and location; the document's text at `locator.span` equals `text`."""

    text: str
    locator: locator_pb2.Locator
    anchors: Sequence[locator_pb2.Anchor]
    tables: Sequence[table_pb2.Table] = ()


class TextWindow:
    """The part of a document's text that chunks may still be cut from; it bounds memory for any document length."""

    def __init__(self) -> None:
        self._blocks: deque[PlacedBlock] = deque()
        self._end = 0
        self._table: table_pb2.Table | None = None

    def place(self, blocks: Iterable[parsing_pb2.Block]) -> list[PlacedBlock]:
        """Assign places to the next blocks; InvalidArgument if a block states another place."""
        placed = []
        for block in blocks:
            if not block.text:
                raise InvalidArgument.field("blocks.text", "must not be empty")
            span = block.locator.span
            if block.locator.HasField("span") and (span.start, span.end) != (self._end, self._end + len(block.text)):
                raise InvalidArgument.field(
                    "blocks.locator.span",
                    f"is {span.start} to {span.end}, but the blocks before it and its text make it {self._end} to "
                    f"{self._end + len(block.text)}",
                )
            placed.append(PlacedBlock(block, self._end, block.text, 0, self._table_of(block)))
            self._end += len(block.text) + 1
        self._blocks.extend(placed)
        return placed

    def _table_of(self, block: parsing_pb2.Block) -> table_pb2.Table | None:
        """Return the table description of a row: its own, or that of the row before it in the same table."""
        if not block.table:
            return None
        if block.table_part.columns:
            self._table = table_pb2.Table()
            self._table.CopyFrom(block.table_part)
            self._table.number = block.table
            del self._table.rows[:]
        return self._table if self._table is not None and self._table.number == block.table else None

    def passage(self, cut: Cut) -> Passage:
        """Return the passage of a cut."""
        parts = []
        for block in islice(self._blocks, self._first(cut.start), None):
            if block.start >= cut.end:
                break
            inside = block.start >= cut.start and block.end <= cut.end
            parts.append(block if inside else block.clip(cut.start, cut.end))
        text = "\n".join(part.text for part in parts)
        tables: list[table_pb2.Table] = []
        anchors = [anchor for part in parts for anchor in _finest(part, cut.start, tables)]
        locator = _locator(parts, cut)
        whole = locator.WhichOneof("place")
        place = getattr(locator, whole) if whole else None
        # An anchor says more than the passage where its place is narrower, or its headings go deeper.
        kept = [
            one
            for one in anchors
            if whole is None
            or one.HasField("cell")
            or getattr(one.locator, whole) != place
            or one.locator.heading_path != locator.heading_path
        ]
        return Passage(text, locator, kept, tables)

    def _first(self, start: int) -> int:
        """Return the index of the first block that ends after a place."""
        return bisect_right(self._blocks, start, key=_end)

    def forget(self, before: int) -> None:
        """Drop the blocks that end before a place; later cuts begin after it."""
        while self._blocks and self._blocks[0].end <= before:
            self._blocks.popleft()


def _locator(parts: Sequence[PlacedBlock], cut: Cut) -> locator_pb2.Locator:
    """Return the smallest locator that covers all parts."""
    places = [anchor for part in parts for anchor in _places(part, cut.start)]
    base = locator_pb2.Locator()
    if parts:
        base.CopyFrom(parts[0].block.locator)
    del base.heading_path[:]
    base.span.start = cut.start
    base.span.end = cut.end
    locator = narrow(base, places, (0, cut.end - cut.start))
    del locator.heading_path[:]
    locator.heading_path.extend(_common_path(parts))
    locator.span.start = cut.start
    locator.span.end = cut.end
    return locator


def _places(part: PlacedBlock, origin: int) -> list[locator_pb2.Anchor]:
    """Return the locators of a part: its block's when whole, else as narrow as its anchors or lines allow."""
    if len(part.text) < len(part.block.text):
        clipped = [one for one in _clipped_anchors(part, origin) if one.locator.WhichOneof("place")]
        if clipped:
            return clipped
    return [_anchor(part, origin, _own_place(part))] if part.block.locator.WhichOneof("place") else []


def _finest(part: PlacedBlock, origin: int, tables: list[table_pb2.Table]) -> list[locator_pb2.Anchor]:
    """Return the anchors of a part; if they have no place, its own as well, so that a citation can name it.

    Their cells' tables are added to `tables`.
    """
    clipped = _clipped_anchors(part, origin)
    _tell_tables(part, clipped, tables)
    placed = any(anchor.locator.WhichOneof("place") for anchor in clipped if anchor.HasField("locator"))
    if placed or not part.block.locator.WhichOneof("place"):
        return clipped
    return [_anchor(part, origin, _own_place(part)), *clipped]


def _tell_tables(part: PlacedBlock, anchors: Sequence[locator_pb2.Anchor], tables: list[table_pb2.Table]) -> None:
    """Make the cells of a part refer to their table among those of the passage."""
    if part.table is None:
        for anchor in anchors:
            anchor.ClearField("cell")
        return
    if not any(anchor.HasField("cell") for anchor in anchors):
        return
    shown = part.table
    names = _names_outside(part) if len(part.text) < len(part.block.text) else []
    if part.block.table_part.rows or names:
        shown = table_pb2.Table()
        shown.CopyFrom(part.table)
        shown.rows.extend(part.block.table_part.rows)
        if names and not shown.rows:
            shown.rows.add(number=next(anchor.cell.row for anchor in anchors if anchor.HasField("cell")))
        for row in shown.rows:
            row.headers.extend(names)
    (index,) = cells.appended(tables, [shown])
    if index:
        for anchor in anchors:
            if anchor.HasField("cell"):
                anchor.cell.table = index


def _names_outside(part: PlacedBlock) -> list[str]:
    """Return the cells that name a row cut apart, where they are in another part of it."""
    columns = part.table.columns if part.table is not None else ()
    last = part.offset + len(part.text)
    return [
        part.block.text[one.span.start : one.span.end]
        for one in part.block.anchors
        if one.HasField("cell")
        and 0 < one.cell.column <= len(columns)
        and columns[one.cell.column - 1].names_rows
        and not part.offset <= one.span.start < last
    ]


def _clipped_anchors(part: PlacedBlock, origin: int) -> list[locator_pb2.Anchor]:
    shift = part.start - part.offset - origin
    last = part.offset + len(part.text)
    anchors = []
    for anchor in part.block.anchors:
        start, end = max(anchor.span.start, part.offset), min(anchor.span.end, last)
        if start < end:
            copy = locator_pb2.Anchor()
            copy.CopyFrom(anchor)
            copy.span.start, copy.span.end = start + shift, end + shift
            if end - start < anchor.span.end - anchor.span.start:
                copy.ClearField("cell")  # a part of a value is another value
            anchors.append(copy)
    return anchors


def _anchor(part: PlacedBlock, origin: int, place: locator_pb2.Locator) -> locator_pb2.Anchor:
    start = part.start - origin
    return locator_pb2.Anchor(span=locator_pb2.TextSpan(start=start, end=start + len(part.text)), locator=place)


def _own_place(part: PlacedBlock) -> locator_pb2.Locator:
    """Return a part's locator; if its block keeps line breaks, the part's own lines."""
    place = locator_pb2.Locator()
    place.CopyFrom(part.block.locator)
    place.ClearField("span")
    whole = part.block.text
    if place.HasField("lines") and len(part.text) < len(whole):
        lines = place.lines
        if lines.last_line - lines.first_line == whole.count("\n"):
            lines.first_line += whole.count("\n", 0, part.offset)
            lines.last_line = lines.first_line + part.text.count("\n")
    return place


def _common_path(parts: Sequence[PlacedBlock]) -> list[str]:
    """Return the headings above every part; a heading inside the chunk counts for the parts below it."""
    body = [part for part in parts if not part.is_heading] or list(parts)
    paths = [list(part.block.locator.heading_path) for part in body]
    if not paths:
        return []
    common = paths[0]
    for path in paths[1:]:
        length = 0
        while length < min(len(common), len(path)) and common[length] == path[length]:
            length += 1
        common = common[:length]
    return common
