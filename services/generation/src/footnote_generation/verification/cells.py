"""CELLS: checks a value under its headers, by the structure of the cell's table.

A statement counts only if it has nothing but headers, a value and linking words ("of", "is"). Anything else is left to
a verifier.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from footnote.types.v1.answer_pb2 import Source
from footnote.types.v1.locator_pb2 import TextSpan
from footnote_text import locators, tables

from footnote_generation.language.places import Place, find_places, fits, matching
from footnote_generation.language.quantities import Quantity, find, same_dimension, same_value
from footnote_generation.verification import wording
from footnote_generation.verification.normalised import Token, tokens


@dataclass(frozen=True, slots=True)
class Named:
    """A place of a source that a statement names, as stretches of the source's text, in order."""

    spans: tuple[tuple[int, int], ...]
    label: str
    cell: bool

    @property
    def span(self) -> TextSpan:
        """The stretch from the first to the last."""
        return TextSpan(start=self.spans[0][0], end=self.spans[-1][1])


def find_named(statement: str, place: Place | None, source: Source, locale: str) -> Named | None:
    """Return the place inside a source that a marker (`place`) or else the statement names.

    Returns None without a place, and if the source as a whole is that place.
    """
    if len(source.anchors) < 2:
        return None
    places = [place] if place is not None else find_places(statement, [source.filename])
    for one in places:
        if not (one.cell or one.page or one.line or one.slide) or not matching(one, [source]):
            continue
        anchors = [anchor for anchor in source.anchors if fits(one, anchor.locator)]
        if anchors and len(anchors) < len(source.anchors):
            spans = tuple(sorted((anchor.span.start, anchor.span.end) for anchor in anchors))
            where = locators.narrow(source.locator, source.anchors, (spans[0][0], spans[-1][1]))
            label = where.sheet.range if one.cell else locators.label("", where, locale)
            return Named(spans, label, bool(one.cell))
    return None


def without_places(statement: str, source: Source) -> str:
    """Return a statement with one word per named place of the source: "as page 3 says" claims no 3."""
    kept, position = "", 0
    for one in find_places(statement, [source.filename]):
        if (one.page or one.line or one.slide or one.cell or one.sheet or one.filename) and matching(one, [source]):
            kept += statement[position : one.start] + wording.STAND_IN
            position = one.end
    return kept + statement[position:] if position else statement


_COUNTED_BY = re.compile(r"\b(?:per|je|pro|par(?! value)|por) ([^\W\d_]+(?: [^\W\d_]+){0,2})")
_BRACKETS = re.compile(r"[(\[（][^()\[\]（）]{0,40}[)\]）]")


@dataclass(frozen=True, slots=True)
class Found:
    """The cell that a statement is about: whether it holds the stated value, and its place in the source."""

    holds: bool
    start: int
    end: int
    row_start: int
    row_end: int
    stated: str = ""
    """The stated value, if the cell holds another one."""


@dataclass(frozen=True, slots=True)
class _Value:
    """A cell that can be stated: its tokens, and the names of row and column in their written forms."""

    cell: tables.Cell
    row: tables.Row
    plain: tuple[str, ...]
    names: tuple[tuple[tuple[str, ...], ...], ...]
    """For each required header, the ways to write it."""
    more: tuple[tuple[str, ...], ...]
    """Optional headers: sections, outer headers, the table's name."""
    unit: str
    beside: tuple[tuple[tables.Cell, tuple[str, ...]], ...] = ()
    """The other cells of its row that hold words alone, with their tokens: a statement may describe the row by them."""

    @property
    def noted_scale(self) -> int:
        """The power of ten that its table's note states with exceptions, of which the row may be one; else 0.

        A row that is counted by what the note names, "Earnings per share" of "except per share data", is an exception,
        as percentages are; a column in kilograms may be.
        """
        measure = self.cell.measure
        if measure.scale or measure.unit == "%" or self.cell.message.measure.unit or not self.row.table.note_scale:
            return 0
        noted = [words.split()[0] for words in _COUNTED_BY.findall(self.row.table.note.casefold().replace("-", " "))]
        counted = " ".join(self.row.headers).casefold().replace("-", " ")
        words = [word for said in _COUNTED_BY.findall(counted) for word in said.split()]
        return 0 if any(word.endswith(one) for word in words for one in noted) else self.row.table.note_scale


