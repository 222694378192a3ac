"""Charts and diagrams of Office Open XML documents: a chart's title and cached values as tables, a diagram's texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.base import NOTE, PARAGRAPH, BlockWriter, Place
from footnote_ingestion.parsers.cells import Cell, write_table
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.failures import PARTS_UNREADABLE
from footnote_ingestion.parsers.format_codes import parse
from footnote_ingestion.parsers.office.package import xml_parser

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_D = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_AXES = tuple(f"{_C}{name}" for name in ("catAx", "dateAx", "valAx", "serAx"))
_MOST_POINTS, _MOST_LEVELS = 10_000, 9
_LITERAL = re.compile(r'"[^"]*"|\\.|\[(?![hms]+\])[^\[\]]*+\]|_.|\*.', re.IGNORECASE)
_ELAPSED = "["
"""Stays of a format after its literals: `[h]:mm` shows 36 hours as 36:00."""
_DAYS, _HOURS, _DIGITS = frozenset("yd"), frozenset("hs"), frozenset("0#?")
_FIRST_DAY, _FIRST_DAY_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
_LAST_DAY = 2_950_000


def write_charts(element: etree._Element, part: Any, out: BlockWriter, place: Place | None = None) -> None:
    """Write the charts under an element, which is from `part`; warn of unreadable ones."""
    for shown in element.iter(f"{_C}chart"):
        try:
            data = part.rels[shown.get(f"{_R}id") or ""].target_part
            root = etree.fromstring(data.blob, xml_parser())
        except (KeyError, AttributeError, ValueError, etree.XMLSyntaxError):
            out.warn(PARTS_UNREADABLE, "{count} charts could not be read", 1, [place])
        else:
            _write(root, out, place)


def _write(root: etree._Element, out: BlockWriter, place: Place | None) -> None:
    if (title := root.find(f"{_C}chart/{_C}title")) is not None:
        out.add(PARAGRAPH, _title(title), place)
    plots = {series.getparent(): None for series in root.iter(f"{_C}ser")}
    for plot in plots:
        series = plot.findall(f"{_C}ser")
        points = [one for one in series if one.find(f"{_C}xVal") is not None]
        first, second = _axes(plot, root)
        tables = [_across(one, index, first, second) for index, one in enumerate(points, 1)]
        if len(points) < len(series):
            tables.insert(0, _by_category([one for one in series if one not in points], first))
            out.add(NOTE, second, place)
        for rows in tables:
            cells = [[Cell(value) for value in row] for row in rows]
            write_table(cells, out, place, min(len(rows) - 1, 1), "" if points else second)


def _axes(plot: etree._Element, root: etree._Element) -> tuple[str, str]:
    """Return the titles of a plot's axes: that of categories or across, and that of values."""
    titles = {}
    for axis in root.iter(*_AXES):
        number, title = axis.find(f"{_C}axId"), axis.find(f"{_C}title")
        if number is not None and title is not None:
            titles[number.get("val")] = _title(title)
    first, second, *_ = [*(titles.get(one.get("val"), "") for one in plot.iterchildren(f"{_C}axId")), "", ""]
    return first, second


def _title(element: etree._Element) -> str:
    lines = ["".join(one.text or "" for one in line.iter(f"{_A}t")) for line in element.iter(f"{_A}p")]
    return inline(" ".join(lines) or " ".join(one.text or "" for one in element.iter(f"{_C}v")))


def _by_category(series: list[etree._Element], named: str) -> list[list[str]]:
    """Return a row for each category, with the value of each series."""
    columns = [dict(_points(one, "val")) for one in series]
    names = dict[int, str]()
    for one in series:
        names = _categories(one) | names
    count = max((at + 1 for known in (names, *columns) for at in known), default=0)
    head = [_name(one, index) for index, one in enumerate(series, 1)]
    rows = [[column.get(at, "") for column in columns] for at in range(count)]
    if not names:
        return [head, *rows]
    return [[named or "Category", *head], *([names.get(at, ""), *row] for at, row in enumerate(rows))]


def _categories(series: etree._Element) -> dict[int, str]:
    """Return the names of a series' points; where they have levels, the outer ones last until the next name."""
    levels = [dict(_points(level, "")) for level in series.findall(f"{_C}cat//{_C}lvl")[:_MOST_LEVELS]]
    if len(levels) < 2:
        return dict(_points(series, "cat"))
    inner, *outer = levels
    names: dict[int, str] = {}
    current = [""] * len(outer)
    for at in range(max((at + 1 for level in levels for at in level), default=0)):
        current = [level.get(at, last) for level, last in zip(outer, current, strict=True)]
        if at in inner:
            names[at] = " › ".join(filter(None, (*reversed(current), inner[at])))
    return names


