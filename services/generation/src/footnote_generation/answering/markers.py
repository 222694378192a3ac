"""Finding citation markers in an answer while it streams in, never letting half of one through.

A decision about a place in the text rests only on what follows up to a fixed end mark, so however the stream is cut
the pieces are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from footnote_generation.language.places import Place, find_places


@dataclass(frozen=True, slots=True)
class Text:
    """Words to show."""

    text: str


@dataclass(frozen=True, slots=True)
class Marker:
    """A citation as the model wrote it: source numbers, or a place in words ("cell C12 of stock.xlsx")."""

    raw: str
    numbers: tuple[int, ...] = ()
    place: Place | None = None


Piece = Text | Marker
_LIMIT = 160
_MAX_RANGE = 20
_BACKTICKS = re.compile(rf"`{{1,{_LIMIT}}}")
_OPEN = {"[": "]", "【": "】", "(": ")"}
_STARTS = re.compile(r"[\[【(`]|(?<!\w)[^\W\d_]")
_TRIGGERS = ("selon", "d'après", "d’après", "according to", "as per")
_LEAD = (
    r"(?:(?:sources?|src|ref(?:erence)?s?|document|doc|extrait|passage|voir|see|cf\.?"
    r"|quelle)\s*+(?::\s*+)?(?:n[°o]\s*+)?\#?)"
)
_NUMBERS = re.compile(
    rf"(?ix)(?<!\s)\s*+(?:{_LEAD}\s*+)?(?P<list>\d{{1,4}}(?:\s*+(?:,|;|&|/|\band\b|\bet\b|-"
    rf"|–)\s*+(?:{_LEAD}\s*+)?\d{{1,4}}){{0,{_LIMIT // 2}}})\s*+(?P<rest>[:,†|].*)?\s*+"
)
_NAMED = re.compile(rf"(?i)(?<!\s)\s*+{_LEAD}")
_HEAD = re.compile(rf"(?i)\A\s*+{_LEAD}?\s*+")
_SENTENCE_END = re.compile(r"[.!?…](?=\s)|\n")
_ABBREVIATED = re.compile(r"(?i)(?:^|[\s(])(?:pp?|cf|fig|art|sec|n[o°]?|ch|vol|réf|ref)$")


def _read_numbers(inner: str, round_bracket: bool) -> tuple[int, ...]:
    """Return the source numbers inside brackets, () when they hold something else."""
    match = _NUMBERS.fullmatch(inner)
    if match is None:
        return ()
    named = _NAMED.match(inner)
    # "(2)" and "(2019)" are ordinary text; "[2: something]" without the word "source" too.
    if (round_bracket and not named) or (match["rest"] and not named and not match["rest"].startswith("†")):
        return ()
    numbers: list[int] = []
    previous: int | None = None
    ranged = False
    for token in re.findall(r"[-–]|\d+", match["list"]):
        if token in "-–":
            ranged = True
            continue
        value = int(token)
        if ranged and previous is not None and previous < value <= previous + _MAX_RANGE:
            numbers.extend(range(previous + 1, value + 1))
        else:
            numbers.append(value)
        previous, ranged = value, False
    return tuple(dict.fromkeys(numbers))


class MarkerScanner:
    """Splits a stream of deltas into text and markers; what might become a marker is held back until it is known."""

    def __init__(self, filenames: Sequence[str] = ()) -> None:
        self._filenames = tuple(filenames)
        self._buffer = ""
        self._before = ""
        self._in_code = False

    def feed(self, delta: str) -> list[Piece]:
        """Return what the stream has settled so far."""
        self._buffer += delta
        return list(self._drain(final=False))

    def finish(self) -> list[Piece]:
        """Return the rest."""
        return list(self._drain(final=True))

    def _drain(self, final: bool) -> Iterator[Piece]:
        position = 0
        shown = 0
        text = self._buffer
        while True:
            match = _STARTS.search(text, position)
            if match is None:
                position = len(text)
                break
            position = match.start()
            char = text[position]
            if char == "`":
                run = _BACKTICKS.match(text, position)
                end = run.end() if run else position + 1
                if end == len(text) and end - position < _LIMIT and not final:
                    break
                # Only fences switch: an unpaired backtick in prose must not swallow the rest of the answer.
                if end - position >= 3:
                    self._in_code = not self._in_code
                position = end
                continue
            previous = text[position - 1] if position else self._before
            if self._in_code or (char.isalpha() and previous and (previous.isalnum() or previous == "_")):
                position += 1
                continue
            outcome = self._bracket(text, position, final) if char in _OPEN else self._clause(text, position, final)
            if outcome is None:
                break
            marker, end = outcome
            if marker is not None:
                if position > shown:
                    yield Text(text[shown:position])
                yield marker
                shown = end
            position = end
        if position > shown:
            yield Text(text[shown:position])
        if position:
            self._before = text[position - 1]
        self._buffer = text[position:]

    def _bracket(self, text: str, start: int, final: bool) -> tuple[Marker | None, int] | None:
        """Return a marker in brackets and its end; no marker and where to go on; or None when more text is needed."""
        close = _OPEN[text[start]]
        for index in range(start + 1, min(len(text), start + _LIMIT)):
            char = text[index]
            if char == close:
                inner = text[start + 1 : index]
                raw = text[start : index + 1]
                numbers = _read_numbers(inner, close == ")")
                if numbers:
                    return Marker(raw, numbers), index + 1
                if close == "]" and index + 1 == len(text) and not final:
                    return None  # "[page 3](https://…" is a link, "[page 3 of a.pdf]" is not
                linked = text[index + 1 : index + 2] == "("
                places = [] if linked else find_places(inner, self._filenames)
                whole = places and places[0].filename and _covers(inner, places[0])
                return (Marker(raw, place=places[0]), index + 1) if whole else (None, start + 1)
            if char == "\n" or (char in "[【" and close != ")") or (char in "[【(" and close == ")" and char != "("):
                return None, start + 1
        if len(text) - start >= _LIMIT or final:
            return None, start + 1
        return None

    def _clause(self, text: str, start: int, final: bool) -> tuple[Marker | None, int] | None:
        """Return the same for a clause such as "according to page 3 of report.pdf"."""
        lowered = text[start : start + 16].lower()
        trigger = next((item for item in _TRIGGERS if lowered.startswith(item)), None)
        if trigger is None:
            if not final and len(text) - start < 14 and any(item.startswith(lowered) for item in _TRIGGERS):
                return None
            return None, start + 1
        end = start + len(trigger)
        if end == len(text) and not final:
            return None
        if end < len(text) and text[end].isalnum():
            return None, start + 1
        for match in _SENTENCE_END.finditer(text, end, start + _LIMIT):
            if not _ABBREVIATED.search(text[end : match.start()]):
                stop = match.start()
                break
        else:
            if len(text) - start <= _LIMIT and not final:
                return None
            stop = min(len(text), start + _LIMIT)
        clause = text[start:stop]
        places = find_places(clause, self._filenames)
        if not places or not places[0].filename or _filler(clause[len(trigger) : places[0].start]):
            return None, start + 1
        return Marker(clause[: places[0].end], place=places[0]), start + places[0].end


_FILLER = re.compile(
    r"(?i)[\s,:]*(?:(?:the|le|la|les|l['’]|du|de|des|ce que dit|what is (?:said|stated) (?:in|on)|information "
    r"(?:in|from|on)|data (?:in|from)|les? (?:informations?|données) (?:de|du|dans))[\s]*)*"
)


def _filler(text: str) -> bool:
    """Whether a text holds more than articles and the like."""
    return _FILLER.fullmatch(text) is None


def _covers(inner: str, place: Place) -> bool:
    """Whether a place, with a lead such as "source:", is all that stands in brackets."""
    head = _HEAD.sub("", inner[: place.start])
    return not _filler(head) and not inner[place.end :].strip(" .;,")


def scan(text: str, filenames: Sequence[str] = ()) -> list[Piece]:
    """Return the pieces of a whole text."""
    scanner = MarkerScanner(filenames)
    return [*scanner.feed(text), *scanner.finish()]
