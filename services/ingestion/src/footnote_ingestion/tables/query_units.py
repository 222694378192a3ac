"""Finds what each number that a written query gives is counted in, from the columns of its own expression."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from footnote.types.v1.table_pb2 import COLUMN_TYPE_NUMBER, ColumnDescription, TableDescription
from sqlglot import exp

Unit = Callable[[TableDescription, ColumnDescription], str]
"""Returns what a column's numbers are counted in, "" where nothing says it."""

_SAME: tuple[type[exp.Expr], ...] = (
    exp.Alias, exp.Paren, exp.Filter, exp.Window, exp.Cast, exp.TryCast, exp.Neg, exp.Abs, exp.Round, exp.Ceil,
    exp.Floor, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Median, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue,
    exp.Nullif,
)  # fmt: skip
"""What has the unit of the number that it is made of."""
_MOST_NESTED = 50


class MixedUnits(ValueError):
    """Numbers of different units are put together; the message lists these."""


class QueryUnits:
    """The units of a checked statement's numbers; `views` are the tables by their folded views."""

    def __init__(self, tree: exp.Expr, views: Mapping[str, TableDescription], unit: Unit) -> None:
        self._tree, self._views, self._unit = tree, views, unit
        self._known: dict[tuple[int, str, str], str | None] = {}  # parts of WITH may be named again and again

    def of(self, columns: Sequence[str]) -> list[str]:
        """Return the unit of each column of the result, "" for none; raises `MixedUnits`."""
        every = [self._shown(select, columns) for select in _outermost(self._tree)]
        return [units.pop() if len(units := set(found)) == 1 else "" for found in zip(*every, strict=True)]

    def _shown(self, select: exp.Select, columns: Sequence[str]) -> list[str]:
        if select.is_star:
            return [self._named(select, name, "", 0) or "" for name in columns]
        return [self._of(one, 0) or "" for one in select.expressions]

    def _of(self, part: exp.Expr | None, nested: int) -> str | None:
        """Return the unit of an expression; None where it is another than its columns', or has none of them."""
        if part is None or nested > _MOST_NESTED:
            return None
        key = id(part), "", ""
        if key not in self._known:
            self._known[key] = self._made(part, nested + 1)
        return self._known[key]

    def _made(self, part: exp.Expr, nested: int) -> str | None:
        if isinstance(part, exp.Column):
            select = part.find_ancestor(exp.Select)
            return None if select is None else self._named(select, part.name, part.table, nested)
        if isinstance(part, exp.Subquery):
            return self._alike(self._of(one.expressions[0], nested) for one in _outermost(part))
        if isinstance(part, _SAME):
            return self._of(part.this, nested)
        together: list[exp.Expr | None] = []
        if isinstance(part, exp.Add | exp.Sub):
            together = [part.left, part.right]
        elif isinstance(part, exp.Case):
            together = [*(one.args.get("true") for one in part.args["ifs"]), part.args.get("default")]
        elif isinstance(part, exp.Coalesce | exp.Greatest | exp.Least):
            together = [part.this, *part.expressions]
        return self._alike(self._of(one, nested) for one in together)

    def _alike(self, units: Iterable[str | None]) -> str | None:
        found = {one for one in units if one is not None}
        if len(found) > 1:
            raise MixedUnits(", ".join(sorted(one or "1" for one in found)))
        return next(iter(found), None)

    def _named(self, select: exp.Select, name: str, source_name: str, nested: int) -> str | None:
        """Return the unit of a column that a SELECT reads, None where it is of no column of numbers or of several."""
        key = id(select), name.casefold(), source_name.casefold()
        if key not in self._known:
            self._known[key] = self._read(select, name, source_name, nested)
        return self._known[key]

    def _read(self, select: exp.Select, name: str, source_name: str, nested: int) -> str | None:
        found: set[str | None] = set()
        for source in _sources(select):
            if source_name and source.alias_or_name.casefold() != source_name.casefold():
                continue
            table = self._views.get(source.name.casefold()) if isinstance(source, exp.Table) else None
            if table is not None:
                found |= {
                    self._unit(table, one) for one in table.columns
                    if one.type == COLUMN_TYPE_NUMBER and one.name.casefold() == name.casefold()
                }  # fmt: skip
                continue
            for inner in self._inner(source) if nested <= _MOST_NESTED else ():
                named = [one for one in inner.expressions if one.alias_or_name.casefold() == name.casefold()]
                found |= {self._of(one, nested + 1) for one in named}
                if inner.is_star:
                    found.add(self._named(inner, name, "", nested + 1))
        found.discard(None)
        return found.pop() if len(found) == 1 else None

    def _inner(self, source: exp.Expr) -> Iterator[exp.Select]:
        """Yield the SELECTs of a part of the statement that is read as a table."""
        if isinstance(source, exp.Table):
            for part in self._tree.find_all(exp.CTE):
                if part.alias_or_name.casefold() == source.name.casefold():
                    yield from _outermost(part.this)
        else:
            yield from _outermost(source)


def _sources(select: exp.Select) -> list[exp.Expr]:
    first = select.args.get("from_")
    return [*([first.this] if first is not None else []), *(join.this for join in select.args.get("joins") or ())]


def _outermost(tree: exp.Expr) -> Iterator[exp.Select]:
    """Yield the SELECTs whose rows a statement gives: several of a UNION."""
    if isinstance(tree, exp.SetOperation):
        yield from _outermost(tree.left)
        yield from _outermost(tree.right)
    elif isinstance(tree, exp.Subquery | exp.Paren):
        yield from _outermost(tree.this)
    elif isinstance(tree, exp.Select):
        yield tree
