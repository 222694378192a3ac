"""Fits the weights by which the computation over tables that a question asks for is chosen.

    PYTHONPATH=tests/bench python -m tables_reading.fit TABLES SQL VECTORS.npz [INTO.json]

TABLES is a checkout of WikiTableQuestions: each question is asked over its table and others beside it, and the right
computations are those that give the answer. SQL is the folder `data` of text2sql-data: of WikiSQL's questions the right
computation is what their SQL is. Where none is right, the right one is none. Conditional logistic regression: the
chance of a right one among all, by the signs of `evidence`. A third of the questions is left out of the fit and judges
it: printed is how many are answered, and how many of those wrongly, by the least chance that is answered.
"""

from __future__ import annotations

import dataclasses
import json
import random
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from footnote_generation.extractive import table_reading
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.tables import evidence, forms
from footnote_ingestion.tables.candidates import Candidate, Reading, candidates
from footnote_ingestion.tables.collected import Collector, RowData, TableData
from footnote_ingestion.tables.formatting import is_total
from footnote_ingestion.tables.forms import Form, Subject
from footnote_ingestion.tables.mentions import Asked, Mentions
from footnote_ingestion.tables.plain import of_rows
from footnote_text import locales
from numpy.typing import NDArray
from tables_reading.columns import OverColumns, over_columns
from tables_reading.sets import SEED, OverTable, over_tables
from tables_reading.vectors import COSINES, Cache

TABLES, OF_EACH, BESIDE = 260, 6, 2
OF_EACH_KIND = 180
PENALTY, STEPS, RATE = 3e-4, 200, 0.1
AT_MOST = {"numbers_left": -6.0, "turning_left": -6.0, "capitals_left": -3.0, "left": -0.4}
"""Weights that may be lower, and not higher: a condition that is left out makes an answer wrong, but few questions of
the sets have one, and they write names in small letters."""
FLOORS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
Table = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Kept:
    """A table with its rows."""

    subject: Subject
    naming: int
    rows: tuple[RowData, ...]
    totals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """The signs of a question's candidates, which are right, those of none, and what each candidate gives."""

    question: str
    table: Table
    none: Table
    right: NDArray[np.bool_]
    given: tuple[str, ...]


@cache
def kept(file: str, text: str) -> Kept:
    """Parse a CSV table as the service does."""
    found: list[tuple[TableData, RowData]] = []
    collector = Collector(lambda table, row: found.append((table, row)))
    with tempfile.NamedTemporaryFile(suffix=".csv") as out:
        Path(out.name).write_text(text, "utf-8")
        parser_for("csv").parse(Path(out.name), BlockWriter(collector.add, Limits()), Limits())
    table = found[0][0]
    rows = tuple(row for one, row in found if one is table)
    kinds = {at: column.kinds.most_common(1)[0][0] for at, column in enumerate(table.columns, 1) if column.kinds}
    values = {
        at: list(dict.fromkeys(row.cells[at].text for row in rows if at in row.cells and len(row.cells[at].text) <= 80))
        for at, kind in kinds.items() if kind == ""
    }  # fmt: skip
    naming = next(iter(values), 0)
    subject = Subject(
        file, f"{file} {table.name}", {at: one.name for at, one in enumerate(table.columns, 1)},
        frozenset(at for at, kind in kinds.items() if kind == "number"), values, naming, len(rows),
    )  # fmt: skip
    return Kept(subject, naming, rows, tuple(text for text in values.get(naming, ()) if is_total(text)))


def case(asked: OverTable, beside: Sequence[OverTable], vectors: Cache) -> Case:
    """Return a question's candidates over its table and others."""
    words = locales.choose("en").tables
    read = Asked.of(asked.question, words, "en")
    tables = [kept(one.file, one.text) for one in (asked, *beside)]
    headers = list(dict.fromkeys(header for one in tables for header in one.subject.headers.values()))
    reading = reading_of(asked.question, headers, vectors)
    rows, right, given = [], [], []
    wanted = [_plain(one) for one in asked.answers]
    for table in tables:
        mentions = Mentions.of(read, table.subject)
        for one in candidates(read, mentions, reading):
            said = _given(one, table)
            if said is None:
                continue
            rows.append(evidence.signs(one, read, mentions, reading))
            right.append(table is tables[0] and sorted(said) == sorted(wanted))
            given.append(" | ".join(said))
    none = np.array(evidence.none_signs(read, reading))
    table_of = np.array(rows).reshape(len(rows), len(evidence.SIGNS))
    return Case(asked.question, table_of, none, np.array(right, bool), tuple(given))


