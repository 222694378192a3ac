"""Where passages repeat each other, more are fetched in the same way as the first ones were."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from footnote.retrieval.v1 import retrieval_service_pb2 as pb
from footnote.types.v1.collection_pb2 import RetrievalSettings, SearchStrategy
from footnote_kit.testing import SCOPE
from support.chunks import make_chunk
from support.library import Library, open_library

AUTO, FULLTEXT = SearchStrategy.SEARCH_STRATEGY_AUTO, SearchStrategy.SEARCH_STRATEGY_FULLTEXT
FIRST = 60
"""Candidates that a channel brings at first, and then eight times as many."""
CLAUSE = "The annual report holds a clause about dividends."


@pytest.fixture
async def library(uri: str) -> AsyncIterator[Library]:
    """A store over the engine, and retrieval before it."""
    async with open_library(uri) as library:
        yield library


async def add(library: Library, name: str, texts: list[str], filename: str = "notes.md") -> None:
    shelf = next((one for one in library.known.shelves if one.collection.name == "c"), None)
    shelf = shelf or await library.add_collection("c")
    await library.add(
        shelf, [make_chunk(text, document_id=f"{name}{at}", filename=filename) for at, text in enumerate(texts)]
    )


async def found(library: Library, query: str, strategy: SearchStrategy.ValueType = AUTO) -> list[str]:
    settings = RetrievalSettings(limit=10, strategy=strategy, min_score=0)
    response = await library.stub.Retrieve(pb.RetrieveRequest(scope=SCOPE, query=query, settings=settings))
    assert not response.degradations
    return [one.chunk.text for one in response.chunks]


@pytest.mark.parametrize("query", ['"never said" anything', '"never said" clause', "xylophone"])
async def test_words_that_no_passage_has_are_searched_by_meaning_however_many_repeat(
    library: Library, query: str
) -> None:
    await add(library, "d", [CLAUSE] * (FIRST + 20))
    assert await found(library, query) == [CLAUSE]


async def test_quoted_words_stay_required_however_many_passages_repeat(library: Library) -> None:
    await add(library, "d", [CLAUSE] * (FIRST + 20))
    await add(library, "e", [f"Clause {at} of a report about subject {at * 7}." for at in range(20)])
    assert await found(library, '"annual report" clause') == [CLAUSE]


async def test_each_named_file_has_a_passage_however_many_of_another_repeat(library: Library) -> None:
    def passage(words: int, at: int) -> str:
        return f"nozzle {' '.join(str(at + 1000 * number) for number in range(words))}"

    await add(library, "a", [passage(1, 0)] * (FIRST + 20), "alpha.md")
    await add(library, "b", [passage(2 + at // 9, at) for at in range(9 * FIRST)], "alpha.md")
    of_beta = passage(100, 999)
    await add(library, "c", [of_beta], "beta.md")
    assert of_beta in await found(library, "What do alpha.md and beta.md say of each nozzle?", FULLTEXT)