@dataclass(frozen=True, slots=True)
class Cells:
    """The checkable cells of a source, with its language and decimal sign."""

    values: tuple[_Value, ...]
    language: str
    decimal: str

    @classmethod
    def of(cls, source: Source, language: str, decimal: str) -> Cells:
        """Return the cells of a source."""
        rows = tables.rows(source)
        alike = _alike(rows)
        found = [value for row in rows for value in _values(row, row.names, alike, decimal)]
        return cls(tuple(found), language, decimal)


def _alike(rows: Sequence[tables.Row]) -> frozenset[tuple[int, int]]:
    """Return the naming columns (table, column) with the same text in several rows, which distinguish none of them."""
    texts: dict[tuple[int, int], list[str]] = {}
    for row in rows:
        for cell in row.cells:
            if cell.names_row:
                texts.setdefault((cell.message.table, cell.column), []).append(cell.text)
    return frozenset(place for place, found in texts.items() if len(found) > 1 and len(set(found)) == 1)


def _needed(named: Sequence[tables.Cell], alike: frozenset[tuple[int, int]]) -> list[tables.Cell]:
    """Return the cells that a statement has to name: not what all rows share, nor codes beside a name in words."""
    some = [cell for cell in named if cell.text.strip()]
    words = [cell for cell in some if cell.number is None]
    telling = [cell for cell in words or some if (cell.message.table, cell.column) not in alike]
    return telling or words[-1:] or some


def _values(
    row: tables.Row, named: Sequence[tables.Cell], alike: frozenset[tuple[int, int]], decimal: str
) -> Iterator[_Value]:
    columns = [column.headers[-1] if column.headers else "" for column in row.table.columns]
    needed_cells = _needed(named, alike)
    names = [_ways(cell.text, decimal) for cell in needed_cells]
    others = [cell.text for cell in named if cell not in needed_cells]
    sections = list(row.sections)
    if not named and sections and any(column.names_rows for column in row.table.columns):
        names = [_ways(sections.pop(), decimal)]  # the row's name is in another part of it
    if not names:
        return
    beside = tuple(
        (cell, wording.words(cell.text, decimal))
        for cell in row.cells
        if cell not in named and cell.text.strip() and not any(map(str.isdigit, cell.text))
    )
    for cell in row.cells:
        if cell in named or not cell.text.strip():
            continue
        needed = list(names)
        more = [wording.words(text, decimal) for text in (*others, *sections, *cell.headers[:-1], row.table.name)]
        note = wording.words(row.table.note, decimal)
        more.append(note if len(note) > 1 else ())  # a magnitude alone is the statement's own
        if cell.header and len(columns) == len(named) + 1:
            more += _ways(cell.header, decimal)[:1]  # the value can be of no other column
        elif cell.header:
            needed.append(_ways(cell.header, decimal))
            if columns.count(cell.header) > 1:
                needed += [_ways(text, decimal) for text in cell.headers[:-1]]
        elif len(row.cells) > len(named) + 1:
            continue  # it is unclear which of several values is meant
        unit = cell.measure.unit or cell.measure.currency or _in_brackets(cell.header)
        optional = tuple(one for one in more if one)
        yield _Value(cell, row, wording.words(cell.text, decimal), tuple(needed), optional, unit, beside)


def _in_brackets(header: str) -> str:
    found = _BRACKETS.search(header)
    return found[0][1:-1].strip() if found else ""


def _is_unit(text: str, language: str) -> bool:
    """Return whether a text is only a unit, which has no magnitude: "EUR", not "million EUR"."""
    found = find(f"1 {text}", language)
    return len(found) == 1 and not wording.outside(f"1 {text}", found[0]) and found[0].numbers == {1.0}


def _ways(text: str, decimal: str) -> tuple[tuple[str, ...], ...]:
    """Return the written forms of a header: whole, and without the unit in brackets; longest first."""
    ways = {wording.words(text, decimal), wording.words(_BRACKETS.sub(" ", text), decimal)}
    return tuple(sorted((way for way in ways if way), key=len, reverse=True))


