"""Questions for table jobs, and the reasons of their failures, without the engine: only workers load that."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

REFUSED, COSTLY, NO_TABLE = "QUERY_REFUSED", "QUERY_TOO_COSTLY", "TABLE_NOT_FOUND"
"""Failure reasons besides those of parsers."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about the tables of `documents`, (id, file name, type) each, in the order of the archives.

    `query` is a statement. With `question`, the documents' files follow the archives, and a `query` is what a
    model wrote for it. Otherwise it asks for rows of the table `number` after place `after`, or for descriptions.
    """

    documents: Sequence[tuple[str, str, str]]
    seconds: float
    query: str = ""
    number: int = 0
    after: int = 0
    size: int = 0
    question: str = ""
    locale: str = ""
    reading: str = ""
    """The bytes of a `TableReading` in base64, "" for none."""

    def line(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))
