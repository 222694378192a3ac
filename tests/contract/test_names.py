"""The metrics that our code asks for, those registered in the one place for names, and those required are the same."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from footnote_kit import names
from support import code
from support.shared import shared_dir

ROOT = Path(__file__).resolve().parents[2]
# What OBS-2 lists -> the metrics that tell it; ratios are of the last two named.
REQUIRED = {
    "RED per RPC": ("rpc.server.call.duration", "rpc.client.call.duration"),
    "files": ("footnote.ingestion.documents", "footnote.ingestion.bytes"),
    "chunks": ("footnote.indexing.chunks",),
    "embedding calls": ("footnote.embedding.calls",),
    "cache hits": ("footnote.embedding.cache",),
    "searches": ("footnote.retrieval.searches",),
    "search latency": ("footnote.retrieval.duration",),
    "tokens": ("footnote.generation.tokens",),
    "RAG-miss ratio": ("footnote.edge.misses", "footnote.edge.searches"),
    "citation accuracy": ("footnote.generation.citations",),
    "queue depth and age": ("footnote.edge.jobs.waiting", "footnote.edge.jobs.age"),
}
MAKERS = {"counter", "histogram", "observe"}


def used() -> Iterator[tuple[str, str]]:
    """Yield (name, place) of every metric that our code asks for by a literal or by its constant."""
    for file in code.ours():
        for call in code.facts(file).calls:
            place, argument = f"{file.relative_to(ROOT)}:{call.line}", call.first
            if call.name in MAKERS and isinstance(argument, str):
                yield argument, place
            elif call.name in MAKERS and isinstance(argument, code.Name) and argument.of == "names":
                yield getattr(names, argument.name), place


def test_every_metric_used_is_registered_and_every_registered_one_is_used() -> None:
    found = dict(used())
    assert {name: place for name, place in found.items() if name not in names.METRICS} == {}
    assert set(names.METRICS) == set(found)


@pytest.mark.parametrize("what", REQUIRED)
def test_every_metric_required_is_registered(what: str) -> None:
    assert set(REQUIRED[what]) <= set(names.METRICS)


def test_what_is_required_is_what_the_requirements_list() -> None:
    shared = shared_dir()
    if shared is None:
        pytest.skip("the requirements are not beside the checkout (FOOTNOTE_SHARED names their folder)")
    text = (shared / "requirements.md").read_text(encoding="utf-8")
    listed = re.search(r"OBS-2 [^:;]*: *([^.]*)\.", " ".join(text.split()))
    assert listed is not None
    assert set(re.split(r"[;,] ", listed[1])) == set(REQUIRED)
