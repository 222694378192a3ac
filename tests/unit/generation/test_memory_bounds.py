"""What generation keeps of passages, statements and questions: bytes, however many and of whatever kind they are."""

import gc
import importlib
import pkgutil
import tracemalloc
from collections.abc import Callable, Iterator

import footnote_generation
import footnote_text
import pytest
from footnote.types.v1.answer_pb2 import Source
from footnote_generation.extractive import passages, question
from footnote_generation.verification.evidence import Evidence
from footnote_generation.verification.judging import judge

pytestmark = pytest.mark.full

MOST = 32 * 2**20
"""Bytes that all of it may take together."""
TEXTS = 120
FACTS: dict[str, Callable[[int], str]] = {
    "short facts": lambda paper: "\n\n".join(
        f"Fact {one} of paper {paper} is {one * 7}, kept in hall {paper % 17}." for one in range(24)
    ),
    "rows": lambda paper: (
        "| Year | Sales | Cost |\n| --- | --- | --- |\n"
        + "\n".join(f"| {2000 + one} | {one * paper} EUR | {one + paper} % |" for one in range(1, 40))
    ),
    "Chinese": lambda paper: "".join(
        f"第{paper}条规定员工每年享有{one}天带薪休假，并在离职前三十天提交申请。" for one in range(1, 30)
    ),
}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Generation's caches are empty before and after."""
    forget()
    yield
    forget()


def forget() -> None:
    """Empty what is kept."""
    for package in (footnote_generation, footnote_text):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for value in list(vars(importlib.import_module(found.name)).values()):
                parameters = getattr(value, "cache_parameters", None)
                if hasattr(value, "cache_clear") and (parameters is None or (parameters()["maxsize"] or 0) >= 64):
                    value.cache_clear()


@pytest.mark.parametrize("kind", FACTS)
def test_memory_does_not_follow_the_number_of_passages(kind: str) -> None:
    make = FACTS[kind]
    answer(make(0), 0)  # words and rules are loaded once
    forget()
    gc.collect()
    tracemalloc.start()
    try:
        for paper in range(1, TEXTS):
            answer(make(paper), paper)
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert taken < MOST, f"{taken / 2**20:.1f} MiB after {TEXTS} passages"


def answer(text: str, paper: int) -> None:
    """Do with a passage what an answer from it does."""
    asked = question.read(f"What is said of paper {paper}?")
    found = passages.units([Source(number=1, text=text, filename=f"paper {paper}.md")], asked.language)
    judge(found[0].text, "", Evidence(Source(number=1, text=text, filename=f"paper {paper}.md")), None)
