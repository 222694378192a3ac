"""What chunkers work on and what they give: placed blocks, pieces, cuts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeAlias

from footnote.types.v1 import chunk_pb2, collection_pb2, document_pb2, table_pb2
from footnote_providers.base import Vectors
from footnote_text import tokens

HARD_LIMIT = 8000
"""Longest stretch in code points that is kept whole because it is a table row."""

Chosen: TypeAlias = tuple[collection_pb2.ChunkingStrategy.ValueType, document_pb2.ChunkingChoice.ValueType]
"""A strategy, never AUTO, and what decided that it is the one."""

UNDECIDED: Chosen = (collection_pb2.CHUNKING_STRATEGY_UNSPECIFIED, document_pb2.CHUNKING_CHOICE_UNSPECIFIED)
"""As long as nothing was cut."""

Region: TypeAlias = tuple[str, str, int]
"""Kind of place, sheet name, slide number: no chunk crosses from one to another; no locator could say where it is."""


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A block, or a part of one, with its place in the document's text (code points, end exclusive)."""

    block: document_pb2.Block
    start: int
    text: str
    offset: int = 0
    """Where `text` begins inside the whole block's text."""
    table: table_pb2.Table | None = None
    """What the table that it is a row of says of all its rows."""

    @property
    def end(self) -> int:
        """Index after the last code point."""
        return self.start + len(self.text)

    @property
    def is_heading(self) -> bool:
        """It is a heading."""
        return self.block.kind == document_pb2.BLOCK_KIND_HEADING

    @property
    def is_row(self) -> bool:
        """It is a row of a table."""
        return self.block.kind == document_pb2.BLOCK_KIND_TABLE_ROW

    @property
    def is_furniture(self) -> bool:
        """It runs in the margins of pages: it has its place in the text, and is in no chunk."""
        return self.block.kind == document_pb2.BLOCK_KIND_FURNITURE

    @property
    def is_code(self) -> bool:
        """Its line breaks matter."""
        return self.block.kind == document_pb2.BLOCK_KIND_CODE

    def region(self) -> Region:
        """Return what a chunk holding it must stay inside."""
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
        return PlacedBlock(self.block, self.start + first, self.text[first:last], self.offset + first, self.table)


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
    """A chunk to be, by its place in the document's text; for a child, `parent` is the place of its parent."""

    start: int
    end: int
    level: chunk_pb2.ChunkLevel.ValueType = chunk_pb2.CHUNK_LEVEL_STANDARD
    parent: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large chunks may be and how much of each is repeated in the next, in characters or tokens."""

    limit: int
    overlap: int
    in_tokens: bool = False

    def of(self, text: str) -> int:
        """Return the size of a text; 8 bytes count as a token at least: the store takes only so many bytes."""
        return max(tokens.count(text), len(text.encode()) // 8) if self.in_tokens else len(text)

    def total(self, pieces: Sequence[Piece]) -> int:
        """Return the size of neighbouring pieces taken together, the space between them included."""
        if not pieces:
            return 0
        if self.in_tokens:
            # No white space costs more tokens than it has characters; pieces that touch may cost one more together.
            gaps = sum(max(1, right.start - left.end) for left, right in pairwise(pieces))
            return sum(piece.cost for piece in pieces) + gaps
        return pieces[-1].end - pieces[0].start

    def without_overlap(self) -> Sizes:
        """Return the same without repetition."""
        return Sizes(self.limit, 0, self.in_tokens)


class Chunker(Protocol):
    """Cuts a document as its blocks arrive. Cuts come in reading order and begin no earlier than the one before.

    Together they cover all text that is not white space; each begins and ends at a character that is no white space.
    """

    strategy: collection_pb2.ChunkingStrategy.ValueType

    def feed(self, blocks: Iterable[PlacedBlock]) -> list[Cut]:
        """Take the next blocks; return the chunks that are complete."""
        ...

    def finish(self) -> list[Cut]:
        """Return what is left at the document's end."""
        ...


SentenceVectors: TypeAlias = Callable[[Sequence[str]], Vectors]
"""Embeds sentences: shape (n, dimensions), rows of length 1; may block, so chunkers run off the event loop."""
