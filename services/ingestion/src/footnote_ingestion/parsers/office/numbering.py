"""Computes list and heading numbers of a Word document, which are in no text there, and inserts them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree  # type: ignore[import-untyped]

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PLACEHOLDER = re.compile(r"%([1-9])")
_LEVELS = 9
_MOST_BASES = 10
# Larger numbers are written as digits: letters and Roman numerals grow with the number.
_MOST_SPELT = 4_000
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_GONE = tuple(f"{_W}pPr/{_W}rPr/{_W}{name}" for name in ("del", "moveFrom"))
_SHOWN = (f"{_W}t", f"{_W}sym", f"{_W}drawing", "{http://schemas.openxmlformats.org/officeDocument/2006/math}t")


@dataclass(slots=True)
class _Level:
    start: int = 1
    format: str = "decimal"
    text: str = ""
    restart: int = -1
    """The level, from 1, that restarts this one; 0: none does; -1: any above it."""
    legal: bool = False
    style: str = ""


@dataclass(slots=True)
class _List:
    """A list: lists of the same `kind` share a count. `starts`: levels that restart with it."""

    kind: str
    levels: dict[int, _Level]
    starts: dict[int, int] = field(default_factory=dict)


class Numbers:
    """Gives each paragraph its number; paragraphs must be passed in order."""

    def __init__(self, numbering: etree._Element | None, styles: etree._Element) -> None:
        self._lists = _lists(numbering) if numbering is not None else {}
        self._of_style = _of_styles(styles, self._lists)
        self._counts: dict[str, list[int | None]] = {}
        self._begun: set[str] = set()

    def of(self, paragraph: etree._Element) -> str:
        """Return the number before a paragraph as Word shows it, "" for none or a bullet."""
        name, level = self._place(paragraph)
        found = self._lists.get(name)
        if found is None or level not in found.levels or any(paragraph.find(gone) is not None for gone in _GONE):
            return ""
        counts = self._counts.setdefault(found.kind, [None] * _LEVELS)
        if name not in self._begun:
            self._begun.add(name)
            for one, start in found.starts.items():
                counts[one] = start - 1
        before = counts[level]
        counts[level] = found.levels[level].start if before is None else before + 1
        for below in range(level + 1, _LEVELS):
            restart = found.levels[below].restart if below in found.levels else -1
            if restart < 0 or 0 < restart >= level + 1:
                counts[below] = None
        return _shown(found.levels, counts, level)

    def _place(self, paragraph: etree._Element) -> tuple[str, int]:
        """Return a paragraph's list and level, its own or its style's."""
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        name, level = self._of_style.get(value_of(style), ("", 0)) if style is not None else ("", 0)
        own = paragraph.find(f"{_W}pPr/{_W}numPr")
        if own is not None:
            name = value_of(own.find(f"{_W}numId")) or name
            level = _number(own.find(f"{_W}ilvl"), level)
        return name, min(max(level, 0), _LEVELS - 1)


def set_before(body: etree._Element, numbers: Numbers) -> None:
    """Insert each paragraph's number as a run at its beginning."""
    for paragraph in list(body.iter(f"{_W}p")):
        if not any(True for _ in paragraph.iter(*_SHOWN)):
            numbers.of(paragraph)
            continue
        if number := numbers.of(paragraph):
            run = etree.Element(f"{_W}r")
            etree.SubElement(run, f"{_W}t").text = number + " "
            paragraph.insert(1 if paragraph.find(f"{_W}pPr") is not None else 0, run)


