"""Whole passages where a sentence is not enough: all rows to add up, both things compared, all items, all steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from footnote.types.v1.answer_pb2 import Source
from footnote_text.intents import Intent

from footnote_generation.extractive.passages import Unit, is_order, rows_of
from footnote_generation.extractive.question import Question
from footnote_generation.extractive.ranking import Ranked

Group = tuple[tuple[str, int], ...]

_MOST = 40  # rows or items of one passage
_ROOM = 1500  # characters of paragraphs
_NEAR = 0.8  # share of the best score from which a sentence may lead to the passage instead
_LOOKED = 8
_PER_THING = 2
_THINGS = 4
_MARKED = re.compile(r"(?:[-*•–]|\d{1,2}[.)]|[a-z]\))\s++\S")
_SENTENCE_END = re.compile(r"[.!?。！？]\s*$")


@dataclass(frozen=True, slots=True)
class Shown:
    """Passages to show; `more` is how many lines of them did not fit."""

    groups: tuple[Group, ...]
    more: int = 0


def show(question: Question, ranked: Sequence[Ranked], sources: Mapping[int, Source]) -> Shown | None:
    """Return the passages that a question wants, None where its best sentences are all there is to show.

    `sources` are those of the sentences, by number.
    """
    near = [item for item in ranked[:_LOOKED] if item.score >= _NEAR * ranked[0].score]
    if question.wish is Intent.TOTAL:
        return _first(near, sources, _rows)
    if question.wish is Intent.COMPARISON:
        return _things(question, ranked)
    if question.wish is Intent.SUMMARY:
        return _paragraphs([item.unit for item in ranked if item.unit.source == ranked[0].unit.source])
    if question.wish in {Intent.LIST, Intent.STEPS}:
        return _first(near, sources, _items)
    # "Guests must bring:" is half of a sentence.
    return _first(near[:1], sources, _items) if ":\n" in f"{ranked[0].unit.text}\n" else None


def _first(
    near: Sequence[Ranked], sources: Mapping[int, Source], block: Callable[[list[_Line], int], range | None]
) -> Shown | None:
    """Return the lines of the first block that one of the sentences is in."""
    for item in near:
        source = sources[item.unit.source]
        lines = _lines(source)
        found = block(lines, source.text.count("\n", 0, item.unit.start))
        if found is not None:
            spoken = item.unit.language
            texts = [line.text for line in lines[found.start : found.stop]]
            kept = [text for text in texts if text.strip() and not is_order(text, spoken)]
            groups = tuple(((line, item.unit.source),) for line in kept[:_MOST])
            return Shown(groups, max(0, len(kept) - _MOST))
    return None


class _Line(NamedTuple):
    """A line of a source, and whether it is a row of a table."""

    text: str
    is_row: bool


def _lines(source: Source) -> list[_Line]:
    """Return the lines of a source, with nothing where a heading stands: whatever is listed ends there."""
    headings = {name for one in (source.locator, *(a.locator for a in source.anchors)) for name in one.heading_path}
    rows = {source.text.count("\n", 0, row.start) for row in rows_of(source)}
    lines = source.text.split("\n")
    return [_Line("" if text.strip("# ") in headings else text, at in rows) for at, text in enumerate(lines)]


def _rows(lines: list[_Line], at: int) -> range | None:
    """Return the rows around a row."""
    return _around(lines, at, lambda line: line.is_row)


def _around(lines: list[_Line], at: int, kind: Callable[[_Line], bool]) -> range | None:
    if not kind(lines[at]):
        return None
    first = last = at
    while first and kind(lines[first - 1]):
        first -= 1
    while last + 1 < len(lines) and kind(lines[last + 1]):
        last += 1
    return range(first, last + 1) if last > first else None


def _items(lines: list[_Line], at: int) -> range | None:
    """Return a list with the line that leads to it: marked items around a line, or lines of one make after a colon."""
    marked = _around(lines, at, _is_marked)
    if marked is not None:
        leads = marked.start > 0 and _leads(lines[marked.start - 1])
        return range(marked.start - leads, marked.stop)
    for lead in range(at, max(-1, at - _MOST), -1):
        if _leads(lines[lead]):
            stop = _end_of_list(lines, lead + 1)
            return range(lead, stop) if stop - lead > 2 and at < stop else None
    return None


def _is_marked(line: _Line) -> bool:
    return _MARKED.match(line.text.lstrip()) is not None


def _leads(line: _Line) -> bool:
    return line.text.rstrip().endswith((":", "："))


def _end_of_list(lines: list[_Line], first: int) -> int:
    """Return where the lines end that are alike: rows or none, sentences or none, none that leads to its own list."""
    if first >= len(lines):
        return first
    make = _make(lines[first])
    for index in range(first, len(lines)):
        line = lines[index]
        if not line.text.strip() or _leads(line) or _make(line) != make:
            return index
    return len(lines)


def _make(line: _Line) -> tuple[bool, bool]:
    """Return whether a line is a row, and whether it is a sentence."""
    return line.is_row, _SENTENCE_END.search(line.text) is not None


def _things(question: Question, ranked: Sequence[Ranked]) -> Shown | None:
    """Return for each thing named the paragraphs that speak of it best, those of what is rarest first."""
    holding = {
        word.stems: [item for item in ranked if set(word.stems) & item.unit.analysed.stems] for word in question.about
    }
    rare = sorted((items for items in holding.values() if items), key=len)[:_THINGS]
    chosen: dict[tuple[int, int], Unit] = {}
    for items in rare:
        places: list[tuple[int, int]] = []
        for item in items:
            place = (item.unit.rank, item.unit.place)
            if len(places) < _PER_THING and place not in places:
                places.append(place)
                chosen[place] = item.unit
    if not chosen:
        return None
    units = {(item.unit.rank, item.unit.place): item.unit for item in ranked}
    wanted: dict[tuple[int, int], Unit] = {}
    for unit in chosen.values():
        wanted.update({(one.rank, one.place): one for one in _paragraph(unit, units)})
    return _paragraphs(list(wanted.values()))


def _paragraph(unit: Unit, units: Mapping[tuple[int, int], Unit]) -> list[Unit]:
    """Return the sentences that stand on the same lines as one."""
    found = [unit]
    while (before := units.get((unit.rank, found[0].place - 1))) and before.same_line:
        found.insert(0, before)
    while found[-1].same_line and (after := units.get((unit.rank, found[-1].place + 1))):
        found.append(after)
    return found


def _paragraphs(found: Sequence[Unit]) -> Shown:
    """Return sentences in reading order, those of one paragraph together, as many as there is room for."""
    groups: list[list[tuple[str, int]]] = []
    room, more = _ROOM, 0
    last: Unit | None = None
    for unit in sorted(found, key=lambda one: (one.rank, one.place)):
        if unit.is_heading:
            continue
        if groups and len(unit.text) > room:
            more += 1
            continue
        room -= len(unit.text)
        if unit.is_row:
            groups.append([(unit.text, unit.source)])
            last = None
            continue
        piece = (unit.text, unit.source)
        if last is not None and last.same_line and (last.rank, last.place + 1) == (unit.rank, unit.place):
            groups[-1].append(piece)
        else:
            groups.append([piece])
        last = unit
    return Shown(tuple(map(tuple, groups)), more)
