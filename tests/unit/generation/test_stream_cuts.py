"""The whole of generation over a model's words cut anywhere: the same answer, the same citations, whole markers."""

import asyncio
import itertools
import re
from collections.abc import Sequence

import pytest
from footnote.types.v1 import answer_pb2 as types
from footnote.types.v1.locator_pb2 import Locator, PageLocator, SheetLocator
from footnote_generation.answering.generate import Completed, Delta, Event, Generator
from footnote_generation.answering.retries import RetryPolicy
from footnote_generation.ports import ModelRequest
from footnote_generation.verification.claims import PlacedMarker, segment
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.doubles.model_provider import ScriptedModel

pytestmark = pytest.mark.slow

SOURCES = [
    types.Source(
        number=1,
        filename="production.xlsx",
        text="Produit: vis; Stock: 150",
        locator=Locator(sheet=SheetLocator(sheet="Stocks", range="A12:C12")),
    ),
    types.Source(
        number=2,
        filename="rapport.pdf",
        text="Le stock de sécurité recommandé est de 200 unités.",
        locator=Locator(page=PageLocator(page=3)),
    ),
]
PARTS = (
    "Le stock est de 150 ", "[1]", "[1, 2]", "[9]", "[2][1]", "[Source 2: rapport.pdf, page 3]", ". ", "! ", "\n", "- ",
    " (voir rapport.pdf, p. 3)", "[", "(", "Selon la cellule C12 (feuille 'Stocks' du fichier production.xlsx): ",
    "【1†source】", "according to page 3 of rapport.pdf", "il faut 200 unités", "`x[1]`", "[page](http://a)",
    "<b>gras</b>", "a < b",
)  # fmt: skip
ALL = (
    "Le stock est de 150 [1]. Selon rapport.pdf, page 3, il faut 200 unités [2, 9]! "
    "Voir [Source 2: rapport.pdf] et (source 1)."
)


def answer(pieces: Sequence[str]) -> tuple[types.Answer, list[Event]]:
    """Run generation over the pieces; return the answer and every event."""

    async def run() -> list[Event]:
        request = ModelRequest(messages=(), question="?", sources=SOURCES, locale="fr")
        return [event async for event in Generator(RetryPolicy()).run(ScriptedModel(pieces), request)]

    events = asyncio.run(run())
    assert isinstance(events[-1], Completed)
    return events[-1].answer, events


def check(text: str, pieces: Sequence[str]) -> None:
    whole, _ = answer([text])
    made, events = answer(pieces)
    # Rules work on stretches, so that two warnings may change places; nothing else may.
    assert sorted(made.warnings) == sorted(whole.warnings)
    made.ClearField("warnings")
    whole.ClearField("warnings")
    assert made == whole
    shown = [event.text for event in events if isinstance(event, Delta)]
    assert "".join(shown) == whole.text
    assert [event for event in events if isinstance(event, types.Citation)] == list(whole.citations)
    for citation in whole.citations:
        source = SOURCES[citation.number - 1]
        assert source.text[citation.quote_span.start : citation.quote_span.end] == citation.quote
    for left in itertools.accumulate(map(len, shown)):
        # No marker that the answer has is shown in two parts.
        around = whole.text[:left].rfind("["), whole.text[:left].rfind("]")
        marker = whole.text[around[0] : around[0] + 3]
        assert around[0] <= around[1] or marker not in {"[1]", "[2]"}, shown


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=10), st.lists(st.integers(0, 400), max_size=8))
@example([ALL], list(range(len(ALL))))
@example(["<b>gras</b>according to page 3 of rapport.pdf", ". ", "Le stock est de 150 "], [])
def test_citations_do_not_depend_on_how_the_stream_is_cut(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    bounds = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    check(text, [text[left:right] for left, right in itertools.pairwise(bounds) if left < right] or [""])


def test_every_single_boundary_gives_the_same_citations() -> None:
    for cut in range(1, len(ALL)):
        check(ALL, [ALL[:cut], ALL[cut:]])
    assert [citation.number for citation in answer([ALL])[0].citations] == [1, 2, 2, 2, 1]


_BITS = ["The stock is 150. ", "It grew. ", "\n", "- one ", "[1]", " [2] ", "Dr. Who ", "\n\n", "1. a "]
_BITS += [
    "Item | Value\n",
    "---|---\n",
    "\nfee | 40 [1]\n",
    "Rights:\n",
    "\n## Sources\n",
    "\n- Sources:\n",
    "[2] Rules\n",
]


@given(pieces=st.lists(st.sampled_from(_BITS), max_size=20))
def test_sentences_from_a_line_on_are_those_of_the_whole_text(pieces: list[str]) -> None:
    text = "".join(pieces)
    markers = [PlacedMarker(m.start(), m.end(), 1) for m in re.finditer(r"\[\d\]", text)]
    whole = segment(text, markers)
    for begin in [0, *(match.end() for match in re.finditer(r"\n", text))]:
        assert segment(text, markers, begin) == [sentence for sentence in whole if sentence.start >= begin]
