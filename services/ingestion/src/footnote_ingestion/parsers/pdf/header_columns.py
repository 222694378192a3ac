"""Assigns the words above a table's figures to the columns that they head."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from footnote_ingestion.parsers.measures import is_note, note_of
from footnote_ingestion.parsers.pdf.cut_headers import cut_headers, parted_by
from footnote_ingestion.parsers.pdf.grids import cell_of, segments
from footnote_ingestion.parsers.pdf.groups import (
    Columns,
    Part,
    alone,
    between,
    by_boxes,
    each_over_one,
    even_groups,
    groups_beside_one,
    in_middle_of_several,
    meets_only_one,
    pitch_of,
    shared_out,
    spread_over_periods,
    spread_over_repeated,
)
from footnote_ingestion.parsers.pdf.lines import Word
from footnote_ingestion.parsers.pdf.numbered import without_numbers
from footnote_ingestion.parsers.pdf.rulings import Rule, Rulings
from footnote_ingestion.parsers.pdf.stacked import Piece, piece_of, stacked
from footnote_ingestion.parsers.pdf.underlined import by_lines, over_no_column, with_lines

_GOES_ON = re.compile(r"[,:]\s*$")
_OFF, _ASIDE, _FLUSH = 0.6, 3.0, 0.3


@dataclass(slots=True)
class Head:
    """The headers of all columns, that of the rows' names first, and the lines above the table."""

    names: list[str]
    lead: list[str]


def header_names(
    rows: Sequence[Sequence[Word]],
    columns: Columns,
    names_column: tuple[float, float] | None,
    rules: Rulings,
    size: float,
    start: float,
) -> tuple[Head, list[Sequence[Word]]]:
    """Return the header of each column from the rows above the figures, and the rows that were used for it.

    `start` is where the table begins on the left.
    """
    named = with_lines([names_column, *columns] if names_column else columns, rows, rules.across, size, start)
    edge = named[0][0]
    stub: list[Piece] = []
    heading: list[list[Piece]] = []
    beyond: list[Piece] = []
    used: list[Sequence[Word]] = []
    over_all: list[str] = []
    boxed = _first_boxed(rows, named, rules.down, size)
    pieces_of = [[piece_of(part) for words in segments(row) for part in parted_by(words, rules.down)] for row in rows]
    bare = over_no_column(pieces_of, named, rules.across, size) if rules.across else []
    for number, row in reversed(list(enumerate(rows))):
        # Columns without values have no place; their headers belong to no other column.
        beyond[:0] = [piece for piece in pieces_of[number] if piece in bare]
        pieces = [piece for piece in pieces_of[number] if piece not in bare]
        if row and not pieces:
            used.insert(0, row)
            continue
        left = [
            piece
            for piece in pieces
            if piece.right < edge - 0.3 * size
            and not _meets(piece, named)
            and not _is_in_first_box(piece, edge, rules.down, start + size)
        ]
        over = [piece for piece in pieces if piece not in left]
        right = [piece for piece in over if piece.left > named[-1][1] + 0.3 * size]
        if any(piece.left < named[-1][1] and piece.right > named[-1][0] for piece in over):
            beyond[:0] = right
            over = [piece for piece in over if piece not in right]
        if over and _is_title(over[0], named, size, start, single=len(over) == 1):
            break
        if len(pieces) == 1 and over_all and not is_note(cell_of(pieces[0].words).text):
            break  # the title above "(in thousands)"
        if (
            len(pieces) == 1
            and not _is_over_line(pieces[0], named, rules.across, start, size)
            and _is_apart(pieces[0], used, named, start, size)
            and not by_boxes(pieces, named, rules.down)
        ):
            if is_note(text := cell_of(pieces[0].words).text):
                over_all.insert(0, text)
                used.insert(0, row)
                continue
            if over:
                break
        # A title or a section's name, unless it is the first line of words beside a header that continue above it.
        goes_on = (
            left and stub and left[0].bottom - stub[0].top < 0.6 * size and abs(left[0].left - stub[0].left) < size
        )
        # It may also be the header of the names, beside several rows of headers.
        goes_on = goes_on and any(_over_several(one, named) for one in rows[:number])
        beside = left and not stub and used and any(_over_two(one, named) for one in rows[:number])
        if not over and not goes_on and not beside and number < boxed:
            break
        whole = heading and by_boxes(over, named, rules.down)  # lines show where a group's name ends
        heading.insert(0, over if whole else cut_headers(over, named, lowest=not heading))
        stub[:0] = left
        used.insert(0, row)
    parts: list[list[Part]] = []
    lowest = list(named)
    joined = [one for one in stacked(heading, pitch_of(named), rules.across, size) if one[1]]
    for ending, standing in reversed(joined):
        # A header's last line may have fewer others beside it than its first one.
        fullest = max((one for _, one in joined if set(standing) <= set(one)), key=len)
        assigned = by_boxes(fullest, named, rules.down) or _assigned(
            fullest, named, rules.across, size, lowest, names_column is not None
        )
        parts.insert(0, [part for part in assigned if part.piece in ending])
        for part in parts[0]:
            if part.last == part.first + 1:
                lowest[part.first] = (part.piece.left, part.piece.right)
    spread_over_repeated(parts, len(named))
    spread_over_periods(parts, len(named))
    head = _named(stub, parts, named, names_column is not None, rules.across)
    head.lead = [*over_all, *head.lead, *(cell_of(piece.words).text for piece in beyond)]
    return head, used


