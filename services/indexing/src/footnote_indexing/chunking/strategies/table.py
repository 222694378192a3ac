"""Chunks of table rows."""

from collections.abc import Iterable

from footnote.types.v1 import collection_pb2

from footnote_indexing.chunking import divide
from footnote_indexing.chunking.model import Cut, PlacedBlock, Region, Sizes
from footnote_indexing.chunking.pack import Packer
from footnote_indexing.chunking.registration import Registration
from footnote_indexing.chunking.strategies.window import Paragraph


class Table:
    """Packs rows of a table, each whole and with its header; text around tables is cut by paragraphs.

    Headings go with what follows them in the same region, else with what is before them.
    """

    strategy = collection_pb2.CHUNKING_STRATEGY_TABLE

    def __init__(self, sizes: Sizes) -> None:
        self._text = Paragraph(sizes)
        self._rows = Packer(sizes.without_overlap())
        self._sizes = sizes
        self._table: tuple[Region, int] | None = None
        self._headings: list[PlacedBlock] = []
        self._region: Region | None = None

    def feed(self, blocks: Iterable[PlacedBlock]) -> list[Cut]:
        """Take the next blocks; return completed chunks."""
        cuts: list[Cut] = []
        for block in blocks:
            region = block.region()
            if self._headings and self._headings[0].region() != region:
                cuts += self.finish()
            if block.is_heading:
                self._headings.append(block)
                continue
            table = (region, block.block.table) if block.is_row else None
            if table != self._table or region != self._region:
                cuts += self._flush()
                self._table, self._region = table, region
            cuts += self._add([*self._headings, block])
            self._headings = []
        return cuts

    def finish(self) -> list[Cut]:
        """Return the rest."""
        cuts: list[Cut] = []
        if self._headings:
            if self._headings[0].region() != self._region:
                cuts += self._flush()
                self._table = None
            cuts += self._add(self._headings)
            self._headings = []
        return cuts + self._flush()

    def _add(self, blocks: Iterable[PlacedBlock]) -> list[Cut]:
        """Add to the rows of the current table, or to the text around tables."""
        if self._table is None:
            return self._text.feed(blocks)
        return [cut for block in blocks for cut in self._rows.add(divide.whole(block, self._sizes))]

    def _flush(self) -> list[Cut]:
        return self._rows.flush() + self._text.finish()


TABLE = Registration("table", lambda sizes, tools: Table(sizes), children="table")
