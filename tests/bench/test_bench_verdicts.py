"""Verdicts by rules alone on the development split of WiCE, and how long they take."""

import json
import time
from bisect import bisect_left, bisect_right
from collections import Counter

import pytest
from footnote.types.v1.answer_pb2 import VERDICT_NOT_CONFIRMED, VERDICT_SUPPORTED, Verdict
from footnote_generation.verification.support import judge, prepare
from support.shared import NO_SHARED, shared_dir


@pytest.mark.slow
def test_verdicts_on_sentences_of_wikipedia() -> None:
    """Nothing was chosen by this set; what its SUPPORTED misses are paraphrases and facts told over several places."""
    shared = shared_dir()
    file = shared / "data" / "wice-dev" / "claims.jsonl" if shared else None
    if file is None or not file.is_file():
        pytest.skip(NO_SHARED)
    table: Counter[tuple[str, str]] = Counter()
    ranks: dict[bool, list[float]] = {True: [], False: []}
    for line in file.read_text("utf-8").splitlines():
        one = json.loads(line)
        verdict = judge(one["statement"], prepare(" ".join(one["source"]), "", "en"))
        table[one["label"], Verdict.Name(verdict.support)] += 1
        place = {VERDICT_SUPPORTED: 2, VERDICT_NOT_CONFIRMED: 1}.get(verdict.support, 0)
        ranks[one["label"] == "supported"].append(place + 0.99 * verdict.score)
    others = sorted(ranks[False])
    wins = sum(bisect_left(others, rank) + bisect_right(others, rank) for rank in ranks[True]) / 2
    auc = wins / len(others) / len(ranks[True])
    found = table["supported", "VERDICT_SUPPORTED"]
    said = sum(count for (_, verdict), count in table.items() if verdict == "VERDICT_SUPPORTED")
    print(f"\nSUPPORTED {said}, precision {found / said:.3f}, recall {found / len(ranks[True]):.3f}, AUC {auc:.3f}")
    for (label, name), count in sorted(table.items()):
        print(f"{label:22}{name:22}{count:>6}")
    assert found / said >= 0.9
    assert auc >= 0.72


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
        ready = [prepare(f"Part {n}. {source}", "handbook.pdf") for n, source in enumerate(sources)]
        for n in range(12):
            judge(f"The pump in hall {10 * run + n % 9} delivers {run}{n}50 litres each minute.", ready[n % 5])
        return time.process_time() - began

    seconds(1)  # what is loaded at first use
    best = min(seconds(run) for run in range(2, 7))
    print(f"\n12 sentences over 5 sources: {1000 * best:.1f} ms")
    assert best < 0.05
