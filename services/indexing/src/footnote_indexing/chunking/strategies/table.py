"""Chunks of table rows."""

from collections.abc import Iterable

from footnote.types.v1 import collection_pb2

from footnote_indexing.chunking import divide
from footnote_indexing.chunking.model import Cut, PlacedBlock, Region, Sizes
from footnote_indexing.chunking.pack import Packer
from footnote_indexing.chunking.registration import Registration
from footnote_indexing.chunking.strategies.window import Paragraph


class Table:
    """Packs rows of a table, each whole and with its header; text around tables is cut by paragraphs."""

    strategy = collection_pb2.CHUNKING_STRATEGY_TABLE

    def __init__(self, sizes: Sizes) -> None:
        self._text = Paragraph(sizes)
        self._rows = Packer(sizes.without_overlap())
        self._sizes = sizes
        self._table: tuple[Region, int] | None = None

    def feed(self, blocks: Iterable[PlacedBlock]) -> list[Cut]:
        """Take the next blocks; return completed chunks."""
        cuts: list[Cut] = []
        for block in blocks:
            table = (block.region(), block.block.table) if block.is_row else None
            if table != self._table:
                cuts += self._rows.flush() if self._table is not None else self._text.finish()
                self._table = table
            if table is None:
                cuts += self._text.feed([block])
            else:
                cuts += self._rows.add(divide.whole(block, self._sizes))
        return cuts

    def finish(self) -> list[Cut]:
        """Return the rest."""
        return self._rows.flush() + self._text.finish()


TABLE = Registration("table", lambda sizes, tools: Table(sizes), children="table")
