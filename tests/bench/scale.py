"""What a region needs, where it breaks first and what it costs, on paper: `python tests/bench/scale.py --help`.

Reckoned from processor time measured on one machine of two cores, and simulated as queues. No region of this size was
run. What models cost and how long they take is left out: they are somebody else's machines, and the calls that wait for
them hold no core.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.replicas.tables import table
from support.scale.region import KINDS, Prices, Spent, Wanted, first_to_break, load, needs

# Processor ms, `tests/bench/test_bench_costs.py` on 2026-11-23, 30 files of 33 kB and 150 calls each, on two cores that
# many others were using: on quieter ones the same code spent about half (ARCHITECTURE.md, "Decided by measuring"), so
# that this is cautious. Built-in embedder and answerer; the engine, which had few rows, is reckoned by rows below.
SPENT: Spent = {
    "edge": {"document": 118.0, "search": 9.3, "answer": 38.9},
    "ingestion": {"document": 142.7, "search": 0.2, "answer": 0.0},
    "indexing": {"document": 124.7, "search": 1.3, "answer": 4.1},
    "retrieval": {"document": 6.7, "search": 13.9, "answer": 14.7},
    "augmentation": {"document": 2.7, "search": 0.2, "answer": 15.7},
    "generation": {"document": 2.3, "search": 0.2, "answer": 33.7},
}
# 33 kB of English by the built-in rules, in the same run.
CHUNKS_EACH = 49.0
# Idle memory of a service by itself: 730 MB for six with engine and parsers (ARCHITECTURE.md, "Decided by measuring").
MEMORY_GIB = 0.15
# A restart with 70 000 rows of 384 dimensions and their text held 550 MB: the embedded engine, exhaustive search.
ENGINE_BYTES_ROW = 550e6 / 70_000
# Its own hybrid search took 46 ms among 200 000 rows and grows with them (README.md, `test_bench_search`).
ENGINE_MS_ROW = 46 / 200_000
UTMOST = 0.6
PLURAL = {"document": "documents", "search": "searches", "answer": "answers"}


def main() -> None:
    """Print the tables."""
    words = argparse.ArgumentParser(description="What a region needs, on paper.")
    for name, value, what in (
        ("documents", 10e6, "documents of 33 kB"), ("ingest-days", 7.0, "days in which they are taken in"),
        ("searches", 1000.0, "searches a second"), ("answers", 200.0, "answers a second"),
        ("core-hour", 0.04, "US dollars for a core and hour"), ("memory-hour", 0.005, "for a GiB of memory and hour"),
        ("disk-month", 0.10, "for a GiB of disk and month"), ("seconds", 20.0, "seconds that are simulated"),
    ):  # fmt: skip
        words.add_argument(f"--{name}", type=float, default=value, help=f"{what} ({value:g})")
    said = words.parse_args()
    wanted = Wanted(said.documents, said.ingest_days, said.searches, said.answers, CHUNKS_EACH)
    prices = Prices(said.core_hour, said.memory_hour, said.disk_month)
    print(reckoned(wanted, prices, said.seconds))


def reckoned(wanted: Wanted, prices: Prices, seconds: float) -> str:
    """Return all tables."""
    rates = wanted.rates
    found = needs(SPENT, rates, UTMOST)
    replicas = {one.service: one.replicas for one in found}
    rows = wanted.documents * wanted.chunks_each
    engine_gib = rows * ENGINE_BYTES_ROW / 2**30
    each = [
        (one.service, *(f"{one.by_kind[kind]:.1f}" for kind in KINDS), f"{one.cores:.1f}", one.replicas,
         f"{one.replicas * MEMORY_GIB:.1f}", f"{prices.month(one.replicas, one.replicas * MEMORY_GIB):,.0f}")
        for one in found
    ]  # fmt: skip
    queues = []
    for part in (0.5, 1.0, 1.25, 1.5, 2.0):
        run = load(SPENT, rates, replicas, part, seconds)
        fullest = max(run.used, key=lambda name: run.used[name])
        queues.append(
            (f"{part:.0%}",
             *(f"{run.quantile(kind, q) * 1000:.0f}" for kind in ("search", "answer") for q in (0.5, 0.95)),
             fullest, f"{run.used[fullest]:.0%}")
        )  # fmt: skip
    breaks, by = first_to_break(found)
    of_services = prices.month(sum(replicas.values()), sum(replicas.values()) * MEMORY_GIB)
    of_engine = prices.month(0, engine_gib, engine_gib)
    searched = wanted.searches + wanted.answers
    return "\n".join((
        f"Rates a second: {', '.join(f'{PLURAL[kind]} {rates[kind]:.1f}' for kind in KINDS)}; {rows:,.0f} chunks.", "",
        table(("service", *(f"cores for {PLURAL[kind]}" for kind in KINDS), "cores", f"replicas at {UTMOST:.0%}",
               "memory, GiB", "$ a month"), each), "",
        f"Full first, when all grows alike: {breaks}, at {by:.2f} times this load.", "",
        table(("load", "search p50, ms", "p95", "answer p50, ms", "p95", "fullest", "use of it"), queues), "",
        table(("vector engine", "needs"), (
            ("memory, as the embedded one holds rows", f"{engine_gib:,.0f} GiB"),
            ("one exhaustive search", f"{rows * ENGINE_MS_ROW / 1000:,.0f} s of a core"),
            ("cores for all, exhaustive", f"{searched * rows * ENGINE_MS_ROW / 1000:,.0f}: an index over parts, which "
             "was not measured here, is no choice at this size"),
            ("memory and disk, $ a month", f"{of_engine:,.0f}"),
        )), "",
        f"Services {of_services:,.0f} $ and the engine's memory {of_engine:,.0f} $ a month; its cores, PostgreSQL, S3 "
        "and models come on top.",
    ))  # fmt: skip


if __name__ == "__main__":
    main()
