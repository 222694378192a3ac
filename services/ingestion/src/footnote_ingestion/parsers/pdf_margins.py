"""Running heads, footers and page numbers: dropped after their first appearance."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from footnote_ingestion.parsers.pdf_lines import Line

_ZONE = 0.12
_MOST_IN_ZONE = 4
_LEAST_PAGES = 3
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"\W*(?:page|seite|p\.)?\s*(\d{1,4}|[ivxlc]{1,6})\s*(?:(?:of|de|/|von)\s*\d{1,4})?\W*", re.IGNORECASE
)


class PageLike(Protocol):
    """What this module needs of a page."""

    number: int
    height: float
    lines: list[Line]


def without_running_lines(pages: Sequence[PageLike]) -> list[list[Line]]:
    """Return the lines of each page without those that recur at the same height in the margins of several pages.

    The first appearance of a running head stays, so that nothing is lost that stands nowhere else; page numbers go.
    """
    seen: dict[tuple[str, int], list[tuple[int, Line]]] = defaultdict(list)
    for page in pages:
        for line in _in_margins(page):
            seen[_key(line)].append((page.number, line))
    dropped: set[int] = set()
    for (text, _), found in seen.items():
        if len({number for number, _ in found}) < _LEAST_PAGES:
            continue
        number_only = _PAGE_NUMBER.fullmatch(text.replace("#", "1")) is not None
        dropped.update(id(line) for _, line in found[0 if number_only else 1 :])
    return [[line for line in page.lines if id(line) not in dropped] for page in pages]


def _in_margins(page: PageLike) -> list[Line]:
    if page.height <= 0:
        return []
    top = [line for line in page.lines if line.size and line.bottom > page.height * (1 - _ZONE)]
    bottom = [line for line in page.lines if line.size and line.top < page.height * _ZONE]
    top.sort(key=lambda line: -line.top)
    bottom.sort(key=lambda line: line.top)
    return top[:_MOST_IN_ZONE] + bottom[:_MOST_IN_ZONE]


def _key(line: Line) -> tuple[str, int]:
    """Text with its numbers left out, and the height to about four points."""
    return _DIGITS.sub("#", line.text.casefold()), round(line.bottom / 4)
