"""A sliding window over sentences, and a packer of whole paragraphs."""

from collections.abc import Iterable

from footnote.types.v1 import collection_pb2

from footnote_indexing.chunking import divide
from footnote_indexing.chunking.model import Cut, Piece, PlacedBlock, Region, Sizes
from footnote_indexing.chunking.pack import Packer
from footnote_indexing.chunking.registration import Registration


class FixedWindow:
    """Slides a window over the text, ending at sentence ends where it can."""

    strategy = collection_pb2.CHUNKING_STRATEGY_FIXED_WINDOW

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._packer = Packer(sizes)
        self._region: Region | None = None

    def feed(self, blocks: Iterable[PlacedBlock]) -> list[Cut]:
        """Take the next blocks; return completed chunks."""
        cuts: list[Cut] = []
        for block in blocks:
            region = block.region()
            if self._region is not None and region != self._region:
                cuts += self._packer.flush()
            self._region = region
            cuts += self._packer.add(self._pieces(block))
        return cuts

    def finish(self) -> list[Cut]:
        """Return the rest."""
        return self._packer.flush()

    def _pieces(self, block: PlacedBlock) -> Iterable[Piece]:
        return divide.in_sentences(block, self._sizes)


class Paragraph(FixedWindow):
    """Packs whole paragraphs; divides only a paragraph that is larger than a chunk."""

    strategy = collection_pb2.CHUNKING_STRATEGY_PARAGRAPH

    def _pieces(self, block: PlacedBlock) -> Iterable[Piece]:
        return divide.whole(block, self._sizes)


WINDOW = Registration("fixed_window", lambda sizes, tools: FixedWindow(sizes))
PARAGRAPH = Registration("paragraph", lambda sizes, tools: Paragraph(sizes))
