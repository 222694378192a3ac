"""Running heads, footers and page numbers: dropped after their first appearance."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from footnote_ingestion.parsers.pdf.lines import Line

_ZONE = 0.12
_MOST_IN_ZONE = 4
_LEAST_PAGES = 3
_DIGITS = re.compile(r"\d{1,9}")
_PAGE_NUMBER = re.compile(
    r"(?<!\W)\W*+(?:(?:page|seite|p\.)\s*+)?(\d{1,4}|[ivxlc]{1,6})(?:\s*+(?:of|de|/|von)\s*+\d{1,4})?\W*+",
    re.IGNORECASE,
)


class PageLike(Protocol):
    """What this module needs of a page."""

    number: int
    height: float
    lines: list[Line]


def without_running_lines(pages: Sequence[PageLike]) -> list[list[Line]]:
    """Return the lines of each page without those that recur at the same height in the margins of several pages.

    Numbers may differ only where they count the pages. The first appearance of a running head stays, so that nothing is
    lost that stands nowhere else; page numbers go.
    """
    places: dict[tuple[str, int], dict[int, Line]] = defaultdict(dict)
    for page in pages:
        for line in _in_margins(page):
            places[_DIGITS.sub("#", line.text.casefold()), round(line.bottom / 4)].setdefault(page.number, line)
    dropped: set[int] = set()
    for by_page in places.values():
        if len(by_page) < _LEAST_PAGES:
            continue
        same: dict[str, list[Line]] = defaultdict(list)
        for number, line in by_page.items():
            same[_signature(line, number, by_page)].append(line)
        for signature, found in same.items():
            if len(found) >= _LEAST_PAGES:
                number_only = _PAGE_NUMBER.fullmatch(signature.replace("#", "1")) is not None
                dropped.update(id(line) for line in found[0 if number_only else 1 :])
    dropped |= _page_numbers(pages)
    return [[line for line in page.lines if id(line) not in dropped] for page in pages]


def _page_numbers(pages: Sequence[PageLike]) -> set[int]:
    """Return the ids of first and last lines that are nothing but the page's number, wherever they stand."""
    found: dict[int, list[Line]] = defaultdict(list)
    for page in pages:
        lines = [line for line in page.lines if line.size]
        for line in {id(line): line for line in _extremes(lines)}.values():
            if line.text.isdecimal() and len(line.text) <= 4:
                found[int(line.text) - page.number].append(line)
    least = max(_LEAST_PAGES, len(pages) // 5)
    return {id(line) for lines in found.values() if len(lines) >= least for line in lines}


def _extremes(lines: list[Line]) -> list[Line]:
    if not lines:
        return []
    return [max(lines, key=lambda line: line.top), min(lines, key=lambda line: line.bottom)]


def _signature(line: Line, page: int, by_page: dict[int, Line]) -> str:
    """Return the text with the numbers left out that grow as the pages do, judged by the pages around."""
    numbers = [int(digits) for digits in _DIGITS.findall(line.text)]
    counting: set[int] = set()
    for near in (page - 2, page - 1, page + 1, page + 2):
        if (other := by_page.get(near)) is not None:
            others = [int(digits) for digits in _DIGITS.findall(other.text)]
            pairs = enumerate(zip(numbers, others, strict=False))
            counting |= {index for index, (mine, its) in pairs if its - mine == near - page}
    position = iter(range(len(numbers)))
    return _DIGITS.sub(lambda found: "#" if next(position) in counting else found[0], line.text.casefold())


def _in_margins(page: PageLike) -> list[Line]:
    if page.height <= 0:
        return []
    top = [line for line in page.lines if line.size and line.bottom > page.height * (1 - _ZONE)]
    bottom = [line for line in page.lines if line.size and line.top < page.height * _ZONE]
    top.sort(key=lambda line: -line.top)
    bottom.sort(key=lambda line: line.top)
    return top[:_MOST_IN_ZONE] + bottom[:_MOST_IN_ZONE]