def _lists(numbering: etree._Element) -> dict[str, _List]:
    kinds: dict[str, dict[int, _Level]] = {}
    styled: dict[str, dict[int, _Level]] = {}
    linked: dict[str, str] = {}
    for one in numbering.iterchildren(f"{_W}abstractNum"):
        kind = one.get(f"{_W}abstractNumId") or ""
        kinds[kind] = {_index(level): _level(level, _Level()) for level in one.iterchildren(f"{_W}lvl")}
        styled[value_of(one.find(f"{_W}styleLink"))] = kinds[kind]
        linked[kind] = value_of(one.find(f"{_W}numStyleLink"))
    for kind, style in linked.items():  # the levels of a style of lists are with another list
        kinds[kind] = kinds[kind] or (styled.get(style, {}) if style else {})
    lists = {}
    for one in numbering.iterchildren(f"{_W}num"):
        kind = value_of(one.find(f"{_W}abstractNumId"))
        levels = dict(kinds.get(kind, {}))
        made = _List(kind, levels)
        for override in one.iterchildren(f"{_W}lvlOverride"):
            at = _index(override)
            if (level := override.find(f"{_W}lvl")) is not None:
                levels[at] = _level(level, _Level())
            if (start := override.find(f"{_W}startOverride")) is not None:
                made.starts[at] = _number(start, 1)
        lists[one.get(f"{_W}numId") or ""] = made
    return lists


def _level(element: etree._Element, level: _Level) -> _Level:
    level.start = _number(element.find(f"{_W}start"), 1)
    level.format = value_of(element.find(f"{_W}numFmt")) or "decimal"
    level.text = value_of(element.find(f"{_W}lvlText"))[:100]
    level.restart = _number(element.find(f"{_W}lvlRestart"), -1)
    level.legal = element.find(f"{_W}isLgl") is not None
    level.style = value_of(element.find(f"{_W}pStyle"))
    return level


def _of_styles(styles: etree._Element, lists: dict[str, _List]) -> dict[str, tuple[str, int]]:
    """Return list and level of each numbered style; a style without numbers inherits its base's."""
    found: dict[str, tuple[str, int]] = {}
    based: dict[str, str] = {}
    for style in styles.iterchildren(f"{_W}style"):
        name = style.get(f"{_W}styleId") or ""
        based[name] = value_of(style.find(f"{_W}basedOn"))
        own = style.find(f"{_W}pPr/{_W}numPr")
        if own is not None and (list_name := value_of(own.find(f"{_W}numId"))) in lists:
            linked = (at for at, level in lists[list_name].levels.items() if level.style == name)
            found[name] = (list_name, next(linked, _number(own.find(f"{_W}ilvl"), 0)))
        elif own is not None:
            found[name] = ("", 0)
    return found | {name: place for name in based if name not in found for place in _inherited(name, found, based)}


def _inherited(
    name: str, found: dict[str, tuple[str, int]], based: dict[str, str]
) -> Iterator[tuple[str, int]]:  # fmt: skip
    for _ in range(_MOST_BASES):
        name = based.get(name, "")
        if name in found:
            yield found[name]
            return


def _shown(levels: dict[int, _Level], counts: list[int | None], level: int) -> str:
    """Return "2.3.1" and the like, nothing for a bullet."""
    own = levels[level]
    if own.format in ("bullet", "none") or "%" not in own.text:
        return ""

    def number(found: re.Match[str]) -> str:
        at = int(found[1]) - 1
        other = levels.get(at, _Level())
        count = counts[at] if counts[at] is not None else other.start
        return _spelt(count or 0, "decimal" if own.legal else other.format)

    return _PLACEHOLDER.sub(number, own.text).strip()


def _spelt(count: int, form: str) -> str:
    """Return a number in one of Word's forms; those of other scripts are written as digits."""
    if form == "decimalZero":
        return f"{count:02d}"
    if 0 < count <= _MOST_SPELT:
        if form.endswith("Letter"):
            letters = chr(ord("a") + (count - 1) % 26) * ((count - 1) // 26 + 1)
            return letters.upper() if form.startswith("upper") else letters
        if form.endswith("Roman"):
            spelt = ""
            for value, letters in _ROMAN:
                spelt += letters * (count // value)
                count %= value
            return spelt.upper() if form.startswith("upper") else spelt
    return str(count)


def _index(element: etree._Element) -> int:
    value = element.get(f"{_W}ilvl") or "0"
    return min(int(value[:1]), _LEVELS - 1) if value.isdecimal() else 0


def value_of(element: etree._Element | None) -> str:
    """Return an element's `w:val`, empty for none."""
    return (element.get(f"{_W}val") or "") if element is not None else ""


def _number(element: etree._Element | None, default: int) -> int:
    value = value_of(element)
    return int(value[:6]) if value.isascii() and value.isdecimal() else default
