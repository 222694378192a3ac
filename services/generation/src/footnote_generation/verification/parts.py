"""The quotable parts of a source: its sentences, list items with their introduction, and short lines.

Nothing less than a sentence is quotable: the text left out may deny the rest.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise

from footnote_text import sentences

from footnote_generation.language.cldr import date_begin
from footnote_generation.verification import quotations
from footnote_generation.verification.normalised import BULLETS, Token, tokens

_ITEM = re.compile(
    rf"(?<![ \t])[ \t]*+(?:(?:(?:[-*•–·‣][ \t]++)?\d{{1,3}}[.)]|[-*•–·‣]|[a-z]\))[ \t]++|[{BULLETS}]++[ \t]*+)"
)
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]++(?P<text>\S.*)|(?<![ \t])[ \t]*+\*\*(?P<bold>[^*\n]++)\*\*:?[ \t]*+")
_LABELLED = re.compile(r"[^:：.!?\n]{1,60}[:：][ \t]*+\S")
_CAPITAL = re.compile(r"(?<=\b[A-Z]\.)\s+(?=[^\Wa-z_])")
_ENDS = tuple(".!?…。！？:：;")
_AROUND = " \t\"'“”„«»‹›’‘)）」』]*_"


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a source that can be quoted by itself.

    `tokens` are those of its introduction and its text. `starts` are the indexes at which a sentence, item or
    introduction begins, where a capital has no meaning. `heading` is the heading above it, as tokens. `next` is the
    index of the following part in the same paragraph, -1 for none.
    """

    tokens: tuple[Token, ...]
    starts: frozenset[int]
    start: int
    end: int
    heading: tuple[Token, ...]
    question: bool
    next: int = -1
    mark: str = ""
    """The number before a list item, or the dash before a lone one that begins with degrees: perhaps a minus."""
    ranked: bool = False
    """Whether its mark may belong to what it says: "3. Mahnung: 40 EUR" below "2. Mahnung: 10 EUR"."""
    spoken: bool = False
    """Whether it is a sentence of a longer quotation, whose speaker another sentence may name."""


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str


def cut(text: str, decimal: str, headings: Set[str] = frozenset()) -> tuple[Part, ...]:
    """Return the parts of a source in order; `decimal` is its language's decimal sign.

    A line in `headings` counts as a heading, like one that Markdown marks.
    """
    found: list[Part] = []
    marks = _marks(text)
    said = quotations.find(text)
    for start, end, lead, heading, follows in _stretches(text, headings):
        mark, ranked = marks.get(start, ("", False))
        if numbered := _NUMBERING.match(text, start, end):
            start = numbered.end()  # "3.2 Managers approve trips."
        inner = _moved(tokens(text[start:end], decimal), start)
        if not inner:
            continue
        if _NOTED.match(text[start:end]):
            inner = (*inner, Token("*", end - 1, end))
        before = _moved(tokens(text[lead[0] : lead[1]], decimal), lead[0]) if lead else ()
        above = _moved(tokens(text[heading[0] : heading[1]], decimal), heading[0]) if heading else ()
        question = text[start:end].rstrip(_AROUND)[-1:] in {*sentences.QUESTION_MARKS}
        if follows and found:
            found[-1] = _before(found[-1], len(found))
        starts = frozenset({0, len(before)})
        spoken = quotations.holds(said, start, end)
        found.append(Part((*before, *inner), starts, start, end, above, question, -1, mark, ranked, spoken))
    return tuple(found)


def _before(part: Part, number: int) -> Part:
    return replace(part, next=number)


_NOTED = re.compile(r"\A[^*†‡]++[*†‡]++[.!?…。]?\s*+\Z")
"""A text with the mark of a note at its end, "Entry is free.*", which no statement can repeat."""
_NUMBERING = re.compile(r"(?<![ \t])[ \t]*+(?:§[ \t]*+)?(?:\d{1,3}(?:\.\d{1,3}){1,9}+\.?|\(\d{1,3}\))[ \t]++")


def _moved(found: Sequence[Token], by: int) -> tuple[Token, ...]:
    return tuple(Token(one.text, one.start + by, one.end + by) for one in found)


_DASHED = re.compile(r"(?<![ \t])[ \t]*+[-–][ \t]++")
_AMOUNT = re.compile(r"\A(?P<name>[^\W\d_]++)[ \t]*+[:：][^\w\n]{0,3}\d")
_DEGREES = re.compile(r"\A[\d.,]++\s?[°℃℉]")


def _marks(text: str) -> dict[int, tuple[str, bool]]:
    """Return the marks of list items by where their texts begin, and whether a mark may belong to what is said.

    A number does where several items name an amount with the same word: "2. Mahnung: 5 EUR". A lone dash does before
    degrees.
    """
    lines = [line for line in _lines(text) if line.text.strip()]
    found: dict[int, tuple[str, bool]] = {}
    names: dict[int, str] = {}
    numbers: dict[str, set[str]] = defaultdict(set)
    for at, line in enumerate(lines):
        if (item := _item(line)) is None:
            continue
        begin, said = line.start + item[0], line.text[item[0] :].casefold()
        number = "".join(item[1].split()[-1:])[:-1]
        if number.isdecimal():
            found[begin] = (str(int(number)), False)
            if amount := _AMOUNT.match(said):
                names[begin] = amount["name"]
                numbers[amount["name"]].add(found[begin][0])
        elif item[1] in ("-", "–") and _DEGREES.match(said):
            near = [*lines[max(0, at - 1) : at], *lines[at + 1 : at + 2]]
            if not any(_DASHED.match(other.text) for other in near):
                found[begin] = ("-", True)
    for begin, name in names.items():
        found[begin] = (found[begin][0], len(numbers[name]) > 1)
    return found


