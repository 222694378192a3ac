"""The sentences of an answer, with the citations of each."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter

from footnote_text import sentences

from footnote_generation.language import phrases
from footnote_generation.language.cldr import date_begin
from footnote_generation.verification import quotations
from footnote_generation.verification.layout import Context, PlacedMarker, Sentence, clauses, context_begin, of_row
from footnote_generation.verification.normalised import BULLETS

__all__ = ["PlacedMarker", "Sentence", "segment", "states_something"]


_LINE = re.compile(r"[^\n]+")
_LIST_MARK = re.compile(rf"(?<!\s)\s*+(?:(?:(?:[-*•–·‣]\s++)?\d{{1,4}}[.)]|[-*•–·‣]|#{{1,6}})\s++|[{BULLETS}]++\s*+)")
_DECORATION = re.compile(r"[*_#`|]+")
_BLOCK_QUOTE = re.compile(r"(?<!\s)\s*+>[\s>]*+")
_BACK = 300
"""Earlier lines that are searched for a table's header or a list's introduction."""


def segment(text: str, markers: Sequence[PlacedMarker], begin: int = 0) -> list[Sentence]:
    """Split an answer into statements: clauses, list items, table cells. A footnote belongs to the text before it.

    `begin` is the start of a line: earlier lines are left out.
    """
    back = context_begin(text, begin, _BACK)
    lines = [match.span() for match in _LINE.finditer(text, back)]
    code = _code_lines(text, lines, back)
    by_line = _touching([marker for marker in markers if marker.end > back], lines)
    context = Context()
    result: list[Sentence] = []
    for number, (first, last) in enumerate(lines):
        here = by_line[number]
        if number not in code and (row := context.row(text, first, last)) is not None:
            if first >= begin:
                result += of_row(text, row, context.header, here)
            continue
        if first < begin and (number in code or _adds_nothing(text[first:last])):
            continue
        plain, origin = _without(text, first, last, [marker for marker in here if not marker.words])
        if number not in code and (quote := _BLOCK_QUOTE.match(plain)):
            plain = " " * quote.end() + plain[quote.end() :]
        own_here = [marker for marker in here if first <= marker.start < last]
        if own_here and number not in code and not any(char.isalnum() for char in plain):
            _to_line_above(result, own_here)
            continue
        if first < begin:
            _extend(context, plain, entry=_is_entry(text, first, last, plain, here))
            continue
        spans = [(0, len(plain))] if number in code else _ended(sentences.split(plain), plain, origin)
        head = _LIST_MARK.match(plain)
        begun = (head.end() if (date := date_begin(plain)) < 0 else date) if head else 0
        mark = _mark(plain, begun)
        heading = number in code or _HEADING.match(text, first, last) is not None or _is_inline_code(plain)
        entry = not heading and _is_entry(text, first, last, plain, here)
        bounds: list[tuple[int, int]] = []
        for start, end in spans:
            if start < begun:
                start = min(begun, end)
            if start < end and any(char.isalnum() for char in plain[start:end]):
                bounds.append((origin[start], origin[end - 1] + 1))
        own: list[list[PlacedMarker]] = [[] for _ in bounds]
        for marker in own_here:
            if bounds:
                own[_owner(marker, bounds)].append(marker)
        inside = _touching(here, bounds)
        quoted = [(first + opened, first + closed) for opened, closed in quotations.find(text[first:last])]
        lead = context.introduction if head and not plain.lstrip().startswith("#") else ""
        for index, ((start, end), mine) in enumerate(zip(bounds, own, strict=True)):
            for left, right, some in [(start, end, mine)] if heading or entry else clauses(text, start, end, mine):
                inner = _DECORATION.sub(" ", _without(text, left, right, inside[index])[0])
                said = " ".join(inner.split()).lstrip(" :,;，；")
                alone = entry and len(bounds) == 1
                own_mark = mark if begun and left == origin[begun] else ""
                spoken = quotations.holds(quoted, left, right)
                result.append(
                    Sentence(left, right, said, tuple(some), heading, alone, context.listed, lead, own_mark, spoken)
                )
        if number not in code:
            _extend(context, plain, entry=entry)
    return result


def _mark(line: str, begun: int) -> str:
    """Return the number that marks a list item, or the dash of one that begins with a digit; "" for others."""
    mark = "".join(line[:begun].split()[-1:])
    if mark[:-1].isdecimal():
        return str(int(mark[:-1]))
    return "-" if mark in ("-", "–") and line[begun : begun + 1].isdigit() else ""


_LETTER_ENDS = re.compile(r"\b[^\W\d_]\.(?=\s)")


def _ended(spans: Sequence[tuple[int, int]], plain: str, origin: Sequence[int]) -> list[tuple[int, int]]:
    """Return sentences, split also at a footnote after one letter with a full stop: "Halle C. [1] Die"."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        begin = start
        for match in _LETTER_ENDS.finditer(plain, start, end):
            at = match.end()
            while at < end and plain[at].isspace():
                at += 1
            if at < end and origin[at] - origin[match.end() - 1] > at - match.end() + 1:
                found.append((begin, match.end()))
                begin = at
        found.append((begin, end))
    return found


def _to_line_above(result: list[Sentence], markers: Sequence[PlacedMarker]) -> None:
    """Assign markers on a line of their own to the statement before them."""
    if result and not (result[-1].heading or result[-1].entry):
        result[-1] = replace(result[-1], markers=(*result[-1].markers, *markers))


