"""Verdicts on statements that were written by somebody who had not seen the rules; see support/verdict_cases."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from footnote.types.v1.answer_pb2 import VERDICT_SUPPORTED
from footnote_generation.ports import Opinion
from footnote_generation.verification.opinion import reconsider
from footnote_generation.verification.support import judge, prepare

CASES = Path(__file__).parents[3] / "support" / "verdict_cases"
Case = dict[str, Any]


def cases(half: str) -> list[Case]:
    path = CASES / half
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in content.splitlines()]


def is_supported(case: Case) -> bool:
    source = case["source"]
    context = " . ".join([source["filename"], source["title"], *source["headings"]])
    return judge(case["statement"], prepare(source["text"], context)).support == VERDICT_SUPPORTED


@pytest.mark.parametrize("half", ["open.jsonl", "sealed.jsonl.gz"])
@pytest.mark.slow
def test_few_false_statements_are_supported_and_what_is_quoted_is(half: str) -> None:
    """Measured: 0 and 3 false ones (before the rules asked for one place: 28 and 28), 12 and 14 true ones."""
    count: Counter[bool] = Counter()
    supported: Counter[bool] = Counter()
    unquoted = []
    for case in cases(half):
        true = case["label"] == "supported"
        found = is_supported(case)
        count[true] += 1
        supported[true] += found
        if case["kind"] == "verbatim" and not found:
            unquoted.append(case["id"])
    assert supported[False] / count[False] <= 0.02, "false statements that came back SUPPORTED"
    # The rules know few paraphrases; that is what second readers are for.
    assert supported[True] / count[True] >= 0.06
    assert not unquoted


_SENTENCE = re.compile(r"[^\n.!?;。；！？]+(?:[.!?;。；！？](?!\s|$)[^\n.!?;。；！？]*)*[.!?;。；！？]?")
_MOST = 3


def likeliest(statement: str, text: str) -> list[tuple[int, int]]:
    """Return up to three sentences whose letters, three by three, are most of the statement's: what a reader quotes."""
    left = letters(statement)
    enough, found = 0.12 * len(left), []
    spans = [match.span() for match in _SENTENCE.finditer(text) if match[0].strip()]
    while spans and len(found) < _MOST:
        best = max(spans, key=lambda span: len(left & letters(text[slice(*span)])) / len(text[slice(*span)]) ** 0.3)
        here = letters(text[slice(*best)])
        if found and len(left & here) < enough:
            break
        found.append(best)
        spans.remove(best)
        left -= here
    return found


def letters(text: str) -> set[str]:
    plain = re.sub(r"\W+", " ", text.lower())
    return {plain[at : at + 3] for at in range(len(plain) - 2)} or {plain}


def is_raised(case: Case) -> bool:
    """Whether a reader who says "supported" of everything, and quotes what is likeliest, makes a case SUPPORTED."""
    source = case["source"]
    evidence = prepare(source["text"], " . ".join([source["filename"], source["title"], *source["headings"]]))
    verdict = judge(case["statement"], evidence)
    spans = tuple(likeliest(case["statement"], source["text"]))
    opinions = [Opinion(0.9, 0.0, spans)]
    heard = reconsider(case["statement"], evidence, verdict, [(0, len(source["text"]))], opinions, 0.8)
    return heard.support == VERDICT_SUPPORTED


@pytest.mark.parametrize(("half", "least"), [("open.jsonl", 0.85), ("sealed.jsonl.gz", 0.76)])
@pytest.mark.slow
def test_a_second_reader_may_raise_what_is_true_and_the_rules_stop_some_lies(half: str, least: float) -> None:
    """Measured: true ones 0.872 and 0.779 (aim 0.85); of false ones a reader who always says yes raises 0.64 (open)."""
    count: Counter[bool] = Counter()
    raised: Counter[bool] = Counter()
    for case in cases(half):
        true = case["label"] == "supported"
        count[true] += 1
        raised[true] += is_raised(case)
    share = {true: raised[true] / count[true] for true in count}
    print(f"\n{half}: true {share[True]:.3f}, false {share[False]:.3f} of a reader who always says yes")
    assert share[True] >= least
    if half == "open.jsonl":
        assert share[False] <= 0.68
