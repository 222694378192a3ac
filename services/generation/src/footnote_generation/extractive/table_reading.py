"""What an embedding model says of a question over tables: the operation, and which columns it is about.

`operations.json` has the weights of a multinomial logistic model over e5's vector of a question, and names the public
sets that tests/bench/tables_reading/operations.py fitted it on. Other models have other vectors, so they give none.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources

import numpy as np
from footnote.stages.v1.table_reading_pb2 import TableReading
from footnote.types.v1.table_pb2 import TableDescription
from footnote_providers.base import Cosines, Vectors
from footnote_text.language import detect
from footnote_text.lexical import fold, is_unspaced
from footnote_text.stopwords import STOP_WORDS
from numpy.typing import NDArray

MOST_HEADERS = 150
"""Names of columns that are compared, those of the first tables."""
_MOST_WORDS, _LONGEST = 12, 120
_WORD = re.compile(r"[^\W\d_]+")


def words_of(question: str) -> list[str]:
    """Return the words of meaning, each once, as written; none of scripts without spaces."""
    stop = {fold(one) for one in STOP_WORDS.get(detect(question), ())}
    words = dict.fromkeys(one for one in _WORD.findall(question) if len(one) > 1 and not is_unspaced(one[0]))
    return [one for one in words if fold(one) not in stop][:_MOST_WORDS]


def headers_of(tables: Sequence[TableDescription]) -> list[str]:
    """Return the different names of columns of tables, the first tables' first."""
    every = (column.name for table in tables for column in table.columns if 0 < len(column.name) <= _LONGEST)
    return list(dict.fromkeys(every))[:MOST_HEADERS]


def reading(
    question: Vectors, words: Sequence[str], of_words: Vectors, headers: Sequence[str], of_headers: Vectors,
    cosines: Cosines,
) -> TableReading:  # fmt: skip
    """Return what vectors say: of the question, shape (dimensions,), of its `words` and of `headers`, a row each."""
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
    for header, alike, by_word in zip(headers, whole.tolist(), single.tolist(), strict=True):
        found.columns.add(name=header, question=alike, words=by_word)
    return found


@cache
def _weights() -> tuple[list[str], NDArray[np.float64]]:
    """Return the operations, and their weights, shape (dimensions + 1, operations)."""
    fitted = json.loads((resources.files(__package__) / "operations.json").read_text(encoding="utf-8"))
    numbers = np.frombuffer(base64.b64decode(fitted["weights"]), "<f2").astype(np.float64)
    return fitted["classes"], numbers.reshape(-1, len(fitted["classes"]))
