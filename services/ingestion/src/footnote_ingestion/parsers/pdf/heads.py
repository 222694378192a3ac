"""Which words above a table's figures head which columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from footnote_ingestion.parsers.pdf.grids import cell_of, segments
from footnote_ingestion.parsers.pdf.lines import Word
from footnote_ingestion.parsers.pdf.rulings import Rulings

Columns = Sequence[tuple[float, float]]
_LEFT_OUT = 0.6
_GOES_ON = re.compile(r"[,:]\s*$")


@dataclass(slots=True)
class Head:
    """The names of all columns, that of the rows' names first, and lines that stand above the table."""

    names: list[str]
    lead: list[str]


@dataclass(slots=True)
class _Part:
    """Words of a header, and the columns from `first` to before `last` that they head."""

    words: list[Word]
    first: int
    last: int


def header_names(
    rows: Sequence[Sequence[Word]],
    columns: Columns,
    names_column: tuple[float, float] | None,
    rules: Rulings,
    size: float,
) -> tuple[Head, list[Sequence[Word]]]:
    """Return the header of each column from the rows above the figures, and the rows that were used for it."""
    named = [names_column, *columns] if names_column else list(columns)
    edge = named[0][0]
    stub: list[list[Word]] = []
    parts: list[list[_Part]] = []
    used: list[Sequence[Word]] = []
    for row in reversed(rows):
        pieces = segments(row)
        left = [piece for piece in pieces if piece[-1].right < edge - 0.3 * size and not _meets(piece, named)]
        over = [piece for piece in pieces if piece not in left]
        if over and _is_title(over[0], named, size):
            break
        if over:
            pieces_over = _cut(over, named)
            parts.insert(0, _assigned(pieces_over, named, rules, size))
        elif used and not left:
            break
        if left and not over:  # a title, or a section's name
            break
        stub[:0] = left
        used.insert(0, row)
    while used and parts and not parts[0]:
        parts.pop(0)
    return _named(stub, parts, len(columns), names_column is not None), used


def _meets(piece: Sequence[Word], columns: Columns) -> bool:
    return any(piece[0].left < right and piece[-1].right > left for left, right in columns)


def _may_head(piece: Sequence[Word], at: int, columns: Columns) -> bool:
    """Tell whether words stand over a column, or at least over no other one."""
    met = [one for one, (left, right) in enumerate(columns) if piece[0].left < right and piece[-1].right > left]
    return at in met or not met


def _meets_only_one(piece: Sequence[Word], columns: Columns) -> bool:
    return sum(piece[0].left < right and piece[-1].right > left for left, right in columns) <= 1


def _is_title(piece: Sequence[Word], columns: Columns, size: float) -> bool:
    """Tell whether words begin far left of all columns, or stand over names and values alike: a title."""
    left, right = piece[0].left, piece[-1].right
    first = columns[0]
    pitch = _pitch(columns)
    return left < first[0] - max(0.8 * pitch, 6 * size) and right > first[0]


def _pitch(columns: Columns) -> float:
    if len(columns) < 2:
        return columns[0][1] - columns[0][0] + 20
    return (columns[-1][1] - columns[0][0]) / len(columns)


def _cut(pieces: list[list[Word]], columns: Columns) -> list[list[Word]]:
    """Cut stretches whose words stand over a column each, set closer than usual."""
    if len(pieces) >= len(columns):
        return pieces
    made: list[list[Word]] = []
    for piece in pieces:
        homes = [_home(word, columns) for word in piece]
        if len(piece) > 1 and None not in homes and len(set(homes)) == len({id(word) for word in piece}):
            made += [[word] for word in piece]
            continue
        made.append(piece)
    return made


def _home(word: Word, columns: Columns) -> int | None:
    """Return the column that a word stands over, by its middle or an edge."""
    middle = (word.left + word.right) / 2
    pitch = _pitch(columns)
    for at, (left, right) in enumerate(columns):
        near = min(abs(middle - (left + right) / 2), abs(word.right - right), abs(word.left - left))
        if near <= 0.12 * pitch:
            return at
    return None


def _assigned(pieces: list[list[Word]], columns: Columns, rules: Rulings, size: float) -> list[_Part]:
    """Return which columns each stretch of a row of headers stands for."""
    made: list[_Part | None] = [_by_rule(piece, pieces, columns, rules, size) for piece in pieces]
    if len(pieces) == len(columns) and all(
        (part is None or part.last - part.first == 1) and _may_head(piece, at, columns)
        for at, (piece, part) in enumerate(zip(pieces, made, strict=True))
    ):
        return [_Part(piece, at, at + 1) for at, piece in enumerate(pieces)]
    if all(part is None for part in made) and (groups := _even_groups(pieces, columns)):
        return groups
    for at, piece in enumerate(pieces):
        if made[at] is None:
            home = _alone(piece, columns)
            made[at] = _Part(piece, home, home + 1) if home is not None else None
    if all(part is not None for part in made):
        return [part for part in made if part is not None]
    if any(part is not None for part in made):
        return _between(pieces, made, columns)
    return _shared_out(pieces, columns)