def _item(line: _Line) -> tuple[int, str] | None:
    """Return where the text of a list item begins in its line, and the mark before it; the day of a date is none."""
    if (found := _ITEM.match(line.text)) is None:
        return None
    end = found.end() if (date := date_begin(line.text)) < 0 else date
    return end, line.text[:end].strip()


_Span = tuple[int, int]


def _stretches(text: str, headings: Set[str]) -> Iterator[tuple[int, int, _Span | None, _Span | None, bool]]:
    """Return start, end, introduction and heading of each part, and whether it continues the one before."""
    heading: _Span | None = None
    lead: _Span | None = None
    block: list[_Line] = []
    items = False
    for line in [*_lines(text), _Line(len(text), len(text), "")]:
        plain = line.text.strip()
        item = _item(line)
        above = (line.start, line.start + len(line.text)) if plain in headings else _marked(line)
        # An indented line continues the item above it.
        goes_on = items and bool(block) and plain and line.text[:1].isspace() and item is None
        if block and not goes_on and (not plain or item or above or items):
            introduced = lead if items else None
            yield from _of_block(text, block, introduced, heading, items)
            last = block[-1].text.rstrip()
            if not items:
                lead = _introduction(text, block) if last.endswith((":", "：")) else None
            block = []
        if not plain:
            items = False
            continue
        if above:
            heading = above
            lead, items = None, False
            continue
        if item:
            items = True
            block = [_Line(line.start + item[0], line.end, line.text[item[0] :])]
            continue
        if not goes_on:
            items = False
        block.append(line)


def _marked(line: _Line) -> _Span | None:
    """Return the text of a heading that Markdown marks."""
    if (found := _HEADING.fullmatch(line.text)) is None:
        return None
    group = "text" if found["text"] else "bold"
    return line.start + found.start(group), line.start + found.end(group)


def _lines(text: str) -> Iterator[_Line]:
    offset = 0
    for line in text.splitlines(keepends=True):
        body = line.rstrip("\r\n")
        yield _Line(offset, offset + len(body), body)
        offset += len(line)


def _introduction(text: str, block: Sequence[_Line]) -> _Span:
    """Return the last sentence of a paragraph that ends in a colon."""
    start, end = block[0].start, block[-1].end
    first, last = sentences.split(text[start:end])[-1]
    return start + first, start + last


def _of_block(
    text: str, block: Sequence[_Line], lead: _Span | None, heading: _Span | None, items: bool
) -> Iterator[tuple[int, int, _Span | None, _Span | None, bool]]:
    start, end = block[0].start, block[-1].end
    spans = [(start + first, start + last) for first, last in sentences.split(text[start:end])]
    if items:
        yield start, end, lead, heading, False
        if lead is None and len(spans) > 1:
            for number, (first, last) in enumerate(spans):
                yield first, last, None, heading, number > 0
        return
    lines = [line for at, line in enumerate(block) if _stands_alone(block, at)]
    if len(lines) == len(block) > 1:
        for line in lines:
            yield line.start, line.end, None, heading, False
        return
    whole = len(spans) == 1 and len(block) == 1
    follows = False
    for first, last in spans:
        # A passage may begin or end in mid-sentence; such a fragment is not quotable.
        cut_off = last == len(text.rstrip()) and not text[first:last].rstrip(_AROUND).endswith(_ENDS) and not whole
        begun = first == len(text) - len(text.lstrip()) and text[first : first + 1].islower()
        # Text that ends in a colon only introduces: "Do not take Dolofen:".
        quotable = not cut_off and not begun and not text[first:last].endswith((":", "："))
        if quotable:
            yield first, last, None, heading, follows
        follows = quotable
    for line in lines:
        if (line.start, line.end) not in spans:
            yield line.start, line.end, None, heading, False
    for first, last in spans:
        # "… in Raum C. Stand 104 …": it is uncertain whether a sentence ends after one capital.
        ends = [match.end() for match in _CAPITAL.finditer(text, first, last)]
        for begin, stop in pairwise([first, *ends, last]) if ends else ():
            yield begin, stop, None, heading, False


def _stands_alone(block: Sequence[_Line], at: int) -> bool:
    """Return whether a line of a paragraph is a label with its value, not part of a wrapped sentence."""
    line = block[at]
    if not _LABELLED.match(line.text) or line.text.lstrip()[:1].islower():
        return False
    before, after = block[at - 1] if at else None, block[at + 1] if at + 1 < len(block) else None
    if before is not None and not (_LABELLED.match(before.text) or before.text.rstrip(_AROUND).endswith(_ENDS)):
        return False
    return after is None or (_LABELLED.match(after.text) is not None and not after.text.lstrip()[:1].islower())
