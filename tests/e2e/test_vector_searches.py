"""Searches by vectors that callers bring, and what becomes of texts in collections that bring their own."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx2
import numpy as np
import pytest
from footnote.edge.v1 import collections_pb2
from footnote.types.v1 import collection_pb2 as col
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_kit import degradations
from footnote_kit.errors import FailedPrecondition, InvalidArgument, NotFound
from support.deployment import Deployment
from support.edge_client import EdgeClient
from support.own_vectors import AXES, add, create, get, ids_of, pages, rng, row_ids, search, stocked

pytestmark = [pytest.mark.full, pytest.mark.slow]


@pytest.fixture
async def http(running: Deployment) -> AsyncIterator[httpx2.AsyncClient]:
    """An HTTP client of the deployment."""
    async with httpx2.AsyncClient(base_url=f"http://{running.address('http')}", timeout=120) as client:
        yield client


# Lengths


async def test_a_wrong_length_is_refused_everywhere(edge: EdgeClient, http: httpx2.AsyncClient) -> None:
    name, plain = await stocked(edge), await create(edge, provider="builtin", dimensions=0)
    wrong = [1.0, 2.0]
    body = {"collections": [name], "query_vector": wrong}
    calls: list[Any] = [
        add(edge, name, [VectorRow(text="x", vector=wrong)]),
        search(edge, name, query_vector=wrong),
        search(edge, name, query="bolts", query_vector=wrong),
        search(edge, plain, query_vector=wrong),
        search(edge, name, plain, query_vector=AXES[0]),
        search(edge, query_vector=[0.5] * 7),
        edge.answer("How often are bolts counted?", collections=[name], query_vector=wrong),
    ]
    for call in calls:
        with pytest.raises(InvalidArgument, match="dimension") as caught:
            await call
        assert caught.value.reason == "DIMENSION_MISMATCH", caught.value
    with pytest.raises(InvalidArgument) as caught:
        await search(edge, name, query_vector=wrong)
    assert caught.value.metadata == {"collection": name, "expected": "3", "given": "2"}
    for path, sent in (
        ("/v1/search", body),
        ("/v1/ask", {**body, "question": "How often are bolts counted?"}),
        (f"/v1/collections/{name}/vectors", {"rows": [{"text": "x", "vector": wrong}]}),
        (f"/collections/{name}/documents", {"documents": [{"text": "x", "embedding": wrong}]}),
    ):
        refused = await http.post(path, json=sent, headers={"accept": "application/json"})
        assert (refused.status_code, refused.json()["reason"]) == (400, "DIMENSION_MISMATCH"), path


@pytest.mark.parametrize("vector", [[0.0, 0.0, 0.0], [float("nan"), 1, 1], [float("inf"), 1, 1]])
async def test_a_vector_that_points_nowhere_is_refused(edge: EdgeClient, vector: list[float]) -> None:
    name = await stocked(edge)
    with pytest.raises(InvalidArgument, match="query_vector must be finite numbers, not all of them 0"):
        await search(edge, name, query_vector=vector)


# The provider "none"


async def test_a_text_is_never_embedded_for_own_vectors(edge: EdgeClient, http: httpx2.AsyncClient) -> None:
    name, other = await stocked(edge), await create(edge, provider="builtin", dimensions=0)
    said = f"Collection '{name}' brings its own vectors: give query_vector"
    strategies = [col.SEARCH_STRATEGY_UNSPECIFIED, col.SEARCH_STRATEGY_AUTO]
    strategies += [col.SEARCH_STRATEGY_VECTOR, col.SEARCH_STRATEGY_HYBRID]
    queries = ["bolts", '"counted on Friday"', "How often and on which day of the week are all of the bolts counted?"]
    calls = [
        search(edge, *names, query=query, settings={"strategy": strategy})
        for names in ((name,), (other, name))
        for query in queries
        for strategy in strategies
    ]
    calls += [edge.answer(queries[-1], collections=[name]), edge.answer(queries[-1], collections=[other, name])]
    for call in calls:
        with pytest.raises(InvalidArgument) as caught:
            await call
        assert caught.value.message.startswith(said)
        assert (caught.value.reason, caught.value.metadata) == ("OWN_VECTORS", {"collection": name})
    refused = await http.post("/v1/search", json={"query": "bolts", "collections": [name]})
    assert (refused.status_code, refused.json()["reason"]) == (400, "OWN_VECTORS")
    assert refused.json()["detail"].startswith(said)


async def test_own_vectors_are_searched_by_words_where_that_is_asked_for(edge: EdgeClient) -> None:
    name = await stocked(edge)
    found = await search(edge, name, query="bolts", settings={"strategy": col.SEARCH_STRATEGY_FULLTEXT})
    assert ids_of(found) == ["r0"]
    assert not found.degradations
    by_words = await stocked(edge, retrieval={"strategy": "SEARCH_STRATEGY_FULLTEXT"})
    assert ids_of(await search(edge, by_words, query="parental leave")) == ["r1"]
    done = await edge.answer("How long does parental leave last?", collections=[by_words])
    assert [source.document_id for source in done.sources] == ["r1"]


async def test_a_search_of_everything_says_what_was_searched_by_words_only(edge: EdgeClient) -> None:
    name = await create(edge)
    word = f"zebrafinch{uuid4().hex[:8]}"
    await add(edge, name, [VectorRow(id="bird", text=f"The {word} sings at dawn.", vector=[1, 0, 0])])
    for query, strategy in ((f"When does the {word} sing?", 0), (f"the {word} at dawn", col.SEARCH_STRATEGY_HYBRID)):
        found = await search(edge, query=query, settings={"strategy": strategy})
        assert "bird" in ids_of(found)
        told = [one for one in found.degradations if degradations.word(one) == "OWN_VECTORS"]
        assert len(told) == 1
        assert "by words only" in told[0].effect
    alone = await search(edge, query=f"the {word} at dawn", settings={"strategy": col.SEARCH_STRATEGY_VECTOR})
    assert "bird" not in ids_of(alone)
    assert any("not searched" in one.effect for one in alone.degradations)
    done = await edge.answer(f"When does the {word} sing?")
    assert "bird" in [source.document_id for source in done.sources]


async def test_own_vectors_take_no_documents(edge: EdgeClient, http: httpx2.AsyncClient) -> None:
    name = await create(edge)
    with pytest.raises(InvalidArgument, match=f"Collection '{name}' brings its own vectors") as caught:
        await edge.upload(b"A text.", "a.txt", collection=name)
    assert caught.value.reason == "OWN_VECTORS"
    refused = await http.post("/v1/documents", files={"file": ("a.txt", b"A text.")}, data={"collection": name})
    assert (refused.status_code, refused.json()["reason"]) == (400, "OWN_VECTORS")
    assert not await edge.documents(name)


async def test_the_first_rows_make_an_empty_collection_bring_its_own(edge: EdgeClient) -> None:
    for dimensions in (0, 5):
        name = await create(edge, provider="", dimensions=dimensions)
        await add(edge, name, [VectorRow(id="a", text="bolts", vector=[1, 2, 3, 4, 5])])
        found = await edge.stub.GetCollection(collections_pb2.GetCollectionRequest(collection=name))
        embedding = found.collection.settings.embedding
        assert (embedding.provider, embedding.dimensions) == ("none", 5)
        with pytest.raises(InvalidArgument, match="give query_vector"):
            await search(edge, name, query="bolts")
        assert ids_of(await search(edge, name, query_vector=[1, 2, 3, 4, 5])) == ["a"]


async def test_rows_stand_beside_documents_of_the_same_length(edge: EdgeClient) -> None:
    name = await create(edge, provider="builtin", dimensions=0)
    document = await edge.put(b"Bolts are counted every Friday.", "bolts.txt", collection=name)
    vector = rng().normal(size=384)
    await add(edge, name, [VectorRow(id="row", text="Screws are never counted.", vector=vector)])
    assert set(ids_of(await search(edge, name, query="Which of them are counted?"))) == {document.id, "row"}
    assert ids_of(await search(edge, name, query_vector=vector, settings={"limit": 1})) == ["row"]
    assert row_ids(await pages(edge, name)) == ["row"], "documents are no rows"
    with pytest.raises(NotFound):
        await get(edge, name, document.id)


@pytest.mark.parametrize("filled", [True, False])
async def test_only_an_empty_collection_begins_or_ceases_to_bring_its_own(edge: EdgeClient, filled: bool) -> None:
    own, plain = await create(edge), await create(edge, provider="builtin", dimensions=0)
    if filled:
        await add(edge, own, [VectorRow(id="a", text="bolts", vector=[1, 0, 0])])
        await edge.put(b"Bolts are counted every Friday.", "bolts.txt", collection=plain)
    for name, provider, dimensions in ((own, "builtin", 0), (own, "none", 4), (plain, "none", 4)):
        change = col.Collection()
        change.settings.embedding.provider, change.settings.embedding.dimensions = provider, dimensions
        request = collections_pb2.UpdateCollectionRequest(collection=name, resource=change)
        request.update_mask.paths.append("settings.embedding")
        if not filled:
            await edge.stub.UpdateCollection(request)
            continue
        with pytest.raises(FailedPrecondition) as caught:
            await edge.stub.UpdateCollection(request)
        assert caught.value.reason == "OWN_VECTORS"


async def test_own_vectors_need_a_length(edge: EdgeClient) -> None:
    with pytest.raises(InvalidArgument, match="dimensions is required"):
        await create(edge, dimensions=0)


# Searches by a vector


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
async def test_a_vector_alone_finds_the_nearest_whatever_its_length(edge: EdgeClient, scale: float) -> None:
    name = await create(edge, dimensions=64)
    numbers = rng()
    stored = numbers.normal(size=(40, 64)) * numbers.uniform(0.01, 100, size=(40, 1))
    await add(edge, name, [VectorRow(id=f"{n:02}", text=f"Text {n}", vector=row) for n, row in enumerate(stored)])
    sought = numbers.normal(size=64)
    found = await search(edge, name, query_vector=sought * scale, settings={"limit": 40, "recency_weight": 0})
    cosines = stored @ sought / np.linalg.norm(stored, axis=1) / np.linalg.norm(sought)
    best = [f"{n:02}" for n in np.argsort(-cosines)]
    assert found.strategy == col.SEARCH_STRATEGY_VECTOR
    assert ids_of(found)[:5] == best[:5]
    raw = [one.channels[0].raw_score for one in found.chunks[:5]]
    assert raw == pytest.approx(sorted(cosines, reverse=True)[:5], abs=1e-5)


async def test_words_still_take_part_beside_a_vector(edge: EdgeClient) -> None:
    name = await stocked(edge)
    for query in ("Lyon", '"opens at eight"', "When does the office in Lyon open its doors in the morning of a day?"):
        found = await search(edge, name, query=query, query_vector=AXES[1], explain=True)
        assert found.strategy == col.SEARCH_STRATEGY_HYBRID, query
        assert {"r1", "r2"} <= set(ids_of(found)) or query.startswith('"')
        channels = {one.chunk.document_id: {c.channel: c.raw_score for c in one.channels} for one in found.chunks}
        assert channels["r2"][2] > 0, "the words found it"
    only = await search(
        edge, name, query="Lyon", query_vector=AXES[1], settings={"strategy": col.SEARCH_STRATEGY_VECTOR, "limit": 1}
    )
    assert (ids_of(only), only.strategy) == (["r1"], col.SEARCH_STRATEGY_VECTOR)


async def test_what_could_have_no_effect_is_refused(edge: EdgeClient) -> None:
    name = await stocked(edge)
    with pytest.raises(InvalidArgument, match="query_vector has no effect with the strategy FULLTEXT"):
        await search(
            edge, name, query="bolts", query_vector=AXES[0], settings={"strategy": col.SEARCH_STRATEGY_FULLTEXT}
        )
    for query in ("", "  "):
        with pytest.raises(InvalidArgument, match="query is required, unless a query_vector is given"):
            await search(edge, name, query=query)


async def test_several_collections_of_one_length_are_searched_by_one_vector(edge: EdgeClient) -> None:
    own, plain = await create(edge, dimensions=384), await create(edge, provider="builtin", dimensions=0)
    document = await edge.put(b"Bolts are counted every Friday.", "bolts.txt", collection=plain)
    vector = rng().normal(size=384)
    await add(edge, own, [VectorRow(id="row", text="Screws are never counted.", vector=vector)])
    found = await search(edge, own, plain, query_vector=vector)
    assert ids_of(found)[0] == "row"
    assert document.id in ids_of(found)
    assert not found.degradations


async def test_a_vector_means_that_documents_are_searched(edge: EdgeClient) -> None:
    name = await stocked(edge)
    done = await edge.answer("Thanks!", collections=[name], query_vector=AXES[1])
    assert "r1" in [source.document_id for source in done.sources]
