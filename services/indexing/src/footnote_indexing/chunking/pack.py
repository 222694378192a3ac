"""Fills chunks with pieces up to the size, with overlap into the next."""

from collections.abc import Iterable, Sequence

from footnote_indexing.chunking import divide
from footnote_indexing.chunking.model import Cut, Piece, Sizes


class Packer:
    """Takes pieces in order and returns completed chunks."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._pieces: list[Piece] = []
        self._repeated = 0  # number of leading pieces that are overlap from the last chunk
        self._lead: tuple[int, int] | None = None  # start and size of the overlap from the piece before the first

    @property
    def empty(self) -> bool:
        """Whether nothing is pending."""
        return not self._pieces

    def add(self, pieces: Iterable[Piece]) -> list[Cut]:
        """Take pieces; return completed chunks."""
        cuts: list[Cut] = []
        for piece in pieces:
            cuts += self._add(piece)
        return cuts

    def flush(self) -> list[Cut]:
        """Return the pending pieces as a last chunk and clear them; none of them is repeated."""
        cuts = [self._cut(self._pieces)] if len(self._pieces) > self._repeated else []
        self._clear()
        return cuts

    def _add(self, piece: Piece) -> list[Cut]:
        cuts: list[Cut] = []
        while self._pieces and self._size_with(piece) > self._sizes.limit:
            parts = self._beside_headings(piece)
            if parts:
                return cuts + self.add(parts)
            cuts += self._emit(piece)
        self._pieces.append(piece)
        return cuts

    def _beside_headings(self, piece: Piece) -> Sequence[Piece]:
        """Divide a piece that misses its heading's chunk by the heading's length; empty if that does not help."""
        if piece.block.is_row or piece.block.is_heading or not all(other.block.is_heading for other in self._pieces):
            return ()
        room = self._sizes.limit - self._sizes.total(self._pieces) - 2
        if room < self._sizes.limit // 2:
            return ()
        block = piece.block.clip(piece.start, piece.end)
        parts = list(divide.in_sentences(block, Sizes(room, 0, self._sizes.in_tokens)))
        return parts if len(parts) > 1 else ()

    def _size_with(self, piece: Piece) -> int:
        if self._sizes.in_tokens:
            return self._sizes.total([*self._pieces, piece]) + (self._lead[1] if self._lead else 0)
        return piece.end - self._start()

    def _start(self) -> int:
        return self._lead[0] if self._lead else self._pieces[0].start

    def _cut(self, pieces: Sequence[Piece]) -> Cut:
        return Cut(self._lead[0] if self._lead else pieces[0].start, pieces[-1].end)

    def _clear(self) -> None:
        self._pieces = []
        self._repeated = 0
        self._lead = None

    def _emit(self, following: Piece) -> list[Cut]:
        """Return the full chunk and keep the overlap for the next one."""
        carried = self._trailing_headings()
        done = self._pieces[: len(self._pieces) - len(carried)]
        cuts = [self._cut(done)]
        self._clear()
        room = self._sizes.limit - self._sizes.total([*carried, following]) - 1
        self._repeat(done, min(self._sizes.overlap, room), [*carried, following][0].start)
        self._pieces += carried
        while self._repeated and self._size_with(following) > self._sizes.limit:
            self._pieces.pop(0)
            self._repeated -= 1
        if self._lead and (not self._pieces or self._size_with(following) > self._sizes.limit):
            self._check_lead(following)
        return cuts

    def _check_lead(self, following: Piece) -> None:
        """Drop an overlap that would make the next chunk too large."""
        assert self._lead is not None
        size = self._lead[1] + following.cost if self._sizes.in_tokens else following.end - self._lead[0]
        if self._pieces or size > self._sizes.limit:
            self._lead = None

    def _trailing_headings(self) -> list[Piece]:
        """Return the new headings at the end, which belong to the text after them; None if nothing else is new."""
        index = len(self._pieces)
        while index > self._repeated and self._pieces[index - 1].block.is_heading:
            index -= 1
        return self._pieces[index:] if index > self._repeated else []

    def _repeat(self, done: Sequence[Piece], budget: int, until: int) -> None:
        """Begin the next chunk with the end of the last: whole pieces that fit, else the last sentences or words.

        Its new text begins at `until`.
        """
        if budget <= 0:
            return
        first = len(done)
        # Never repeat the first piece: chunks would hardly advance.
        while first > 1 and self._sizes.total(done[first - 1 :]) <= budget:
            first -= 1
        self._pieces = list(done[first:])
        self._repeated = len(self._pieces)
        if not self._pieces:
            start = divide.tail(done[-1], budget, self._sizes)
            if start is not None:
                repeated = done[-1].text[start - done[-1].start :]
                self._lead = (start, self._sizes.of(repeated) + max(1, until - done[-1].end))
