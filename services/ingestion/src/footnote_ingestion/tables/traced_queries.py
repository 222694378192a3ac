"""Records queries over tables in traces: their structure, and their texts only if the deployment records contents."""

from __future__ import annotations

import re

from footnote_kit import names
from footnote_kit.telemetry import record_content
from opentelemetry import trace

_TEXTS = re.compile(r"""'[^']*(?:''[^']*)*'|(?P<name>"[^"]*(?:""[^"]*)*")|\b\d[\w.]*""")
_OWN_NAME = re.compile(r'"(?:t_[0-9a-z]{1,12}_\d{1,6}|_row)"')
"""Names that come from no document: a table's view, and the number of a row."""


def record_query(statement: str) -> None:
    """Add a checked statement, whose names are all quoted, to the current span."""
    if not statement:
        return
    trace.get_current_span().set_attribute(names.DB_QUERY_TEXT, without_texts(statement))
    record_content(names.DB_QUERY_TEXT, statement)


def without_texts(statement: str) -> str:
    """Return a checked statement with "?" for texts and numbers, and "c1" for the first name of a document, and so on.

    Headers and file names become names of columns, so these are texts of documents too.
    """
    known: dict[str, str] = {}

    def plain(found: re.Match[str]) -> str:
        name = found["name"]
        if name is None:
            return "?"
        return name if _OWN_NAME.fullmatch(name) else known.setdefault(name, f"c{len(known) + 1}")

    return _TEXTS.sub(plain, statement)
