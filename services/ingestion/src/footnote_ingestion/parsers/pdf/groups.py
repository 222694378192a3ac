"""Determines by position which columns the words of a row of headers head."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass

from footnote_ingestion.parsers.pdf.grids import cell_of
from footnote_ingestion.parsers.pdf.rulings import Rule
from footnote_ingestion.parsers.pdf.stacked import Piece

Columns = Sequence[tuple[float, float]]
_LEFT_OUT = 0.6
_WIDEST = 60
_RIGHT_OVER = 0.12
_CLEARLY = 2.5
_LONGER = 0.03
"""Words this near to the middle of several columns, and this much nearer than to one column's, head them all."""


@dataclass(slots=True)
class Part:
    """A piece of a header, and the columns from `first` to before `last` that it heads."""

    piece: Piece
    first: int
    last: int


def meets_only_one(piece: Piece, columns: Columns) -> bool:
    """Return whether words are over at most one column."""
    return sum(piece.left < right and piece.right > left for left, right in columns) <= 1


def pitch_of(columns: Columns) -> float:
    """Return the distance between columns in points."""
    if len(columns) < 2:
        return columns[0][1] - columns[0][0] + 20
    return (columns[-1][1] - columns[0][0]) / len(columns)


def by_boxes(pieces: Sequence[Piece], columns: Columns, down: Sequence[Rule]) -> list[Part]:
    """Return the columns that vertical lines enclose together with each stretch of a row; None without such lines.

    The first and the last stretch may be open towards the table's edge.
    """
    found: list[Part] = []
    sides: set[float] = set()
    for number, piece in enumerate(pieces):
        height, middle = (piece.top + piece.bottom) / 2, (piece.left + piece.right) / 2
        beside = [rule.at for rule in down if rule.start < height < rule.end]
        left = max((at for at in beside if at < middle), default=-math.inf)
        right = min((at for at in beside if at > middle), default=math.inf)
        is_open = (left == -math.inf and (number or len(pieces) < 2)) or (
            right == math.inf and (number < len(pieces) - 1 or len(pieces) < 2)
        )
        if is_open or left > piece.left + 1 or right < piece.right - 1:
            return []
        inside = [at for at, (one, other) in enumerate(columns) if left < (one + other) / 2 < right]
        if not inside or (found and inside[0] < found[-1].last):
            return []
        sides |= {left, right} - {-math.inf, math.inf}
        found.append(Part(piece, inside[0], inside[-1] + 1))
    return found if len(sides) > 1 else []


def even_groups(pieces: Sequence[Piece], columns: Columns) -> list[Part]:
    """Return groups of equally many columns, if each stretch is over the middle of one."""
    size, rest = divmod(len(columns), len(pieces))
    pitch = pitch_of(columns)
    if rest or size < 2 or (len(pieces) == 1 and meets_only_one(pieces[0], columns)):
        return []
    found = []
    for at, piece in enumerate(pieces):
        group = columns[at * size : (at + 1) * size]
        middle = (group[0][0] + group[-1][1]) / 2
        if abs((piece.left + piece.right) / 2 - middle) > 0.25 * pitch:
            return []
        found.append(Part(piece, at * size, (at + 1) * size))
    return found


def groups_beside_one(pieces: Sequence[Piece], columns: Columns) -> list[Part]:
    """Return groups of equally many columns beside the first or the last column, which has its own header."""
    if len(pieces) < 2 or len(columns) < 3:
        return []
    if alone(pieces[0], columns) == 0 and (groups := even_groups(pieces[1:], columns[1:])):
        return [Part(pieces[0], 0, 1), *(Part(part.piece, part.first + 1, part.last + 1) for part in groups)]
    if alone(pieces[-1], columns) == len(columns) - 1 and (groups := even_groups(pieces[:-1], columns[:-1])):
        return [*groups, Part(pieces[-1], len(columns) - 1, len(columns))]
    return []


def each_over_one(groups: Sequence[Part], columns: Columns, lowest: Columns) -> bool:
    """Return whether the name of each group of columns is clearly over the middle of a single header of it instead."""
    most = _RIGHT_OVER * pitch_of(columns)
    for part in groups:
        single = (Part(part.piece, at, at + 1) for at in range(part.first, part.last))
        near = min(_off_middle(part.piece, one, lowest, lowest) for one in single)
        if near > most or _off_middle(part.piece, part, columns, lowest) <= max(near * _CLEARLY, most):
            return False
    return True


