"""Tables of a PDF, found by borders or by columns of figures, and written row by row with their headers."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise

import pypdfium2 as pdfium
from footnote.types.v1.locator_pb2 import Anchor, Box, Locator, PageLocator

from footnote_ingestion.parsers.base import PARAGRAPH, BlockWriter
from footnote_ingestion.parsers.failures import PARTS_UNREADABLE
from footnote_ingestion.parsers.pdf import columns, framed, listed, ruled, seeds
from footnote_ingestion.parsers.pdf.frames import LEAST_DOWN
from footnote_ingestion.parsers.pdf.grids import YEAR, Cell, Grid, Row
from footnote_ingestion.parsers.pdf.headings import is_of_table
from footnote_ingestion.parsers.pdf.lines import Line, Word
from footnote_ingestion.parsers.pdf.names import DEEPER
from footnote_ingestion.parsers.pdf.rulings import MOST_OBJECTS, Rule, Rulings, edges_of
from footnote_ingestion.parsers.pdf.table_start import Words
from footnote_ingestion.parsers.rows import TableRows
from footnote_ingestion.parsers.tables import HEADER_SEPARATOR, is_form, looks_like_year, naming_columns, row_text

_MOST_OF_NAME = 200


@dataclass(slots=True)
class _Section:
    indent: float
    name: str
    level: bool
    """Whether rows with the same indentation belong to it, as long as no row is indented deeper."""
    block: bool
    """Whether they belong to it as far as the next row with an empty line above it."""


class Sections:
    """The sections that a table's rows belong to, outermost first.

    `summed`: the table has lines above its sums. Only then may a section and its rows have the same indentation,
    because a sum shows where such a section ends.
    """

    def __init__(self, summed: bool) -> None:
        self._summed = summed
        self._open: list[_Section] = []
        self._ended = False

    def above(self, row: Row, bare: bool) -> list[str]:
        """Return the names of a row's sections; sections that the row shows to have ended are closed."""
        while self._open:
            last = self._open[-1]
            if last.block and row.apart:
                self._open.pop()
                continue
            if row.indent > last.indent + DEEPER:
                last.level = False
                break
            inside = (last.block and not row.block) or (last.level and not bare)
            if inside and not self._ended and row.indent > last.indent - DEEPER:
                break
            self._open.pop()
        self._ended = row.sums and not bare
        return [section.name for section in self._open]

    def begin(self, row: Row) -> None:
        """Open the section that a row without values, or a group, begins."""
        name = row.cells[0].text
        level = row.section or (self._summed and name.endswith((":", "：")))
        self._open.append(_Section(row.indent, name.rstrip(":： ")[:_MOST_OF_NAME], level, row.block))
        self._ended = False


_FEW_OBJECTS = 2_000
"""A page without columns of figures is searched for borders only if it has at most this many drawn objects."""

_MOSTLY_FIGURES = 0.5
_STROKES, _LEAST_STROKES = " -_=–—─━", 12
"""A line of at least this many such characters and nothing else is a drawn line."""


def read_tables(
    lines: Sequence[Line], words: Callable[[Line], list[Word]], rules: Callable[[int], Rulings], out: BlockWriter
) -> list[Grid]:
    """Return the tables of a page; none, with a warning, if the search for them fails.

    Their lines are then read as text: one odd page must not cost the whole file.
    """
    try:
        return find_tables(lines, words, rules)
    except (MemoryError, pdfium.PdfiumError):
        raise
    except Exception:  # the search has many rules of geometry, any of which may fail on an odd page
        failed = "tables of {count} pages could not be read; their text is read without columns"
        out.warn(PARTS_UNREADABLE, failed, 1, [PageLocator(page=lines[0].page)])
        return []


def find_tables(
    lines: Sequence[Line], words: Callable[[Line], list[Word]], rules: Callable[[int], Rulings]
) -> list[Grid]:
    """Return the tables of a page; `rules` returns its drawn lines if it has at most the given number of objects.

    Words are read only where something looks like a table.
    """
    if not lines:
        return []
    figures = _may_hold_table(lines)
    drawn = rules(MOST_OBJECTS if figures else _FEW_OBJECTS)
    few = len(drawn.down) < LEAST_DOWN and len(drawn.across) < framed.LEAST_ACROSS
    kept: dict[int, list[Word]] = {}

    def known(line: Line) -> list[Word]:
        if id(line) not in kept:
            kept[id(line)] = words(line)
        return kept[id(line)]

    if not figures and few and len(drawn.fills) < LEAST_DOWN:
        return listed.find(lines, known, drawn, [])  # one line under several headers is enough for a list
    strokes = (line for line in lines if line.text.strip(_STROKES) == "" and len(line.text) >= _LEAST_STROKES)
    struck = [line for line in strokes if not line.rotated]
    if struck:
        across = [Rule((line.top + line.bottom) / 2, line.left, line.right) for line in struck]
        drawn = Rulings([*drawn.across, *across], drawn.down, drawn.fills)
        typed = {id(line) for line in struck}
        lines = [line for line in lines if id(line) not in typed]
    return _find(lines, known, drawn)