def _is_over_line(piece: Piece, columns: Columns, across: Sequence[Rule], start: float, size: float) -> bool:
    """Return whether a line is drawn below the only words of a row, across several columns but not the rows' names."""
    low = piece.bottom
    for rule in across:
        if low - 0.8 * size <= rule.at <= low + 0.45 * size and rule.start > start + 2 * size:
            under = sum(rule.start - 3 <= (one + other) / 2 <= rule.end + 3 for one, other in columns)
            if under > 1 and rule.start < piece.left and rule.end > piece.right:
                return True
    return False


def _over_several(row: Sequence[Word], columns: Columns) -> bool:
    """Return whether a row has stretches of words over at least half of the columns."""
    pieces = [piece_of(words) for words in segments(row)]
    return sum(_meets(piece, columns) for piece in pieces) * 2 >= max(len(columns), 2)


def _over_two(row: Sequence[Word], columns: Columns) -> bool:
    """Return whether a row has at least two stretches of words, all within the table's columns."""
    pieces = segments(row)
    return len(pieces) > 1 and pieces[0][-1].right > columns[0][0] and pieces[-1][0].left < columns[-1][1]


def _meets(piece: Piece, columns: Columns) -> bool:
    return any(piece.left < right and piece.right > left for left, right in columns)


def _first_boxed(rows: Sequence[Sequence[Word]], columns: Columns, down: Sequence[Rule], size: float) -> int:
    """Return the number of the first row with words between vertical lines that enclose columns; else that of rows."""
    edge = columns[0][0] - _ASIDE * size
    for number, row in enumerate(rows if down else ()):
        pieces = [piece for words in segments(row) if (piece := piece_of(words)).right > edge]
        if pieces and by_boxes(pieces, columns, down):
            return number
    return len(rows)


def _is_in_first_box(piece: Piece, edge: float, down: Sequence[Rule], start: float) -> bool:
    """Return whether words are right of the vertical line that is between the rows' names and the first column."""
    height = (piece.top + piece.bottom) / 2
    return (
        max((rule.at for rule in down if start < rule.at <= edge and rule.start < height < rule.end), default=edge)
        < piece.left + 1
    )


def _may_head(piece: Piece, at: int, columns: Columns) -> bool:
    """Return whether words are over this column, or at least over no other one."""
    met = [one for one, (left, right) in enumerate(columns) if piece.left < right and piece.right > left]
    return at in met or not met


def _is_title(piece: Piece, columns: Columns, size: float, start: float, *, single: bool) -> bool:
    """Return whether words are a title: they begin far left of all columns, or where the names of rows do.

    Beside other headers, a wide one is flush with the right side of its column, or centred over it.
    """
    left, right = piece.left, piece.right
    first = columns[0]
    near = min(abs(right - first[1]), abs(left + right - first[0] - first[1]) / 2)
    far = max(first[0] - max(0.8 * pitch_of(columns), 6 * size), min(start + size, first[0] - size) if single else 0)
    return left < far and right > first[0] and (single or near > _FLUSH * size)


def _is_apart(piece: Piece, below: Sequence[Sequence[Word]], columns: Columns, start: float, size: float) -> bool:
    """Return whether the only words of a row concern the table as a whole, or are far above its header."""
    return _is_in_middle(piece, columns, start, size) or (bool(below) and _is_far_above(piece, below[0], columns, size))


def _is_in_middle(piece: Piece, columns: Columns, start: float, size: float) -> bool:
    """Return whether words are a title: centred over the whole table including its names, and over no single column."""
    left, right = piece.left, piece.right
    middle, end = (left + right) / 2, columns[-1][1]
    if abs(middle - (start + end) / 2) > 0.6 * size or abs(middle - (columns[0][0] + end) / 2) < size:
        return False
    return not any(
        min(abs(middle - (one + other) / 2), abs(right - other), abs(left - one)) < 0.6 * size for one, other in columns
    )


