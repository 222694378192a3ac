"""Names of a table's rows: names beside several rows, and names of several lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from footnote_ingestion.parsers.pdf.grids import Cell, Row, cell_of
from footnote_ingestion.parsers.pdf.lines import Word

_OFF_CENTRE = 0.3
"""Maximum distance of a name from the middle of its rows, as a fraction of the distance between rows."""
_MOST_LINES, _TALLEST = 4, 0.8
"""Maximum number of a name's lines above or below its values, and their height relative to half the values'."""
_REGULAR, _LEAST_REGULAR = 0.8, 3
"""Fraction of rows that begin at the same place and have as many lines of names around them, and their minimum."""
_TOUCHING = 0.1
"""Maximum overlap of two rows' names with each other's column, as a fraction of their height."""
_SPACE, _HANGING = 0.2, 1.5
DEEPER = 2.0
"""A name begins this many points to the right of the name that it belongs to."""


@dataclass(slots=True)
class Spanning:
    """Rows without the names beside several of them, and those names, one per row.

    `own` is where the rows' own names are, from the left.
    """

    rows: list[list[Word]]
    names: list[list[Word]]
    own: tuple[float, float]


def beside_several(rows: Sequence[list[Word]], edge: float) -> Spanning | None:
    """Return the names beside several rows, left of the rows' own names, which end at `edge`; None without any.

    Such a name is half way between the first and the last of its rows: "LLaMA" beside 7B, 13B, 33B and 65B. There are
    such names only if every row with values gets one.
    """
    zones = [[word for word in row if word.right < edge] for row in rows]
    reach = 0.0
    for at, word in enumerate(sorted((word for zone in zones for word in zone), key=lambda word: word.left)):
        if at and word.left > reach - _TOUCHING * (word.top - word.bottom):
            found = _parted(rows, zones, (reach + word.left) / 2)
            if found is not None:
                return found
        reach = max(reach, word.right)
    return None


def _parted(rows: Sequence[list[Word]], zones: Sequence[list[Word]], gap: float) -> Spanning | None:
    """Split rows at a gap without words, if the words left of it are beside several rows."""
    outer: list[list[Word]] = []
    inner: list[list[Word]] = []
    kept: list[list[Word]] = []
    for row, zone in zip(rows, zones, strict=True):
        first = [word for word in zone if word.left + word.right < 2 * gap]
        own = zone[len(first) :]
        if first:
            outer.append(first)
        if len(row) == len(first):
            continue
        if not own or len(row) == len(zone):
            return None
        inner.append(own)
        kept.append(row[len(first) :])
    if len(kept) < 2 or not 0 < len(outer) < len(kept):
        return None
    heights = [_height(own) for own in inner]
    pitch = min(above - below for above, below in pairwise(heights))
    names: list[list[Word]] = []
    for first in outer:
        middle, begin = _height(first), len(names)
        off = [abs((heights[begin] + height) / 2 - middle) for height in heights[begin:]]
        if not off or min(off) > _OFF_CENTRE * pitch:
            return None
        names += [first] * (off.index(min(off)) + 1)
    if len(names) < len(kept):
        return None
    return Spanning(kept, names, (min(own[0].left for own in inner), max(own[-1].right for own in inner)))


def _height(piece: Sequence[Word]) -> float:
    return sum(word.top + word.bottom for word in piece) / (2 * len(piece))


def under(name: Sequence[Word], row: Row) -> Row:
    """Return a row with its name placed under the name that is beside it and other rows."""
    one, own = cell_of(name), row.cells[0]
    text = " › ".join(filter(None, (one.text, own.text)))
    return Row([_around(one, own, text), *row.cells[1:]], one.left, row.lines | {id(word.line) for word in name})


def around(rows: Sequence[Row]) -> list[Row]:
    """Join rows of values with the lines of their names above and below, if some have no name between such lines.

    A name's lines extend as far above the middle of the values as below it.
    """
    made = _centred(rows)
    if not any(_is_bare(row) for row in made) or all(row.cells[0].text or _is_bare(row) for row in made):
        return made
    at = 0
    while at < len(made):
        row = made[at]
        value = next((cell for cell in row.cells[1:] if cell.text), None)
        if value is not None and (lines := _lines_around(made, at, value)) is not None:
            first, last = lines
            made[first:last] = [_joined_names(made[first:last], row)]
            at = first
        at += 1
    return made


def _centred(rows: Sequence[Row]) -> list[Row]:
    """Join rows with the lines above and below them, if these are as many for almost all rows, and none is indented."""
    valued = [at for at, row in enumerate(rows) if not _is_bare(row)]
    first = min((row.indent for row in rows), default=0.0)
    flush = sum(row.indent < first + DEEPER for row in rows)
    between = [below - above - 1 for above, below in pairwise(valued)]
    count = max(set(between), key=between.count) if between else 0
    half = count // 2
    if (
        count % 2
        or flush < _REGULAR * len(rows)
        or not half <= _MOST_LINES
        or between.count(count) < _REGULAR * len(between)
        or len(between) < _LEAST_REGULAR
        or min(valued[0], len(rows) - 1 - valued[-1]) < half
        or not half
    ):
        return list(rows)
    made: list[Row] = []
    done = 0
    for at in valued:
        block = rows[max(at - half, 0) : at + half + 1]
        if at - half >= done and sum(map(_is_bare, block)) == len(block) - 1 == 2 * half:
            made += [*rows[done : at - half], _joined_names(rows[at - half : at + half + 1], rows[at])]
            done = at + half + 1
    return [*made, *rows[done:]]


def _joined_names(rows: Sequence[Row], valued: Row) -> Row:
    """Return the row with values, named by all rows in their order."""
    names = [row.cells[0] for row in rows if row.cells[0].text]
    name = names[0]
    for other in names[1:]:
        name = _both(name, other)
    used = set().union(*(row.lines for row in rows))
    return Row([name, *valued.cells[1:]], min(name.left, valued.indent), used)


def _lines_around(rows: Sequence[Row], at: int, value: Cell) -> tuple[int, int] | None:
    """Return the range of rows with lines of a name around a row of values, if any."""
    middle, height = (value.top + value.bottom) / 2, value.top - value.bottom
    own = rows[at].cells[0]
    best: tuple[float, int, int] | None = None
    for first in range(at, max(at - _MOST_LINES, -1), -1):
        if first < at and not _is_bare(rows[first]):
            break
        for last in range(at + 1, min(at + 1 + _MOST_LINES, len(rows) + 1)):
            if last > at + 1 and not _is_bare(rows[last - 1]):
                break
            if first == at or last == at + 1 or (own.text and at - first != last - at - 1):
                continue
            names = [one.cells[0] for one in rows[first:last] if one.cells[0].text]
            off = abs((names[0].top + names[-1].bottom) / 2 - middle)
            steps = [above.top - below.top for above, below in pairwise(names)]
            even = max(steps) - min(steps) < _OFF_CENTRE * height if steps else False
            if even and off < _OFF_CENTRE * height and names[0].top - middle < _TALLEST * height * len(names):
                best = min(best or (off, first, last), (off, first, last))
    return best[1:] if best is not None else None


def joined(rows: Sequence[Row], edge: float) -> list[Row]:
    """Join names that continue in the next row: in lower case, or if both have no values and the first fills its line.

    An indented name is a continuation only if its first word had no room above; else it belongs to a section. So is
    one that had no room if no row below it is indented as far. `edge` is the end of the column of names.
    """
    made: list[Row] = []
    for row, below in zip_longest(rows, rows[1:]):
        last = made[-1] if made else None
        name = row.cells[0]
        if last is None or not name.text or not last.cells[0].text or not _goes_on(last, row, below, edge):
            made.append(row)
        elif _is_bare(last):
            made[-1] = Row([_both(last.cells[0], name), *row.cells[1:]], last.indent, last.lines | row.lines)
        else:
            last.cells[0] = _both(last.cells[0], name)
            last.lines |= row.lines
    return made


def _goes_on(last: Row, row: Row, below: Row | None, edge: float) -> bool:
    above, name = last.cells[0], row.cells[0]
    bare, last_bare = _is_bare(row), _is_bare(last)
    if (last_bare and above.text.endswith(":")) or not (bare or last_bare):
        return False
    width = (name.right - name.left) * len(name.text.partition(" ")[0]) / len(name.text)
    has_room = above.right + width + _SPACE * (above.top - above.bottom) < edge
    deeper = row.indent > last.indent + DEEPER
    if name.text[:1].islower():
        return not (deeper and has_room)
    if has_room or not bare:
        return False
    if last_bare:
        return abs(row.indent - last.indent) < DEEPER
    hangs = abs(row.indent - last.indent) < _HANGING * (name.top - name.bottom)
    return hangs and (below is None or below.indent < row.indent - DEEPER)


def _is_bare(row: Row) -> bool:
    return not any(cell.text for cell in row.cells[1:])


def _both(one: Cell, other: Cell) -> Cell:
    return _around(one, other, f"{one.text} {other.text}".strip())


def _around(one: Cell, other: Cell, text: str) -> Cell:
    both = [cell for cell in (one, other) if cell.text]
    return Cell(
        text,
        min(cell.left for cell in both),
        min(cell.bottom for cell in both),
        max(cell.right for cell in both),
        max(cell.top for cell in both),
    )
