"""Finds citation markers in a streamed answer, and never shows half of one.

A decision about a place depends only on the text up to a fixed end mark. So the pieces do not depend on how the stream
is split.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex  # type: ignore[import-untyped]  # it ships no types
from footnote_text import locales
from footnote_text.lexical import is_unspaced

from footnote_generation.language.places import Place, find_places


@dataclass(frozen=True, slots=True)
class Text:
    """Words to show."""

    text: str


@dataclass(frozen=True, slots=True)
class Marker:
    """A citation as the model wrote it: source numbers, or a place in words ("cell C12 of stock.xlsx"), or both.

    A `raised` one (`¹`) is a citation if such sources were given, and text otherwise.
    """

    raw: str
    numbers: tuple[int, ...] = ()
    place: Place | None = None
    raised: bool = False


Piece = Text | Marker
_LIMIT = 240
_MAX_RANGE = 20
_BACKTICKS = re.compile(rf"`{{1,{_LIMIT}}}")
_OPEN = {"[": "]", "【": "】", "［": "］", "(": ")"}
_RAISED_SIGNS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_RAISED_DIGITS = str.maketrans(_RAISED_SIGNS + "⁻", "0123456789-")
_RAISED = re.compile(r"[⁰¹²³⁴-⁹]{1,4}(?:[,⁻]?[⁰¹²³⁴-⁹]{1,4}){0,8}")
_STARTS = re.compile(r"[\[【［(`⁰¹²³⁴-⁹]|(?<!\w)[^\W\d_]")
_WORD_BEFORE = re.compile(r"(\d?)([^\W\d_]{1,32})\Z")
_SEEN = 40  # characters before a place that are kept
_INLINE_LIMIT = 300
_TARGET_LIMIT = 1000
_TARGET = regex.compile(r"\((?:[^\s()]++|\([^\s()]*+\))*+(?:[ ]\"[^\"\n]{0,200}+\")?\)")
_DOUBLED = regex.compile(r"\[\[([^\[\]\n]{1,150}+)\]\]")
_ADDRESS = frozenset("/#.:")
_TRIGGERS = ("selon", "d'après", "d’après", "according to", "as per")
# The prompts' names for a source in every locale: a model that copies "[Quelle 1: …]" cites it.
_NAMES = "|".join(
    sorted({re.escape(locales.choose(code).prompt.source.partition("{")[0].strip(" [")) for code in locales.codes()})
)
_LEAD = (
    rf"(?:(?:sources?|src|ref(?:erence)?s?|document|doc|extrait|passage|voir|see|cf\.?|{_NAMES})"
    r"\s*+(?:[:：]\s*+)?(?:n[°o]\s*+)?\#?)"
)
_OF_ONE = r"(?:\^|s(?=\d))?"  # "^1" as in Markdown, "S1"
_NUMBERS = re.compile(
    rf"(?ix)(?<!\s)\s*+(?:{_LEAD}\s*+)?{_OF_ONE}(?P<list>\d{{1,4}}(?:\s*+(?:,|;|，|；|、|&|/|\band\b|\bet\b|-"
    rf"|–)\s*+(?:{_LEAD}\s*+)?{_OF_ONE}\d{{1,4}}){{0,{_LIMIT // 2}}})\s*+(?P<rest>[:,，：†|].*)?\s*+"
)
_NAMED = re.compile(rf"(?i)(?<!\s)\s*+{_LEAD}")
_HEAD = re.compile(rf"(?i)\A\s*+{_LEAD}?\s*+")
_SENTENCE_END = re.compile(r"[.!?…](?=\s)|\n")
_ABBREVIATED = re.compile(r"(?i)(?:^|[\s(])(?:pp?|cf|fig|art|sec|n[o°]?|ch|vol|réf|ref)$")


def _read_numbers(inner: str, round_bracket: bool) -> tuple[int, ...]:
    """Return the source numbers inside brackets, () for other content."""
    match = _NUMBERS.fullmatch(inner)
    if match is None:
        return ()
    named = _NAMED.match(inner)
    # "(2)" and "(2019)" are ordinary text; so is "[2: something]" without the word "source".
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


def _inline_code(text: str, begin: int, ticks: int, final: bool) -> int | None:
    """Return where inline code with this many backticks ends; `begin` if it is none, None when more text is needed."""
    stop = text.find("\n", begin, begin + _INLINE_LIMIT)
    for run in _BACKTICKS.finditer(text, begin, stop if stop >= 0 else begin + _INLINE_LIMIT):
        if run.end() == len(text) and not final:
            return None
        if run.end() - run.start() == ticks:
            return run.end()
    return begin if stop >= 0 or final or len(text) - begin >= _INLINE_LIMIT else None


def _link_end(text: str, end: int, final: bool) -> int | None:
    """Return the end of a marker with its link address, `[1](https://…)`; None when more text is needed."""
    window = text[end : end + _TARGET_LIMIT]
    short = not final and len(window) < _TARGET_LIMIT
    if not window:
        return None if short else end
    if window[0] != "(":
        return end
    target = _TARGET.match(window, partial=short)
    if target is None:
        return end
    if target.partial:
        return None
    address = target.group()[1:-1]
    return end + target.end() if not address or not _ADDRESS.isdisjoint(address) else end


def _raised(text: str, start: int, before: str, final: bool) -> tuple[Marker | None, int] | None:
    """Return a superscript marker and its end; none after a number or a unit, or at the start of a line."""
    match = _RAISED.match(text, start)
    assert match is not None
    end = match.end()
    if not final and (end == len(text) or (end + 1 == len(text) and text[end] in ",⁻")):
        return None
    word = _WORD_BEFORE.search(before)
    exponent = word is not None and (bool(word[1]) or (len(word[2]) <= 2 and not is_unspaced(word[2][-1])))
    last = before[-1:]
    if exponent or last in ("", "\n") or last.isdigit():
        return None, end
    numbers = _read_numbers(match.group().translate(_RAISED_DIGITS), round_bracket=False)
    return Marker(match.group(), numbers, raised=True), end


class MarkerScanner:
    """Splits a stream of deltas into text and markers; possible markers are held back until they are certain."""

    def __init__(self, filenames: Sequence[str] = ()) -> None:
        self._filenames = tuple(filenames)
        self._buffer = ""
        self._before = ""
        self._in_code = False

    def feed(self, delta: str) -> list[Piece]:
        """Take a delta; return the settled pieces."""
        self._buffer += delta
        return list(self._drain(final=False))

    def finish(self) -> list[Piece]:
        """Return the remaining pieces."""
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
                # Only fences toggle code: an unpaired backtick in prose must not swallow the rest of the answer.
                if end - position >= 3:
                    self._in_code = not self._in_code
                elif not self._in_code:
                    closed = _inline_code(text, end, end - position, final)
                    if closed is None:
                        break
                    end = closed
                position = end
                continue
            previous = text[position - 1] if position else self._before[-1:]
            # A word-like character may be a numeral that is no letter: "½", "CO₂".
            plain = char.isnumeric() and not char.isalpha() and char not in _RAISED_SIGNS
            if self._in_code or plain or (char.isalpha() and previous and (previous.isalnum() or previous == "_")):
                position += 1
                continue
            if char in _OPEN:
                outcome = self._bracket(text, position, final)
            elif char.isalpha():
                outcome = self._clause(text, position, final)
            else:
                outcome = _raised(text, position, (self._before + text[max(0, position - _SEEN) : position]), final)
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
            self._before = (self._before + text[max(0, position - _SEEN) : position])[-_SEEN:]
        self._buffer = text[position:]

    def _bracket(self, text: str, start: int, final: bool) -> tuple[Marker | None, int] | None:
        """Return a marker in brackets and its end; no marker and where to go on; or None when more text is needed."""
        close = _OPEN[text[start]]
        if text.startswith("[[", start):
            return self._doubled(text, start, final)
        for index in range(start + 1, min(len(text), start + _LIMIT)):
            char = text[index]
            if char == close:
                inner = text[start + 1 : index]
                numbers = _read_numbers(inner, close == ")")
                if numbers:
                    end = index + 1 if close == ")" else _link_end(text, index + 1, final)
                    return None if end is None else (self._numbered(text[start:end], inner, numbers), end)
                raw = text[start : index + 1]
                if close == "]" and index + 1 == len(text) and not final:
                    return None  # "[page 3](https://…" is a link, "[page 3 of a.pdf]" is not
                linked = text[index + 1 : index + 2] == "("
                places = [] if linked else find_places(inner, self._filenames)
                whole = places and places[0].filename and _covers(inner, places[0])
                return (Marker(raw, place=places[0]), index + 1) if whole else (None, start + 1)
            if char == "\n" or char in "[【［":
                return None, start + 1
        if len(text) - start >= _LIMIT or final:
            return None, start + 1
        return None

    def _doubled(self, text: str, start: int, final: bool) -> tuple[Marker | None, int] | None:
        """Return the same for numbers in double brackets, `[[1]]`, which may have a link."""
        window = text[start : start + _LIMIT]
        match = _DOUBLED.match(window, partial=not final and len(window) < _LIMIT)
        if match is not None and match.partial:
            return None
        numbers = _read_numbers(match[1], round_bracket=False) if match is not None else ()
        if match is None or not numbers:
            return None, start + 1
        end = _link_end(text, start + match.end(), final)
        return None if end is None else (self._numbered(text[start:end], match[1], numbers), end)

    def _numbered(self, raw: str, inner: str, numbers: tuple[int, ...]) -> Marker:
        """Return a marker of numbers, with the place that it may name after them: "Source 2: page 3"."""
        places = find_places(inner, self._filenames) if any(char.isalpha() for char in inner) else []
        return Marker(raw, numbers, places[0] if len(numbers) == 1 and len(places) == 1 else None)

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
    """Return whether a text has more than articles and similar words."""
    return _FILLER.fullmatch(text) is None


def _covers(inner: str, place: Place) -> bool:
    """Return whether the brackets contain only a place, with a lead such as "source:"."""
    head = _HEAD.sub("", inner[: place.start])
    return not _filler(head) and not inner[place.end :].strip(" .;,")


def scan(text: str, filenames: Sequence[str] = ()) -> list[Piece]:
    """Return the pieces of a whole text."""
    scanner = MarkerScanner(filenames)
    return [*scanner.feed(text), *scanner.finish()]
