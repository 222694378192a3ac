"""What an embedding model says of a question over tables: the operation, and which columns it is about.

`operations.json` has the weights of a multinomial logistic model over e5's vector of a question, and names the public
sets that tests/bench/tables_reading/operations.py fitted it on. Other models have other vectors, so they give none.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import groupby

import numpy as np
from footnote.stages.v1.table_reading_pb2 import TableReading
from footnote.types.v1.table_pb2 import TableDescription
from footnote_providers.base import Cosines, Vectors
from footnote_text import locales
from footnote_text.language import detect
from footnote_text.lexical import fold, is_unspaced
from footnote_text.stopwords import STOP_WORDS
from numpy.typing import NDArray

MOST_HEADERS = 150
"""Names of columns that are compared, those of the first tables."""
_MOST_WORDS, _LONGEST = 12, 120
_SEPARATOR = " › "
"""What stands between headers over one another in `ColumnDescription.name`."""
_LONGEST_RUN = 8
"""The most characters of a word of scripts without spaces."""
_WORD = re.compile(r"[^\W\d_]+")


def words_of(question: str) -> list[str]:
    """Return the words of meaning, each once, as written; of scripts without spaces what stands between known ones."""
    language = detect(question)
    stop = {fold(one) for one in STOP_WORDS.get(language, ())}
    words: dict[str, None] = {}
    parts = (
        ("".join(part), unspaced) for one in _WORD.findall(question) for unspaced, part in groupby(one, is_unspaced)
    )
    for part, unspaced in parts:
        if unspaced:
            words.update(dict.fromkeys(run for run in _between(language).split(part) if 1 < len(run) <= _LONGEST_RUN))
        elif len(part) > 1 and fold(part) not in stop:
            words[part] = None
    return list(words)[:_MOST_WORDS]


@cache
def _between(language: str) -> re.Pattern[str]:
    """Return a pattern of the phrases of a language without spaces that ask for something, or add nothing."""
    locale = locales.known(language)
    listed = [] if locale is None else [value for _, value in locale.tables if isinstance(value, tuple)]
    phrases = {*(phrase for value in listed for phrase in value), *STOP_WORDS.get(language, ())}
    return re.compile("|".join(map(re.escape, sorted(phrases, key=len, reverse=True))) or r"(?!)")


def headers_of(tables: Sequence[TableDescription]) -> list[str]:
    """Return the different names of columns of tables, the first tables' first."""
    every = (column.name for table in tables for column in table.columns if 0 < len(column.name) <= _LONGEST)
    return list(dict.fromkeys(every))[:MOST_HEADERS]


def parts_of(headers: Sequence[str]) -> list[str]:
    """Return the different headers over one another of which names of columns are made."""
    every = dict.fromkeys(part for one in headers if _SEPARATOR in one for part in one.split(_SEPARATOR))
    return list(every)[:MOST_HEADERS]


def reading(
    question: Vectors, words: Sequence[str], of_words: Vectors, headers: Sequence[str], of_headers: Vectors,
    cosines: Cosines, of_parts: Mapping[str, Vectors] | None = None,
) -> TableReading:  # fmt: skip
    """Return what vectors say: of the question, shape (dimensions,), of its `words` and of `headers`, a row each.

    A word is as alike a column as it is to its name, or to the part of it in `of_parts` that it is most alike.
    """
    classes, weights = _weights()
    found = TableReading(words=words)
    if len(question) + 1 == len(weights):
        scores = np.append(question, 1.0) @ weights
        chances = np.exp(scores - scores.max())
        for operation, chance in zip(classes, (chances / chances.sum()).tolist(), strict=True):
            found.operations.add(operation=operation, chance=chance)
    if not headers:
        return found
    span = cosines.related - cosines.unrelated
    whole = (of_headers @ question - cosines.unrelated) / span
    single = (of_headers @ of_words.T - cosines.unrelated) / span if len(words) else np.zeros((len(headers), 0))
    for at, header in enumerate(headers) if len(words) else ():
        for part in header.split(_SEPARATOR):
            if of_parts is not None and part in of_parts:
                single[at] = np.maximum(single[at], (of_words @ of_parts[part] - cosines.unrelated) / span)
    for header, alike, by_word in zip(headers, whole.tolist(), single.tolist(), strict=True):
        found.columns.add(name=header, question=alike, words=by_word)
    return found


@cache
def _weights() -> tuple[list[str], NDArray[np.float64]]:
    """Return the operations, and their weights, shape (dimensions + 1, operations)."""
    fitted = json.loads((resources.files(__package__) / "operations.json").read_text(encoding="utf-8"))
    numbers = np.frombuffer(base64.b64decode(fitted["weights"]), "<f2").astype(np.float64)
    return fitted["classes"], numbers.reshape(-1, len(fitted["classes"]))
