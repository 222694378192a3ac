"""Cuts text at the best places: lines, sentences, clauses, words; at graphemes only as a last resort."""

import re
from collections.abc import Callable, Iterator

import regex  # type: ignore[import-untyped]  # it ships no types
from footnote_text import sentences
from footnote_text.lexical import is_unspaced

from footnote_indexing.chunking.model import HARD_LIMIT, Piece, PlacedBlock, Sizes

_CLAUSE_END = re.compile(r"[,;:)\]]\s|[、，；：。！？」』）]")
_SPACE = re.compile(r"\s+")
_LINE = re.compile(r"[^\n]+")
# Flags in pairs: \X would look back over all preceding flags to pair them.
_GRAPHEME = regex.compile(r"\p{Regional_Indicator}{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*+|\X")


def whole(block: PlacedBlock, sizes: Sizes) -> Iterator[Piece]:
    """Yield a block as one piece if it fits, else its sentences; divide a row only when it exceeds every bound."""
    piece = _piece(block, 0, len(block.text), sizes)
    if piece is None:
        return
    if piece.cost <= sizes.limit or (block.is_row and len(piece.text) <= HARD_LIMIT):
        yield piece
    elif block.is_row:
        yield from _fit(block, _cells(block), Sizes(max(sizes.limit, 1), 0, sizes.in_tokens))
    else:
        yield from in_sentences(block, sizes)


def in_sentences(block: PlacedBlock, sizes: Sizes) -> Iterator[Piece]:
    """Yield the sentences of a block (lines of code, whole rows and headings); oversized ones are divided."""
    if block.is_row and len(block.text) <= HARD_LIMIT:
        piece = _piece(block, 0, len(block.text), sizes)
        if piece is not None:
            yield piece
        return
    if block.is_row:
        spans = _cells(block)
    elif block.is_code:
        spans = [match.span() for match in _LINE.finditer(block.text)]
    elif block.is_heading:
        spans = [(0, len(block.text))]
    else:
        spans = sentences.split(block.text)
    yield from _fit(block, spans, sizes)


def tail(piece: Piece, budget: int, sizes: Sizes) -> int | None:
    """Return where the last sentences of a piece that fit a budget begin, else the last words; None for rows."""
    if piece.block.is_row or budget <= 0:
        return None
    start: int | None = None
    text = piece.text
    earliest = max(0, len(text) - sizes.most_characters(budget))
    for first in reversed(sentences.starts_from(text, earliest)):
        if sizes.of(text[first:]) > budget:
            break
        start = first
    if start is None:
        # From one character before, because the space may end at the earliest place.
        for match in reversed(list(_SPACE.finditer(text, max(0, earliest - 1)))):
            if sizes.of(text[match.end() :]) > budget:
                break
            start = match.end()
    return None if start is None or start == 0 else piece.start + start


def _fit(block: PlacedBlock, spans: list[tuple[int, int]], sizes: Sizes) -> Iterator[Piece]:
    for start, end in spans:
        piece = _piece(block, start, end, sizes)
        if piece is None:
            continue
        if piece.cost <= sizes.limit:
            yield piece
            continue
        for first, last in _in_words(piece.text, sizes.limit, sizes.of):
            part = _piece(block, piece.start - block.start + first, piece.start - block.start + last, sizes)
            if part is not None:
                yield part


def _piece(block: PlacedBlock, start: int, end: int, sizes: Sizes) -> Piece | None:
    """Make a piece of a stretch of a block, stripped of white space; None if nothing is left."""
    raw = block.text[start:end]
    text = raw.strip()
    if not text:
        return None
    lead = len(raw) - len(raw.lstrip())
    return Piece(block, block.start + start + lead, text, sizes.of(text))


def _cells(block: PlacedBlock) -> list[tuple[int, int]]:
    """Return the values of an oversized row by its anchors, else the whole row."""
    starts = sorted({0, *(a.span.start - block.offset for a in block.block.anchors if a.span.start > block.offset)})
    starts = [start for start in starts if start < len(block.text)]
    return list(zip(starts, [*starts[1:], len(block.text)], strict=True))


def _in_words(text: str, limit: int, measure: Callable[[str], int]) -> Iterator[tuple[int, int]]:
    """Yield stretches no larger than `limit`, ending at clauses or words where possible."""
    start = 0
    while start < len(text):
        window = limit
        end = _best_end(text, start, start + window)
        while measure(text[start:end]) > limit and window > 1:
            window = max(1, window * 3 // 4)
            end = _best_end(text, start, start + window)
        yield start, end
        start = end
        while start < len(text) and text[start].isspace():
            start += 1


def _best_end(text: str, start: int, latest: int) -> int:
    """Return the best end of a stretch that begins at `start`, at most `latest` unless one grapheme is longer."""
    if latest >= len(text):
        return len(text)
    clause = [match.end() for match in _CLAUSE_END.finditer(text, start + (latest - start) * 7 // 10, latest)]
    if clause:
        return clause[-1]
    spaces = [match.start() for match in _SPACE.finditer(text, start + 1, latest + 1)]
    if spaces and spaces[-1] >= start + (latest - start) // 2:
        return spaces[-1]
    graphemes: list[int] = [match.end() for match in _GRAPHEME.finditer(text, start, min(len(text), latest + 64))]
    reachable = [end for end in graphemes if end <= latest] or graphemes[:1]
    loose = next((end for end in reversed(reachable) if _between_words(text, end)), None)
    if loose is not None and loose >= start + (latest - start) // 2:
        return loose
    if spaces:
        return spaces[-1]
    return reachable[-1] if loose is None else loose


def _between_words(text: str, index: int) -> bool:
    """Return whether a cut before text[index] splits no word."""
    if index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if is_unspaced(before) or is_unspaced(after):
        return True
    return not (before.isalnum() and after.isalnum())
