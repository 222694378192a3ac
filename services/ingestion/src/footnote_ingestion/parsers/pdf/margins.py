"""Finds page furniture: page numbers, and running heads and feet after their first appearance.

A line is furniture if it only states the page's number, or if the same line, except for that number, is in the margin
of several pages at the same height. A watermark across the page is furniture wherever it is. Headings and amounts are
never furniture, and a line is text in case of doubt.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Protocol

from footnote_ingestion.parsers.ocr import Area
from footnote_ingestion.parsers.pdf.lines import Line
from footnote_ingestion.parsers.pdf.turns import turned

_ZONE = 0.12
_MOST_IN_ZONE = 4
_LEAST_PAGES = 3
_LARGER = 1.12
# Lines in a heading's type, large or bold, are furniture only if they are on this fraction of the pages.
_BOLD_SHARE = 0.5
_WORDS_FOR_PAGE = r"pages?|seite|pagina|página|pág|strona|sida|side|стр|p|pg|s"
_OF = r"(?:\s?(?:of|de|von|sur|di|из|/)\s?\d{1,5})?"
# "12", "- 12 -", "Page 3 of 10", "F-12", "xii": a line that is nothing else.
_LABEL = re.compile(
    rf"[^\w$€£¥]{{0,3}}(?:(?:{_WORDS_FOR_PAGE})\.?\s?)?(?:[a-z]{{1,2}}-)?(\d{{1,5}}|[ivxlc]{{1,7}}){_OF}[^\w%$€£¥]{{0,3}}",
    re.IGNORECASE,
)
# The page's own number in a line with other words: first, or separated by a sign or the word for page.
_OWN = re.compile(rf"(\A|[|·•]\s?|\s[–—/\-]\s|\b(?:{_WORDS_FOR_PAGE})\.?\s)(\d{{1,5}})({_OF})(?=\Z|\s)", re.IGNORECASE)
_SAID = re.compile(rf"\b(?:{_WORDS_FOR_PAGE})\.?\s(\d{{1,5}})\b", re.IGNORECASE)
_CURRENCY = r"[$€£¥₹₽]|\b(?:eur|usd|gbp|chf|jpy|cny|inr|sek|nok|dkk|pln|czk)\b"
_AMOUNT = re.compile(rf"{_CURRENCY}|\d\s?%|(?<![\d.,])\d{{1,9}}[.,]\d\d(?![\d.,])|\d[.,]\d{{3}}(?!\d)", re.IGNORECASE)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


class PageLike(Protocol):
    """The part of a page that this module needs."""

    number: int
    label: str
    area: Area
    lines: list[Line]
    turn: int


def running_lines(pages: Sequence[PageLike]) -> set[int]:
    """Return the ids of the lines that are furniture: page labels, and running lines after their first appearance."""
    zones = {page.number: _in_margins(page) for page in pages}
    labels, offsets = _labels(pages, zones)
    largest = _body_size(pages) * _LARGER
    places: dict[tuple[str, int], list[Line]] = defaultdict(list)
    for page in pages:
        own = _own_numbers(page, offsets)
        watermarks = [line for line in page.lines if line.watermark]
        for line in (*zones[page.number], *watermarks):
            if line.watermark or (
                id(line) not in labels and 0 < line.size <= largest and not _AMOUNT.search(line.text)
            ):
                places[_shape(line.text, own), round(_heights(page, line)[0] / 4)].append(line)
    found = set(labels)
    for repeated in places.values():
        on = len({line.page for line in repeated})
        in_heading_type = repeated[0].bold and not repeated[0].watermark
        least = max(_LEAST_PAGES, _BOLD_SHARE * len(pages)) if in_heading_type else _LEAST_PAGES
        if on >= least:
            found.update(id(line) for line in repeated if line.page != repeated[0].page)
    return found if any(id(line) not in found for page in pages for line in page.lines) else set()


def _shape(text: str, own: set[str]) -> str:
    """Return the text with "#" in place of the page's own number."""
    return _OWN.sub(lambda found: f"{found[1]}#{found[3]}" if found[2] in own else found[0], text.casefold())


