"""Chunks by sections under their headings."""

from collections.abc import Iterable

from footnote.types.v1 import collection_pb2

from footnote_indexing.chunking import divide
from footnote_indexing.chunking.model import Cut, Piece, PlacedBlock, Region, Sizes
from footnote_indexing.chunking.pack import Packer
from footnote_indexing.chunking.registration import Registration


class HeadingSection:
    """One chunk per section; long sections are divided, very short ones join the next under the same heading.

    A section that only leads to its first subsection also joins it, as a statement's title joins its first table.
    """

    strategy = collection_pb2.CHUNKING_STRATEGY_HEADING_SECTION

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._short = sizes.limit // 5
        self._packer = Packer(sizes)
        self._waiting: list[Piece] = []  # short sections, complete
        self._section: list[Piece] = []  # the section being read, while it fits into one chunk
        self._near: set[tuple[str, ...]] = set()  # the parents of sections that may join the waiting ones
        self._region: Region | None = None

    def feed(self, blocks: Iterable[PlacedBlock]) -> list[Cut]:
        """Take the next blocks; return completed chunks."""
        cuts: list[Cut] = []
        for block in blocks:
            region = block.region()
            if self._region is not None and region != self._region:
                cuts += self.finish()
            self._region = region
            if block.is_heading and not all(piece.block.is_heading for piece in self._section):
                cuts += self._end_section()
            elif block.is_heading and not self._packer.empty:
                cuts += self._packer.flush()
            for piece in divide.whole(block, self._sizes):
                cuts += self._add(piece)
        return cuts

    def finish(self) -> list[Cut]:
        """Return the rest."""
        return self._end_section() + self._release()

    def _add(self, piece: Piece) -> list[Cut]:
        if not self._packer.empty:
            return self._packer.add([piece])
        self._section.append(piece)
        if self._sizes.total(self._section) <= self._sizes.limit:
            return []
        cuts = self._release() + self._packer.add(self._section)
        self._section = []
        return cuts

    def _end_section(self) -> list[Cut]:
        if not self._packer.empty:
            return self._packer.flush()
        if not self._section:
            return []
        cuts: list[Cut] = []
        path, parent = _path(self._section), _parent(self._section)
        small = self._sizes.total(self._section) < self._short
        joined = [*self._waiting, *self._section]
        if self._waiting and not (parent in self._near and self._sizes.total(joined) <= self._sizes.limit):
            cuts += self._release()
            joined = self._section
        self._waiting, self._section, self._near = joined, [], {parent, path}
        if not small:
            cuts += self._release()
        return cuts

    def _release(self) -> list[Cut]:
        cuts = [Cut(self._waiting[0].start, self._waiting[-1].end)] if self._waiting else []
        self._waiting = []
        return cuts


def _path(section: list[Piece]) -> tuple[str, ...]:
    """Return the headings of a section, with its own last."""
    last = section[-1].block
    path = tuple(last.block.locator.heading_path)
    return (*path, last.text) if last.is_heading else path


def _parent(section: list[Piece]) -> tuple[str, ...]:
    """Return the headings above a section's own heading."""
    return _path(section)[:-1]


SECTION = Registration("heading_section", lambda sizes, tools: HeadingSection(sizes))
