"""Finds the header of a table on a sheet: its rows, and the path of headers of each column.

Figures show where the body begins. Above it, text in several columns is the header, and text alone is a title. Repeated
names, merged cells and years show which columns a group's name covers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from footnote_ingestion.parsers.measures import measure_of
from footnote_ingestion.parsers.sheets.kinds import filled_cells, kind_of
from footnote_ingestion.parsers.sheets.merges import groups_of
from footnote_ingestion.parsers.sheets.words import first_of_words, more_of_words
from footnote_ingestion.parsers.tables import header_path, is_day, is_series

Grid = Sequence[Sequence[str]]
_LONGEST_NAME = 120
_LONGEST_GROUP = 80
_NUMBERING = re.compile(r"\(?([0-9]{1,3})[.)]?")
_LEAST_NUMBERED = 3
_MOST_DIGITS = 4
"""Of the number of a column, as of a year; more are those of amounts."""
_LEAST_REMARKED = 4


@dataclass(frozen=True, slots=True)
class Header:
    """Rows `first`..`last` of a sample are the header; the body begins at row `body`."""

    first: int
    last: int
    body: int
    paths: list[tuple[str, ...]]


def find(rows: Grid, own: Grid, known_last: int | None = None) -> Header | None:
    """Return the header among the first rows of a table; None if it has none.

    `own` are the rows without repeated values of merged cells; `known_last` is the last header row if the file declares
    it.
    """
    figures = _columns_of_figures(own)
    if known_last is not None and not (_may_be_declared(own, known_last) and _names_most(rows[known_last], figures)):
        known_last = None
    if known_last is None and not figures:
        return _by_words(rows, own)
    body = _first_of_body(own, figures) if known_last is None else _declared_body(own, figures, known_last)
    if known_last is None and body:
        body = next((at for at in range(1, body) if _is_section_over_values(rows, own, at, figures)), body)
    if not body or body > len(own):
        return None
    last = body - 1
    begun = body < len(own) and kind_of(own[body][0]) == "t"
    while last > 0 and (
        _is_section(own[last], rows[last]) or (begun and not own[last - 1][0] and is_noted_section(own[last], figures))
    ):
        last -= 1
    numbered = last
    while last > 0 and _numbers_columns(own, last):
        last -= 1
    if known_last is not None:
        named = filled_cells(rows[min(last, known_last)]) > 1
    else:
        named = _is_names(own[last], rows[last], figures) or (
            # Columns of names have their header one row below the others.
            last > 0 and filled_cells(own[last]) > 0 and _is_names(own[last - 1], rows[last - 1], figures)
        )
    if not named:
        return None
    first = last
    while first > 0 and _goes_on_above(rows, own, first - 1, last, figures):
        first -= 1
    levels = [_spread(rows, own, at, last, figures) for at in range(first, last + 1)]
    width = max(len(level) for level in levels)
    paths = [header_path([level[column] for level in levels if column < len(level)]) for column in range(width)]
    return Header(first, numbered, body, paths)


def _columns_of_figures(own: Grid) -> frozenset[int]:
    """Return the columns whose lower half is figures."""
    lower = own[(len(own) + 1) // 2 :] if len(own) > 2 else own[1:]
    width = max((len(row) for row in own), default=0)
    found = set()
    for column in range(width):
        kinds = [kind_of(row[column]) for row in lower if column < len(row)]
        numbers, words = sum(kind in ("n", "y") for kind in kinds), kinds.count("t")
        if numbers > words or (numbers == words > 0 and kinds[-1] in ("n", "y")):  # the last may be the only one
            found.add(column)
    return frozenset(found)


def _first_of_body(own: Grid, figures: frozenset[int]) -> int | None:
    """Return the first row with figures in columns of figures, or after a complete header of years."""
    years_above: Sequence[str] = ()
    begun = False
    for at, row in enumerate(own):
        kinds = {column: kind_of(row[column]) for column in figures if column < len(row)}
        numbers = [column for column, kind in kinds.items() if kind == "n"]
        years = [column for column, kind in kinds.items() if kind == "y"]
        texts = [column for column, kind in kinds.items() if kind == "t"]
        below = own[at + 1 :]
        if years_above and row[0] and not _tells_apart(years_above, row, texts):
            if begun or years_above[0]:
                return at  # the column of names has its header already, and this is a name
            begun = filled_cells(row) == 1
        if at and below and _numbers_columns(own, at):
            continue
        if numbers and below and _is_series_of_names(own, at, numbers):
            continue
        if years and not numbers and below and len(texts) < len(years) and _head_figures(years, below):
            years_above = row
            continue
        count = len(numbers) + len(years)
        if count == 1 and _is_above_names(own, at, figures):
            continue
        if count > len(texts) or (count and count == len(texts) and (at > 0 or _goes_on(kinds, below))):
            return at
    return None


def _goes_on(kinds: dict[int, str], below: Grid) -> bool:
    """Return whether the row below has the same kinds of cells: both are data."""
    return bool(below) and all(
        column < len(below[0]) and kind_of(below[0][column]) == kinds[column] for column in kinds
    )


def _declared_body(own: Grid, figures: frozenset[int], known_last: int) -> int:
    """Return where the body begins of a declared header: names may go on below it, a pane may keep rows."""
    found = _first_of_body(own, figures)
    if found and found <= known_last and any(filled_cells(row) > 1 for row in own[:found]):
        return found
    at = known_last + 1
    while at < len(own) and own[known_last][0]:
        over = [column for column, text in enumerate(own[at]) if text and column]
        inside = sum(column in figures for column in over)
        most = inside * 2 > len(figures) if own[at][0] else inside == len(over) > 0
        if not most or any(kind_of(own[at][column]) != "t" for column in over):
            break
        at += 1
    return at


def _may_be_declared(own: Grid, known_last: int) -> bool:
    """Return whether a declared row may be the last of a header: a title has one cell, a row of values only figures."""
    kinds = [kind_of(text) for text in own[known_last] if text]
    return len(kinds) > 1 and (known_last > 0 or any(kind != "n" for kind in kinds) or is_numbering(own[known_last]))


def _names_most(row: Sequence[str], figures: frozenset[int]) -> bool:
    """Return whether a row names the first column and another, or half of those of figures. A title in view does not.

    Figures of the first column may be codes, whose column needs no name.
    """
    if row[0] and len(set(filter(None, row))) > 1:
        return True
    values = [column for column in figures if column]
    return 2 * sum(column < len(row) and bool(row[column]) for column in values) >= len(values)


def _tells_apart(years: Sequence[str], row: Sequence[str], texts: Sequence[int]) -> bool:
    """Return whether texts below years name columns: each year is repeated under another text."""
    under = [(years[column], row[column]) for column in texts if column < len(years)]
    return len({year for year, _ in under}) < len(set(under)) == len(under)


def _is_above_names(own: Grid, at: int, figures: frozenset[int]) -> bool:
    """Return whether a row with one figure, as the number of a table, is above all names of columns of figures."""
    if any(kind_of(row[column]) == "t" for row in own[:at] for column in figures if column < len(row)):
        return False
    for row in own[at + 1 :]:
        kinds = [kind_of(row[column]) for column in figures if column < len(row)]
        if kinds.count("n"):
            return False
        if kinds.count("t") > 1:
            return True
    return False


def _is_series_of_names(own: Grid, at: int, numbers: Sequence[int]) -> bool:
    """Return whether a row numbers or dates its columns, over other rows, and no other names are above them all."""
    row, below = own[at], [one for one in own[at + 1 :] if filled_cells(one) > 1] or own[at + 1 :]
    above = [own[at - 1][column] if column < len(own[at - 1]) else "" for column in numbers] if at else [""]
    days = not any(row[column].isdecimal() for column in numbers)
    if all(above) and len(set(above)) > 1 and not (days and all(map(str.isdecimal, above))):
        return False
    if len(set(above) - {""}) < 2 and _rises_beside_names(row, numbers):
        return True
    counted = [text if column <= numbers[0] or column in numbers else "" for column, text in enumerate(row)]
    return is_series(counted, below[0]) and (days or not (below[1:] and is_series(below[0], below[1])))


def _rises_beside_names(row: Sequence[str], numbers: Sequence[int]) -> bool:
    """Return whether rising whole numbers have names right of them, as totals have beside numbered districts."""
    return _rise([row[column] for column in numbers]) and any(kind_of(text) == "t" for text in row[numbers[0] + 1 :])


def _rises_over_names(row: Sequence[str], below: Sequence[str]) -> bool:
    """Return whether rising whole numbers are each above a name, as the numbers of districts are."""
    over = [(text, name) for text, name in zip(row, below, strict=False) if text and kind_of(text) != "t"]
    return _rise([text for text, _ in over]) and all(kind_of(name) == "t" for _, name in over)


def _rise(texts: Sequence[str]) -> bool:
    """Return whether several texts are rising whole numbers."""
    if len(texts) < _LEAST_NUMBERED or not all(text.isascii() and text.isdecimal() for text in texts):
        return False
    if any(len(text) > _MOST_DIGITS for text in texts):
        return False
    numbers = [int(text) for text in texts]
    return numbers == sorted(set(numbers))


def _head_figures(years: Sequence[int], below: Grid) -> bool:
    """Return whether years are above figures that are not years."""
    heads = 0
    for column in years:
        kinds = [kind_of(row[column]) for row in below if column < len(row)]
        heads += kinds.count("n") > kinds.count("y")
    return heads * 2 > len(years)


def _is_section(own: Sequence[str], row: Sequence[str]) -> bool:
    """Return whether a row is a single name, at the left or over all columns."""
    filled = [column for column, text in enumerate(own) if text]
    return (
        len(filled) == 1
        and (filled[0] == 0 or all(text == own[filled[0]] for text in row if text))
        and (sum(1 for text in row if text) in (1, len(row)))
    )


def is_noted_section(own: Sequence[str], figures: frozenset[int]) -> bool:
    """Return whether a row is a name at the left and one text over a few of the columns of figures: a remark."""
    filled = [column for column, text in enumerate(own) if text]
    return (
        len(filled) == 2
        and len(figures) >= _LEAST_REMARKED
        and (0 in filled and 0 not in figures and filled[1] in figures)
        and all(kind_of(own[column]) == "t" for column in filled)
    )


def _is_section_over_values(rows: Grid, own: Grid, at: int, figures: frozenset[int]) -> bool:
    """Return whether a row is one cell over most columns of figures, named above it, and a named row is below it."""
    text = next(filter(None, own[at]), "")
    over = [column for column in figures if column < len(rows[at]) and rows[at][column] == text]
    if filled_cells(own[at]) != 1 or len(over) * 2 <= len(figures) or measure_of((text,)) is not None:
        return False  # a unit is of the columns
    named = [column for column in over if any(column < len(row) and row[column] for row in own[:at])]
    below = next((row for row in own[at + 1 :] if any(row)), ())
    first = next((column for column, text in enumerate(below) if text), 0)
    return len(named) == len(over) > 1 and first < min(figures) and filled_cells(below) > 1


def is_numbering(row: Sequence[str]) -> bool:
    """Return whether a row numbers its columns: "1", "2", "3" or "(1)", "(2)", "(3)", or "a", "b", "1", "2", "3"."""
    cells = [text for text in row if text]
    if cells and cells[0] in ("a", "A"):
        cells = [text for text in cells if text.isdecimal()]
    counted = [_NUMBERING.fullmatch(text) for text in cells]
    if len(counted) < _LEAST_NUMBERED or not all(counted):
        return False
    numbers = [int(one[1]) for one in counted if one]
    return numbers[0] in (0, 1, 2) and all(after == before + 1 for before, after in pairwise(numbers))


def _numbers_columns(own: Grid, at: int) -> bool:
    """Return whether a row numbers its columns, and is no record "1", "2", "3" with which the row below goes on."""
    row, above, below = own[at], own[at - 1], own[at + 1] if at + 1 < len(own) else ()
    if not is_numbering(row) or not row[0].isdecimal() or len(below) < len(row) or len(above) < len(row):
        return is_numbering(row)
    figures = all(kind_of(text) == "n" and name for text, name in zip(below[: len(row)], above, strict=False))
    return not (figures and below[0] in (row[0], str(int(row[0]) + 1)))


def counts_columns(row: Sequence[str]) -> bool:
    """Return whether the figures of a row number or date its columns: "Week", "1", "2", "3", "Total"."""
    figures = [text for text in row if kind_of(text) == "n"]
    if len(figures) < _LEAST_NUMBERED:
        return False
    if all(map(is_day, figures)):
        return len(set(figures)) == len(figures)
    return is_numbering(figures)


def _is_names(own: Sequence[str], row: Sequence[str], figures: frozenset[int]) -> bool:
    """Return whether a row may name columns: in few words, above at least one column of figures."""
    filled = [text for text in own if text]
    if not filled or sum(map(len, filled)) > _LONGEST_NAME * len(filled):
        return False
    if len(filled) == 1 and len(figures) > 1 and own.index(filled[0]) not in figures:
        return False  # one cell from the names over values: a title
    over = sum(column in figures for column, text in enumerate(row) if text)
    return over > 0 and (sum(1 for text in row if text) > 1 or len(figures) == 1)


def _goes_on_above(rows: Grid, own: Grid, at: int, last: int, figures: frozenset[int]) -> bool:
    """Return whether a row above header rows belongs to the header: it names columns or groups, and is no title."""
    row, mine = rows[at], own[at]
    filled = [column for column, text in enumerate(mine) if text]
    over = sum(bool(column and row[column] == mine[0] and not mine[column]) for column in figures if column < len(row))
    if mine[0] and over > 1 and not (rows[at + 1][0] == mine[0] and not own[at + 1][0]):
        return False  # merged over names and values, and not over the rows below: a title
    if not filled:
        return any(row)
    longest = _LONGEST_NAME if len(filled) * 2 > len(figures) else _LONGEST_GROUP
    if sum(len(mine[column]) for column in filled) > longest * len(filled):
        return False
    if any(kind_of(mine[column]) == "n" for column in filled):
        return (counts_columns(mine) or _rises_over_names(mine, rows[at + 1])) and not is_numbering(mine)
    if len(filled) > 1:
        inside = sum(_begins_inside(rows, own, at, column) for column in filled)
        return inside * 2 < len(filled) and any(column in figures for column, text in enumerate(row) if text)
    column = filled[0]
    covers = [other for other, text in enumerate(row) if text == mine[column]]
    if column == 0:
        return len(covers) == 1 and rows[at + 1][0] == mine[0] != "" and not own[at + 1][0]  # over the rows below too
    named = any(text for row in rows[at + 1 : last + 1] for text in row[column : column + 1])
    if len(covers) == 1 and named:  # else a unit, a remark or a title
        return _spread(rows, own, at, last, figures).count(mine[column]) > 1
    return len(covers) > 1 or column in figures


def _begins_inside(rows: Grid, own: Grid, at: int, column: int) -> bool:
    """Return whether a cell begins over the inside of a merged group below: it heads no columns, as a title's part."""
    below = next((one for one in range(at + 1, len(rows)) if any(rows[one][column : column + 1])), None)
    if below is None or own[below][column]:
        return False
    start = column
    while start and not own[below][start] and rows[below][start - 1] == rows[below][column]:
        start -= 1
    return start < column and not own[at][start]