def alone(piece: Piece, columns: Columns) -> int | None:
    """Return the one column below the words; None if they may head several."""
    left, right = piece.left, piece.right
    middle = (left + right) / 2
    pitch = pitch_of(columns)
    met = [at for at, (one, other) in enumerate(columns) if left < other and right > one]
    if len(met) > 1:
        return None
    if not met:
        at = min(range(len(columns)), key=lambda at: abs(sum(columns[at]) / 2 - middle))
        return at if abs(sum(columns[at]) / 2 - middle) < 0.4 * pitch else None
    one, other = columns[met[0]]
    near = min(abs(middle - (one + other) / 2), abs(right - other), abs(left - one))
    return met[0] if near <= (0.4 if right - left < 0.8 * pitch else 0.2) * pitch else None


def in_middle_of_several(
    piece: Piece, home: int, others: Sequence[Piece], columns: Columns, lowest: Columns
) -> Part | None:
    """Return words as the header of the columns around their `home` if they are centred over several.

    None if they fit their home column as well, or columns that `others` head. `lowest` are the places of the columns'
    headers.
    """
    pitch = pitch_of(columns)
    middle = (piece.left + piece.right) / 2
    near = min(
        min(abs(middle - (left + right) / 2), abs(piece.right - right), abs(piece.left - left))
        for left, right in (columns[home], lowest[home])
    )
    free = [not any(one.left < right and one.right > left for one in others) for left, right in columns]
    part = _best_over(piece, (home, home + 1), free, columns, lowest)
    off = _off_middle(piece, part, columns, lowest)
    far = min(_RIGHT_OVER * pitch, piece.top - piece.bottom)
    if part.last == part.first + 1 or off > _RIGHT_OVER * pitch or near < max(_CLEARLY * off, far):
        return None
    return part


def _best_over(piece: Piece, least: tuple[int, int], free: Sequence[bool], columns: Columns, lowest: Columns) -> Part:
    """Return the range of free columns around the `least` ones that the words are best centred over."""
    best = Part(piece, *least)
    cost = _off_middle(piece, best, columns, lowest)
    longer = _LONGER * pitch_of(columns)
    begin = least[0]
    while begin >= 0 and (free[begin] or begin >= least[0]):
        end = least[1]
        while end <= len(columns) and (end == least[1] or free[end - 1]):
            part = Part(piece, begin, end)
            price = _off_middle(piece, part, columns, lowest) + longer * (end - begin - least[1] + least[0])
            if price < cost:
                best, cost = part, price
            end += 1
        begin -= 1
    return best


def _off_middle(piece: Piece, part: Part, columns: Columns, lowest: Columns) -> float:
    middle = (piece.left + piece.right) / 2
    return min(abs(middle - (places[part.first][0] + places[part.last - 1][1]) / 2) for places in (columns, lowest))


def between(pieces: Sequence[Piece], made: Sequence[Part | None], columns: Columns, lowest: Columns) -> list[Part]:
    """Assign stretches without columns those that they are centred over, if no other stretch claims them."""
    taken = {at for part in made if part is not None for at in range(part.first, part.last)}
    found: list[Part] = []
    for piece, part in zip(pieces, made, strict=True):
        if part is None:
            left, right = piece.left, piece.right
            met = [at for at, (one, other) in enumerate(columns) if left < other and right > one and at not in taken]
            if not met:
                middle = (left + right) / 2
                met = [min(range(len(columns)), key=lambda at: abs(sum(columns[at]) / 2 - middle))]
            rest = [one for one, other in zip(pieces, made, strict=True) if other is None and one is not piece]
            free = [
                at not in taken and not any(one.left < other and one.right > first for one in rest)
                for at, (first, other) in enumerate(columns)
            ]
            part = _best_over(piece, (met[0], met[-1] + 1), free, columns, lowest)
        found.append(part)
    return found


def shared_out(pieces: Sequence[Piece], columns: Columns) -> list[Part]:
    """Divide the columns among group headers, in order, so that each is best centred over its own."""
    count, many = len(columns), len(pieces)
    pitch = pitch_of(columns)
    infinite = float("inf")
    cost = [[infinite] * (count + 1) for _ in range(many + 1)]
    back: dict[tuple[int, int], tuple[int, int, int]] = {}
    cost[0][0] = 0.0
    for used in range(count + 1):
        for done in range(many + 1):
            here = cost[done][used]
            if here == infinite:
                continue
            if used < count and here + _LEFT_OUT < cost[done][used + 1]:
                cost[done][used + 1] = here + _LEFT_OUT
                back[done, used + 1] = (done, used, -1)
            if done == many:
                continue
            for last in range(used + 1, count + 1):
                price = here + _off(pieces[done], columns[used][0], columns[last - 1][1]) / pitch
                if price < cost[done + 1][last]:
                    cost[done + 1][last] = price
                    back[done + 1, last] = (done, used, done)
    if cost[many][count] == infinite:  # more headers than columns: each goes to the nearest
        middles = [(left + right) / 2 for left, right in columns]
        nearest = [
            min(range(count), key=lambda at: abs(middles[at] - (piece.left + piece.right) / 2)) for piece in pieces
        ]
        return [Part(piece, at, at + 1) for piece, at in zip(pieces, nearest, strict=True)]
    found: list[Part] = []
    at = (many, count)
    while at != (0, 0):
        done, used, piece = back[at]
        if piece >= 0:
            found.insert(0, Part(pieces[piece], used, at[1]))
        at = (done, used)
    return found