def case_of_columns(asked: OverColumns, vectors: Cache) -> Case:
    """Return the candidates of a question of which the form is known."""
    read = Asked.of(asked.question, locales.choose("en").tables, "en")
    reading = reading_of(asked.question, list(asked.subject.headers.values()), vectors)
    mentions = Mentions.of(read, asked.subject)
    every = list(candidates(read, mentions, reading))
    rows = [evidence.signs(one, read, mentions, reading) for one in every]
    right = np.array([asked.form is not None and _same(one.form, asked.form) for one in every], bool)
    none = np.array(evidence.none_signs(read, reading))
    given = tuple(repr(one.form) for one in every)
    return Case(asked.question, np.array(rows).reshape(len(rows), len(evidence.SIGNS)), none, right, given)


def _same(one: Form, other: Form) -> bool:
    return (
        (one.kind, one.measure, one.grouped, one.most) == (other.kind, other.measure, other.grouped, other.most)
        and {(f.column, f.op, str(f.value).lower()) for f in one.filters}
        == {(f.column, f.op, str(f.value).lower()) for f in other.filters}
    )  # fmt: skip


def reading_of(question: str, headers: Sequence[str], vectors: Cache) -> Reading:
    """Return what e5 says of a question, as the service makes it."""
    texts = table_reading.words_of(question)
    asked = vectors.of([question], questions=True)[0]
    made = table_reading.reading(asked, texts, vectors.of(texts), headers, vectors.of(headers), COSINES)
    return Reading.of(made)


def _given(candidate: Candidate, table: Kept) -> list[str] | None:
    """Return the texts of what a candidate gives: keys where rows are asked for, else the number."""
    form = candidate.form
    ranked = form.kind in (forms.HIGHEST, forms.LOWEST)
    more = dataclasses.replace(form, most=form.most + 1) if ranked else form
    found = of_rows(table.rows, more, table.naming, table.totals)
    if ranked and len(found) > form.most and found[form.most][1] == found[form.most - 1][1]:
        return None  # equals are refused
    found = found[: form.most] if ranked else found
    if not found or len(found) > 40 or all(value is None for _, value in found):
        return None
    if form.kind in (forms.ROWS, forms.HIGHEST, forms.LOWEST):
        return [_plain(key) for key, _ in found]
    if form.grouped:
        return [_plain(f"{key} {value}") for key, value in found]
    value = found[0][1]
    return [_plain(_number(abs(value) if form.kind == forms.DIFFERENCE else value))]


def _number(value: object) -> str:
    return f"{float(value):.6g}" if isinstance(value, int | float) else ""


def _plain(text: str) -> str:
    bare = re.sub(r"(?<=\d),(?=\d{3})", "", text.strip().lower())
    try:
        return f"{float(bare):.6g}"
    except ValueError:
        return " ".join(bare.split())


def chances(case: Case, weights: Table) -> Table:
    """Return the chance of each candidate; what is missing to 1 is that of none."""
    sizes = len(evidence.SIGNS)
    scores = np.concatenate([case.table @ weights[:sizes], [case.none @ weights[sizes:]]])
    scores = np.exp(scores - scores.max())
    result: Table = scores / scores.sum()
    return result


def fit(cases: Sequence[Case]) -> Table:
    """Return the weights of SIGNS and NONE by Adam on the penalised likelihood."""
    sizes = len(evidence.SIGNS)
    every = np.concatenate([case.table for case in cases if len(case.table)])
    spread = np.concatenate([every.std(0) + 1e-3, np.stack([case.none for case in cases]).std(0) + 0.1])
    found = np.zeros(sizes + len(evidence.NONE))
    mean, square = np.zeros_like(found), np.zeros_like(found)
    scaled = [
        Case(one.question, one.table / spread[:sizes], one.none / spread[sizes:], one.right, one.given) for one in cases
    ]
    for step in range(1, STEPS + 1):
        slope = PENALTY * found
        for one in scaled:
            chance = chances(one, found)
            right = np.append(one.right, not one.right.any())
            wanted = chance * right / max(1e-12, (chance * right).sum())
            off = (chance - wanted) / len(cases)
            slope[:sizes] += off[:-1] @ one.table
            slope[sizes:] += off[-1] * one.none
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope**2
        rate = RATE * (1 - step / (STEPS + 1))
        found -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-9)
        for name, most in AT_MOST.items():
            at = evidence.SIGNS.index(name)
            found[at] = min(found[at], most * spread[at])
    return found / spread