def check(statement: str, cells: Cells) -> Found | None:
    """Return the cell whose headers a statement names, None if it names none or states more than a value."""
    stated = wording.parts(statement, cells.decimal)
    if not cells.values or len(stated) > 60:
        return None
    there = frozenset(token.text for token in stated)
    best: list[tuple[_Value, tuple[Token, ...]]] = []
    least = -1
    for value in cells.values:
        if not all(any(there.issuperset(way) for way in ways) for ways in value.names):
            continue
        rest = _rest(stated, value)
        if rest is None:
            continue
        # Of "Price" and "Net price", the header with more of the statement's words is meant.
        size = len(wording.tied(rest, statement, cells.language))
        if least < 0 or size <= least:
            best = [*best, (value, rest)] if size == least else [(value, rest)]
            least = size
    verdicts = [(value, _agrees(value, rest, statement, cells)) for value, rest in best]
    if not verdicts or any(verdict is None for _, verdict in verdicts):
        return None
    if len({verdict for _, verdict in verdicts}) > 1:
        return None  # several cells have these headers, and not all hold this value
    value, verdict = verdicts[0]
    written = wording.written(wording.tied(best[0][1], statement, cells.language))
    return _found(value.cell, value.row, bool(verdict), written)


def at(statement: str, spans: Iterable[tuple[int, int]], source: Source, cells: Cells) -> Found | None:
    """Return whether the cell named by its place holds the value, which must be all that the statement says.

    `statement` is without the words for the place; None if it states more than a value.
    """
    wanted = set(spans)
    stated = wording.parts(statement, cells.decimal)
    for row in tables.rows(source):
        for cell in row.cells:
            if (cell.start, cell.end) not in wanted:
                continue
            value = _Value(cell, row, wording.words(cell.text, cells.decimal), (), (), cell.measure.unit)
            names = [way for one in (*row.names, cell) for way in _ways(one.header, cells.decimal)]
            names += [way for one in row.names for way in _ways(one.text, cells.decimal)]
            rest = stated
            for way in names:
                rest = _taken(rest, way) or rest
            verdict = _agrees(value, rest, statement, cells)
            written = wording.written(wording.tied(rest, statement, cells.language))
            return None if verdict is None else _found(cell, row, verdict, written)
    return None


def _found(cell: tables.Cell, row: tables.Row, holds: bool, stated: str) -> Found:
    return Found(holds, cell.start, cell.end, row.start, row.end, "" if holds else stated)


def _rest(stated: tuple[Token, ...], value: _Value) -> tuple[Token, ...] | None:
    """Return a statement without the names of row and column."""
    rest: tuple[Token, ...] | None = stated
    for ways in sorted(value.names, key=lambda ways: -len(ways[0])):
        rest = next((left for way in ways if rest and (left := _taken(rest, way)) is not None), None)
        if rest is None:
            return None
    assert rest is not None
    for way in sorted(value.more, key=len, reverse=True):
        rest = _taken(rest, way) or rest
    for cell, way in value.beside:
        if cell is not value.cell and way:
            rest = _taken(rest, way) or rest
    return rest


def _taken(stated: tuple[Token, ...], name: tuple[str, ...]) -> tuple[Token, ...] | None:
    """Return a statement without the first occurrence of a name, None if it does not occur."""
    size, plain = len(name), tuple(token.text for token in stated)
    for begin in range(len(stated) - size + 1):
        if plain[begin : begin + size] == name:
            return (*stated[:begin], *stated[begin + size :])
    return None


def _agrees(value: _Value, rest: tuple[Token, ...], statement: str, cells: Cells) -> bool | None:
    """Return whether the rest of a statement is the cell's value; None if it cannot be compared.

    Beside a number, only its magnitude and unit are: what else stands there, in the cell or the statement, may turn it.
    """
    tied = wording.tied(rest, statement, cells.language)
    noted = _NOTED.search(value.cell.text)
    if not tied or (noted and noted[1] not in statement):
        return None
    spoken = wording.spoken(tied, statement, cells.decimal)
    written = find(spoken, cells.language)
    given = written[0] if len(written) == 1 else None
    notes = [value.row.table.note] if value.row.table.note else [*map(_in_brackets, value.cell.headers)]
    lacks_magnitude = given is not None and _is_amount(given, value.cell.measure.unit)
    lacks_magnitude = lacks_magnitude and not any(note and note in statement for note in notes)
    if lacks_magnitude and value.noted_scale:
        return None
    if (differs := _differs_in_sign(tied, value, statement, cells.decimal)) is not False:
        return None if differs is None else False
    if wording.is_text(value.plain, rest, statement, cells.language) and wording.same_case(
        tied, statement, value.cell.text
    ):
        return None if lacks_magnitude and value.cell.measure.scale > value.cell.message.measure.scale else True
    number = value.cell.number
    if number is None and value.cell.measure.ByteSize():
        number = wording.bare_number(value.cell.text, cells.language)
    if number is None:
        if given is None or wording.outside(spoken, given):
            return None
        return wording.is_same(value.cell, given, cells.language, by_place=not value.names)
    same = _is_number(value, abs(number), tied, given, spoken, statement, cells)
    return same if value.cell.number is not None else same or None  # its text may be read in two ways