def _across(series: etree._Element, number: int, first: str, second: str) -> list[list[str]]:
    """Return the points of a series of two measures, and the sizes of bubbles."""
    across, values, sizes = (dict(_points(series, kind)) for kind in ("xVal", "yVal", "bubbleSize"))
    name = _name(series, number)
    head = [first or "X", f"{name}, {second}" if second and second != name else name, *["Size"] * bool(sizes)]
    return [head, *([across.get(at, ""), values[at], *[sizes.get(at, "")] * bool(sizes)] for at in sorted(values))]


def _name(series: etree._Element, number: int) -> str:
    named = series.find(f"{_C}tx")
    return (_title(named) if named is not None else "") or f"Series {number}"


def _points(series: etree._Element, kind: str) -> Iterator[tuple[int, str]]:
    """Yield the cached points of a kind of a series, or of one level of them, by their number."""
    found = series.find(f"{_C}{kind}") if kind else series
    if found is None:
        return
    usual = found.findtext(f".//{_C}formatCode") or ""
    for point in found.iter(f"{_C}pt"):
        at = point.get("idx") or ""
        if at.isascii() and at.isdecimal() and int(at[:8]) < _MOST_POINTS:
            code = point.get("formatCode") or usual
            yield (
                int(at[:8]),
                _shown(inline(point.findtext(f"{_C}v") or ""), code, _first_day(series) if code else None),
            )


def _first_day(series: etree._Element) -> datetime:
    """Return the day 0 of a chart's dates."""
    mark = series.getroottree().getroot().find(f"{_C}date1904")
    return _FIRST_DAY if mark is None or mark.get("val") in ("0", "false") else _FIRST_DAY_1904


def _shown(text: str, code: str, first_day: datetime | None) -> str:
    """Return a value by its format code: days and times in ISO form, numbers with percent, currency and unit.

    Digits that a binary fraction adds go: 0.30000000000000004 becomes 0.3. Thousands are not separated: a chart does
    not say which sign does that.
    """
    try:
        value = float(text)
    except ValueError:
        return text
    letters = _letters(code)
    if first_day is not None and _is_day(letters) and 0 <= value < _LAST_DAY:
        moment = first_day + timedelta(seconds=round(value * 86_400))
        if _HOURS.isdisjoint(letters):
            return moment.date().isoformat()
        return moment.isoformat(" ", "seconds" if "s" in letters else "minutes")
    style = parse(code)
    if style is not None and (style.percent or style.before or style.after):
        return replace(style, thousands=False).show(value) or text
    return f"{value:.15g}" if "." in text else text


def _letters(code: str) -> frozenset[str]:
    """Return the characters of a format's first section that stand for parts of a value, in lower case."""
    return frozenset(_LITERAL.sub("", code).partition(";")[0].lower())


def _is_day(letters: frozenset[str]) -> bool:
    """Return whether a format shows days or months, not only hours, nor a number with a unit."""
    if _ELAPSED in letters or ("s" not in letters and not _DIGITS.isdisjoint(letters)):
        return False
    return not _DAYS.isdisjoint(letters) or ("m" in letters and _HOURS.isdisjoint(letters))


def diagram_texts(element: etree._Element, part: Any, out: BlockWriter, place: Place | None = None) -> list[str]:
    """Return the text of each shape of the diagrams (SmartArt) under an element, in the order of creation.

    `part` is the element's part; unreadable diagrams cause a warning.
    """
    found = []
    for names in element.iter(f"{_D}relIds"):
        try:
            data = part.rels[names.get(f"{_R}dm") or ""].target_part
            root = etree.fromstring(data.blob, xml_parser())
        except (KeyError, AttributeError, ValueError, etree.XMLSyntaxError):
            out.warn(PARTS_UNREADABLE, "{count} diagrams could not be read", 1, [place])
            continue
        for point in root.iter(f"{_D}pt"):
            lines = ("".join(one.text or "" for one in line.iter(f"{_A}t")) for line in point.iter(f"{_A}p"))
            found.append(inline(" ".join(lines)))
    return [text for text in found if text]
