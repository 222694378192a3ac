"""Widens passages by the chunks before and after them: one text in reading order, with its places kept."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.types.v1.locator_pb2 import Anchor, TextSpan
from footnote.types.v1.table_pb2 import Table
from footnote_text import locators
from footnote_text import tables as cells

# Chunks of one text are separated by some white space at most; with more between them they are no neighbours.
_MOST_APART = 8
# What joining may add to the parts' tokens: a label over two pages, a word cut in two.
_MARGIN = 8


def widen(
    candidates: Sequence[ScoredChunk], shown: Sequence[int], room: int, cost: Callable[[str], int]
) -> list[ScoredChunk]:
    """Return the candidates; those at the places `shown` get as many neighbours as `room` tokens allow.

    Better candidates come first, and nearer neighbours; a chunk that is already in a source is not shown again.
    """
    taken = {candidates[index].chunk.id for index in shown}
    result = list(candidates)
    for index in shown:
        chunk = candidates[index].chunk
        chosen = [chunk]
        for neighbour in _nearest_first(candidates[index], taken):
            if not _adjoins(chosen, neighbour):
                continue
            price = cost(neighbour.text) + _MARGIN
            if price > room:
                continue
            room -= price
            taken.add(neighbour.id)
            chosen = sorted([*chosen, neighbour], key=lambda item: item.ordinal)
        if len(chosen) > 1:
            widened = ScoredChunk()
            widened.CopyFrom(candidates[index])
            widened.chunk.CopyFrom(join(chunk, chosen))
            result[index] = widened
    return result


def _nearest_first(candidate: ScoredChunk, taken: Container[str]) -> list[Chunk]:
    own = candidate.chunk
    near = [
        item
        for item in candidate.neighbors
        if item.id not in taken and (item.document_id, item.revision) == (own.document_id, own.revision)
    ]
    # Text that follows explains more often than text before.
    return sorted(near, key=lambda item: (abs(item.ordinal - own.ordinal), item.ordinal < own.ordinal))


def _adjoins(chosen: Sequence[Chunk], neighbour: Chunk) -> bool:
    """Return whether a chunk directly adjoins the chosen ones, also in the document's text if that is known."""
    first, last = chosen[0], chosen[-1]
    if neighbour.ordinal == last.ordinal + 1:
        left, right = last, neighbour
    elif neighbour.ordinal == first.ordinal - 1:
        left, right = neighbour, first
    else:
        return False
    if not (left.locator.HasField("span") and right.locator.HasField("span")):
        return True
    apart = right.locator.span.start - left.locator.span.end
    return apart <= _MOST_APART and (apart >= 0 or _overlap(left, right) > 0)


def _overlap(left: Chunk, right: Chunk) -> int:
    """Return how many leading characters of the second chunk the first one ends with, by spans; 0 for none."""
    if not (left.locator.HasField("span") and right.locator.HasField("span")):
        return 0
    length = left.locator.span.end - right.locator.span.start
    return length if 0 < length < len(right.text) and left.text[-length:] == right.text[:length] else 0


def join(hit: Chunk, chosen: Sequence[Chunk]) -> Chunk:
    """Return the hit with the text of adjoining chunks, given in reading order, and the places of all parts."""
    text = ""
    anchors: list[Anchor] = []
    tables: list[Table] = []
    for index, chunk in enumerate(chosen):
        skipped = 0
        if index:
            left = chosen[index - 1]
            skipped = _overlap(left, chunk)
            text += "" if skipped else _gap(left, chunk)
        start = len(text) - skipped
        text += chunk.text[skipped:]
        anchors += _anchors(chunk, start, skipped, cells.appended(tables, chunk.tables))
    joined = Chunk()
    joined.CopyFrom(hit)
    joined.text = text
    del joined.anchors[:]
    joined.anchors.extend(anchors)
    del joined.tables[:]
    joined.tables.extend(tables)
    place = locators.narrow(hit.locator, anchors, (0, len(text)))
    if hit.locator.HasField("span"):
        place.span.CopyFrom(TextSpan(start=chosen[0].locator.span.start, end=chosen[-1].locator.span.end))
    joined.locator.CopyFrom(place)
    return joined


def _gap(left: Chunk, right: Chunk) -> str:
    """Return the text between two chunks, as long as in the document, so that later places stay right."""
    if not (left.locator.HasField("span") and right.locator.HasField("span")):
        return "\n"
    apart = right.locator.span.start - left.locator.span.end
    return "\n" * apart if apart else ""


def _anchors(chunk: Chunk, start: int, skipped: int, tables: Sequence[int]) -> list[Anchor]:
    """Return a chunk's places moved to `start`; a single one for the whole chunk when it has none.

    Cells in the first `skipped` characters, which the previous chunk also has, are left out. `tables` gives the
    positions of the chunk's tables among those of the whole.
    """
    own = list(chunk.anchors)
    if not any(anchor.locator.WhichOneof("place") for anchor in own):
        own.insert(0, Anchor(span=TextSpan(start=0, end=len(chunk.text)), locator=chunk.locator))
    moved: list[Anchor] = []
    for anchor in own:
        copy = Anchor()
        copy.CopyFrom(anchor)
        copy.span.start += start
        copy.span.end += start
        if anchor.HasField("cell"):
            if anchor.span.start < skipped or anchor.cell.table >= len(tables):
                copy.ClearField("cell")
            else:
                copy.cell.table = tables[anchor.cell.table]
        moved.append(copy)
    return moved
