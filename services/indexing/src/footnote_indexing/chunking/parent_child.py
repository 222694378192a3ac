"""Two levels: wide parents to show, narrow children to search."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from footnote.types.v1 import chunk_pb2

from footnote_indexing.chunking.model import Chunker, Cut, PlacedBlock


class ParentChild:
    """Cuts parents with one chunker and each parent's text with another; a parent comes before its children."""

    def __init__(self, parents: Chunker, make_children: Callable[[], Chunker]) -> None:
        self.strategy = parents.strategy
        self._parents = parents
        self._make_children = make_children
        self._blocks: list[PlacedBlock] = []

    def feed(self, blocks: Iterable[PlacedBlock]) -> list[Cut]:
        """Take the next blocks; return completed chunks."""
        blocks = list(blocks)
        self._blocks += blocks
        return self._divide(self._parents.feed(blocks))

    def finish(self) -> list[Cut]:
        """Return the rest."""
        return self._divide(self._parents.finish())

    def _divide(self, parents: list[Cut]) -> list[Cut]:
        cuts: list[Cut] = []
        for parent in parents:
            inside = [block for block in self._blocks if block.end > parent.start and block.start < parent.end]
            chunker = self._make_children()
            children = chunker.feed([block.clip(parent.start, parent.end) for block in inside]) + chunker.finish()
            place = (parent.start, parent.end)
            cuts.append(Cut(*place, chunk_pb2.CHUNK_LEVEL_PARENT))
            cuts += [Cut(child.start, child.end, chunk_pb2.CHUNK_LEVEL_CHILD, place) for child in children]
            self._blocks = [block for block in self._blocks if block.end > parent.start]
        return cuts
