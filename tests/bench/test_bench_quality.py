"""Quality of searches through the retrieval service, over articles whose titles are the names of their files.

Sets by FOOTNOTE_BENCH_SETS, "squad-13,piaf-fr" unless set (cranfield too: a file an abstract), so many questions of
each by FOOTNOTE_BENCH_QUESTIONS, always the same ones; vectors by FOOTNOTE_BENCH_PROVIDER ("builtin"). The titles are
words of the questions: what a file's name is allowed to do to an ordinary question shows here. A difference under 0.01
at 600 questions is noise.
"""

from __future__ import annotations

import os

import pytest
from rich.console import Console
from support.library import open_library
from support.question_sets import asked, filled, question_set

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(1800)]

SETS = os.environ.get("FOOTNOTE_BENCH_SETS", "squad-13,piaf-fr").split(",")
QUESTIONS = int(os.environ.get("FOOTNOTE_BENCH_QUESTIONS", "600"))
PROVIDER = os.environ.get("FOOTNOTE_BENCH_PROVIDER", "builtin")
# As measured when these were written, less 0.02.
LEAST = {("builtin", "squad-13"): 0.86, ("builtin", "piaf-fr"): 0.80}


@pytest.mark.parametrize("name", SETS)
async def test_what_is_found(uri: str, name: str) -> None:
    questions = question_set(name)
    if questions is None:
        pytest.skip(f"the shared data with {name} is not here")
    chosen = questions.some(QUESTIONS)
    async with open_library(uri) as library:
        found = await asked(library, questions, await filled(library, questions, PROVIDER), chosen)
    files = len({title for _, title, _ in questions.passages})
    Console(width=120).print(
        f"{name}, {PROVIDER}: {len(chosen)} questions, {files} files: nDCG@10 {found.gain:.4f}, "
        f"first {found.first:.4f}, limited to a file {found.limited}"
    )
    assert found.gain >= LEAST.get((PROVIDER, name), 0.0)
