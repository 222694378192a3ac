r"""Delimited text with quotes escaped by a backslash, as Spark and MySQL write it: "5\" pipe, black" is one cell."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from itertools import islice

_ESCAPED = re.compile(r'(\\\\)|\\"')
_MOST_LINES = 500


def with_doubled_quotes(text: str, separator: str, records: Sequence[Sequence[str]]) -> str:
    """Return the text with escaped quotes doubled, where more of its lines have the usual width so, else as it is.

    `records` are the first ones. A backslash before the end of a quoted cell, as in "C:\\\\", fits as it is.
    """
    lines = list(islice((line for line in io.StringIO(text) if '\\"' in line), _MOST_LINES))
    widths = [len(record) for record in records]
    if not lines or not widths:
        return text
    usual = max(set(widths), key=widths.count)
    as_written = sum(_width(line, separator) == usual for line in lines)
    doubled = sum(_width(_doubled(line), separator) == usual for line in lines)
    return _doubled(text) if doubled > as_written else text


def _doubled(text: str) -> str:
    return _ESCAPED.sub(lambda one: one[0] if one[1] else '""', text)


def _width(line: str, separator: str) -> int:
    return len(next(csv.reader([line], delimiter=separator), ()))