def _labels(pages: Sequence[PageLike], zones: dict[int, list[Line]]) -> tuple[set[int], set[int]]:
    """Return the ids of lines that are page labels, and the differences between their numbers and the pages' count."""
    by_place: dict[tuple[int, int], list[Line]] = defaultdict(list)
    anywhere: dict[int, list[Line]] = defaultdict(list)
    declared = {page.number: page.label for page in pages}
    for page in pages:
        outer = {id(line): line for line in (*zones[page.number], *_extremes(page.lines))}
        for line in outer.values():
            if (value := _label_value(line.text)) is None or not line.size:
                continue
            offset = value - page.number
            # The years of a chronicle also rise with its pages.
            if 1900 <= value <= 2100 and offset > 1000 and line.text != declared[page.number]:
                continue
            by_place[offset, round(_heights(page, line)[0] / 4)].append(line)
            anywhere[offset].append(line)
    least = max(_LEAST_PAGES, len(pages) // 5)
    found: set[int] = set()
    offsets: set[int] = set()
    for (offset, _), lines in by_place.items():
        if _on_pages(lines) >= _LEAST_PAGES:
            found.update(map(id, lines))
            offsets.add(offset)
    offsets |= _said_offsets(pages, zones)
    for offset, lines in anywhere.items():
        if _on_pages(lines) >= least:
            found.update(id(line) for line in lines)
            offsets.add(offset)
    return found, offsets


def _said_offsets(pages: Sequence[PageLike], zones: dict[int, list[Line]]) -> set[int]:
    """Return the difference between numbers after the word for page and the pages' count, if several pages agree."""
    on: dict[int, set[int]] = defaultdict(set)
    for page in pages:
        for line in zones[page.number]:
            for found in _SAID.finditer(line.text):
                on[int(found[1]) - page.number].add(page.number)
    return {offset for offset, numbers in on.items() if len(numbers) >= _LEAST_PAGES}


def _on_pages(lines: Sequence[Line]) -> int:
    return len({line.page for line in lines})


def _label_value(text: str) -> int | None:
    """Return the number of a line that is only a page's label; None for any other line."""
    match = _LABEL.fullmatch(text) if len(text) <= 40 else None
    if match is None:
        return None
    return int(match[1]) if match[1].isdecimal() else _roman(match[1].lower())


def _roman(letters: str) -> int:
    values = [_ROMAN[letter] for letter in letters]
    return sum(
        -value if index + 1 < len(values) and values[index + 1] > value else value for index, value in enumerate(values)
    )


def _own_numbers(page: PageLike, offsets: set[int]) -> set[str]:
    """Return the numbers that name this page: as counted, as declared, and by its labels."""
    own = {str(page.number), page.label} | {str(page.number + offset) for offset in offsets}
    return own - {""}


def _body_size(pages: Sequence[PageLike]) -> float:
    """Return the type size of most of the text."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[round(line.size * 2) / 2] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _extremes(lines: list[Line]) -> Iterator[Line]:
    """Return the top and the bottom line."""
    placed = [line for line in lines if line.size]
    if placed:
        yield max(placed, key=lambda line: line.top)
        yield min(placed, key=lambda line: line.bottom)


def _in_margins(page: PageLike) -> list[Line]:
    found = [(*_heights(page, line), line) for line in page.lines if line.size]
    top = [(upper, line) for lower, upper, height, line in found if lower > height * (1 - _ZONE)]
    bottom = [(upper, line) for _, upper, height, line in found if upper < height * _ZONE]
    top.sort(key=lambda one: -one[0])
    bottom.sort(key=lambda one: one[0])
    return [line for _, line in top[:_MOST_IN_ZONE] + bottom[:_MOST_IN_ZONE]]


def _heights(page: PageLike, line: Line) -> tuple[float, float, float]:
    """Return how high a line's lower and upper edge are on its page, and the page's height.

    On a page that is turned for a table, running heads often stand as on the other pages.
    """
    if not page.turn:
        low = page.area[1]
        return line.bottom - low, line.top - low, page.area[3] - low
    turn = 0 if line.rotated else page.turn
    _, low, _, high = turned(page.area, turn)
    _, bottom, _, top = turned((line.left, line.bottom, line.right, line.top), turn - page.turn)
    return bottom - low, top - low, high - low