def _find(lines: Sequence[Line], words: Words, drawn: Rulings) -> list[Grid]:
    found = ruled.find(lines, words, drawn)
    used = set().union(*(grid.lines for grid in found))
    figures = columns.find([line for line in lines if id(line) not in used], words, drawn)
    between = framed.find([line for line in lines if id(line) not in used], words, drawn, found)
    headed = [grid for grid in figures if all(grid.headers[1:]) and not any(_has_rows(one, grid) for one in between)]
    found += headed
    unnamed = [grid for grid in figures if not any(grid is one for one in headed)]
    # A table that is only partly figures is recognised better by its borders or by the filling of cells.
    used = used.union(*(grid.lines for grid in headed))
    free = [line for line in lines if id(line) not in used]
    others, unnamed = _instead(framed.find(free, words, drawn, found) if between else [], unnamed)
    used = used.union(*(grid.lines for grid in others))
    free = [line for line in free if id(line) not in used]
    lists, unnamed = _instead(listed.find(free, words, drawn, [*found, *others]), unnamed)
    used = used.union(*(grid.lines for grid in lists))
    free = [line for line in free if id(line) not in used]
    filled = ruled.find(free, words, edges_of(_around(drawn.fills, free)))
    # Boxes of text and pairs of names and words are filled as well; only figures show that a row is a header.
    filled = [one for one in filled if all(one.headers[1:]) and ruled.share_of_figures(one) >= _MOSTLY_FIGURES]
    cells, unnamed = _instead(filled, unnamed)
    return [*found, *unnamed, *others, *lists, *cells]


def _has_rows(framed_one: Grid, other: Grid) -> bool:
    """Return whether a bordered table has rows of names and values that another table lacks."""
    known = set().union(*(row.lines for row in other.rows))
    rows = [row for row in framed_one.rows if row.cells[0].text and row.lines.isdisjoint(known)]
    values = [cell.text for row in rows for cell in row.cells[1:] if cell.text]
    with_digits = sum(any(char.isdigit() for char in text) and YEAR.fullmatch(text) is None for text in values)
    return other.lines <= framed_one.lines and with_digits * 2 > len(values) > 1


def _around(
    fills: Sequence[tuple[float, float, float, float]], lines: Sequence[Line]
) -> list[tuple[float, float, float, float]]:
    """Return the filled rectangles behind a line."""
    places = sorted(((line.top + line.bottom) / 2, line.left, line.right) for line in lines)
    return [
        one
        for one in fills
        if any(
            left < one[2] and right > one[0]
            for _, left, right in places[bisect(places, (one[1],)) : bisect(places, (one[3],))]
        )
    ]


def _instead(made: Sequence[Grid], others: Sequence[Grid]) -> tuple[list[Grid], list[Grid]]:
    """Return tables that contain all lines of others or none, and those of the others that they do not replace."""
    kept = [one for one in made if all(grid.lines <= one.lines or one.lines.isdisjoint(grid.lines) for grid in others)]
    return kept, [grid for grid in others if not any(grid.lines <= one.lines for one in kept)]


def _may_hold_table(lines: Sequence[Line]) -> bool:
    count = 0
    for line in lines:
        if is_of_table(line.text):
            return True
        count += seeds.is_seed(line)
        if count >= 2:
            return True
    return count + len(seeds.beside(lines)) >= 2


def _naming(rows: Sequence[Row]) -> frozenset[int]:
    """Return the columns that name the rows: the first, and what distinguishes rows beside the same name or number."""
    texts = [[cell.text for cell in row.cells] for row in rows]
    beside_several = any(above[0] and above[0] == row[0] for above, row in pairwise(texts))
    counted = sum(row[0].isdecimal() and not looks_like_year(row[0]) for row in texts) * 2 > len(texts)
    return naming_columns(texts) if beside_several or counted else frozenset({0})