def _is_far_above(piece: Piece, below: Sequence[Word], columns: Columns, size: float) -> bool:
    """Return whether words are over at most one column, with an empty line between them and the next header."""
    gap = piece.bottom - max(word.top for word in below)
    return gap > size and meets_only_one(piece, columns)


def _assigned(
    pieces: list[Piece],
    columns: Columns,
    across: Sequence[Rule],
    size: float,
    lowest: Columns,
    named_by_column: bool,
) -> list[Part]:
    """Return the columns that each stretch of a row of headers heads.

    `lowest` has the place of the header below for each column, or of the column's figures.
    """
    if named_by_column and len(pieces) == len(columns) - 1 and _head_one_each(pieces, columns):
        return [Part(piece, at, at + 1) for at, piece in enumerate(pieces, start=1)]
    if groups := by_lines(pieces, columns, across, size):
        return groups
    made: list[Part | None] = [_by_rule(piece, pieces, columns, across, size) for piece in pieces]
    if len(pieces) == len(columns) and all(
        (part is None or part.last - part.first == 1) and _may_head(piece, at, columns)
        for at, (piece, part) in enumerate(zip(pieces, made, strict=True))
    ):
        return [Part(piece, at, at + 1) for at, piece in enumerate(pieces)]
    if all(part is None for part in made):
        groups = even_groups(pieces, columns)
        if not groups and not (len(pieces) == 1 and meets_only_one(pieces[0], columns)):
            groups = even_groups(pieces, lowest)
        groups = groups or groups_beside_one(pieces, columns)
        if groups and not each_over_one(groups, columns, lowest):
            return groups
    for at, piece in enumerate(pieces):
        if made[at] is None and (home := alone(piece, columns)) is not None:
            others = [one for one in pieces if one is not piece]
            made[at] = in_middle_of_several(piece, home, others, columns, lowest) or Part(piece, home, home + 1)
    if all(part is not None for part in made):
        return [part for part in made if part is not None]
    if any(part is not None for part in made):
        return between(pieces, made, columns, lowest)
    return shared_out(pieces, columns)


def _head_one_each(pieces: Sequence[Piece], columns: Columns) -> bool:
    """Return whether each stretch is over one column of values, and none over the names in the first column."""
    return all(_may_head(piece, at, columns) for at, piece in enumerate(pieces, start=1)) and all(
        piece.left > columns[0][1] - 1 for piece in pieces
    )


def _by_rule(
    piece: Piece, pieces: Sequence[Piece], columns: Columns, across: Sequence[Rule], size: float
) -> Part | None:
    """Return the columns below a line that is drawn under the words."""
    left, right = piece.left, piece.right
    low = piece.bottom
    spread = columns[-1][1] - columns[0][0]
    best: tuple[float, int, int] | None = None
    for rule in across:
        if (
            not low - 0.8 * size <= rule.at <= low + 0.45 * size
            or rule.start > left + 0.6 * size
            or rule.end < right - 0.6 * size
        ):
            continue
        under = [at for at, (one, other) in enumerate(columns) if rule.start - 3 <= (one + other) / 2 <= rule.end + 3]
        beside = sum(rule.start < (one.left + one.right) / 2 < rule.end for one in pieces)
        if (
            not under
            or beside > 1
            or (rule.end - rule.start > 0.97 * spread and len(columns) > 1 and rule.start < columns[0][0] - 20)
        ):
            continue
        if best is None or rule.end - rule.start < best[0]:
            best = (rule.end - rule.start, under[0], under[-1] + 1)
    return Part(piece, best[1], best[2]) if best is not None else None


