"""Derives the constants of fusion and proximity again: each varied alone, chosen on one set, shown for two others.

FOOTNOTE_BENCH_QUESTIONS (300) of each set, always the same ones, with the built-in embedder. A difference under 0.01 is
noise at so many questions: a constant holds when its value loses less than that to the best on the set that chooses.
"""

from __future__ import annotations

import os
from types import ModuleType

import pytest
from footnote_retrieval.ranking import adjust, fusion, proximity, steps
from rich.console import Console
from support.library import open_library
from support.question_sets import asked, filled, question_set

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(3600)]

CHOOSES = "squad-13"
NO_SAY = os.environ.get("FOOTNOTE_BENCH_SETS", "piaf-fr,cranfield").split(",")
QUESTIONS = int(os.environ.get("FOOTNOTE_BENCH_QUESTIONS", "300"))
NOISE = 0.01 * (300 / QUESTIONS) ** 0.5
GRID: tuple[tuple[ModuleType, str, tuple[float, ...]], ...] = (
    (fusion, "_LEAN", (0.0, 0.15, 0.3, 0.7)),
    (fusion, "_LEAD", (5, 10, 20)),
    (fusion, "_AGREED", (0.5, 1.0, 2.0)),
    (fusion, "_DOUBT", (0.0, 0.4, 0.8, 1.6)),
    (fusion, "_LEAST_AGREEMENT", (0.03, 0.1, 0.3)),
    (fusion, "_MIN_SPREAD", (0.1, 0.3, 0.6)),
    (proximity, "_WINDOW", (4, 8, 16)),
    (proximity, "_AHEAD", (3, 5, 10)),
    (proximity, "_ORDERED", (0.2, 0.4, 0.8)),
    (proximity, "_NEAR", (0.0, 0.1, 0.2)),
    (proximity, "_COVERED", (0.0, 0.05, 0.1)),
    (proximity, "STRENGTH", (0.0, 0.6, 1.2, 2.4)),
    (proximity, "TOP", (10, 30, 60)),
)


async def gains(uri: str, name: str, patch: pytest.MonkeyPatch) -> dict[tuple[str, float], float]:
    """Return nDCG@10 by constant and value on one set."""
    questions = question_set(name)
    if questions is None:
        pytest.skip(f"the shared data with {name} is not here")
    chosen = questions.some(QUESTIONS)
    found: dict[tuple[str, float], float] = {}
    async with open_library(uri) as library:
        ids = await filled(library, questions)
        as_it_is = (await asked(library, questions, ids, chosen)).gain
        for module, constant, values in GRID:
            for value in values:
                if value == getattr(module, constant):
                    found[constant, value] = as_it_is
                    continue
                with patch.context() as changed:
                    for user in (module, adjust, steps):
                        if hasattr(user, constant):
                            changed.setattr(user, constant, value)
                    most = proximity._ORDERED + proximity._NEAR + proximity._COVERED
                    changed.setattr(adjust, "MOST", most)
                    found[constant, value] = (await asked(library, questions, ids, chosen)).gain
    return found


def show(name: str, found: dict[tuple[str, float], float]) -> None:
    """Print a set's gains, a constant a line, the value that it has marked."""
    for module, constant, values in GRID:
        row = "  ".join(
            f"{value}{'*' if value == getattr(module, constant) else ''}: {found[constant, value]:.4f}"
            for value in values
        )
        Console(width=120).print(f"{name} {constant:>17}  {row}", highlight=False)


async def test_each_constant_holds_on_the_set_that_chooses_it(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(getattr(module, constant) in values for module, constant, values in GRID)
    found = await gains(uri, CHOOSES, monkeypatch)
    show(CHOOSES, found)
    for name in NO_SAY:
        show(name, await gains(uri, name, monkeypatch))
    lost = {
        constant: max(found[constant, value] for value in values) - found[constant, getattr(module, constant)]
        for module, constant, values in GRID
    }
    assert {constant: loss for constant, loss in lost.items() if loss >= NOISE} == {}
