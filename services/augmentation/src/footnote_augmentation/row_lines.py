"""Formats table rows for the prompt: column headers once, and below them each row's cells.

In a chunk each row repeats its headers, "Country: Kenya; Female › 2023: 24". The shorter form holds the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from footnote_text.tables import Row

from footnote_augmentation.neutralise import neutralise

_SEPARATOR, _PATH = " | ", " › "
_BAR = str.maketrans({"|": "¦"})


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a passage that holds one table row and nothing else."""

    start: int
    end: int
    table: int
    headers: dict[int, str]
    """The headers of its cells by column."""
    cells: dict[int, str]
    note: str
    """What the table says of all its numbers, "" for nothing."""


class RowLines:
    """The rows in a passage, whose text and cells are already neutralised."""

    def __init__(self, text: str, rows: Sequence[Row]) -> None:
        self._text = text
        self._paths: dict[tuple[str, ...], str] = {}
        self._runs = self._together(rows)

    def laid_out(self, text: str) -> str:
        """Return the passage or its beginning, with the headers of consecutive rows stated once.

        If that would be longer, as for wide tables with few cells, the rows stay as they are. What a table says of all
        its numbers ("in thousands") precedes its rows if the text before them lacks it.
        """
        made: list[str] = []
        noted: set[int] = set()
        done = 0
        for run in self._runs:
            whole = [line for line in run if text[line.start : line.end] == self._text[line.start : line.end]]
            if not whole:
                continue
            start, end = whole[0].start, whole[-1].end
            needed = whole[0].note and whole[0].table not in noted and whole[0].note not in text[:start]
            note = f"{whole[0].note}\n" if needed else ""
            noted.add(whole[0].table)
            table = _table(whole) if len(whole) > 1 else ""
            if table and len(table) < end - start:
                made += (text[done:start], note, table)
                done = end
            elif note:
                made += (text[done:start], note)
                done = start
        return "".join(made) + text[done:]

    def _together(self, rows: Sequence[Row]) -> list[list[_Line]]:
        """Return the lines of consecutive rows of one table."""
        runs: list[list[_Line]] = []
        for row in rows:
            line = self._line(row)
            if line is None:
                continue
            last = runs[-1][-1] if runs else None
            if last is not None and (line.start, line.table) == (last.end + 1, last.table):
                runs[-1].append(line)
            else:
                runs.append([line])
        return runs

    def _line(self, row: Row) -> _Line | None:
        """Return the line of a row; None if it is cut, shares its line, or has words outside cells and headers."""
        text = self._text
        start = text.rfind("\n", 0, row.start) + 1
        end = text.find("\n", row.start)
        headers = {cell.column: self._path(cell.headers) for cell in row.cells}
        sections = self._path((*row.sections, ""))
        cells: dict[int, str] = {}
        at = start
        for cell in row.cells:
            before = text[at : cell.start].removeprefix("; " if cells else "")
            header = headers[cell.column]
            if (before.removeprefix(f"{header}: ") if header else before) not in ("", sections):
                return None
            cells[cell.column] = cell.text if cells else sections + cell.text
            at = cell.end
        whole = at == (end if end >= 0 else len(text)) and len(cells) == len(row.cells)
        note = self._path((row.table.note,))
        return _Line(start, at, row.cells[0].message.table, headers, cells, note) if whole else None

    def _path(self, headers: tuple[str, ...]) -> str:
        """Return headers from the outermost, formatted as in a row's text."""
        if headers not in self._paths:
            self._paths[headers] = _PATH.join(" ".join(neutralise(one).text.split()) for one in headers)
        return self._paths[headers]


def _table(lines: Sequence[_Line]) -> str:
    """Return the headers of all columns in which the rows have cells, then the rows."""
    columns = {column: header for line in lines for column, header in line.headers.items()}
    order = sorted(columns)
    rows = [_cells(line.cells.get(column, "") for column in order) for line in lines]
    if any(columns.values()):
        rows.insert(0, _cells(columns[column] for column in order))
    return neutralise("\n".join(rows)).text


def _cells(texts: Iterable[str]) -> str:
    return _SEPARATOR.join(text.translate(_BAR) for text in texts)
