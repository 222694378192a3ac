"""Fits the weights of the finder: which sentence answers, where an embedding model compares it with the question.

    PYTHONPATH=tests:tests/bench python -m finder.fit FOLDER [WEIGHTS.json]

FOLDER has a file a set and way of searching: "squad-13-e5.gz", "xquad-de-e5.gz", "xl-en-zh.gz", by `finder.collect`.
Logistic regression by Newton's method: whether a sentence or row holds the answer, from its signs and its likeness to
the question by e5, over the likeliest by words. Questions that nothing answers are those of the sets, those whose
article is left out, those whose sentence is taken out of its passage ("gap") or whose column out of its table
("column"). Each prose question is asked once more "otherwise": with most of its words unknown, as in a paraphrase, and
its likeness as it is. Each set weighs the same. SQuAD-13 and PIAF only judge. Printed for each set is what
weights fitted on the others are worth on it.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import gzip
import json
import math
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from finder.columns import column_of, without_column
from footnote.types.v1.answer_pb2 import Source
from footnote_generation.adapters.embedding_likeness import EmbeddingLikeness
from footnote_generation.extractive.meaning import COMPARED, Comparison, share
from footnote_generation.extractive.missing_names import fitting
from footnote_generation.extractive.passages import Unit, units
from footnote_generation.extractive.question import Question, read
from footnote_generation.extractive.ranking import adds_to, rank
from footnote_generation.extractive.signs import LIKENESS, NAMES, Table
from numpy.typing import NDArray

PENALTY = 30.0
JUDGES = frozenset({"squad-13", "piaf-fr"})
"""The sets that no weights are fitted on."""
UNKNOWN = 0.6
"""The share of words that a question asked otherwise does not share; names and amounts stay."""
THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """A question's candidates: their signs, and 1 for each that holds the answer."""

    kind: str
    table: Table
    right: Column
    otherwise: bool


@dataclass(frozen=True, slots=True)
class Weights:
    """A weight a sign, and a constant."""

    weights: Column
    constant: float

    def chances(self, table: Table) -> Column:
        """Return the chance of each sentence that it holds the answer."""
        chances: Column = 1 / (1 + np.exp(-np.clip(table @ self.weights + self.constant, -30, 30)))
        return chances


