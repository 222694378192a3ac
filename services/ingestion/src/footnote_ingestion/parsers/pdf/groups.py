"""Which columns the words of a row of headers stand for, by where they stand over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from footnote_ingestion.parsers.pdf.grids import cell_of
from footnote_ingestion.parsers.pdf.lines import Word

Columns = Sequence[tuple[float, float]]
_LEFT_OUT = 0.6


@dataclass(slots=True)
class Part:
    """Words of a header, and the columns from `first` to before `last` that they head."""

    words: list[Word]
    first: int
    last: int


def meets_only_one(piece: Sequence[Word], columns: Columns) -> bool:
    """Tell whether words stand over one column at most."""
    return sum(piece[0].left < right and piece[-1].right > left for left, right in columns) <= 1


def pitch_of(columns: Columns) -> float:
    """Return how far columns are from one another, in points."""
    if len(columns) < 2:
        return columns[0][1] - columns[0][0] + 20
    return (columns[-1][1] - columns[0][0]) / len(columns)


def even_groups(pieces: list[list[Word]], columns: Columns) -> list[Part]:
    """Return groups of as many columns each, when every stretch stands over the middle of one."""
    size, rest = divmod(len(columns), len(pieces))
    pitch = pitch_of(columns)
    if rest or size < 2 or (len(pieces) == 1 and meets_only_one(pieces[0], columns)):
        return []
    found = []
    for at, piece in enumerate(pieces):
        group = columns[at * size : (at + 1) * size]
        middle = (group[0][0] + group[-1][1]) / 2
        if abs((piece[0].left + piece[-1].right) / 2 - middle) > 0.25 * pitch:
            return []
        found.append(Part(piece, at * size, (at + 1) * size))
    return found


def groups_beside_one(pieces: list[list[Word]], columns: Columns) -> list[Part]:
    """Return groups of as many columns each beside the first or the last column, which has a header for itself."""
    if len(pieces) < 2 or len(columns) < 3:
        return []
    if alone(pieces[0], columns) == 0 and (groups := even_groups(pieces[1:], columns[1:])):
        return [Part(pieces[0], 0, 1), *(Part(part.words, part.first + 1, part.last + 1) for part in groups)]
    if alone(pieces[-1], columns) == len(columns) - 1 and (groups := even_groups(pieces[:-1], columns[:-1])):
        return [*groups, Part(pieces[-1], len(columns) - 1, len(columns))]
    return []


def alone(piece: Sequence[Word], columns: Columns) -> int | None:
    """Return the one column that words stand over, None when they may head several."""
    left, right = piece[0].left, piece[-1].right
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


def between(pieces: list[list[Word]], made: list[Part | None], columns: Columns) -> list[Part]:
    """Give the stretches without a column those that they stand over and no other one has."""
    taken = {at for part in made if part is not None for at in range(part.first, part.last)}
    found: list[Part] = []
    for piece, part in zip(pieces, made, strict=True):
        if part is None:
            left, right = piece[0].left, piece[-1].right
            met = [at for at, (one, other) in enumerate(columns) if left < other and right > one and at not in taken]
            if not met:
                middle = (left + right) / 2
                met = [min(range(len(columns)), key=lambda at: abs(sum(columns[at]) / 2 - middle))]
            part = Part(piece, met[0], met[-1] + 1)
        found.append(part)
    return found


def shared_out(pieces: list[list[Word]], columns: Columns) -> list[Part]:
    """Share the columns out among headers of groups so that each stands over the middle of its own, in their order."""
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
            min(range(count), key=lambda at: abs(middles[at] - (piece[0].left + piece[-1].right) / 2))
            for piece in pieces
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


def _off(piece: Sequence[Word], left: float, right: float) -> float:
    """Return how far words are from standing over the middle of a stretch, or flush with an end of it."""
    start, end = piece[0].left, piece[-1].right
    middle = abs((start + end) / 2 - (left + right) / 2)
    beyond = max(0.0, left - start, end - right)
    return middle + 0.1 * beyond


def spread_over_repeated(rows: list[list[Part]], width: int) -> None:
    """Let headers that are flush with the last of several columns head them all: those named alike elsewhere.

    "2016" over the last of three columns and "2015" over the last of the next three, which have the same three names.
    """
    for flush in _alike(rows):
        row = flush[0]
        texts = [" ".join(cell_of(part.words).text for part in parts) for parts in zip(*flush, strict=True)]
        if not 2 <= len(row) < width or len(set(texts)) < len(row) or any(part.last - part.first > 1 for part in row):
            continue
        others: list[str] = ["" for _ in range(width)]
        for other in rows:
            for part in other if not any(other is one for one in flush) else ():
                for at in range(part.first, min(part.last, width)):
                    others[at] += f" {cell_of(part.words).text}"
        taken = {part.first for part in row}
        firsts = []
        for part in row:
            first = part.first
            while first and first - 1 not in taken and others[first - 1] and others.count(others[first - 1]) > 1:
                first -= 1
            firsts.append(first)
        reach = {part.first - first for part, first in zip(row, firsts, strict=True)}
        if len(reach) == 1 and reach != {0}:
            for parts in flush:
                for part, first in zip(parts, firsts, strict=True):
                    part.first = first


def _alike(rows: list[list[Part]]) -> list[list[list[Part]]]:
    """Return rows with those that follow them over the same columns: one header of several lines."""
    found: list[list[list[Part]]] = []
    for row in rows:
        spans = [(part.first, part.last) for part in row]
        if found and [(part.first, part.last) for part in found[-1][-1]] == spans:
            found[-1].append(row)
        else:
            found.append([row])
    return found
