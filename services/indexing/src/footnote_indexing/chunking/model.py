"""The chunkers' input and output: placed blocks, pieces, cuts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeAlias

from footnote.stages.v1 import parsing_pb2
from footnote.types.v1 import chunk_pb2, collection_pb2, document_pb2, table_pb2
from footnote_providers.base import Vectors
from footnote_text import tokens

HARD_LIMIT = 8000
"""Longest table row, in code points, that is kept whole."""

_BYTES = 8
"""Most bytes of a token."""

Chosen: TypeAlias = tuple[collection_pb2.ChunkingStrategy.ValueType, document_pb2.ChunkingChoice.ValueType]
"""A strategy, never AUTO, and the reason for it."""

UNDECIDED: Chosen = (collection_pb2.CHUNKING_STRATEGY_UNSPECIFIED, document_pb2.CHUNKING_CHOICE_UNSPECIFIED)
"""The value before anything is cut."""

Region: TypeAlias = tuple[str, str, int]
"""Kind of place, sheet name, slide number. No chunk crosses regions: its locator could not say where it is."""


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A block, or a part of one, with its place in the document's text (code points, end exclusive)."""

    block: parsing_pb2.Block
    start: int
    text: str
    offset: int = 0
    """Where `text` begins inside the whole block's text."""
    table: table_pb2.Table | None = None
    """The description of its table, if the block is a row."""
    is_whole: bool = True
    """Whether it is the whole block."""

    @property
    def end(self) -> int:
        """Index after the last code point."""
        return self.start + len(self.text)

    @property
    def is_heading(self) -> bool:
        """Whether the block is a heading."""
        return self.block.kind == parsing_pb2.BLOCK_KIND_HEADING

    @property
    def is_row(self) -> bool:
        """Whether the block is a row of a table."""
        return self.block.kind == parsing_pb2.BLOCK_KIND_TABLE_ROW

    @property
    def is_furniture(self) -> bool:
        """Whether the block runs in page margins: it has its place in the text but is in no chunk."""
        return self.block.kind == parsing_pb2.BLOCK_KIND_FURNITURE

    @property
    def is_code(self) -> bool:
        """Whether its line breaks matter."""
        return self.block.kind == parsing_pb2.BLOCK_KIND_CODE

    def region(self) -> Region:
        """Return the region that a chunk holding this block must stay inside."""
        locator = self.block.locator
        place = locator.WhichOneof("place") or ""
        if place == "sheet":
            return place, locator.sheet.sheet, 0
        if place == "slide":
            return place, "", locator.slide.slide
        return place, "", 0

    def clip(self, start: int, end: int) -> PlacedBlock:
        """Return the part between two places of the document's text."""
        first, last = max(start, self.start) - self.start, min(end, self.end) - self.start
        text = self.text[first:last]
        is_whole = self.is_whole and len(text) == len(self.text)
        return PlacedBlock(self.block, self.start + first, text, self.offset + first, self.table, is_whole)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one block that packing does not cut: a paragraph, a sentence, a row, a heading."""

    block: PlacedBlock
    start: int
    text: str
    cost: int

    @property
    def end(self) -> int:
        """Index after the last code point."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Cut:
    """A future chunk as a place in the document's text; for a child, `parent` is its parent's place."""

    start: int
    end: int
    level: chunk_pb2.ChunkLevel.ValueType = chunk_pb2.CHUNK_LEVEL_STANDARD
    parent: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Sizes:
    """Maximum chunk size and the overlap with the next chunk, in characters or tokens."""

    limit: int
    overlap: int
    in_tokens: bool = False

    def of(self, text: str) -> int:
        """Return the size of a text; at least one token per 8 bytes, because the store limits bytes."""
        return max(tokens.count(text), len(text.encode()) // _BYTES) if self.in_tokens else len(text)

    def most_characters(self, size: int) -> int:
        """Return a number of characters that no text of at most this size exceeds."""
        return _BYTES * (size + 1) if self.in_tokens else size

    def total(self, pieces: Sequence[Piece]) -> int:
        """Return the joint size of neighbouring pieces, including the space between them."""
        if not pieces:
            return 0
        if self.in_tokens:
            # White space costs at most one token per character; adjoining pieces may cost one more together.
            gaps = sum(max(1, right.start - left.end) for left, right in pairwise(pieces))
            return sum(piece.cost for piece in pieces) + gaps
        return pieces[-1].end - pieces[0].start

    def without_overlap(self) -> Sizes:
        """Return the same sizes without overlap."""
        return Sizes(self.limit, 0, self.in_tokens)


class Chunker(Protocol):
    """Cuts a document as its blocks arrive. Cuts come in reading order; none begins before its predecessor.

    Together they cover all text except white space; none begins or ends with white space.
    """

    strategy: collection_pb2.ChunkingStrategy.ValueType

    def feed(self, blocks: Iterable[PlacedBlock]) -> list[Cut]:
        """Take the next blocks; return completed chunks."""
        ...

    def finish(self) -> list[Cut]:
        """Return the rest at the document's end."""
        ...


SentenceVectors: TypeAlias = Callable[[Sequence[str]], Vectors]
"""Embeds sentences: shape (n, dimensions), rows of length 1. It may block, so chunkers run off the event loop."""
