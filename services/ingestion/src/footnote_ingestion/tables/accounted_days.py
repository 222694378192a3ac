"""Which days a statement's rows have, in the form in which the words of a question say them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from sqlglot import exp

from footnote_ingestion.tables.forms import Subject

Bounds = dict[tuple[int, str], str]
"""The first day by a column and "from", the day after the last one by it and "until"."""
_FROM, _UNTIL = "from", "until"
_ONE_DAY = timedelta(days=1)
_SIDES: dict[type[exp.Expr], tuple[str, timedelta]] = {
    exp.GTE: (_FROM, timedelta()),
    exp.GT: (_FROM, _ONE_DAY),
    exp.LT: (_UNTIL, timedelta()),
    exp.LTE: (_UNTIL, _ONE_DAY),
}


def is_day(node: exp.Expr | None) -> bool:
    """Return whether a node is a day or time: a text that is cast to it."""
    return isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.is_type("date", "timestamp")


def bounds_of(tree: exp.Expr, subject: Subject) -> Bounds:
    """Return the bounds of all days that a statement compares with columns; empty where it says them otherwise."""
    columns = {subject.headers[one].casefold(): one for one in subject.dates}
    found: Bounds = {}
    for node in tree.find_all(exp.Cast):
        if not is_day(node):
            continue
        for side, day in _sides(node):
            column = node.parent.this if node.parent is not None else None
            place = columns.get(column.name.casefold(), 0) if isinstance(column, exp.Column) else 0
            if not place or day is None or (place, side) in found:
                return {}
            found[place, side] = day.isoformat()
    return found


def _sides(node: exp.Cast) -> Iterator[tuple[str, date | None]]:
    """Yield the sides that a comparison with a day bounds, with the day; None where it is no such comparison."""
    above, day = node.parent, _day(node.this.name)
    if isinstance(above, exp.EQ) and node is above.expression:
        yield _FROM, day
        yield _UNTIL, day and day + _ONE_DAY
    elif isinstance(above, exp.Between) and node is not above.this:
        is_first = node is above.args.get("low")
        yield (_FROM, day) if is_first else (_UNTIL, day and day + _ONE_DAY)
    elif above is not None and type(above) in _SIDES and node is above.args.get("expression"):
        side, later = _SIDES[type(above)]
        yield side, day and day + later
    else:
        yield _FROM, None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text.removesuffix(" 00:00:00"))
    except ValueError:
        return None
