"""Where indexing counts no chunk, neither the store nor an embedder is asked."""

from collections.abc import Sequence
from typing import Any

import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import Collection, RetrievalSettings, SearchStrategy
from footnote_kit.errors import Unavailable
from footnote_retrieval.adapters.embedding import ProviderEmbedder
from footnote_retrieval.model import SearchRequest, SearchResult
from footnote_retrieval.ports import Resolved, Searchable
from footnote_retrieval.search import Searcher
from footnote_retrieval.settings import Settings
from footnote_store.rows import Hit
from support.chunks import make_chunk, make_hit

HYBRID, VECTOR = SearchStrategy.SEARCH_STRATEGY_HYBRID, SearchStrategy.SEARCH_STRATEGY_VECTOR


class Known:
    """Collections, each in a space and under a key of its own, with so many chunks."""

    def __init__(self, *chunks: int) -> None:
        self._found = [
            Searchable(
                Collection(id=f"c{at}", name=f"c{at}", chunk_count=count), f"chunks_{at}_384", f"c{at}:1", (), ("en",)
            )
            for at, count in enumerate(chunks)
        ]

    def known(self, scope: Scope, names: Sequence[str]) -> Sequence[Searchable]:
        return self._found

    async def resolve(self, scope: Scope, names: Sequence[str], *, stale_too: bool = False) -> Resolved:
        return Resolved(self._found)


class Store:
    """Notes which spaces are asked, and by which channel; finds one chunk of `c1`."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def _hits(self, space: str, channel: str) -> list[Hit]:
        self.asked.append((space, channel))
        chunk = make_chunk("laser safety", collection_id="c1", tenant_id="t")
        hit = make_hit(chunk, 0.5)
        hit.collection_key = "c1:1"
        return [hit]

    async def search_dense(self, space: str, *_: Any, **__: Any) -> list[Hit]:
        return self._hits(space, "dense")

    async def search_lexical(self, space: str, *_: Any, **__: Any) -> list[Hit]:
        return self._hits(space, "lexical")

    async def filenames(self, *_: Any) -> dict[str, str]:
        return {}


class Counting(ProviderEmbedder):
    """Counts what is embedded."""

    embedded = 0

    async def embed_query(self, *given: Any) -> Any:
        self.embedded += 1
        return await super().embed_query(*given)


async def search(store: Store, embedder: ProviderEmbedder, known: Known, strategy: Any) -> SearchResult:
    searcher = Searcher(known, store, embedder, Settings())  # type: ignore[arg-type]
    scope = Scope(tenant_id="t", user_id="u")
    return await searcher.search(
        SearchRequest(scope=scope, query="laser safety", settings=RetrievalSettings(strategy=strategy))
    )


@pytest.mark.parametrize("strategy", [HYBRID, VECTOR])
async def test_where_nothing_is_nobody_is_asked(strategy: Any) -> None:
    store, embedder = Store(), Counting()
    result = await search(store, embedder, Known(0, 0), strategy)
    assert (store.asked, embedder.embedded) == ([], 0)
    assert (result.chunks, result.total, result.degradations) == ([], 0, [])
    assert [run.candidates for run in result.channels] == [0] * (2 if strategy == HYBRID else 1)
    assert result.collection_ids == ["c0", "c1"]


async def test_beside_an_empty_collection_the_others_are_searched() -> None:
    store, embedder = Store(), Counting()
    result = await search(store, embedder, Known(0, 1), HYBRID)
    assert sorted(store.asked) == [("chunks_1_384", "dense"), ("chunks_1_384", "lexical")]
    assert [one.chunk.text for one in result.chunks] == ["laser safety"]


async def test_nothing_can_fail_where_nothing_is_asked() -> None:
    class Down(Store):
        async def search_dense(self, *_: Any, **__: Any) -> list[Hit]:
            raise Unavailable("down", reason="STORE_UNAVAILABLE")

        search_lexical = search_dense

    result = await search(Down(), Counting(), Known(0), HYBRID)
    assert result.degradations == []
    assert (await search(Down(), Counting(), Known(1), HYBRID)).degradations