def _by_rule(
    piece: Sequence[Word], pieces: Sequence[Sequence[Word]], columns: Columns, rules: Rulings, size: float
) -> _Part | None:
    """Return the columns above which a line is drawn under the words."""
    left, right = piece[0].left, piece[-1].right
    low = min(word.bottom for word in piece)
    spread = columns[-1][1] - columns[0][0]
    best: tuple[float, int, int] | None = None
    for rule in rules.across:
        if not low - 0.8 * size <= rule.at <= low + 0.45 * size or rule.start > left + size or rule.end < right - size:
            continue
        under = [at for at, (one, other) in enumerate(columns) if rule.start - 3 <= (one + other) / 2 <= rule.end + 3]
        beside = sum(rule.start < (one[0].left + one[-1].right) / 2 < rule.end for one in pieces)
        if (
            not under
            or beside > 1
            or (rule.end - rule.start > 0.97 * spread and len(columns) > 1 and rule.start < columns[0][0] - 20)
        ):
            continue
        if best is None or rule.end - rule.start < best[0]:
            best = (rule.end - rule.start, under[0], under[-1] + 1)
    return _Part(list(piece), best[1], best[2]) if best is not None else None


def _even_groups(pieces: list[list[Word]], columns: Columns) -> list[_Part]:
    """Return groups of as many columns each, when every stretch stands over the middle of one."""
    size, rest = divmod(len(columns), len(pieces))
    pitch = _pitch(columns)
    if rest or size < 2 or (len(pieces) == 1 and _meets_only_one(pieces[0], columns)):
        return []
    found = []
    for at, piece in enumerate(pieces):
        group = columns[at * size : (at + 1) * size]
        middle = (group[0][0] + group[-1][1]) / 2
        if abs((piece[0].left + piece[-1].right) / 2 - middle) > 0.25 * pitch:
            return []
        found.append(_Part(piece, at * size, (at + 1) * size))
    return found


def _alone(piece: Sequence[Word], columns: Columns) -> int | None:
    """Return the one column that words stand over, None when they may head several."""
    left, right = piece[0].left, piece[-1].right
    middle = (left + right) / 2
    pitch = _pitch(columns)
    met = [at for at, (one, other) in enumerate(columns) if left < other and right > one]
    if len(met) > 1:
        return None
    if not met:
        at = min(range(len(columns)), key=lambda at: abs(sum(columns[at]) / 2 - middle))
        return at if abs(sum(columns[at]) / 2 - middle) < 0.4 * pitch else None
    one, other = columns[met[0]]
    near = min(abs(middle - (one + other) / 2), abs(right - other), abs(left - one))
    return met[0] if near <= (0.4 if right - left < 0.8 * pitch else 0.2) * pitch else None


def _between(pieces: list[list[Word]], made: list[_Part | None], columns: Columns) -> list[_Part]:
    """Give the stretches without a column those that they stand over and no other one has."""
    taken = {at for part in made if part is not None for at in range(part.first, part.last)}
    found: list[_Part] = []
    for piece, part in zip(pieces, made, strict=True):
        if part is None:
            left, right = piece[0].left, piece[-1].right
            met = [at for at, (one, other) in enumerate(columns) if left < other and right > one and at not in taken]
            if not met:
                middle = (left + right) / 2
                met = [min(range(len(columns)), key=lambda at: abs(sum(columns[at]) / 2 - middle))]
            part = _Part(piece, met[0], met[-1] + 1)
        found.append(part)
    return found


def _shared_out(pieces: list[list[Word]], columns: Columns) -> list[_Part]:
    """Share the columns out among headers of groups so that each stands over the middle of its own, in their order."""
    count, many = len(columns), len(pieces)
    pitch = _pitch(columns)
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
        return [_Part(piece, at, at + 1) for piece, at in zip(pieces, nearest, strict=True)]
    found: list[_Part] = []
    at = (many, count)
    while at != (0, 0):
        done, used, piece = back[at]
        if piece >= 0:
            found.insert(0, _Part(pieces[piece], used, at[1]))
        at = (done, used)
    return found


def _off(piece: Sequence[Word], left: float, right: float) -> float:
    """Return how far words are from standing over the middle of a stretch, or flush with an end of it."""
    start, end = piece[0].left, piece[-1].right
    middle = abs((start + end) / 2 - (left + right) / 2)
    beyond = max(0.0, left - start, end - right)
    return middle + 0.1 * beyond


def _named(stub: list[list[Word]], parts: list[list[_Part]], count: int, named_by_column: bool) -> Head:
    """Return the names of columns: groups first, parted from what stands below them."""
    width = count + (1 if named_by_column else 0)
    names: list[list[tuple[tuple[int, int], str]]] = [[] for _ in range(width)]
    notes: list[str] = []
    for row in parts:
        for part in row:
            text = cell_of(part.words).text
            if part.last - part.first >= count > 1 and text.startswith("(") and text.endswith(")"):
                notes.append(text)  # "(in thousands)", "(unaudited)": of the whole table, and no column's name
                continue
            for at in range(part.first, min(part.last, width)):
                names[at].append(((part.first, part.last), text))
    texts = [_stacked(one) for one in names]
    words = [cell_of(piece).text for piece in stub]
    lead = [text for text in words if text.startswith("(") and text.endswith(")") and len(text) > 12]
    rest = [text for text in words if text not in lead]
    lead += notes
    goes_on = [text for text in rest if _GOES_ON.search(text)] if texts and any(texts) else []
    corner = " ".join(text for text in rest if text not in goes_on)
    if goes_on:
        texts = [" ".join(filter(None, (*goes_on, text))) if text else "" for text in texts]
    if named_by_column:
        return Head(texts if not corner else [f"{corner} {texts[0]}".strip(), *texts[1:]], lead)
    return Head([corner, *texts], lead)


def _stacked(names: Sequence[tuple[tuple[int, int], str]]) -> str:
    """Return what stands over a column as one name: lines over the same columns are one text, groups are parted."""
    text, last = "", None
    for span, name in names:
        if not text:
            text = name
        elif span == last:
            text = text[:-1] + name if text.endswith("-") else f"{text} {name}"
        else:
            text = f"{text} › {name}"
        last = span
    return text
