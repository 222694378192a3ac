"""Sources widened by their neighbours: one text in reading order, places kept, hits never pushed out."""

import itertools
from collections.abc import Sequence

import pytest
from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.types.v1.locator_pb2 import Locator, PageLocator, TextSpan
from footnote.types.v1.reasons_pb2 import TOKEN_REASON_WIDENED
from footnote_augmentation.build import Assembled, Assembly, build
from footnote_text import locators, tokens
from hypothesis import given, settings
from hypothesis import strategies as st

DOCUMENT = (
    "The crane was bought in 2019.\nIt lifts 40 tonnes at most.\nIts operator needs a licence.\n"
    "The licence costs 900 euros.\nIt is valid for five years."
)
PAGES = [(0, 58), (58, len(DOCUMENT))]


def chunks_of(document: str, bounds: Sequence[tuple[int, int]], document_id: str = "d1") -> list[Chunk]:
    made = []
    for ordinal, (start, end) in enumerate(bounds):
        page = 1 if start < PAGES[0][1] else 2
        locator = Locator(page=PageLocator(page=page), span=TextSpan(start=start, end=end))
        made.append(
            Chunk(
                id=f"{document_id}:{ordinal}",
                document_id=document_id,
                ordinal=ordinal,
                filename="crane.pdf",
                language="en",
                text=document[start:end],
                locator=locator,
            )
        )
    return made


def lines(document: str) -> list[tuple[int, int]]:
    bounds, start = [], 0
    for line in document.split("\n"):
        bounds.append((start, start + len(line)))
        start += len(line) + 1
    return bounds


def hit(chunks: Sequence[Chunk], index: int, reach: int = 1, score: float = 0.9) -> ScoredChunk:
    """A hit with its neighbours, as retrieval gives them."""
    near = [chunk for chunk in chunks if chunk.ordinal != index and abs(chunk.ordinal - index) <= reach]
    return ScoredChunk(chunk=chunks[index], score=score, neighbors=near)


def made(candidates: Sequence[ScoredChunk], budget: int = 3000) -> Assembled:
    return build(Assembly(question="What does the crane lift?", candidates=candidates, token_budget=budget))


def test_neighbours_stand_around_the_hit_in_reading_order_as_one_source() -> None:
    built = made([hit(chunks_of(DOCUMENT, lines(DOCUMENT)), 1)])
    (source,) = built.sources
    assert source.text == DOCUMENT[:87]
    assert source.chunk_id == "d1:1"
    assert source.label == "crane.pdf, pages 1-2"
    assert (source.locator.span.start, source.locator.span.end) == (0, 87)
    assert source.text in built.prompt.messages[0].text
    assert built.plan.entries[0].reason == TOKEN_REASON_WIDENED


def test_a_quote_in_a_neighbour_has_the_neighbours_place() -> None:
    (source,) = made([hit(chunks_of(DOCUMENT, lines(DOCUMENT)), 1)]).sources
    for quote, page in (("lifts 40 tonnes", 1), ("needs a licence", 2), ("bought in 2019", 1)):
        start = source.text.index(quote)
        place = locators.narrow(source.locator, source.anchors, (start, start + len(quote)))
        assert place.page.page == max(place.page.page, place.page.last_page) == page
        assert DOCUMENT[place.span.start : place.span.end] == quote


def test_a_chunk_stands_in_the_prompt_once() -> None:
    chunks = chunks_of(DOCUMENT, lines(DOCUMENT))
    built = made([hit(chunks, 1), hit(chunks, 2, score=0.8), hit(chunks, 4, score=0.7)])
    text = built.prompt.messages[0].text
    for chunk in chunks:
        assert text.count(chunk.text) == 1
    assert [source.chunk_id for source in built.sources] == ["d1:1", "d1:2", "d1:4"]


def test_overlapping_chunks_are_joined_without_saying_anything_twice() -> None:
    bounds = [(0, 40), (30, 75), (60, len(DOCUMENT))]
    (source,) = made([hit(chunks_of(DOCUMENT, bounds), 1)]).sources
    assert source.text == DOCUMENT


def test_chunks_that_are_not_next_to_each_other_are_not_joined() -> None:
    chunks = chunks_of(DOCUMENT, [(0, 29), (58, 87)])
    (source,) = made([hit(chunks, 0)]).sources
    assert source.text == chunks[0].text
    beyond = hit(chunks_of(DOCUMENT, lines(DOCUMENT)), 0, reach=3)
    del beyond.neighbors[0]
    assert made([beyond]).sources[0].text == DOCUMENT[:29]


@settings(max_examples=60, deadline=None)
@given(
    cuts=st.lists(st.integers(1, 400), min_size=1, max_size=8),
    overlap=st.integers(0, 20),
    place=st.integers(0, 9),
    budget=st.integers(100, 700),
)
@pytest.mark.slow
def test_widened_sources_are_the_documents_text_and_never_cost_a_hit(
    cuts: list[int], overlap: int, place: int, budget: int
) -> None:
    document = " ".join(f"w{number}" for number in range(120))
    edges = sorted({0, len(document), *(cut % len(document) for cut in cuts)})
    bounds = [(max(0, left - overlap), right) for left, right in itertools.pairwise(edges)]
    chunks = chunks_of(document, bounds)
    other = chunks_of(DOCUMENT, lines(DOCUMENT), "d2")
    candidates = [hit(chunks, place % len(chunks), reach=2), hit(other, 1, score=0.5)]
    plain = [ScoredChunk(chunk=item.chunk, score=item.score) for item in candidates]
    built, alone = made(candidates, budget), made(plain, budget)
    assert [source.chunk_id for source in built.sources] == [source.chunk_id for source in alone.sources]
    assert built.plan.used <= budget
    for source, short in zip(built.sources, alone.sources, strict=True):
        text = document if source.document_id == "d1" else DOCUMENT
        assert len(source.text) >= len(short.text)
        if not source.text.endswith("…"):
            assert source.text == text[source.locator.span.start : source.locator.span.end]
    assert tokens.count(built.prompt.messages[0].text) <= built.plan.prompt_tokens + 8
