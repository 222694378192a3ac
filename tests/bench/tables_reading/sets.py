"""Public questions over tables: with the operation of their SQL, and with tables and what the answer is.

FOLDER has a checkout of text2sql-data (WikiSQL and others, with SQL) and of WikiTableQuestions (tables and answers).
"""

from __future__ import annotations

import bz2
import csv
import io
import json
import random
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footnote_text import locales

SEED = 41
SQL_SETS = ("advising", "restaurants", "academic", "imdb", "scholar", "atis", "yelp")
_MOST_A_SET = 700
_COMPARE = re.compile(
    r"\b(difference|compared? (?:to|with)|how (?:many|much) (?:more|less|fewer|longer|higher|larger)"
    r"|(?:more|less|higher|lower|larger|longer) .{1,60} than (?:the )?[a-z]+ (?:did|do|was|were|have|had)\b"
    r"|, [^,]{1,30} or )"
)
_FUNCTION = re.compile(
    r"answer\((?:[a-z_]+\(){0,2}?(count|sum|largest|longest|highest|smallest|shortest|lowest|most|fewest)"
)
_AGGREGATES = {"AVG": "average", "SUM": "total", "COUNT": "count", "MAX": "highest", "MIN": "lowest"}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question with the operation that it asks for, and the set it is of."""

    question: str
    operation: str
    set: str


@dataclass(frozen=True, slots=True)
class OverTable:
    """A question over a table: its file with a name that says its subject, and the texts of the answer."""

    question: str
    file: str
    text: str
    answers: tuple[str, ...]


def labelled(folder: Path, count: int) -> Iterator[Labelled]:
    """Yield questions with operations: `count` of WikiSQL, with as many of each aggregate as there are, and others."""
    yield from _wikisql(folder / "wikisql.json.bz2", count)
    for name in SQL_SETS:
        yield from _sampled(list(_of_sql(name, folder / f"{name}.json")), _MOST_A_SET)
    yield from _geography(folder / "non-sql-data" / "geography-multilingual.xml")
    yield from _phrases()


def _phrases() -> Iterator[Labelled]:
    """Yield the phrases of our own locales: they are no questions, but say each operation in twelve languages."""
    for code in locales.codes():
        words = locales.choose(code).tables
        for operation in ("total", "average", "count", "highest", "lowest", "comparison"):
            for phrase in getattr(words, operation):
                if "*" not in phrase:
                    yield Labelled(phrase, "compare" if operation == "comparison" else operation, "phrases")


def _sampled(found: list[Labelled], most: int) -> list[Labelled]:
    return random.Random(SEED).sample(found, min(most, len(found)))


def _wikisql(path: Path, count: int) -> Iterator[Labelled]:
    by_operation: dict[str, list[Labelled]] = {}
    for query in json.loads(bz2.decompress(path.read_bytes())):
        match = re.match(r"SELECT\s+(AVG|SUM|COUNT|MAX|MIN)?\b", query["sql-original"][0])
        operation = _AGGREGATES.get(match[1] or "", "other") if match else "other"
        for one in query["sentences"]:
            asked = one["original"].strip()
            # Of the later tables many questions do not say the aggregate that their SQL has.
            if not one["table-id"].startswith("1-") and operation not in kinds_said(asked):
                continue
            kind = "compare" if operation == "other" and _COMPARE.search(asked.lower()) else operation
            by_operation.setdefault(kind, []).append(Labelled(asked, kind, "wikisql"))
    for operation, found in by_operation.items():
        yield from _sampled(found, 2 * count if operation == "other" else count)


def kinds_said(question: str) -> list[str]:
    """Return which of totals and averages a word of an English question says."""
    words = locales.choose("en").tables
    tokens = set(re.findall(r"[a-z]+", question.lower()))
    return [one for one in ("total", "average") if any(phrase in tokens for phrase in getattr(words, one))]


def _of_sql(name: str, path: Path) -> Iterator[Labelled]:
    for query in json.loads(path.read_text("utf-8")):
        operation = operation_of(query["sql"][0])
        for one in query["sentences"]:
            text = one["text"]
            for variable, value in one["variables"].items():
                text = text.replace(variable, value)
            yield Labelled(text, operation, name)


def operation_of(sql: str) -> str:
    """Return the operation of the outermost SELECT."""
    match = re.match(r"SELECT (?:DISTINCT )?(AVG|SUM|COUNT|MAX|MIN)\b", sql)
    if match and "GROUP BY" not in sql:
        return _AGGREGATES[match[1]]
    order = re.search(r"ORDER BY .{1,200}?(DESC|ASC)?(?: LIMIT|\s*;)", sql)
    if order and "LIMIT" in sql:
        return "highest" if order[1] == "DESC" else "lowest"
    inner = re.search(r"= \( SELECT (MAX|MIN)\(", sql)
    if inner:
        return _AGGREGATES[inner[1]]
    return "other"


def _geography(path: Path) -> Iterator[Labelled]:
    """Yield questions in several languages; their formulas say the outermost operation."""
    for example in ElementTree.parse(path).getroot():
        formulas = [one.text or "" for one in example.findall("mrl") if one.get("lang") == "geo-funql"]
        match = _FUNCTION.match(formulas[0].strip()) if formulas else None
        said = match[1] if match else ""
        operation = {"count": "count", "sum": "total"}.get(said, "highest" if said else "other")
        if said in ("smallest", "shortest", "lowest", "fewest"):
            operation = "lowest"
        for one in example.findall("nl"):
            language = one.get("lang", "")
            if language in ("en", "de", "zh"):
                text = (one.text or "").strip()
                yield Labelled(text.replace(" ", "") if language == "zh" else text, operation, f"geography-{language}")


def over_tables(folder: Path, split: str, tables: int, of_each: int) -> list[OverTable]:
    """Return questions of WikiTableQuestions, `of_each` at most of a table."""
    by_table: dict[str, list[tuple[str, str]]] = {}
    for line in (folder / "data" / split).read_text("utf-8").splitlines()[1:]:
        _, question, table, answer = line.split("\t")[:4]
        by_table.setdefault(table, []).append((question, answer))
    chosen = random.Random(SEED).sample(sorted(by_table), min(tables, len(by_table)))
    found = []
    for path in chosen:
        source = folder / path
        if not source.is_file():
            continue
        table = list(csv.reader(io.StringIO(source.read_text("utf-8").replace('\\"', '""'))))
        if not 3 <= len(table) <= 200 or any(len(row) != len(table[0]) for row in table):
            continue
        out = io.StringIO()
        csv.writer(out).writerows([[cell.replace("\\n", " ") for cell in row] for row in table])
        for question, answer in by_table[path][:of_each]:
            found.append(OverTable(question, path.replace("/", "-"), out.getvalue(), tuple(answer.split("|"))))
    return found


def rounded(values: Any) -> list[float]:
    """Return values as they are kept in a file."""
    return [round(float(one), 4) for one in values]