def _off(piece: Piece, left: float, right: float) -> float:
    """Return the distance of words from the middle of a stretch, or from being flush with an end of it."""
    start, end = piece.left, piece.right
    middle = abs((start + end) / 2 - (left + right) / 2)
    beyond = max(0.0, left - start, end - right)
    return middle + 0.1 * beyond


def spread_over_repeated(rows: list[list[Part]], width: int) -> None:
    """Spread headers that are flush with the last of several columns over all of them, if the names below repeat.

    For example, "2016" over the last of three columns, and "2015" over the last of the next three with the same names.
    """
    for flush in _alike(rows):
        row = flush[0]
        texts = [" ".join(cell_of(part.piece.words).text for part in parts) for parts in zip(*flush, strict=True)]
        if not 2 <= len(row) < width or len(set(texts)) < len(row) or any(part.last - part.first > 1 for part in row):
            continue
        others: list[str] = ["" for _ in range(width)]
        for other in rows:
            for part in other if not any(other is one for one in flush) else ():
                for at in range(part.first, min(part.last, width)):
                    others[at] += f" {cell_of(part.piece.words).text}"
        taken = {part.first for part in row}
        firsts = []
        for part in row:
            first = part.first
            while first and first - 1 not in taken and others[first - 1] and others.count(others[first - 1]) > 1:
                first -= 1
            firsts.append(first)
        reach = {part.first - first for part, first in zip(row, firsts, strict=True)}
        spans = {(first, part.last) for part, first in zip(row, firsts, strict=True)}
        if len(reach) == 1 and reach != {0} and not _are_named(spans, rows, row):
            for parts in flush:
                for part, first in zip(parts, firsts, strict=True):
                    part.first = first


def spread_over_periods(rows: Sequence[Sequence[Part]], width: int) -> None:
    """Spread headers evenly over columns whose names repeat in the same order.

    For example, "2001" and "2002" somewhere above "Tons, Value, Tons, Value".
    """
    for number, row in enumerate(rows if width <= _WIDEST else ()):
        names = ["" for _ in range(width)]
        for other in rows[number + 1 :]:
            for part in other:
                for at in range(part.first, min(part.last, width)):
                    names[at] += f" {cell_of(part.piece.words).text}"
        start, size, count = _repeated(names)
        groups = [[part for part in row if first <= part.first < first + size] for first in _firsts(start, size, count)]
        if not count or any(len(group) != 1 for group in groups):
            continue
        spans = {(first, first + size) for first in _firsts(start, size, count)}
        if len({cell_of(group[0].piece.words).text for group in groups}) < count or _are_named(spans, rows, row):
            continue
        for (part,), first in zip(groups, _firsts(start, size, count), strict=True):
            part.first, part.last = first, first + size


def _are_named(spans: Set[tuple[int, int]], rows: Sequence[Sequence[Part]], own: Sequence[Part]) -> bool:
    """Return whether a group of columns already has a name in another row: it has no second one."""
    return any((part.first, part.last) in spans for row in rows if row is not own for part in row)


def _firsts(start: int, size: int, count: int) -> range:
    return range(start, start + size * count, size) if count else range(0)


def _repeated(names: Sequence[str]) -> tuple[int, int, int]:
    """Return the start and length of a sequence of two or more names that repeats at once, and its repeats."""
    best = (0, 0, 0)
    for size in range(2, len(names) // 2 + 1):
        start = 0
        while start + 2 * size <= len(names):
            group = names[start : start + size]
            count = 1
            while names[start + count * size : start + (count + 1) * size] == group:
                count += 1
            if count > 1 and all(group) and len(set(group)) == size and size * count > best[1] * best[2]:
                best = (start, size, count)
            start += 1
    return best


def _alike(rows: list[list[Part]]) -> list[list[list[Part]]]:
    """Return rows joined with following rows over the same columns: one header of several lines."""
    found: list[list[list[Part]]] = []
    for row in rows:
        spans = [(part.first, part.last) for part in row]
        if found and [(part.first, part.last) for part in found[-1][-1]] == spans:
            found[-1].append(row)
        else:
            found.append([row])
    return found