def _spread(rows: Grid, own: Grid, at: int, last: int, figures: frozenset[int]) -> Sequence[str]:
    """Return a header row's text for each column; a group's name covers the group's columns."""
    row, mine = rows[at], own[at]
    if at == last or any(text and not mine[column] for column, text in enumerate(row)):
        return row
    labels = [column for column, text in enumerate(mine) if text]
    under = at + 1  # a title may go on below, in the same columns
    while under < last and all(column in labels for column, text in enumerate(rows[under]) if text):
        under += 1
    below = rows[under]
    names = [column for column, text in enumerate(below) if text and column >= _first_value(below, mine, figures)]
    bare = [column for column in names if column >= len(mine) or not mine[column]]
    if not bare or not labels:
        return row
    groups = groups_of(names, [below[column] for column in names], labels)
    spread = [*row, *[""] * (len(below) - len(row))]
    for group, label in groups:
        for column in group:
            spread[column] = mine[label]
    return spread


def _first_value(below: Sequence[str], mine: Sequence[str], figures: frozenset[int]) -> int:
    """Return the first column of figures: the columns before it name rows, and are in no group."""
    return min(figures, default=1) if 0 not in figures else min((one for one in figures if one), default=0)


def _by_words(rows: Grid, own: Grid) -> Header | None:
    """Return the header of a table without columns of figures."""
    first = first_of_words(rows, own)
    if first is None:
        return None
    last = first + more_of_words(rows[first:], own[first:])
    width = max(len(row) for row in rows[first : last + 1])
    paths = [header_path([row[at] for row in rows[first : last + 1] if at < len(row)]) for at in range(width)]
    return Header(first, last, last + 1, paths)
