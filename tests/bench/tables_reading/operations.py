"""Fits which operation a question over tables asks for, from its vector by e5.

    PYTHONPATH=tests/bench python -m tables_reading.operations FOLDER VECTORS.npz [INTO.json]

FOLDER is the folder `data` of text2sql-data. Multinomial logistic regression. A fifth of the questions of each set is
left out of the fit and judges it; INTO.json gets the weights fitted on all.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tables_reading.sets import Labelled, labelled
from tables_reading.vectors import Cache

CLASSES = ("total", "average", "count", "highest", "lowest", "compare", "other")
PENALTY, STEPS, RATE = 2e-5, 600, 0.05
_COUNT = 700
"""Questions of WikiSQL an operation."""
Table = NDArray[np.float64]


def fit(vectors: Table, classes: NDArray[np.int64], weight: Table) -> Table:
    """Return weights, shape (dimensions + 1, classes), by Adam on the penalised likelihood."""
    inputs = np.concatenate([vectors, np.ones((len(vectors), 1))], 1)
    found = np.zeros((inputs.shape[1], len(CLASSES)))
    wanted = np.eye(len(CLASSES))[classes]
    mean, square = np.zeros_like(found), np.zeros_like(found)
    weight = weight / weight.sum()
    for step in range(1, STEPS + 1):
        slope = inputs.T @ (weight[:, None] * (chances(inputs, found) - wanted)) + PENALTY * found
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope**2
        rate = RATE * 10 * (1 - step / (STEPS + 1))
        found -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return found


def chances(inputs: Table, weights: Table) -> Table:
    """Return the chance of each class, one row a question; `inputs` have a last column of ones."""
    scores = inputs @ weights
    scores = np.exp(scores - scores.max(1, keepdims=True))
    result: Table = scores / scores.sum(1, keepdims=True)
    return result


def report(name: str, judged: Sequence[Labelled], found: Table) -> None:
    """Print how many of each class are found, and how many of those found are right."""
    right = np.array([CLASSES.index(one.operation) for one in judged])
    said = found.argmax(1)
    line = f"{name}: {np.mean(said == right):.3f} of {len(right)}"
    for at, kind in enumerate(CLASSES):
        if (right == at).any():
            sure = np.mean(right[said == at] == at) if (said == at).any() else 0.0
            line += f" | {kind} {np.mean(said[right == at] == at):.2f}/{sure:.2f}"
    print(line)


def main(folder: Path, cache: Path, into: Path | None) -> None:
    """Fit, judge by set, write."""
    questions = [one for one in labelled(folder, _COUNT) if 0 < len(one.question) < 400]
    vectors = Cache(cache).of([one.question for one in questions], questions=True).astype(np.float64)
    classes = np.array([CLASSES.index(one.operation) for one in questions])
    sets = sorted({one.set for one in questions})
    size = {name: sum(one.set == name for one in questions) for name in sets}
    weight = np.array([1 / np.sqrt(size[one.set]) for one in questions])
    held = np.array([hash_of(one.question) % 5 == 0 for one in questions])
    trial = fit(vectors[~held], classes[~held], weight[~held])
    found = chances(np.concatenate([vectors, np.ones((len(vectors), 1))], 1), trial)
    for name in sets:
        chosen = [at for at, one in enumerate(questions) if held[at] and one.set == name]
        report(name, [questions[at] for at in chosen], found[chosen])
    if into is not None:
        kept = fit(vectors, classes, weight).astype("<f2")
        into.write_text(json.dumps({
            "fitted_by": "tests/bench/tables_reading/operations.py", "fitted_on": sets, "classes": CLASSES,
            "weights": base64.b64encode(kept.tobytes()).decode("ascii"),
        }, indent=1) + "\n", "utf-8")  # fmt: skip


def hash_of(text: str) -> int:
    """Return the same number for a text in every run."""
    return sum((at + 1) * ord(char) for at, char in enumerate(text))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None)
