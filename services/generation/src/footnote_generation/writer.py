"""The answer as it is shown: pieces become text with `[n]` markers whose places are known; unknown numbers vanish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from footnote.types.v1.answer_pb2 import Source

from footnote_generation.claims import PlacedMarker
from footnote_generation.markers import Marker, Piece
from footnote_generation.places import Place, find_places, matching


@dataclass(slots=True)
class Writer:
    """Builds the text piece by piece; `invalid` counts citations of sources that were not given."""

    sources: Sequence[Source]
    text: str = ""
    markers: list[PlacedMarker] = field(default_factory=list)
    invalid: int = 0
    warnings: list[str] = field(default_factory=list)
    _space: str = ""
    _removed: bool = False
    _capitalise: bool = False

    def add(self, piece: Piece) -> str:
        """Append a piece and return what to show of it."""
        if isinstance(piece, Marker):
            return self._marker(piece)
        return self._words(piece.text)

    def _words(self, text: str) -> str:
        if self._removed:
            # After a clause that was taken out, its comma goes too and the sentence starts anew.
            if self._capitalise:
                text = text.lstrip(" ,:")
                text = text[:1].upper() + text[1:]
                if not text:
                    return ""
            elif not self.text or self.text.endswith("\n") or text[0].isspace() or text[0] in ".,;:!?)":
                self._space = "" if text[0] in ".,;:!?)" or text[0].isspace() else self._space
                if not self.text or self.text.endswith("\n"):
                    text = text.lstrip(" ")
            self._removed = self._capitalise = False
        full = self._space + text
        kept = full.rstrip()
        self._space = full[len(kept) :]
        if not self.text:
            kept = kept.lstrip()
        self.text += kept
        return kept

    def _marker(self, marker: Marker) -> str:
        known = {source.number for source in self.sources}
        if marker.place is not None:
            return self._place(marker, marker.place)
        valid = [number for number in marker.numbers if number in known]
        for number in marker.numbers:
            if number not in known:
                self.invalid += 1
                self.warnings.append(f"A citation of source {number}, which was not given, was removed.")
        if not valid:
            self._removed = True
            return ""
        shown = self._space
        self._space = ""
        start = len(self.text) + len(shown)
        for number in valid:
            token = f"[{number}]"
            self.markers.append(PlacedMarker(start, start + len(token), number))
            shown += token
            start += len(token)
        self.text += shown
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
        start = len(self.text) + len(self._space)
        self._space = ""
        self.text += shown
        self.markers.append(PlacedMarker(start, len(self.text), fitting[0].number, words=True))
        return shown

    def sweep(self, start: int, end: int) -> None:
        """Find places named inside a finished stretch ("page 3 of rapport.pdf says") that no marker covers yet."""
        stretch = self.text[start:end]
        for place in find_places(stretch, [source.filename for source in self.sources]):
            left, right = start + place.start, start + place.end
            if not place.filename or any(m.start < right and left < m.end for m in self.markers):
                continue
            fitting = matching(place, self.sources)
            if fitting and (place.page or place.cell or place.sheet or place.slide or place.line):
                self.markers.append(PlacedMarker(left, right, fitting[0].number, words=True))
        self.markers.sort(key=lambda item: item.start)

    def cut(self, stretches: Sequence[tuple[int, int]]) -> None:
        """Take stretches out, given in order, with the white space before each; markers inside them go, others move."""
        kept: list[str] = []
        markers: list[PlacedMarker] = []
        position = removed = 0
        for start, end in [*stretches, (len(self.text), len(self.text))]:
            while start > position and self.text[start - 1] in " \t":
                start -= 1
            kept.append(self.text[position:start])
            markers.extend(
                PlacedMarker(m.start - removed, m.end - removed, m.number, m.words)
                for m in self.markers
                if position <= m.start < start
            )
            removed += end - start
            position = end
        text = "".join(kept)
        lead = len(text) - len(text.lstrip())
        self.text = text.strip()
        self.markers = [PlacedMarker(m.start - lead, m.end - lead, m.number, m.words) for m in markers]

    def replace(self, text: str) -> None:
        """Put another text, without citations, in the place of all."""
        self.text = text
        self.markers = []
