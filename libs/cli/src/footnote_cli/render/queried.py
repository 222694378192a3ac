"""Renders rows of tables, and how an answer was computed from them: the formula, the result as a table, the query."""

from collections.abc import Sequence

from footnote.types.v1.table_pb2 import QueryResult, TableComputation
from footnote_kit.printable import printable, printable_line
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

MOST_SHOWN = 20
"""Rows of a computed answer's query that are shown; the answer lists them all."""


def rows_table(names: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[bool]) -> Table:
    """Return rows as a table whose cells are never cut; `numbers` says which columns stand at the right."""
    table = Table(box=None, pad_edge=False)
    for name, is_number in zip(names, numbers, strict=True):
        table.add_column(printable_line(name), justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(printable(value) for value in row))
    return table


def result_table(result: QueryResult, most: int = 0) -> Table:
    """Return what a query gave, at most `most` rows; 0 means all."""
    rows = [list(row) for row in (result.rows[:most] if most else result.rows)]
    kinds = [{type(row[at]) for row in rows} - {type(None)} for at in range(len(result.columns))]
    numbers = [one == {float} for one in kinds]
    return rows_table(list(result.columns), [[value_text(value) for value in row] for row in rows], numbers)


def value_text(value: object) -> str:
    """Return a value of a query's row as text; null is empty."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


def computation(made: TableComputation, result: QueryResult | None = None) -> list[RenderableType]:
    """Return how an answer was computed; `result` is what its query gave, None where it was not run again."""
    if not made.query:
        return []
    by = f" (query by {printable_line(made.model)})" if made.model else ""
    lines: list[RenderableType] = [Text.assemble(("Computed: ", "bold"), printable_line(made.formula), by)]
    if result is not None and (len(result.rows) > 1 or len(result.columns) > 1):
        lines.append(result_table(result, MOST_SHOWN))
        if len(result.rows) > MOST_SHOWN or result.truncated:
            count = f"more than {len(result.rows)}" if result.truncated else str(len(result.rows))
            lines.append(Text(f"The first {MOST_SHOWN} of {count} rows.", style="dim"))
    lines.append(Text(printable_line(made.query), style="dim"))
    return lines
