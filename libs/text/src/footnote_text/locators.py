"""Places in documents: their text for people, and the narrowest place of a quote."""

from __future__ import annotations

from collections.abc import Sequence

from footnote.types.v1.locator_pb2 import Anchor, Locator, TextSpan
from footnote.types.v1.table_pb2 import TableCell

from footnote_text import a1

_HEADING_SEPARATOR = " › "
_LONGEST_HEADER = 80  # characters


def label(filename: str, locator: Locator, locale: str = "en", cell: TableCell | None = None) -> str:
    """Return a place as text: "handbook.pdf, page 3" or "stock.xlsx, sheet 'Stocks', cell C12".

    `cell` is the cell of a table at the place; outside of sheets it is named by its headers: "report.docx, Wards, row
    'Neurology', column 'Beds'". An unknown `locale` means English.
    """
    # Imported late, because the process that cuts documents needs `join` only.
    from footnote_text import locales

    words = locales.choose(locale).places
    parts = [filename] if filename else []
    headings = _HEADING_SEPARATOR.join(locator.heading_path)
    place = locator.WhichOneof("place")
    if place == "page":
        first, last = locator.page.page, max(locator.page.page, locator.page.last_page)
        text = _numbered(words.page, first, last)
        if locator.page.label and locator.page.label != str(first):
            text += f" ({locator.page.label})"
        parts.append(text)
    elif place == "sheet":
        if locator.sheet.sheet:
            parts.append(f"{words.sheet[0]} '{locator.sheet.sheet}'")
        if locator.sheet.range:
            parts.append(f"{words.cell[1 if ':' in locator.sheet.range else 0]} {locator.sheet.range}")
    elif place == "slide":
        text = f"{words.slide[0]} {locator.slide.slide}"
        parts.append(f"{text} ({locator.slide.title})" if locator.slide.title else text)
    elif place == "lines":
        text = _numbered(words.line, locator.lines.first_line, locator.lines.last_line)
        parts.append(f"{text} ({headings})" if headings else text)
    elif headings:
        parts.append(headings)
    if cell is not None and not locator.sheet.range:
        parts.append(f"{words.row[0]} {_header(cell.row_headers, cell.cell.row)}")
        parts.append(f"{words.column[0]} {_header(cell.column_headers, cell.cell.column)}")
    return ", ".join(parts)


def _header(headers: Sequence[str], number: int) -> str:
    """Return the headers of a row or column in quotes, its number if it has none."""
    text = _HEADING_SEPARATOR.join(" ".join(one.split()) for one in headers)
    if len(text) > _LONGEST_HEADER:
        text = text[: _LONGEST_HEADER - 1].rstrip() + "…"
    return f"'{text}'" if text else str(number)


def _numbered(words: tuple[str, str], first: int, last: int) -> str:
    return f"{words[1]} {first}-{last}" if last > first else f"{words[0]} {first}"


def narrow(locator: Locator, anchors: Sequence[Anchor], span: TextSpan | tuple[int, int]) -> Locator:
    """Return the narrowest place that contains a span of a passage's text.

    `locator` and `anchors` belong to the passage; `span` counts code points from 0, end exclusive. Anchors that
    overlap the span are joined (pages 3 to 4, cells B2:C2); if that is impossible, the passage's place stays. The
    result's own span is relative to the document's text.
    """
    start, end = span if isinstance(span, tuple) else (span.start, span.end)
    touched = [
        anchor.locator
        for anchor in anchors
        if anchor.span.start < max(end, start + 1) and anchor.span.end > start and anchor.locator.WhichOneof("place")
    ]
    result = Locator()
    result.CopyFrom(locator)
    join(result, touched)
    if locator.HasField("span"):
        result.span.start = locator.span.start + start
        result.span.end = locator.span.start + end
    return result


def join(result: Locator, places: Sequence[Locator]) -> None:
    """Set the place of `result` to the smallest one that contains all `places`, if they are of one kind."""
    kinds = {place.WhichOneof("place") for place in places}
    if len(kinds) != 1:
        return
    kind = kinds.pop()
    first = places[0]
    if len(places) == 1:
        headings = list(first.heading_path) or list(result.heading_path)
        result.CopyFrom(first)
        del result.heading_path[:]
        result.heading_path.extend(headings)
    elif kind == "page":
        pages = [place.page.page for place in places] + [place.page.last_page or place.page.page for place in places]
        result.page.page = min(pages)
        result.page.last_page = max(pages)
        result.page.label = min(places, key=lambda place: place.page.page).page.label
    elif kind == "lines":
        result.lines.first_line = min(place.lines.first_line for place in places)
        result.lines.last_line = max(place.lines.last_line for place in places)
    elif kind == "slide":
        if len({place.slide.slide for place in places}) == 1:
            result.slide.CopyFrom(first.slide)
    elif kind == "sheet" and len({place.sheet.sheet for place in places}) == 1:
        joined = a1.joined([place.sheet.range for place in places])
        if joined:
            result.sheet.sheet = first.sheet.sheet
            result.sheet.range = joined
