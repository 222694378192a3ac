"""Separates a model's thoughts from its answer when both arrive in one stream of text."""

from __future__ import annotations

_MARKS = {"<think>": "</think>", "<thinking>": "</thinking>", "<thought>": "</thought>"}
_LONGEST = max(map(len, _MARKS))
_KEPT = 1_000_000  # characters of possible thoughts that are kept, in case they are the answer


class Thoughts:
    """Removes a marked section of thoughts at the start of an answer; later marks belong to the answer.

    `unmarked` is for models whose servers omit the opening mark. All text up to a closing mark is then thoughts, and
    becomes the answer when no closing mark arrives.
    """

    def __init__(self, unmarked: bool = False) -> None:
        self._begun = False
        self._saying = False
        self._thought = False
        self._close = ""
        self._unmarked = unmarked
        self._held = ""
        self._thoughts: list[str] = []
        self._many = 0

    def expect_no_thoughts(self) -> None:
        """Record that thoughts arrive separately, so the text contains none."""
        self._unmarked = False

    def feed(self, text: str) -> tuple[str, str]:
        """Process the next characters; return the thoughts and the answer text in them."""
        if self._saying:
            return "", text
        self._held += text
        if not self._begun and not self._begin():
            return "", ""
        if self._saying:
            return "", self._let_go()
        return self._think()

    def end(self) -> str:
        """Return the answer text held back until the end."""
        if self._saying or (self._begun and not self._unmarked):
            return ""
        return "".join([*self._thoughts, self._let_go()])

    def _begin(self) -> bool:
        start = self._held.lstrip()
        for mark, close in _MARKS.items():
            if start.startswith(mark):
                self._held, self._close, self._begun, self._unmarked = start[len(mark) :], close, True, False
                return True
        if len(start) < _LONGEST and any(mark.startswith(start) for mark in _MARKS):
            return False
        self._begun = True
        if self._unmarked:
            self._close = "</think>"
        else:
            self._saying = True
            self._held = start if self._thought else self._held
        return True

    def _think(self) -> tuple[str, str]:
        end = self._held.find(self._close)
        if end >= 0:
            thought, said = self._held[:end], self._held[end + len(self._close) :]
            self._held = ""
            self._thoughts.clear()
            # A blank line separates the thoughts from the answer, which begins at its first word.
            self._restart(said)
            return thought, self._let_go() if self._saying else ""
        # A possible start of the closing mark is held back until the rest arrives.
        keep = min(len(self._close) - 1, len(self._held))
        thought, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        if self._unmarked:
            self._many += len(thought)
            if self._many > _KEPT:
                raise ValueError("the model thinks without end")
            self._thoughts.append(thought)
        return thought, ""

    def _restart(self, said: str) -> None:
        self._thought = True
        self._held = said.lstrip()
        self._saying = bool(self._held)
        if not self._saying:
            self._begun, self._unmarked = False, False

    def _let_go(self) -> str:
        held, self._held = self._held, ""
        return held
