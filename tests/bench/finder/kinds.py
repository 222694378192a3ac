"""Fits the probe of what a question asks for: which kind of number, or none, by e5's vector of the question.

    PYTHONPATH=tests:tests/bench python -m finder.kinds FOLDER [ASKED_KINDS.json]

FOLDER has sets in SQuAD's format, each file named by its language and set: of SQuADShifts (CC BY 4.0)
en.new_wiki.json, en.amazon.json and en.reddit.json, of SQuAD-es (CC BY 4.0) es.squad.json, of SQuAD-it (CC BY-SA 4.0)
it.squad.json, and of DRCD (CC BY-SA 3.0) zh.drcd.json. The kind of a question is that of its answer, by the quantities
that the built-in answerer finds in the answer's sentence. Printed is how well each kind is told apart in a set that
chose nothing, then the probe of all sets is written: a multinomial logistic function of the vector.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from finder.sets import SEED
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_generation.extractive.kinds import KINDS, kind
from footnote_generation.language.words import analyse
from footnote_providers import registry
from footnote_providers.e5.provider import MODEL
from footnote_text import sentences
from numpy.typing import NDArray

CLASSES = ("none", *KINDS)
PENALTY = 30.0
PLAIN = 600
"""How many questions of a set that ask for no number are taken."""
_LONGEST = 40  # characters of an answer that is a quantity
_WORDS = 5
_STEPS = 400
_FEWEST = 20
"""Questions of a class from which its figure is printed."""
Table = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class QuestionVectors:
    """The vectors of questions and the classes of their answers; `plain` is how many of "none" their whole set has."""

    vectors: Table
    classes: NDArray[np.int64]
    plain: int


@dataclass(frozen=True, slots=True)
class Probe:
    """A weight for each dimension and class, and a constant for each class."""

    weights: Table
    constants: Table

    def chances(self, vectors: Table) -> Table:
        """Return the chance of each class: shape (vectors, classes)."""
        return _shares(vectors @ self.weights + self.constants)


def questions(path: Path) -> tuple[list[tuple[str, str]], int]:
    """Return questions of a set with the kinds of their answers, and how many that ask for no number it has."""
    language = path.name.partition(".")[0]
    found: dict[str, str] = {}
    for article in json.loads(path.read_text("utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            found.update(_asked(paragraph, language))
    pairs = sorted(found.items())
    plain = [pair for pair in pairs if pair[1] == "none"]
    random.Random(SEED).shuffle(plain)
    return [*(pair for pair in pairs if pair[1] != "none"), *plain[:PLAIN]], len(plain)


def _asked(paragraph: dict[str, Any], language: str) -> Iterator[tuple[str, str]]:
    text = paragraph["context"]
    spans = sentences.split(text, language)
    for one in paragraph["qas"]:
        kinds = Counter[str]()
        for answer in one["answers"] if not one.get("is_impossible") else ():
            start, end = answer["answer_start"], answer["answer_start"] + len(answer["text"])
            if text[start:end] == answer["text"]:
                kinds.update(_kind(text[a:b], start - a, end - a, language) for a, b in spans if a <= start < b)
        if kinds:
            yield one["question"].strip(), kinds.most_common(1)[0][0]


def _kind(sentence: str, start: int, end: int, language: str) -> str:
    """Return the kind of an answer at a place of its sentence."""
    answer = sentence[start:end]
    if len(answer) <= _LONGEST and len(answer.split()) <= _WORDS:
        for one in analyse(sentence, language).quantities:
            if one.start < end and one.end > start and (found := kind(one)) is not None:
                return found
    return "none"


def fit(sets: Sequence[QuestionVectors]) -> Probe:
    """Fit a multinomial logistic function by accelerated gradient descent; constants allow for what was left out."""
    vectors = np.concatenate([one.vectors for one in sets])
    classes = np.concatenate([one.classes for one in sets])
    mean, spread = vectors.mean(0), vectors.std()
    columns = (vectors - mean) / spread
    aims = np.eye(len(CLASSES))[classes]
    weights = ahead = np.zeros((columns.shape[1], len(CLASSES)))
    constants = ahead_constants = np.log(aims.mean(0) + 1e-3)
    rate = 1 / (0.5 * np.linalg.eigvalsh(columns.T @ columns)[-1] + PENALTY)
    momentum = 1.0
    for _ in range(_STEPS):
        error = _shares(columns @ ahead + ahead_constants) - aims
        stepped = ahead - rate * (columns.T @ error + PENALTY * ahead)
        stepped_constants = ahead_constants - error.sum(0) / (0.5 * len(columns))
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = stepped + (momentum - 1) / following * (stepped - weights)
        ahead_constants = stepped_constants + (momentum - 1) / following * (stepped_constants - constants)
        weights, constants, momentum = stepped, stepped_constants, following
    weights = weights / spread
    constants = constants - mean @ weights
    constants[0] += np.log(sum(one.plain for one in sets) / np.sum(classes == 0))
    return Probe(weights, constants)


def _shares(values: Table) -> Table:
    raised: Table = np.exp(values - values.max(1, keepdims=True))
    return raised / raised.sum(1, keepdims=True)


def report(name: str, probe: Probe, judged: QuestionVectors) -> None:
    """Print how often the likeliest class is right, and how well each is told from the others: area under the ROC."""
    chances, classes = probe.chances(judged.vectors), judged.classes
    line = f"{name}: {len(classes)} questions, right {np.mean(chances.argmax(1) == classes):.3f}"
    for at, one in enumerate(CLASSES):
        is_it, other = chances[classes == at, at], chances[classes != at, at]
        if len(is_it) >= _FEWEST:
            line += f", {one} {np.mean(is_it[:, None] > other[None, :]):.3f}"
    print(line, flush=True)


async def collected(paths: Sequence[Path]) -> dict[str, QuestionVectors]:
    """Return the questions of each set by e5's vectors."""
    sets: dict[str, QuestionVectors] = {}
    async with registry.lease(EmbeddingSettings(provider="e5")) as provider:
        for path in paths:
            asked, plain = questions(path)
            vectors = np.array([await provider.embed_query(question) for question, _ in asked], dtype=np.float64)
            sets[path.stem] = QuestionVectors(vectors, np.array([CLASSES.index(found) for _, found in asked]), plain)
    return sets


def main(folder: Path, into: Path | None) -> None:
    """Judge each set by the probe of the others; write that of all."""
    sets = asyncio.run(collected(sorted(folder.glob("*.json"))))
    for name, judged in sets.items():
        report(f"{name}, by the others", fit([one for other, one in sets.items() if other != name]), judged)
    if into is not None:
        probe = fit(list(sets.values()))
        written = {
            "fitted_by": "tests/bench/finder/kinds.py",
            "fitted_on": sorted(sets),
            "model": MODEL,
            "classes": CLASSES,
            "constants": np.round(probe.constants, 3).tolist(),
            "weights": np.round(probe.weights.T, 2).tolist(),
        }
        into.write_text(json.dumps(written).replace("], [", "],\n[") + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
