"""Questions of WikiSQL over the columns of their tables, as far as the SQL of all questions of a table shows them."""

from __future__ import annotations

import bz2
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from footnote_ingestion.tables import forms
from footnote_ingestion.tables.forms import Filter, Form, Subject
from tables_reading.sets import SEED, kinds_said

_KINDS = {"AVG": forms.AVERAGE, "SUM": forms.TOTAL, "COUNT": forms.COUNT, "MAX": forms.HIGHEST, "MIN": forms.LOWEST}
_SELECTED = re.compile(r"SELECT (?:(AVG|SUM|COUNT|MAX|MIN)\s?\(? ?)?TABLEalias0\.(\S+?)_FIELD")
_CONDITION = re.compile(r'TABLEalias0\.(\S+?)_FIELD (=|>|<) "?(\S+?)"? (?:AND|;)')
_ROWS = 1000


@dataclass(frozen=True, slots=True)
class OverColumns:
    """A question over the columns of a table, and the form that its SQL is; None for one that no form is."""

    question: str
    subject: Subject
    form: Form | None


@dataclass(slots=True)
class _Seen:
    """The columns of a table by name, with the texts that questions look for; and which hold numbers."""

    values: dict[str, list[str]] = field(default_factory=dict)
    numeric: set[str] = field(default_factory=set)
    asked: list[tuple[str, str, str, list[tuple[str, str, str]]]] = field(default_factory=list)


def over_columns(path: Path, count: int) -> list[OverColumns]:
    """Return `count` questions of each aggregate, and twice as many without one."""
    tables: dict[str, _Seen] = {}
    for query in json.loads(bz2.decompress(path.read_bytes())):
        sql = query["sql"][0]
        selected = _SELECTED.match(sql)
        if selected is None:
            continue
        kind, column = _KINDS.get(selected[1] or "", ""), _name(selected[2])
        for one in query["sentences"]:
            conditions = [
                (_name(said), op, one["variables"].get(value, value)) for said, op, value in _CONDITION.findall(sql)
            ]
            seen = tables.setdefault(one["table-id"], _Seen())
            seen.values.setdefault(column, [])
            if kind not in ("", forms.COUNT):
                seen.numeric.add(column)
            for said, op, value in conditions:
                seen.values.setdefault(said, []).append(value)
                if op != "=":
                    seen.numeric.add(said)
            seen.asked.append((one["original"].strip(), kind, column, conditions))
    by_kind: dict[str, list[OverColumns]] = {}
    for table, seen in tables.items():
        for kind, made in _questions(table, seen):
            by_kind.setdefault(kind, []).append(made)
    chance = random.Random(SEED)
    return [
        one
        for kind, found in sorted(by_kind.items())
        for one in chance.sample(found, min(len(found), count if kind else 2 * count))
    ]


def _questions(table: str, seen: _Seen) -> Iterator[tuple[str, OverColumns]]:
    names = list(seen.values)
    if len(names) < 3 or not seen.numeric:
        return
    number = {name: at for at, name in enumerate(names, 1)}
    values = {number[one]: list(dict.fromkeys(seen.values[one])) for one in names if one not in seen.numeric}
    subject = Subject(
        "1.csv", "1.csv", {number[one]: one for one in names}, frozenset(number[one] for one in seen.numeric),
        values, next(iter(values), 0), _ROWS,
    )  # fmt: skip
    for question, kind, column, conditions in seen.asked:
        if kind in (forms.TOTAL, forms.AVERAGE) and kind not in kinds_said(question):
            continue
        if not table.startswith("1-") and kind not in (forms.TOTAL, forms.AVERAGE):
            continue
        yield kind, OverColumns(question, subject, _form(kind, number[column], number, conditions, subject))


def _form(
    kind: str, column: int, number: dict[str, int], conditions: list[tuple[str, str, str]], subject: Subject
) -> Form | None:
    """Return the form of SQL; that of one number of a row is its total, as there is nothing to add."""
    if any(number[said] in subject.numeric for said, _, _ in conditions):
        return None
    filters = [Filter(number[said], "=", value) for said, _, value in conditions]
    if not kind:
        alone = bool(filters) and column in subject.numeric
        return Form(forms.TOTAL, column, subject.naming, filters=filters) if alone else None
    return Form(kind, 0 if kind == forms.COUNT else column, subject.naming, filters=filters)


def _name(column: str) -> str:
    return column.replace("_", " ").capitalize()