_FENCE = re.compile(r"(?m)^[ \t>]*+(?:(?:[-*+•]|\d{1,9}[.)])[ \t]++)?(?P<fence>`{3,}+|~{3,}+)(?P<info>[^\n]*)")


def _code_lines(text: str, lines: Sequence[tuple[int, int]], begin: int) -> set[int]:
    """Return the indexes of fenced lines, including the fences; an open one extends to the end."""
    fence, opened = "", 0
    held: list[tuple[int, int]] = []
    for match in _FENCE.finditer(text):
        mark, info = match["fence"], match["info"]
        if not fence:
            if mark[0] == "~" or "`" not in info:
                fence, opened = mark, match.start()
        elif mark[0] == fence[0] and len(mark) >= len(fence) and not info.strip():
            held.append((opened, match.end()))
            fence = ""
    if fence:
        held.append((opened, len(text)))
    found: set[int] = set()
    for start, end in held:
        if end > begin:
            first = bisect_right(lines, start, key=itemgetter(1))
            found.update(range(first, bisect_left(lines, end, key=itemgetter(0))))
    return found


_INLINE_ONLY = re.compile(r"\A[^\w`]*+(?:`[^`]++`|``(?:[^`]|`(?!`))++``)[^\w`]*+")


def _is_inline_code(line: str) -> bool:
    """Return whether a line is only one piece of inline code: a command to type, a name to copy."""
    return "`" in line and _INLINE_ONLY.fullmatch(line) is not None


_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]")


def _is_entry(text: str, first: int, last: int, plain: str, markers: Sequence[PlacedMarker]) -> bool:
    """Return whether a line has the form of an entry of a source list: a marker first and then no sentence."""
    own = [marker for marker in markers if first <= marker.start < last and not marker.words]
    lead = text[first : own[0].start].strip(" \t-*•") if own else "."
    return not lead and len(own) == 1 and plain.rstrip()[-1:] not in set(".!?。！？…|")


def _adds_nothing(line: str) -> bool:
    """Return whether a line is a list item or heading that says nothing about the lines after it."""
    return _LIST_MARK.match(line) is not None and not phrases.is_source_list(line)


def _extend(context: Context, plain: str, *, entry: bool) -> None:
    """Take a line, without its markers, that is neither a row nor code."""
    listed = _LIST_MARK.match(plain) is not None
    context.line(" ".join(_DECORATION.sub(" ", plain).split()), listed=listed)
    context.listed = phrases.is_source_list(plain) or (context.listed and (listed or entry))


def _owner(marker: PlacedMarker, bounds: Sequence[tuple[int, int]]) -> int:
    """Return the sentence of a line that a marker belongs to: the last one begun before it, else the first."""
    if marker.words:
        holding = bisect_right(bounds, marker.start, key=itemgetter(0)) - 1
        if holding >= 0 and marker.start < bounds[holding][1]:
            return holding
    return max(0, bisect_left(bounds, marker.end, key=itemgetter(0)) - 1)


def _touching(
    markers: Sequence[PlacedMarker], stretches: Sequence[tuple[int, int]]
) -> defaultdict[int, list[PlacedMarker]]:
    """Return the markers that overlap each stretch, by its index; stretches are in order and do not overlap."""
    found: defaultdict[int, list[PlacedMarker]] = defaultdict(list)
    for marker in markers:
        index = bisect_right(stretches, marker.start, key=itemgetter(1))
        while index < len(stretches) and stretches[index][0] < marker.end:
            found[index].append(marker)
            index += 1
    return found


def _without(text: str, start: int, end: int, markers: Sequence[PlacedMarker]) -> tuple[str, list[int]]:
    """Return the text from start to end without markers, and the origin of each of its characters."""
    kept: list[int] = []
    position = start
    for marker in markers:
        if marker.end <= start or marker.start >= end:
            continue
        kept.extend(range(position, max(position, marker.start)))
        position = max(position, marker.end)
    kept.extend(range(position, end))
    return "".join(text[index] for index in kept), kept


def states_something(
    sentence: Sentence, not_found: Sequence[str], question: str = "", *, strictly: bool = False
) -> bool:
    """Return whether a sentence needs a source; questions, greetings, lead-ins and "not found" do not.

    `question` is what it answers, "" if unknown. `strictly`, such a sentence states nothing only if it is one of the
    `not_found`, or no clause and no number of it is left over.
    """
    plain = _DECORATION.sub("", sentence.text).strip()
    if sentence.heading or phrases.is_finder_notice(plain) or phrases.is_source_list(plain):
        return False
    if not sentence.markers and plain.endswith((*sentences.QUESTION_MARKS, ":")):
        return strictly and bool(question) and phrases.new_number(plain, question)
    words = re.findall(r"[^\W_]+", plain)
    if len(words) < 2 and not any(char.isdigit() for char in plain) and not sentence.markers:
        return False
    if phrases.is_pleasantry(plain) or phrases.is_given(plain, not_found):
        return False
    cited = bool(sentence.markers)
    if phrases.is_not_found(plain) or phrases.declines(plain, sorry=not cited):
        return phrases.says_more(plain, question, strictly=strictly, cited=cited)
    return True
