"""Tables of figures, whole at any width."""

from __future__ import annotations

from collections.abc import Sequence

from footnote_kit.printable import printable
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table

_BETWEEN = 3
_LONGEST_NAME = 24


class FigureTable:
    """Figures beside names, none cut: columns that have no room follow in a table below, beside the names again."""

    def __init__(self, title: str, columns: Sequence[str], *, names: int = 1) -> None:
        self._title, self._columns, self._names = title, columns, names
        self._rows: list[tuple[tuple[str, ...], str]] = []

    def add_row(self, *cells: str, style: str = "") -> None:
        """Add a row, a cell for each column, the names first."""
        self._rows.append((tuple(map(printable, cells)), style))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        names, left = list(range(self._names)), list(range(self._names, len(self._columns)))
        whole = self._width([*names, *left], broken=False) <= options.max_width
        title = self._title
        while left:
            shown = [*names, left.pop(0)]
            while left and (whole or self._width([*shown, left[0]], broken=True) <= options.max_width):
                shown.append(left.pop(0))
            yield self._table(shown, title, broken=not whole)
            title = ""

    def _table(self, shown: Sequence[int], title: str, *, broken: bool) -> Table:
        table = Table(
            title=title or None,
            title_justify="left",
            box=box.SIMPLE_HEAD,
            header_style="bold",
            pad_edge=False,
            padding=(0, 1),
        )
        for at in shown:
            if at < self._names:
                table.add_column(self._columns[at], overflow="fold")
            else:
                table.add_column(self._columns[at], justify="right", width=self._one(at, broken=broken))
        for cells, style in self._rows:
            table.add_row(*(cells[at] for at in shown), style=style or None)
        return table

    def _width(self, columns: Sequence[int], *, broken: bool) -> int:
        return sum(self._one(at, broken=broken) + _BETWEEN for at in columns)

    def _one(self, at: int, *, broken: bool) -> int:
        """Return how wide a column must be; with `broken`, its heading has a line for each word."""
        heading = self._columns[at].split() if broken else [self._columns[at]]
        cells = max((cell_len(row[at]) for row, _ in self._rows), default=0)
        return max(*map(cell_len, heading), min(cells, _LONGEST_NAME) if at < self._names else cells, 1)