def report(name: str, cases: Sequence[Case], weights: Table) -> None:
    """Print what weights are worth by the least chance that is answered."""
    possible = sum(bool(one.right.any()) for one in cases)
    print(f"{name}: {len(cases)} questions, {possible} that some candidate answers")
    best = []
    for one in cases:
        chance = chances(one, weights)[:-1]
        if len(chance):
            at = int(chance.argmax())
            alike = sum(float(other) for other, given in zip(chance, one.given, strict=True) if given == one.given[at])
            best.append((alike, bool(one.right[at])))
    for floor in FLOORS:
        answered = [right for chance, right in best if chance >= floor]
        wrong = len(answered) - sum(answered)
        print(
            f"  {floor:.2f}: right {sum(answered)} = {sum(answered) / possible:.3f} of possible, wrong {wrong} = "
            f"{wrong / len(cases):.3f} of all, {wrong / max(1, len(answered)):.3f} of answered"
        )


def main(folder: Path, sql: Path, cache_path: Path, into: Path | None) -> None:
    """Fit, judge, write."""
    vectors = Cache(cache_path)
    others = over_columns(sql / "wikisql.json.bz2", OF_EACH_KIND)
    prepare_columns(others, vectors)
    asked = over_tables(folder, "training.tsv", TABLES, OF_EACH)
    prepare(asked, vectors)
    chance = random.Random(SEED)
    beside = [[other for other in chance.sample(asked, BESIDE) if other.file != one.file] for one in asked]
    cases = [case(one, others, vectors) for one, others in zip(asked, beside, strict=True)]
    known = [case_of_columns(one, vectors) for one in others]
    held = [sum(map(ord, one.file)) % 3 == 0 for one in asked]
    left = [at % 3 == 0 for at in range(len(known))]
    trial = [one for one, out in zip([*cases, *known], [*held, *left], strict=True) if not out]
    weights = fit(trial)
    report("WikiTableQuestions", [one for one, out in zip(cases, held, strict=True) if out], weights)
    report("WikiSQL", [one for one, out in zip(known, left, strict=True) if out], weights)
    found = fit([*cases, *known])
    sizes = len(evidence.SIGNS)
    for name, value in zip((*evidence.SIGNS, *evidence.NONE), found, strict=True):
        print(f"  {name} {value:.3f}")
    if into is not None:
        into.write_text(json.dumps({
            "fitted_by": "tests/bench/tables_reading/fit.py", "fitted_on": ["WikiTableQuestions", "WikiSQL"],
            "signs": dict(zip(evidence.SIGNS, (round(float(one), 4) for one in found[:sizes]), strict=True)),
            "none": dict(zip(evidence.NONE, (round(float(one), 4) for one in found[sizes:]), strict=True)),
        }, indent=1) + "\n", "utf-8")  # fmt: skip


def prepare_columns(asked: Sequence[OverColumns], vectors: Cache) -> None:
    """Make all vectors of WikiSQL's questions at once."""
    vectors.of([one.question for one in asked], questions=True)
    headers = {header for one in asked for header in one.subject.headers.values()}
    vectors.of(sorted(headers | {word for one in asked for word in table_reading.words_of(one.question)}))


def prepare(asked: Sequence[OverTable], vectors: Cache) -> None:
    """Make all vectors at once."""
    vectors.of([one.question for one in asked], questions=True)
    headers = {header for one in asked for header in kept(one.file, one.text).subject.headers.values()}
    words = {word for one in asked for word in table_reading.words_of(one.question)}
    vectors.of(sorted(headers | words))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), Path(sys.argv[4]) if len(sys.argv) > 4 else None)
