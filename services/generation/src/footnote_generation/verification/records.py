"""Rows read as records: a value counts for the row and the column that a statement names."""

from __future__ import annotations

from collections.abc import Sequence

from footnote.types.v1.reasons_pb2 import CLAIM_REASON_PARTLY_IN_SOURCE, CLAIM_REASON_VALUE_OF_ANOTHER

from footnote_generation.language.grammar import Grammar
from footnote_generation.language.reading import Item, Reading
from footnote_generation.verification.doubts import NONE, Doubt
from footnote_generation.verification.facts import HERE, Alignment
from footnote_generation.verification.places import Field, Place, Row


def misread(alignment: Alignment, claim: Reading, place: Place, grammar: Grammar, others: Sequence[Place]) -> Doubt:
    """Return why a row does not bear out a statement whose words it holds: another column, or no one row's subject."""
    if place.row is None:
        return NONE
    cells, hit, named, values = _taken(alignment, claim, place, place.row, grammar)
    doubt = _unanswered(alignment, claim, place, place.row, cells, hit, named, values)
    if doubt:
        return doubt
    for number in values:
        rivals = [
            other for other in range(len(cells)) if other not in values and _alike(cells[number], cells[other], place)
        ]
        if rivals and not named[number]:
            return Doubt(
                CLAIM_REASON_VALUE_OF_ANOTHER,
                stated=_stated(alignment, claim),
                found=_text(place.row.fields[rivals[0]], place),
            )
    return _subject(alignment, cells, hit, values, place, grammar, others)


def other_column(alignment: Alignment, claim: Reading, place: Place, grammar: Grammar) -> Doubt:
    """Say that a column named in the statement holds another value, and that no column named holds the stated one."""
    if place.row is None:
        return NONE
    cells, hit, named, values = _taken(alignment, claim, place, place.row, grammar)
    if any(named[number] for number in values):
        return NONE
    return _unanswered(alignment, claim, place, place.row, cells, hit, named, values)


def _taken(
    alignment: Alignment, claim: Reading, place: Place, row: Row, grammar: Grammar
) -> tuple[list[list[int]], set[int], list[bool], set[int]]:
    """Return the words of each cell, those of the place that are hit, which columns are named, and the value cells."""
    stated = frozenset(item.stem for item in claim.items)
    hit = {index for link in alignment.links if link.where == HERE for index in link.at}
    cells = [_inside(field, place) for field in row.fields]
    named = [
        bool(_own(row, number, grammar) & stated) or _synonym(row, number, stated, grammar)
        for number in range(len(cells))
    ]
    return cells, hit, named, _values(alignment, cells, place)


def _unanswered(
    alignment: Alignment,
    claim: Reading,
    place: Place,
    row: Row,
    cells: Sequence[list[int]],
    hit: set[int],
    named: Sequence[bool],
    values: set[int],
) -> Doubt:
    """Say that a column named in the statement holds a value that it does not give."""
    stated = frozenset(item.stem for item in claim.items)
    for number, field in enumerate(row.fields):
        held = bool(set(cells[number]) & hit) or number in values
        if (
            named[number]
            and not held
            and cells[number]
            and not _elsewhere(field, stated, row, number, hit, cells, place)
        ):
            return Doubt(
                CLAIM_REASON_VALUE_OF_ANOTHER,
                stated=_stated(alignment, claim),
                found=_text(field, place),
                subject=_name(field, claim),
            )
    return NONE


def _subject(
    alignment: Alignment,
    cells: Sequence[list[int]],
    hit: set[int],
    values: set[int],
    place: Place,
    grammar: Grammar,
    others: Sequence[Place],
) -> Doubt:
    """Say that the statement does not tell this row from the others of its table."""
    items = place.items()
    key = next((cell for number, cell in enumerate(cells) if number not in values and set(cell) & hit), None)
    siblings = [other for other in others if other is not place and other.row is not None]
    if key is None and len(values) > 1 and _numbered(place, values, siblings):
        return NONE
    if key is None:
        return Doubt(CLAIM_REASON_PARTLY_IN_SOURCE, found=place.reading.text[-80:]) if siblings else NONE
    loose = [
        items[index]
        for index in key
        if items[index].content and index not in hit and items[index].stem not in grammar.light
    ]
    wanted = {items[index].stem for cell in cells for index in cell if index in hit}
    alike = [other for other in siblings if wanted <= {item.stem for item in other.items()}]
    if loose and any(
        {items[index].stem for index in key if index in hit} <= {item.stem for item in other.items()}
        for other in siblings
    ):
        return Doubt(CLAIM_REASON_PARTLY_IN_SOURCE, found=" ".join(items[index].text for index in key))
    return Doubt(CLAIM_REASON_PARTLY_IN_SOURCE, found=alike[0].reading.text[-80:]) if alike and values else NONE


def _numbered(place: Place, values: set[int], siblings: Sequence[Place]) -> bool:
    """Whether a statement tells a row by the number in its first cell, which no other row has there: "train 301"."""
    if 0 not in values or place.row is None:
        return False
    mine = _text(place.row.fields[0], place)
    return all(other.row is None or _text(other.row.fields[0], other) != mine for other in siblings)


def _inside(field: Field, place: Place) -> list[int]:
    return [index for index, item in enumerate(place.items()) if field.start <= item.start < field.end]


def _values(alignment: Alignment, cells: Sequence[list[int]], place: Place) -> set[int]:
    """Return the cells that hold the quantities of a statement."""
    wanted = {index for match in alignment.matches for index in match.at}
    return {
        number for number, cell in enumerate(cells) if any(place.items()[index].quantity in wanted for index in cell)
    }


def _alike(mine: Sequence[int], other: Sequence[int], place: Place) -> bool:
    """Whether two cells hold quantities of one kind."""
    items, given = place.items(), place.reading.quantities
    left = {given[items[index].quantity].dimension for index in mine if items[index].quantity >= 0}
    right = {given[items[index].quantity].dimension for index in other if items[index].quantity >= 0}
    return bool(left & right)


def _own(row: Row, number: int, grammar: Grammar) -> frozenset[str]:
    """Return the words of a column's name that no other column has."""
    rest = frozenset(stem for other, field in enumerate(row.fields) if other != number for stem in field.header)
    return row.fields[number].header - rest


def _synonym(row: Row, number: int, stated: frozenset[str], grammar: Grammar) -> bool:
    groups = {group for stem in stated for group in grammar.groups(stem)}
    return any(group in groups for stem in _own(row, number, grammar) for group in grammar.groups(stem))


def _elsewhere(
    field: Field, stated: frozenset[str], row: Row, number: int, hit: set[int], cells: Sequence[list[int]], place: Place
) -> bool:
    """Whether the words of a column's name stand in the row's values too, so that the statement may mean those."""
    values = {place.items()[index].stem for other, cell in enumerate(cells) for index in cell if other != number}
    return bool(field.header & stated & values)


def _text(field: Field, place: Place) -> str:
    return place.reading.text[field.start : field.end].strip().rstrip(";|").strip()


def _name(field: Field, claim: Reading) -> str:
    return next((item.text for item in claim.items if item.stem in field.header), "")


def _stated(alignment: Alignment, claim: Reading) -> str:
    if alignment.matches:
        return alignment.matches[0].quantity.text
    content: list[Item] = claim.content()
    return content[-1].text if content else ""
