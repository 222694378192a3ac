"""What the best hit's score is worth: questions with an answer in the store against questions of other sets.

Through the retrieval service, rows put into the store by the test. Sets by FOOTNOTE_BENCH_SETS (each is the store once,
the others ask it what it does not hold), so many questions of each by FOOTNOTE_BENCH_QUESTIONS, vectors by
FOOTNOTE_BENCH_PROVIDER. With FOOTNOTE_BENCH_PLOT=FILE.png the histograms are drawn, which needs matplotlib.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import pytest
from footnote.retrieval.v1 import retrieval_service_pb2 as pb
from footnote.types.v1.collection_pb2 import RetrievalSettings
from footnote_kit.testing import SCOPE
from rich.console import Console
from support.library import Library, open_library
from support.question_sets import QuestionSet, filled, question_set

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(3000)]

SETS = os.environ.get("FOOTNOTE_BENCH_SETS", "squad-13,piaf-fr,cranfield").split(",")
QUESTIONS = int(os.environ.get("FOOTNOTE_BENCH_QUESTIONS", "200"))
PROVIDER = os.environ.get("FOOTNOTE_BENCH_PROVIDER", "builtin")
PLOT = os.environ.get("FOOTNOTE_BENCH_PLOT", "")
LEAST = {"e5": 0.90}
_BARS = " ▁▂▃▄▅▆▇█"
_ATTEMPTS = 12


async def best(library: Library, collection: str, question: str) -> float:
    """The score of the best hit, 0 where there is none."""
    request = pb.RetrieveRequest(
        scope=SCOPE, query=question, collections=[collection], settings=RetrievalSettings(limit=1)
    )
    for _ in range(_ATTEMPTS):  # the first questions wait for their model to be loaded
        response = await library.stub.Retrieve(request)
        if not response.degradations:
            break
    assert not response.degradations, response.degradations
    return max((scored.score for scored in response.chunks), default=0.0)


def area(answered: Sequence[float], others: Sequence[float]) -> float:
    """The chance that a question with an answer scores above one without, a tie counting half."""
    ranked = sorted(others)
    wins = sum(bisect_left(ranked, score) + bisect_right(ranked, score) for score in answered) / 2
    return wins / len(ranked) / len(answered)


def histogram(scores: Sequence[float], bins: int = 20) -> str:
    """A line of bars from 0 to 1."""
    counts = [0] * bins
    for score in scores:
        counts[min(int(score * bins), bins - 1)] += 1
    return "".join(_BARS[round(count / max(counts) * (len(_BARS) - 1))] for count in counts)


def plot(drawn: dict[str, tuple[list[float], list[float]]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(drawn), figsize=(4.5 * len(drawn), 3.2), sharex=True, squeeze=False)
    for axis, (name, (answered, others)) in zip(axes[0], drawn.items(), strict=True):
        axis.hist([answered, others], bins=20, range=(0, 1), label=["answer in the store", "of other sets"])
        axis.set_title(f"{name}: AUC {area(answered, others):.3f}")
        axis.set_xlabel(f"score of the best hit, {PROVIDER}")
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(PLOT, dpi=110)


async def test_the_best_score_tells_answered_questions_from_others(uri: str) -> None:
    sets: list[QuestionSet] = [found for name in SETS if (found := question_set(name)) is not None]
    if len(sets) < 2:
        pytest.skip("the shared data with two of the sets are not here")
    drawn: dict[str, tuple[list[float], list[float]]] = {}
    console = Console(width=140)
    async with open_library(uri) as library:
        for held in sets:
            await filled(library, held, PROVIDER)
            answered = [await best(library, held.name, held.questions[one]) for one in held.some(QUESTIONS)]
            others = [
                await best(library, held.name, other.questions[one])
                for other in sets
                if other is not held
                for one in other.some(QUESTIONS // (len(sets) - 1))
            ]
            drawn[held.name] = answered, others
            console.print(
                f"{held.name}, {PROVIDER}: {len(answered)} questions with an answer, {len(others)} of other sets: "
                f"AUC {area(answered, others):.4f}\n"
                f"  answered |{histogram(answered)}|\n  others   |{histogram(others)}|"
            )
    if PLOT:
        plot(drawn)
    least = min(area(*scores) for scores in drawn.values())
    assert least >= LEAST.get(PROVIDER, 0.80)
