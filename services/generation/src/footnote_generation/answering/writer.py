"""Builds the displayed answer: `[n]` markers with known places in the text; unknown numbers are removed.

`markup.Guard` processes the text last, since removing or rewriting a marker may join harmless parts into markup. It
only inserts spaces, so every place can be moved along.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from footnote.types.v1.answer_pb2 import Source

from footnote_generation.answering.markers import Marker, Piece
from footnote_generation.answering.markup import Edit, Guard, spaced
from footnote_generation.language.places import Place, find_places, matching
from footnote_generation.verification.claims import PlacedMarker


@dataclass(slots=True)
class Writer:
    """Builds the text piece by piece; `invalid` counts citations of unknown sources.

    `text` and `markers` are settled and shown; a marker is in both or in neither.
    """

    sources: Sequence[Source]
    text: str = ""
    markers: list[PlacedMarker] = field(default_factory=list)
    invalid: int = 0
    warnings: list[str] = field(default_factory=list)
    _guard: Guard = field(init=False)
    _pending: list[PlacedMarker] = field(default_factory=list)
    """Markers not settled yet, with their places in the composed text."""
    _edits: list[Edit] = field(default_factory=list)
    _tail: str = ""
    """Composed text that is not settled yet."""
    _composed: int = 0
    _moved: int = 0
    _end: str = ""
    _space: str = ""
    _removed: bool = False
    _capitalise: bool = False

    def __post_init__(self) -> None:
        self._guard = Guard(self.warnings)

    def add(self, piece: Piece) -> str:
        """Append a piece and return what to show now."""
        if isinstance(piece, Marker):
            return self._settle(self._marker(piece))
        return self._settle(self._words(piece.text))

    def finish(self) -> str:
        """Settle and return the rest."""
        return self._settle("", final=True)

    def _settle(self, composed: str, final: bool = False) -> str:
        """Pass composed text through the guard; return the settled part, which is added to the text."""
        if composed:
            self._composed += len(composed)
            self._end = composed[-1]
        self._tail += composed
        edits, settled = self._guard.feed(composed, final)
        self._edits += edits
        begin = self._composed - len(self._tail)
        for marker in self._pending:
            if marker.start < settled < marker.end:
                settled = marker.start
        ready, self._tail = self._tail[: settled - begin], self._tail[settled - begin :]
        due = [edit for edit in self._edits if edit.start <= settled]
        # A space due at the very end goes before the next piece.
        due = [edit for edit in due if edit.start < settled or final]
        self._edits = self._edits[len(due) :]
        shown = spaced(ready, [edit.start - begin for edit in due])
        places = [edit.start for edit in due]
        done = [marker for marker in self._pending if marker.end <= settled]
        self._pending = self._pending[len(done) :]
        self.markers += [moved(marker, places, self._moved) for marker in done]
        self._moved += len(due)
        self.text += shown
        return shown

    def _words(self, text: str) -> str:
        if self._removed:
            # After a removed clause, its comma goes too and the sentence restarts.
            if self._capitalise:
                text = text.lstrip(" ,:")
                text = text[:1].upper() + text[1:]
                if not text:
                    return ""
            elif not self._end or self._end == "\n" or text[0].isspace() or text[0] in ".,;:!?)":
                self._space = "" if text[0] in ".,;:!?)" or text[0].isspace() else self._space
                if not self._end or self._end == "\n":
                    text = text.lstrip(" ")
            elif not self._space and self._end.isalnum() and text[0].isalnum():
                self._space = " "  # nothing may join where a marker was removed
            self._removed = self._capitalise = False
        full = self._space + text
        kept = full.rstrip()
        self._space = full[len(kept) :]
        return kept if self._end else kept.lstrip()

    def _marker(self, marker: Marker) -> str:
        known = {source.number for source in self.sources}
        if marker.place is not None and not marker.numbers:
            return self._place(marker, marker.place)
        numbers = marker.numbers
        if marker.raised and not known.issuperset(numbers):
            # "¹²" may be two citations in a row; a number without a source is an exponent, and stays.
            numbers = tuple(unicodedata.digit(char) for char in marker.raw if char.isdigit())
            if not known.issuperset(numbers):
                return self._words(marker.raw)
        valid = [number for number in numbers if number in known]
        for number in numbers:
            if number not in known:
                self.invalid += 1
                self.warnings.append(f"A citation of source {number}, which was not given, was removed.")
        if not valid:
            self._removed = True
            return ""
        shown = self._space
        self._space = ""
        start = self._composed + len(shown)
        for number in valid:
            token = f"[{number}]"
            self._pending.append(PlacedMarker(start, start + len(token), number, place=marker.place))
            shown += token
            start += len(token)
        return shown

    def _place(self, marker: Marker, place: Place) -> str:
        fitting = matching(place, self.sources)
        if not fitting:
            self.invalid += 1
            self.warnings.append(
                f"A citation of {place.filename or 'a place'}, which is not among the sources given, was removed."
            )
            self._removed = True
            self._capitalise = not marker.raw.startswith(("[", "(", "【"))
            return ""
        shown = self._space + marker.raw
        start = self._composed + len(self._space)
        self._space = ""
        end = self._composed + len(shown)
        self._pending.append(PlacedMarker(start, end, fitting[0].number, words=True, place=place))
        return shown

    def sweep(self, start: int, end: int) -> None:
        """Find places named inside a finished stretch ("page 3 of rapport.pdf says") without a marker yet."""
        stretch = self.text[start:end]
        for place in find_places(stretch, [source.filename for source in self.sources]):
            left, right = start + place.start, start + place.end
            if not place.filename or any(m.start < right and left < m.end for m in self.markers):
                continue
            fitting = matching(place, self.sources)
            if fitting and (place.page or place.cell or place.sheet or place.slide or place.line):
                self.markers.append(PlacedMarker(left, right, fitting[0].number, words=True, place=place))
        self.markers.sort(key=lambda item: item.start)

    def cut(self, stretches: Sequence[tuple[int, int]]) -> None:
        """Remove stretches, in order, with the white space before each; markers inside are dropped, others move."""
        kept: list[str] = []
        markers: list[PlacedMarker] = []
        position = removed = 0
        for start, end in [*stretches, (len(self.text), len(self.text))]:
            while start > position and self.text[start - 1] in " \t":
                start -= 1
            kept.append(self.text[position:start])
            markers.extend(
                replace(m, start=m.start - removed, end=m.end - removed)
                for m in self.markers
                if position <= m.start < start
            )
            removed += end - start
            position = end
        text = "".join(kept)
        lead = len(text) - len(text.lstrip())
        self.text = text.strip()
        self.markers = [replace(m, start=m.start - lead, end=m.end - lead) for m in markers]
        self._guard_again()

    def _guard_again(self) -> None:
        """Guard the whole text again: a removed part may have separated its neighbours."""
        places = [edit.start for edit in Guard(self.warnings).feed(self.text, final=True)[0]]
        self.text = spaced(self.text, places)
        self.markers = [moved(marker, places) for marker in self.markers]

    def replace(self, text: str) -> None:
        """Replace everything by another text without citations."""
        self.text = text
        self.markers = []


def moved(marker: PlacedMarker, places: Sequence[int], before: int = 0) -> PlacedMarker:
    """Return a marker moved by the spaces inserted at these offsets, and `before` others in front of them."""
    start = before + sum(place <= marker.start for place in places)
    end = before + sum(place < marker.end for place in places)
    return replace(marker, start=marker.start + start, end=marker.end + end)
