"""A source cut into the places that can each bear out a statement: sentences, rows with their header, list items."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from footnote_text import sentences

from footnote_generation.language import amounts
from footnote_generation.language.grammar import Grammar, load
from footnote_generation.language.reading import Item, Reading, read
from footnote_generation.language.table_rows import TableRow

_ITEM = re.compile(r"(?<![ \t])[ \t]*+(?:[-*•–]|\d{1,2}[.)])[ \t]++")
_HEADING = re.compile(r"(?<![ \t])[ \t]*+(?:#{1,6}[ \t]++|\*\*(?=[^*\n]+\*\*:?[ \t]*$))(?P<text>\S.*)")
_RESTS = frozenset({"negation", "absence", "exception", "prohibition", "former", "exemption", "uncertain", "future"})


@dataclass(frozen=True, slots=True)
class Field:
    """A cell of a row: the name of its column and where its value stands in the row's reading."""

    header: frozenset[str]
    start: int
    end: int
    unit: tuple[str, float] = ("", 1.0)


@dataclass(frozen=True, slots=True)
class Row:
    """A row read as a record; `table` tells rows of one table."""

    fields: tuple[Field, ...]
    table: int


@dataclass(slots=True)
class Place:
    """A stretch of a source that can bear out a statement by itself.

    `reading` is of its text with what introduces it (the line before a list, the header of a table); `context` are
    stems of the headings above, `before` the sentence before where the place takes its subject from there.
    """

    start: int
    end: int
    reading: Reading
    context: frozenset[str]
    warnings: frozenset[str]
    before: Reading | None = None
    row: Row | None = None
    stems: dict[str, list[int]] = field(default_factory=dict)
    groups: dict[int, list[int]] = field(default_factory=dict)
    polar: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    heads: dict[str, list[int]] = field(default_factory=dict)

    def items(self) -> tuple[Item, ...]:
        """Return the words of the place."""
        return self.reading.items


def cut(text: str, context: str, language: str, rows: Sequence[TableRow] = ()) -> tuple[Place, ...]:
    """Return the places of a source in a language that has a grammar; `context` is its title and headings."""
    grammar = load(language)
    if grammar is None:
        return ()
    above, warnings = _context(context, language)
    places: list[Place] = []
    for start, end, lead, row, heading in _stretches(text, language, grammar, rows):
        here, more = (above, warnings) if not heading else _with(above, warnings, heading, language)
        body = text[start:end]
        reading = read(f"{lead}\n{body}" if lead else body, language)
        if row is not None:
            reading = _in_units(reading, row)
        before = None
        if row is None and not lead and places and _leans(reading, grammar):
            before = places[-1].reading
        place = Place(start, end, reading, here, more, before, row)
        _index(place, grammar)
        places.append(place)
    return tuple(places)


def _context(context: str, language: str) -> tuple[frozenset[str], frozenset[str]]:
    if not context.strip():
        return frozenset(), frozenset()
    reading = read(context[:2000], language)
    return (
        frozenset(
            stem for item in reading.items if item.content or item.quantity >= 0 for stem in (item.stem, item.plain)
        )
        | frozenset(quantity.text.lower() for quantity in reading.quantities),
        frozenset(sign.sort for sign in reading.signs if sign.sort in _RESTS),
    )


def _with(
    above: frozenset[str], warnings: frozenset[str], heading: str, language: str
) -> tuple[frozenset[str], frozenset[str]]:
    stems, more = _context(heading, language)
    return above | stems, warnings | more


def _leans(reading: Reading, grammar: Grammar) -> bool:
    """Whether a sentence takes its subject from the one before: it begins with a pronoun, or with its verb."""
    opening = reading.items[:2]
    if any(item.plain in grammar.pronouns for item in opening):
        return True
    return grammar.code in {"es", "it", "pt"} and bool(opening) and opening[0].stem in grammar.light


def _stretches(
    text: str, language: str, grammar: Grammar, rows: Sequence[TableRow]
) -> Iterator[tuple[int, int, str, Row | None, str]]:
    """Return start, end, introduction, row and heading of each place."""
    heading = lead = ""
    offset = 0
    coming = deque(row for row in rows if len(row.cells) > 1 and any(header for header, _, _ in row.cells))
    for line in text.splitlines(keepends=True):
        start, body = offset, line.rstrip("\r\n")
        offset += len(line)
        while coming and coming[0].start < start:
            coming.popleft()
        if coming and coming[0].end <= start + len(body):
            row = coming.popleft()
            yield start, start + len(body), "", Row(_fields(start, row, language), row.table), heading
            continue
        found = _HEADING.fullmatch(body)
        if not body.strip():
            continue
        if found:
            heading, lead = found["text"], ""
            yield start, start + len(body), "", None, ""
            continue
        item = _ITEM.match(body)
        if item is None:
            lead = body.strip() if body.rstrip().endswith((":", "：")) else ""
            introduction = ""
        else:
            introduction = lead
        for first, last in sentences.split(body, language):
            yield start + first, start + last, introduction, None, heading


def _fields(line: int, row: TableRow, language: str) -> tuple[Field, ...]:
    """Return the fields of a row whose line begins at a place of the source."""
    return tuple(_field(header, start - line, end - line, language) for header, start, end in row.cells)


def _field(header: str, start: int, end: int, language: str) -> Field:
    return Field(_stems(header, language), start, end, _unit(header, language))


_UNIT = re.compile(r"[(\[（]\s*(?P<unit>[^()\[\]（）]{1,24})[)\]）]")


def _unit(header: str, language: str) -> tuple[str, float]:
    """Return the unit that a column's name gives its numbers: "Price (GBP)", "Warranty (months)", "Price (€/kg)"."""
    found = _UNIT.search(header)
    if found is None:
        return "", 1.0
    whole = amounts.unit(found["unit"].strip(), language)
    return whole if whole[0] else amounts.unit(found["unit"].partition("/")[0].strip(), language)


def _in_units(reading: Reading, row: Row) -> Reading:
    """Give the bare numbers of a row the units that its columns are in."""
    given = list(reading.quantities)
    for cell in row.fields:
        dimension, factor = cell.unit
        for index, item in enumerate(given):
            if dimension and item.dimension in {"", "year"} and cell.start <= item.start < cell.end:
                values = frozenset(round(value * factor, 9) for value in item.values)
                given[index] = replace(item, dimension=dimension, values=values)
    return replace(reading, quantities=tuple(given))


def _stems(text: str, language: str) -> frozenset[str]:
    return frozenset(item.stem for item in read(text, language).items if item.content or item.quantity < 0)


def _index(place: Place, grammar: Grammar) -> None:
    """Note where each stem, group of synonyms and pair of opposites stands in a place."""
    for at, item in enumerate(place.reading.items):
        if item.quantity >= 0:
            continue
        place.stems.setdefault(item.stem, []).append(at)
        if item.plain != item.stem:
            place.stems.setdefault(item.plain, []).append(at)
        for pair, sign in grammar.polar.get(item.stem, ()):
            place.polar.setdefault(pair, []).append((at, sign))
        if not item.content:
            continue
        for group in grammar.groups(item.stem):
            place.groups.setdefault(group, []).append(at)
        if len(item.stem) >= 4:
            place.heads.setdefault(item.stem[:4], []).append(at)
