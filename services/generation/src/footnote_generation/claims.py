"""The sentences of an answer, and which citations each has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from footnote_text import sentences

from footnote_generation import phrases


@dataclass(frozen=True, slots=True)
class PlacedMarker:
    """A citation marker in the finished text; `words` says that it is part of the sentence, not a bracket after it."""

    start: int
    end: int
    number: int
    words: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the answer without the markers before and after it, and the markers that are its own.

    `text` is what it reads without its markers, places named in words included.
    """

    start: int
    end: int
    text: str
    markers: tuple[PlacedMarker, ...]


_LINE = re.compile(r"[^\n]+")
_LIST_MARK = re.compile(r"\s*(?:[-*•–]|\d{1,2}[.)]|#{1,6})\s+")
_DECORATION = re.compile(r"[*_#`>|]+")


def segment(text: str, markers: Sequence[PlacedMarker]) -> list[Sentence]:
    """Cut an answer into sentences. A marker belongs to the sentence it stands in or follows on the same line."""
    brackets = [marker for marker in markers if not marker.words]
    result: list[Sentence] = []
    for line in _LINE.finditer(text):
        plain, origin = _without(text, line.start(), line.end(), brackets)
        spans = sentences.split(plain)
        head = _LIST_MARK.match(plain)
        bounds: list[tuple[int, int]] = []
        for start, end in spans:
            if head and start < head.end():
                start = min(head.end(), end)
            if start < end and any(char.isalnum() for char in plain[start:end]):
                bounds.append((origin[start], origin[end - 1] + 1))
        own: list[list[PlacedMarker]] = [[] for _ in bounds]
        for marker in markers:
            if line.start() <= marker.start < line.end() and bounds:
                # The last sentence that began before it; a marker before the first one goes with that.
                index = max((i for i, (start, _) in enumerate(bounds) if start < marker.end), default=0)
                if marker.words:
                    index = next((i for i, (start, end) in enumerate(bounds) if start <= marker.start < end), index)
                own[index].append(marker)
        for (start, end), mine in zip(bounds, own, strict=True):
            inner = _DECORATION.sub(" ", _without(text, start, end, markers)[0])
            result.append(Sentence(start, end, " ".join(inner.split()).lstrip(" :,;"), tuple(mine)))
    return result


def _without(text: str, start: int, end: int, markers: Sequence[PlacedMarker]) -> tuple[str, list[int]]:
    """Return the text from start to end without markers, and where each of its characters comes from."""
    kept: list[int] = []
    position = start
    for marker in markers:
        if marker.end <= start or marker.start >= end:
            continue
        kept.extend(range(position, max(position, marker.start)))
        position = max(position, marker.end)
    kept.extend(range(position, end))
    return "".join(text[index] for index in kept), kept


def states_something(sentence: Sentence, not_found: Sequence[str]) -> bool:
    """Whether a sentence is a claim that needs a source; a question, a greeting, a lead-in or "not found" is none."""
    plain = _DECORATION.sub("", sentence.text).strip()
    if not sentence.markers and (plain.endswith("?") or plain.endswith(":")):
        return False
    words = re.findall(r"[^\W_]+", plain)
    if len(words) < 2 and not any(char.isdigit() for char in plain) and not sentence.markers:
        return False
    return not phrases.is_pleasantry(plain) and not phrases.is_not_found(plain, not_found)
