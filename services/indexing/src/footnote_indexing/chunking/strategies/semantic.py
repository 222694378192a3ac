"""Cuts where the topic changes: between the neighbouring sentences that are farthest apart."""

from collections.abc import Iterable

import numpy as np
from footnote.types.v1 import collection_pb2

from footnote_indexing.chunking import divide
from footnote_indexing.chunking.model import Cut, Piece, PlacedBlock, Region, SentenceVectors, Sizes
from footnote_indexing.chunking.pack import Packer
from footnote_indexing.chunking.registration import Registration, Tools

_SIDE = 3
"""Sentences compared on each side of a gap."""
_WINDOW = 400
"""Maximum number of sentences compared together: the percentile needs many; memory and the first result need few."""


class Semantic:
    """Compares the sentences before and after each gap and cuts above a percentile of the distances.

    Hearst's TextTiling with embeddings: both sides of a gap count alike, so the cut falls into the gap itself.
    """

    strategy = collection_pb2.CHUNKING_STRATEGY_SEMANTIC

    def __init__(self, sizes: Sizes, percentile: int, vectors: SentenceVectors) -> None:
        self._sizes = sizes
        self._percentile = percentile
        self._vectors = vectors
        self._packer = Packer(sizes)
        self._sentences: list[Piece] = []
        self._region: Region | None = None

    def feed(self, blocks: Iterable[PlacedBlock]) -> list[Cut]:
        """Take the next blocks; return completed chunks."""
        cuts: list[Cut] = []
        for block in blocks:
            region = block.region()
            if self._region is not None and region != self._region:
                cuts += self.finish()
            self._region = region
            self._sentences += divide.in_sentences(block, self._sizes)
            if len(self._sentences) >= _WINDOW:
                cuts += self._cut_window()
        return cuts

    def finish(self) -> list[Cut]:
        """Return the rest."""
        return self._cut_window() + self._packer.flush()

    def _cut_window(self) -> list[Cut]:
        """Pack the sentences read so far, ending a chunk at each breakpoint; the last chunk stays open."""
        cuts: list[Cut] = []
        breaks = self._breakpoints()
        for index, piece in enumerate(self._sentences):
            if index in breaks or (piece.block.is_heading and not self._packer.empty):
                cuts += self._packer.flush()
            cuts += self._packer.add([piece])
        self._sentences = []
        return cuts

    def _breakpoints(self) -> set[int]:
        """Return the sentences before which the topic changes."""
        pieces = self._sentences
        if len(pieces) < 3:
            return set()
        sums = np.cumsum(self._vectors([piece.text for piece in pieces]), axis=0, dtype=np.float64)
        sums = np.concatenate([np.zeros((1, sums.shape[1])), sums])
        gaps = np.arange(1, len(pieces))
        before = sums[gaps] - sums[np.maximum(gaps - _SIDE, 0)]
        after = sums[np.minimum(gaps + _SIDE, len(pieces))] - sums[gaps]
        lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
        distances = 1.0 - (before * after).sum(axis=1) / np.maximum(lengths, 1e-12)
        threshold = float(np.percentile(distances, self._percentile))
        after_heading = {i + 1 for i, piece in enumerate(pieces) if piece.block.is_heading}
        return {int(i) + 1 for i in np.flatnonzero(distances > threshold)} - after_heading


def _made(sizes: Sizes, tools: Tools) -> Semantic:
    return Semantic(sizes, tools.settings.breakpoint_percentile, tools.sentence_vectors)


SEMANTIC = Registration("semantic", _made, needs_vectors=True)