def _is_number(
    value: _Value, number: float, tied: tuple[Token, ...], given: Quantity | None, spoken: str, statement: str,
    cells: Cells,
) -> bool | None:  # fmt: skip
    """Return whether a rest is a cell's number, by itself as written, with a magnitude or a unit as scaled.

    `number` has no sign, like `given`, which is read from tokens.
    """
    scaled = number * 10.0**value.cell.measure.scale
    unit, plain = wording.words(value.unit, cells.decimal), tuple(token.text for token in tied)
    own = find(f"1 {value.unit}", cells.language) if value.unit else ()
    inside = wording.words(_in_brackets(value.cell.header), cells.decimal)
    for ending, amount in ((inside, number), (unit, scaled)):
        if not ending or len(plain) <= len(ending) or plain[-len(ending) :] != ending:
            continue
        if ending == inside and scaled != number and _is_unit(_in_brackets(value.cell.header), cells.language):
            continue  # the scale is said elsewhere, as in the table's title
        if not wording.same_case(tied, statement, f"{value.unit} {value.cell.header}"):
            return None
        bare = wording.spoken(tied[: -len(ending)], statement, cells.decimal)
        counted = find(bare, cells.language)
        if len(counted) != 1 or wording.outside(bare, counted[0]):
            return None
        return same_value(Quantity(frozenset([amount]), "", 0, 0, ""), counted[0])
    if given is None or wording.outside(spoken, given):
        return None
    if not given.dimension or given.dimension == "year":
        if _is_amount(given):
            return same_value(Quantity(frozenset([scaled]), "", 0, 0, ""), given)
        return same_value(Quantity(frozenset([number, scaled]), "", 0, 0, ""), given)
    held = own[0] if own and own[0].dimension else Quantity(frozenset([1.0]), "", 0, 0, "")
    if not held.dimension or not same_dimension(held, given):
        return None
    factor = next(iter(held.values))
    return same_value(Quantity(frozenset([scaled * factor]), held.dimension, 0, 0, ""), given)


def _is_amount(given: Quantity, unit: str = "") -> bool:
    """Return whether a quantity is one of money or in a column's unit, or a number with a word; no term, no day."""
    is_counted = given.dimension.startswith("money") or bool(unit and given.dimension)
    return is_counted or (not given.dimension and any(map(str.isalpha, given.text)))


_NOTED = re.compile(r"\A[^*†‡\n]++([*†‡]++)\Z")
"""A mark that refers to a note below the table: "400*", not "**400**"."""
_NEGATIVE = tuple("-−–(")
_MINUS = re.compile(r"(?<![\w)])[-−–][$€£¥]?\Z")
_OPENED, _CLOSED = re.compile(r"\( ?[$€£¥]? ?\Z"), re.compile(r" ?[$€£¥%]? ?\)")


def _differs_in_sign(rest: Sequence[Token], value: _Value, statement: str, decimal: str) -> bool | None:
    """Return whether a statement gives the one number in it another sign than the cell does; None if that is unclear.

    A minus or brackets make it negative: "(1,250)". Words such as "a loss of 1,250" are left to a verifier.
    """
    figures = [token.text for token in rest if token.text[0].isdigit()]
    if len(figures) != 1:
        return False
    number, text = value.cell.number, value.cell.text
    held = number < 0 if number is not None else text.startswith(_NEGATIVE) and not any(map(str.isalpha, text))
    stated = _marks(statement, figures[0], decimal)
    if held:
        return False if stated else None
    if "-" not in stated or number is not None:
        return "-" in stated  # brackets around a number may be those of a text
    return False if "-" in _marks(text, figures[0], decimal) else None


def _marks(text: str, figure: str, decimal: str) -> set[str]:
    """Return "-" and "(" as a number in a text has a minus before it or stands in brackets."""
    found: set[str] = set()
    for token in tokens(text, decimal):
        if token.text != figure:
            continue
        before = max(0, token.start - 4)
        if _MINUS.search(text, before, token.start):
            found.add("-")
        elif _OPENED.search(text, before, token.start) and _CLOSED.match(text, token.end):
            found.add("(")
    return found
