"""Turns a cut into the chunk's text, locator and anchors."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter

from footnote.stages.v1 import parsing_pb2
from footnote.types.v1 import locator_pb2, table_pb2
from footnote_kit.errors import InvalidArgument
from footnote_text import tables as cells
from footnote_text.locators import join

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
        locator = _locator(parts, cut)
        tells_more = _narrower(locator)
        tables: list[table_pb2.Table] = []
        anchors = [anchor for part in parts for anchor in _finest(part, cut.start, tells_more, tables)]
        return Passage("\n".join(part.text for part in parts), locator, anchors, tables)

    def _first(self, start: int) -> int:
        """Return the index of the first block that ends after a place."""
        return bisect_right(self._blocks, start, key=_end)

    def forget(self, before: int) -> None:
        """Drop the blocks that end before a place; later cuts begin after it."""
        while self._blocks and self._blocks[0].end <= before:
            self._blocks.popleft()


def _locator(parts: Sequence[PlacedBlock], cut: Cut) -> locator_pb2.Locator:
    """Return the smallest locator that covers all parts."""
    locator = locator_pb2.Locator()
    if parts:
        locator.CopyFrom(parts[0].block.locator)
        join(locator, [place for part in parts for place in _places(part)])
    del locator.heading_path[:]
    locator.heading_path.extend(_common_path(parts))
    locator.span.start = cut.start
    locator.span.end = cut.end
    return locator


def _places(part: PlacedBlock) -> list[locator_pb2.Locator]:
    """Return the locators of a part: its block's when whole, else as narrow as its anchors or lines allow."""
    if not part.is_whole:
        found = [anchor.locator for anchor, _, _ in _anchors(part) if anchor.locator.WhichOneof("place")]
        if found:
            return found
    return [_own_place(part)] if part.block.locator.WhichOneof("place") else []


def _finest(
    part: PlacedBlock,
    origin: int,
    tells_more: Callable[[locator_pb2.Locator], bool],
    tables: list[table_pb2.Table],
) -> list[locator_pb2.Anchor]:
    """Return the anchors of a part whose locators tell more than the passage's.

    If they have no place, the part's own is among them, so that a citation can name it. Their cells' tables are added
    to `tables`.
    """
    kept: list[locator_pb2.Anchor] = []
    placed = False
    shift = part.start - part.offset - origin
    for anchor, start, end in _anchors(part):
        place = anchor.locator
        placed = placed or place.WhichOneof("place") is not None
        # A part of a value is another value, and a cell needs the description of its table.
        is_cell = part.table is not None and anchor.HasField("cell") and end - start == _length(anchor.span)
        if is_cell or tells_more(place):
            copy = locator_pb2.Anchor()
            copy.CopyFrom(anchor)
            span = copy.span
            span.start, span.end = start + shift, end + shift
            if not is_cell:
                copy.ClearField("cell")
            kept.append(copy)
    _tell_tables(part, kept, tables)
    if placed or not part.block.locator.WhichOneof("place"):
        return kept
    own = _own_place(part)
    return [_anchor(part, origin, own), *kept] if tells_more(own) else kept


def _narrower(passage: locator_pb2.Locator) -> Callable[[locator_pb2.Locator], bool]:
    """Return a test whether a place is narrower than the passage's, or its headings go deeper."""
    kind = passage.WhichOneof("place")
    if kind is None:
        return lambda one: True
    place, headings = getattr(passage, kind), list(passage.heading_path)
    return lambda one: getattr(one, kind) != place or one.heading_path != headings


def _tell_tables(part: PlacedBlock, anchors: Sequence[locator_pb2.Anchor], tables: list[table_pb2.Table]) -> None:
    """Make the cells of a part refer to their table among those of the passage."""
    if part.table is None or not any(anchor.HasField("cell") for anchor in anchors):
        return
    shown = part.table
    names = [] if part.is_whole else _names_outside(part)
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


def _anchors(part: PlacedBlock) -> Iterator[tuple[locator_pb2.Anchor, int, int]]:
    """Yield the anchors in a part, with the stretches of the block's text that are in it."""
    first, last = part.offset, part.offset + len(part.text)
    for anchor in part.block.anchors:
        span = anchor.span
        start, end = max(span.start, first), min(span.end, last)
        if start < end:
            yield anchor, start, end


def _length(span: locator_pb2.TextSpan) -> int:
    return span.end - span.start


def _anchor(part: PlacedBlock, origin: int, place: locator_pb2.Locator) -> locator_pb2.Anchor:
    start = part.start - origin
    anchor = locator_pb2.Anchor(span=locator_pb2.TextSpan(start=start, end=start + len(part.text)), locator=place)
    anchor.locator.ClearField("span")
    return anchor


def _own_place(part: PlacedBlock) -> locator_pb2.Locator:
    """Return the block's locator; for a part of a block that keeps line breaks, with the part's own lines."""
    place = part.block.locator
    if part.is_whole or not place.HasField("lines"):
        return place
    whole = part.block.text
    if place.lines.last_line - place.lines.first_line != whole.count("\n"):
        return place
    own = locator_pb2.Locator()
    own.CopyFrom(place)
    own.lines.first_line += whole.count("\n", 0, part.offset)
    own.lines.last_line = own.lines.first_line + part.text.count("\n")
    return own


def _common_path(parts: Sequence[PlacedBlock]) -> list[str]:
    """Return the headings above every part; a heading inside the chunk counts for the parts below it."""
    body = [part for part in parts if not part.is_heading] or list(parts)
    paths = [list(part.block.locator.heading_path) for part in body]
    if not paths:
        return []
    common = paths[0]
    for path in paths[1:]:
        if path == common:
            continue
        length = 0
        while length < min(len(common), len(path)) and common[length] == path[length]:
            length += 1
        common = common[:length]
    return common
