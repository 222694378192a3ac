"""Making source text harmless: it must not close its delimiter, pose as another role or forge a citation.

Every replacement puts one character for one character; only invisible characters are removed. A map of offsets keeps
the places inside a passage (its anchors) where they belong.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from footnote.types.v1.locator_pb2 import Anchor

_JOINERS = frozenset("\u200c\u200d")  # needed between letters of Arabic and Indic scripts and inside emoji
_ROLE = re.compile(
    r"(?im)^(?P<head>[ \t>#*\-]*(?:system|assistant|user|human|developer|tool|ai|syst[eè]me|utilisateur|d[ée]veloppeur|"
    r"new instructions?|nouvelles? instructions?|nouvelles? consignes?)[ \t*]*)(?P<colon>[:：])"
)
_CITATION = re.compile(r"(?i)\[(?=\s*(?:sources?\b|\d))[^\[\]\n]{0,120}\]")
_ANGLES = re.compile(
    r"<{2,}|>{2,}|<\||\|>|</?(?:s|system|user|assistant|human|sources?|context|instructions?)\b[^<>\n]{0,80}>", re.I
)
_INST = re.compile(r"(?i)\[(/?(?:inst|sys|system|user|assistant)\b[^\[\]\n]{0,40})\]")
_FENCE_ROLE = re.compile(r"(?im)^(?P<hashes>#{2,})(?=[ \t]*(?:system|instruction|assistant|user|human|response)\b)")
_TO_ANGLE = str.maketrans("<>", "‹›")
_TO_ROUND = str.maketrans("[]", "()")


@dataclass(frozen=True, slots=True)
class Neutral:
    """Text made harmless; `kept` holds, per character of it, its offset in the original, or None when nothing moved."""

    text: str
    kept: tuple[int, ...] | None

    def anchors(self, anchors: Iterable[Anchor]) -> list[Anchor]:
        """Return the anchors with their spans moved to this text."""
        if self.kept is None:
            return list(anchors)
        moved: list[Anchor] = []
        for anchor in anchors:
            copy = Anchor()
            copy.CopyFrom(anchor)
            copy.span.start = bisect_left(self.kept, anchor.span.start)
            copy.span.end = bisect_left(self.kept, anchor.span.end)
            if copy.span.end > copy.span.start:
                moved.append(copy)
        return moved


# Characters that show nothing and serve to hide or reorder: controls, soft hyphens, fillers, bidirectional controls,
# zero-width ones, variation tags, private use.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ue000-\uf8ff\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)


def is_invisible(text: str, index: int) -> bool:
    """Whether the character at an index is one that shows nothing, and not a joiner that its script needs."""
    char = text[index]
    if not INVISIBLE.match(char):
        return False
    if char in _JOINERS and 0 < index < len(text) - 1:
        return ord(text[index - 1]) < 0x600 or ord(text[index + 1]) < 0x600
    return True


def _sub(pattern: re.Pattern[str], change: Callable[[re.Match[str]], str], text: str) -> str:
    return pattern.sub(change, text) if pattern.search(text) else text


def neutralise(text: str) -> Neutral:
    """Source text as the model may see it."""
    normal = text.replace("\r\n", " \n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    kept: tuple[int, ...] | None = None
    if INVISIBLE.search(normal):
        offsets = tuple(index for index in range(len(normal)) if not is_invisible(normal, index))
        if len(offsets) != len(normal):
            kept = offsets
            normal = "".join(normal[index] for index in offsets)
    normal = _sub(_CITATION, lambda match: match.group().translate(_TO_ROUND), normal)
    normal = _sub(_INST, lambda match: match.group().translate(_TO_ROUND), normal)
    normal = _sub(_ANGLES, lambda match: match.group().translate(_TO_ANGLE), normal)
    normal = _sub(_ROLE, lambda match: match["head"] + "∶", normal)
    normal = _sub(_FENCE_ROLE, lambda match: "♯" * len(match["hashes"]), normal)
    return Neutral(normal, kept)


def one_line(text: str) -> str:
    """Return a file name or label made harmless and kept on one line."""
    flat = " ".join(neutralise(text).text.split())
    return flat.replace("[", "(").replace("]", ")").translate(_TO_ANGLE)
