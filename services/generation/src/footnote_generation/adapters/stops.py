"""Ends an answer at stop texts, for models that do not support them."""

from __future__ import annotations

from collections.abc import Sequence


class Stops:
    """Passes words on up to the first stop text, which may arrive in pieces."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [text for text in texts if text]
        self._held = ""
        self.met = False

    def feed(self, text: str) -> str:
        """Take the next words; return those that certainly precede every stop text."""
        if self.met or not self._texts:
            return "" if self.met else text
        self._held += text
        places = [place for one in self._texts if (place := self._held.find(one)) >= 0]
        if places:
            self.met = True
            return self._held[: min(places)]
        keep = min(len(self._held), max(map(len, self._texts)) - 1)
        shown, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        return shown

    def end(self) -> str:
        """Return the words held back."""
        return "" if self.met else self._held
