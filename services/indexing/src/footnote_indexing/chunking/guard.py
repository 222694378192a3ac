"""Checks the chunkers of other packages: lost or misplaced text fails the document instead of passing silently."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

from footnote.types.v1 import collection_pb2
from footnote_kit.errors import FootnoteError, Internal

from footnote_indexing.chunking.model import Cut, PlacedBlock, Sizes
from footnote_indexing.chunking.registration import Registration, Tools

T = TypeVar("T")


class Guarded:
    """Passes blocks on and checks the cuts: in order, within the text read so far, with no text left out."""

    strategy = collection_pb2.CHUNKING_STRATEGY_NAMED

    def __init__(self, registration: Registration, sizes: Sizes, tools: Tools) -> None:
        self._id = registration.id
        self._chunker = self._asked(lambda: registration.make(sizes, tools))
        self._blocks: deque[PlacedBlock] = deque()
        self._read = self._start = self._covered = 0

    def feed(self, blocks: Iterable[PlacedBlock]) -> list[Cut]:
        """Take the next blocks; return completed chunks. Raises Internal when the chunker fails."""
        blocks = list(blocks)
        if blocks and not self._read:
            self._start = self._covered = blocks[0].start
        self._blocks.extend(blocks)
        self._read = blocks[-1].end if blocks else self._read
        return self._looked_at(self._asked(lambda: list(self._chunker.feed(blocks))))

    def finish(self) -> list[Cut]:
        """Return the rest. Raises Internal when the chunker fails or leaves text out."""
        cuts = self._looked_at(self._asked(lambda: list(self._chunker.finish())))
        self._none_lost(self._read)
        return cuts

    def _asked(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except FootnoteError:
            raise
        except Exception as error:  # a third-party chunker may raise anything; the error's text may quote the document
            raise self._broken(f"raised {type(error).__name__}") from None

    def _looked_at(self, cuts: list[Cut]) -> list[Cut]:
        for cut in cuts:
            if not self._start <= cut.start < cut.end <= self._read:
                raise self._broken(f"made a chunk of {cut.start} to {cut.end} after {self._start}, before {self._read}")
            self._none_lost(cut.start)
            self._start, self._covered = cut.start, max(self._covered, cut.end)
        return cuts

    def _none_lost(self, until: int) -> None:
        """Raise unless only white space lies between the chunks' end and a place."""
        while self._blocks and self._blocks[0].start < until:
            block = self._blocks[0]
            if block.end > self._covered and block.clip(self._covered, until).text.strip():
                raise self._broken(
                    f"left out text between {max(self._covered, block.start)} and {min(until, block.end)}"
                )
            if block.end > until:
                return
            self._blocks.popleft()

    def _broken(self, what: str) -> Internal:
        # Imported on demand, as in `footnote_kit.plugins`: the process that cuts keeps no log.
        from footnote_kit.logs import get_logger

        get_logger(__name__).error("chunker_broken", chunker=self._id, what=what)
        return Internal(f"The chunker '{self._id}' {what}; choose another strategy for this collection")