def _is_full(grid: Grid) -> bool:
    """Return whether each column has a header and a figure in each of several rows, unlike a form."""
    cells = [cell.text for row in grid.rows for cell in row.cells[1:]]
    return len(grid.rows) > 2 and all(grid.headers[1:]) and all(any(map(str.isdigit, text)) for text in cells)


class TableWriter:
    """Writes tables; one that continues on the next page keeps its number and its headers."""

    def __init__(self, out: BlockWriter, labels: dict[int, str]) -> None:
        self._out = out
        self._labels = labels
        self._last: Grid | None = None
        self._table: TableRows | None = None
        self._blocks = -1

    def write(self, grid: Grid, apart: Set[int]) -> None:
        """Write a table without the lines that are kept `apart`."""
        rows = [row for row in grid.rows if not row.lines <= apart]
        if not rows:
            return
        paths = [header.split(HEADER_SEPARATOR) for header in grid.headers]  # a group's name counts once
        if is_form(paths) and not _is_full(grid):  # labels with values are not headers; they are read as the text above
            said_above = "; ".join(dict.fromkeys(filter(None, grid.headers)))
            grid = replace(grid, headers=["" for _ in grid.headers], lead=[*grid.lead, said_above])
        headers = grid.headers
        said: list[str] = []
        if self._goes_on(grid) and self._last is not None:
            headers = headers if any(headers) else self._last.headers
            said = self._last.lead
        else:
            self._table = None
        for text in grid.lead:
            if text not in said:
                self._out.add(PARAGRAPH, text, self._place(grid.page))
        said = [*said, *grid.lead]
        self._rows(rows, headers, grid.page, said)
        self._last = replace(grid, headers=headers, lead=said)
        self._blocks = self._out.block_count

    def _goes_on(self, grid: Grid) -> bool:
        last = self._last
        if last is None or self._blocks != self._out.block_count or grid.page != last.page + 1:
            return False
        if len(grid.columns) != len(last.columns):
            return False
        if any(grid.headers[1:]):
            return grid.headers == last.headers
        return all(
            one[0] < other[1] and other[0] < one[1] for one, other in zip(grid.columns, last.columns, strict=True)
        )

    def _rows(self, rows: Sequence[Row], headers: Sequence[str], page: int, said: Sequence[str]) -> None:
        sections = Sections(any(row.sums for row in rows))
        unused = dict.fromkeys(filter(None, headers))
        if self._table is None:
            paths = [tuple(header.split(HEADER_SEPARATOR)) if header else () for header in headers]
            self._table = TableRows(self._out, paths, naming=_naming(rows), said=said)
        self._out.numbers.learn([[cell.text for cell in row.cells] for row in rows])
        for row in rows:
            name = row.cells[0].text
            bare = bool(name) and not any(cell.text for cell in row.cells[1:])
            above = sections.above(row, bare)
            path = HEADER_SEPARATOR.join([*above, *([name] if name else [])])
            values = [path if name else "", *(cell.text for cell in row.cells[1:])]
            shown = ["", *headers[1:]] if bare else headers
            text, spans = row_text(shown, values)
            for column, _, _ in spans:
                unused.pop(shown[column] if column < len(shown) else "", None)
            spans = [(column, start if column else end - len(name), end) for column, start, end in spans]
            self._table.written += 1
            self._table.write(
                self._table.written, text, spans, self._place(page), above=above,
                cells=([self._of_cell(cell, page) for cell in row.cells], b""),
                typed=[b"", *map(self._out.numbers.cell, values[1:])],
            )  # fmt: skip
            if bare or row.group:
                sections.begin(row)
        if unused:  # headers of columns without a value are in no row but must not be lost
            self._out.add(PARAGRAPH, "; ".join(unused), self._place(page))
            self._out.line_above = ""  # it says nothing of the table that follows

    def _of_cell(self, cell: Cell, page: int) -> bytes:
        """Return the place of a cell as the anchor's serialized field."""
        place = self._place(page)
        place.box.CopyFrom(Box(left=cell.left, bottom=cell.bottom, right=cell.right, top=cell.top))
        return Anchor(locator=Locator(page=place)).SerializeToString()

    def _place(self, page: int) -> PageLocator:
        return PageLocator(page=page, last_page=page, label=self._labels.get(page, ""))
