"""Verdicts by rules alone on the development split of WiCE, and how long they take."""

import json
import time
from bisect import bisect_left, bisect_right
from collections import Counter

import pytest
from footnote.types.v1.answer_pb2 import VERDICT_NOT_CONFIRMED, VERDICT_SUPPORTED, Claim, Source, Verdict
from footnote_generation.verification.checker import Checker
from footnote_generation.verification.claims import PlacedMarker, Sentence
from support.shared import NO_SHARED, shared_dir


@pytest.mark.slow
def test_verdicts_on_sentences_of_wikipedia() -> None:
    """Nothing was chosen by its labels but that dates are no ground for UNSUPPORTED. Its statements are paraphrases."""
    shared = shared_dir()
    file = shared / "data" / "wice-dev" / "claims.jsonl" if shared else None
    if file is None or not file.is_file():
        pytest.skip(NO_SHARED)
    table: Counter[tuple[str, str]] = Counter()
    scores: dict[bool, list[float]] = {True: [], False: []}
    for line in file.read_text("utf-8").splitlines():
        one = json.loads(line)
        claim = judged(one["statement"], " ".join(one["source"]))
        table[one["label"], Verdict.Name(claim.support)] += 1
        place = {VERDICT_SUPPORTED: 2, VERDICT_NOT_CONFIRMED: 1}.get(claim.support, 0)
        scores[one["label"] == "supported"].append(place + 0.99 * claim.score)
    others = sorted(scores[False])
    wins = sum(bisect_left(others, rank) + bisect_right(others, rank) for rank in scores[True]) / 2
    print(f"\nAUC {wins / len(others) / len(scores[True]):.3f}")
    for (label, name), count in sorted(table.items()):
        print(f"{label:22}{name:24}{count:>6}")
    true, false = len(scores[True]), len(scores[False])
    assert table["supported", "VERDICT_UNSUPPORTED"] <= 0.01 * true
    assert sum(table[label, "VERDICT_SUPPORTED"] for label in ("partially_supported", "not_supported")) <= 0.01 * false


def judged(statement: str, *texts: str) -> Claim:
    """Return what is known of a statement that cites texts, without a reader."""
    sources = {number: Source(number=number, text=text) for number, text in enumerate(texts, 1)}
    markers = tuple(PlacedMarker(0, len(statement), number) for number in sources)
    sentence = Sentence(0, len(statement), statement, markers)
    return Checker(sources, "en").check_by_rules([sentence])[0].claim


_FACTS = (
    "The pump in hall {n} delivers {n}50 litres per minute and is checked every {n} months by the maintenance team. ",
    "Visitors must register at gate {n} unless they hold a permit of the plant manager. ",
    "Since 20{n}1 the office in Lyon has employed {n}20 people, most of them in the laboratory. ",
)


def test_twelve_sentences_over_five_sources_are_soon_judged() -> None:
    """Sources of 1 500 characters, made ready and judged: processor time, best of five runs with texts never seen."""

    def seconds(run: int) -> float:
        sources = ["".join(fact.format(n=10 * run + n) for n in range(9) for fact in _FACTS)[:1500] for _ in range(5)]
        began = time.process_time()
        ready = {n: Source(number=n, text=f"Part {n}. {source}") for n, source in enumerate(sources)}
        checker = Checker(ready, "en")
        for n in range(12):
            text = f"The pump in hall {10 * run + n % 9} delivers {run}{n}50 litres each minute."
            marker = PlacedMarker(n, len(text), n % 5)
            checker.check_by_rules([Sentence(n, len(text), text, (marker,))])
        return time.process_time() - began

    seconds(1)  # what is loaded at first use
    best = min(seconds(run) for run in range(2, 7))
    print(f"\n12 sentences over 5 sources: {1000 * best:.1f} ms")
    assert best < 0.025