async def cases(path: Path, likeness: EmbeddingLikeness) -> list[Case]:
    """Return the cases of a collected file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [
            await _case(kind, comparison, right, otherwise, likeness)
            for line in lines
            for kind, comparison, right, otherwise in _comparisons(json.loads(line))
        ]


def _comparisons(line: dict[str, Any]) -> Iterator[tuple[str, Comparison, list[bool], bool]]:
    """Yield what is asked of the sources of a line: kind, candidates, which are right, and whether it is otherwise."""
    sources = {one.number: one for one in (Source.FromString(base64.b64decode(text)) for text in line["sources"])}
    asked = read(line["question"])
    found = units(list(sources.values()), asked.language)
    right = [_holds(line, unit, sources[unit.source].filename) for unit in found]
    left = _without([unit for unit, holds in zip(found, right, strict=True) if not holds])
    other = None if line["file"].endswith(".csv") else _otherwise(asked)
    for question in (asked, other) if other else (asked,):
        yield line["case"], *_compared(question, found, right, sources), question is other
        if any(right):
            yield "gap", *_compared(question, left, [False] * len(left), sources), question is other
    if any(right) and line["file"].endswith(".csv"):
        unit = found[right.index(True)]
        column = column_of(sources[unit.source], unit.start, unit.end, tuple(line["answers"]))
        if column is not None:
            cut = {n: without_column(s, column) if s.filename == line["file"] else s for n, s in sources.items()}
            remaining = units(list(cut.values()), asked.language)
            yield "column", *_compared(asked, remaining, [False] * len(remaining), cut), False


def _compared(
    question: Question, found: Sequence[Unit], right: Sequence[bool], sources: dict[int, Source]
) -> tuple[Comparison, list[bool]]:
    """Return the candidates as `compose` finds them, and which are right."""
    ranked = rank(question, found, [source.score for source in sources.values()])
    ranked = [item for item in ranked if not item.unit.is_heading and adds_to(question, item.unit)]
    ranked = fitting(question, ranked, found, sources)
    holds = {(unit.source, unit.place): one for unit, one in zip(found, right, strict=True)}
    held = [holds[item.unit.source, item.unit.place] for item in ranked[:COMPARED]]
    return Comparison(question, ranked, found, sources), held


async def _case(
    kind: str, comparison: Comparison, right: list[bool], otherwise: bool, likeness: EmbeddingLikeness
) -> Case:
    table = np.zeros((0, len(NAMES) + len(LIKENESS)))
    if right:
        alike = await likeness.of(comparison.question.text, comparison.texts)
        if not alike:
            raise SystemExit("the likeness of sentences needs e5: pip install 'footnote[e5]'")
        table = comparison.table(alike)
    return Case(kind, table, np.array(right, dtype=np.float64), otherwise)


def _otherwise(question: Question) -> Question | None:
    """Return a question with most of its words unknown to all sources; None where none is."""
    chance = random.Random(question.text)
    about = tuple(
        word._replace(stems=(f"\0{word.stems[0]}",))
        if chance.random() < UNKNOWN and not word.in_quantity and not word.name
        else word
        for word in question.about
    )
    return dataclasses.replace(question, about=about) if about != question.about else None


def _holds(line: dict[str, Any], unit: Unit, file: str) -> bool:
    """Whether a sentence is of the paragraph, and has an answer; or is the row, by all its cells."""
    text = _plain(unit.text)
    if line["case"] != "given" or file != line["file"]:
        return False
    if file.endswith(".csv"):
        return all(_plain(cell) in text for cell in line["paragraph"].split(", "))
    return text in _plain(line["paragraph"]) and any(_plain(answer) in text for answer in line["answers"])


def _without(left: Sequence[Unit]) -> list[Unit]:
    """Return sentences as they are without those that were taken out."""
    stems = {(unit.source, unit.place): unit.analysed.stems for unit in left}
    nothing = frozenset[str]()
    return [
        dataclasses.replace(
            unit,
            around=unit.context.union(*(found for (source, _), found in stems.items() if source == unit.source)),
            before=stems.get((unit.source, unit.place - 1), nothing),
            after=stems.get((unit.source, unit.place + 1), nothing),
        )
        for unit in left
    ]


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def fit(sets: Sequence[Sequence[Case]]) -> Weights:
    """Fit weights on the cases of sets, each set with the same weight in all."""
    sets = [[case for case in one if len(case.right)] for one in sets]
    table = np.concatenate([case.table for one in sets for case in one])
    right = np.concatenate([case.right for one in sets for case in one])
    sizes = [sum(len(case.right) for case in one) for one in sets]
    weight = np.concatenate([np.full(size, len(right) / len(sets) / size) for size in sizes])
    mean, spread = table.mean(0), table.std(0) + 1e-9
    columns = np.concatenate([(table - mean) / spread, np.ones((len(table), 1))], 1)
    ridge = np.eye(columns.shape[1]) * PENALTY
    ridge[-1, -1] = 0
    found = np.zeros(columns.shape[1])
    for _ in range(25):
        chance = 1 / (1 + np.exp(-np.clip(columns @ found, -30, 30)))
        slope = columns.T @ (weight * (right - chance)) - ridge @ found
        curve = (columns * (weight * chance * (1 - chance))[:, None]).T @ columns + ridge
        step = np.linalg.solve(curve, slope)
        found += step
        if np.abs(step).max() < 1e-6:
            break
    weights = found[:-1] / spread
    return Weights(weights, float(found[-1] - weights @ mean))


def shown(weights: Weights, case: Case) -> tuple[float, bool]:
    """Return the chance that what would be shown holds the answer, and whether it does, as by `compose`."""
    if not len(case.right):
        return 0.0, False
    chances = weights.chances(case.table)
    top = chances.max()
    best = np.argsort(-chances)[:2]
    best = best[chances[best] >= share(top) * top]
    return float(chances[best].sum()), bool(case.right[best].any())


def report(name: str, weights: Weights, judged: Sequence[Case]) -> None:
    """Print what weights are worth on cases, by threshold."""
    found = [(case.kind, *shown(weights, case)) for case in judged if not case.otherwise]
    given = [(chance, right) for kind, chance, right in found if kind == "given"]
    print(f"{name}: {len(given)} questions that an article answers")
    for least in THRESHOLDS:
        answered = [right for chance, right in given if chance >= least]
        line = f"  {least:.2f}: answered {len(answered) / len(given):.3f}"
        line += f", wrong of those {1 - sum(answered) / max(1, len(answered)):.3f}"
        for kind in ("out", "near", "gap", "column"):
            absent = [chance < least for one, chance, _ in found if one == kind]
            line += f", refused {kind} {np.mean(absent):.3f}" if absent else ""
        print(line)


async def collected(paths: Sequence[Path]) -> dict[str, list[Case]]:
    """Return the cases of files by set: languages of one set are one."""
    likeness = EmbeddingLikeness(seconds=math.inf)
    sets: dict[str, list[Case]] = {}
    for path in paths:
        sets.setdefault(_set_of(path), []).extend(await cases(path, likeness))
    return sets


def _set_of(path: Path) -> str:
    return path.stem.split("-")[0] if path.stem.startswith("x") else path.stem.rpartition("-")[0]


def main(folder: Path, into: Path | None) -> None:
    """Fit and judge on the files of a folder; write the weights fitted on all of them."""
    paths = sorted(folder.glob("*.gz"))
    sets = asyncio.run(collected(paths))
    if not sets:
        raise SystemExit(f"{folder} has no collected questions; see finder.collect")
    fitted = {name: cases for name, cases in sets.items() if name not in JUDGES}
    for name, judged in sets.items():
        report(f"{name}, weights of the others", fit([one for other, one in fitted.items() if other != name]), judged)
    found = fit(list(fitted.values()))
    if into is not None:
        signs = zip((*NAMES, *LIKENESS), found.weights, strict=True)
        rounded = {name: round(float(weight), 4) for name, weight in signs}
        told = {
            "fitted_by": "tests/bench/finder/fit.py",
            "fitted_on": sorted(path.stem for path in folder.glob("*.gz") if _set_of(path) not in JUDGES),
        }
        into.write_text(json.dumps({**told, "constant": round(found.constant, 4), "weights": rounded}, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