def _named(
    stub: list[Piece], parts: list[list[Part]], columns: Columns, named_by_column: bool, across: Sequence[Rule]
) -> Head:
    """Return the headers of columns: the groups' names first, separated from the names below them."""
    width = len(columns)
    count = width - (1 if named_by_column else 0)
    names: list[list[tuple[Part, str, bool]]] = [[] for _ in range(width)]
    # "Year ended June 30," continues in the words beside it, else in every column's header.
    stub, parts, notes = without_numbers(stub, parts, columns)
    begun = [piece for piece in stub if _GOES_ON.search(cell_of(piece.words).text)]
    corners: list[Piece] = []
    for number, row in enumerate(parts):
        beside = [piece for piece in begun if row and _is_beside(piece, row[0].piece)]
        begun = [piece for piece in begun if piece not in beside]
        if any(names[at] and _GOES_ON.search(names[at][-1][1]) for part in row for at in range(part.first, part.last)):
            corners, beside = [*corners, *beside], []  # "Balance at June 30," continues in the words below it
        grouped = any(part.last - part.first > 1 for part in row)
        lead_in = "".join(f"{cell_of(piece.words).text} " for piece in beside)
        for part in row:
            own = cell_of(part.piece.words).text
            text = lead_in + own
            if len(row) == 1 and not any(parts[number + 1 :]) and _is_below_names(parts[:number], part):
                # "Number in thousands": a title of the rows that follow
                notes += [one for one in (lead_in.strip(), own) if one]
                continue
            if is_note(own):
                whole = part.last - part.first >= count > 1
                others = parts[number + 1 :] if not any(names) else [*parts[:number], *parts[number + 1 :]]
                apart = not any(names) or _is_beside_column(part, columns) or _is_magnitude_of_all(own, part, columns)
                if whole or (len(row) == 1 and apart and _head_all(others, part)):
                    # "(in thousands)", "(unaudited)": concerns the whole table and is no column's name
                    notes += [*filter(None, [lead_in.strip()]), own]
                    continue
            for at in range(part.first, min(part.last, width)):
                names[at].append((part, text, grouped))
    texts = [_stacked(one, across) for one in names]
    words = [cell_of(piece.words).text for piece in stub]
    lead = [*(text for text in words if is_note(text) and len(text) > 12), *notes]
    rest = [text for text in words if text not in lead]
    goes_on = [cell_of(piece.words).text for piece in begun] if any(texts) else []
    aside = [cell_of(piece.words).text for piece in corners]
    corner = " ".join(text for text in rest if not any(texts) or text in aside or not _GOES_ON.search(text))
    corner = corner.removesuffix(":")
    if goes_on:
        texts = [" ".join(filter(None, (*goes_on, text))) if text else "" for text in texts]
    if named_by_column:
        return Head(texts if not corner else [f"{corner} {texts[0]}".strip(), *texts[1:]], lead)
    return Head([corner, *texts], lead)


def _is_magnitude_of_all(note: str, part: Part, columns: Columns) -> bool:
    """Return whether a note states a magnitude in the middle of all columns, which may be over the middle one."""
    off = abs(part.piece.left + part.piece.right - columns[0][0] - columns[-1][1]) / 2
    return len(columns) > 2 and off < part.piece.top - part.piece.bottom and note_of((note,))[1] > 0


def _is_beside_column(part: Part, columns: Columns) -> bool:
    """Return whether words over one column are neither centred over it nor flush with it: they head several."""
    piece, (left, right) = part.piece, columns[part.first]
    middle = abs(piece.left + piece.right - left - right) / 2
    near = min(middle, abs(piece.left - left), abs(piece.right - right))
    return part.last == part.first + 1 and near > _OFF * (piece.top - piece.bottom)


def _head_all(rows: Sequence[Sequence[Part]], above: Part) -> bool:
    """Return whether each column below this part of a header has a name in other rows."""
    headed = {at for row in rows for part in row for at in range(part.first, part.last)}
    return headed.issuperset(range(above.first, above.last))


def _is_below_names(rows: Sequence[Sequence[Part]], part: Part) -> bool:
    """Return whether words are over several columns that each have a name of their own above them."""
    named = {one.first for row in rows for one in row if one.last == one.first + 1}
    return part.last > part.first + 1 and named.issuperset(range(part.first, part.last))


def _is_beside(one: Piece, other: Piece) -> bool:
    return min(one.top, other.top) - max(one.bottom, other.bottom) > 0.5 * (one.top - one.bottom)


def _stacked(names: Sequence[tuple[Part, str, bool]], across: Sequence[Rule]) -> str:
    """Return a column's header as one name: rows of words over the same columns are one text.

    Group names are separated from the names below them, and so is a header beside groups with a line below it.
    """
    text = ""
    last: Part | None = None
    beside = False
    for part, name, grouped in names:
        if last is None:
            text = name
        elif (part.first, part.last) != (last.first, last.last) or (beside and _is_parted(last, part, across)):
            text = f"{text} › {name}"
        else:
            text = text[:-1] + name if text.endswith("-") and text[-2:-1].isalpha() else f"{text} {name}"
        last, beside = part, grouped
    return text


def _is_parted(upper: Part, part: Part, across: Sequence[Rule]) -> bool:
    """Return whether a line is drawn between two headers of the same columns."""
    low, high = part.piece.top - 1, upper.piece.bottom + 1
    return any(low < rule.at < high and rule.start < part.piece.left and rule.end > part.piece.right for rule in across)
