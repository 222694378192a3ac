"""Tables that fit the terminal: if too wide, they omit the least important columns."""

from collections.abc import Sequence

from footnote_kit.printable import printable
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

Cell = Text | str

# Words may fold below this many columns; names and numbers are rarely longer.
_COMFORTABLE = 28
_BETWEEN = 3
_LEAST = 9


class FittedTable:
    """A table in the house style. Its content is never cut: long cells fold, except in `whole` columns.

    `right` columns are numbers. `optional` ones are left out when empty, and one by one from the first until the others
    fit.
    """

    def __init__(
        self, *columns: str, right: Sequence[str] = (), optional: Sequence[str] = (), whole: Sequence[str] = ()
    ) -> None:
        self._columns = columns
        self._right, self._optional, self._whole = right, optional, whole
        self._rows: list[dict[str, Cell]] = []

    def add_row(self, *cells: Cell) -> None:
        """Add a row, a cell for each column."""
        shown = (printable(cell) if isinstance(cell, str) else cell for cell in cells)
        self._rows.append(dict(zip(self._columns, shown, strict=True)))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = [name for name in self._columns if name not in self._optional or any(row[name] for row in self._rows)]
        for column in (name for name in self._optional if name in shown):
            if self._width(shown) <= options.max_width:
                break
            shown.remove(column)
        kept_whole = [name for name in shown if name in self._whole or name in self._right]
        if sum(map(self._natural, kept_whole)) > options.max_width - _LEAST * len(shown):
            kept_whole = []  # not even these fit
        table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1))
        for column in shown:
            table.add_column(
                column,
                justify="right" if column in self._right else "left",
                overflow="fold",
                no_wrap=column in kept_whole,
                min_width=min(cell_len(column), options.max_width // len(shown)),
            )
        for row in self._rows:
            table.add_row(*(row[column] for column in shown))
        yield table

    def _width(self, columns: Sequence[str]) -> int:
        """Return how wide the table should be with these columns."""
        return sum(self._natural(column) for column in columns) + _BETWEEN * len(columns)

    def _natural(self, column: str) -> int:
        lines = [line for row in self._rows for line in str(row[column]).splitlines()]
        longest = max((cell_len(line) for line in lines), default=0)
        return max(cell_len(column), longest if column in self._whole else min(longest, _COMFORTABLE))
