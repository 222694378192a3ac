"""Filters, in messages or as JSON, reach the stages from every RPC that takes one, and stay with the answer."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from footnote.edge.v1.answers_pb2 import AskRequest, GetAnswerManifestRequest, ReplayAnswerRequest, SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.documents_pb2 import QueryChunksRequest
from footnote.edge.v1.vectors_pb2 import ListVectorsRequest
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.filter_pb2 import COMPARISON_OP_GTE, Comparison, Filter, FilterList, FilterValue
from footnote_edge.app import build
from footnote_kit.edge import METHODS, EdgeStub
from footnote_kit.errors import InvalidArgument
from footnote_kit.testing import serve_app
from support.doubles.stages import World, serve_doubles

YEAR = Filter(comparison=Comparison(field="year", op=COMPARISON_OP_GTE, value=FilterValue(number_value=2024)))
TAKERS = {
    "Search": ("Retrieve", SearchRequest(query="tea")),
    "Ask": ("Retrieve", AskRequest(question="tea ?")),
    "QueryChunks": ("QueryChunks", QueryChunksRequest(collection="plans")),
    "ListVectors": ("ListVectors", ListVectorsRequest(collection="plans")),
}


def test_every_taker_is_tried() -> None:
    assert {method.name for method in METHODS if "filter" in method.input_type.fields_by_name} == set(TAKERS)


class Place:
    def __init__(self, served: Any, world: World) -> None:
        self.stub = EdgeStub(served.channel)
        self.world = world
        self.http = f"http://{served.runtime.announced['http']}"

    async def call(self, name: str, **more: Any) -> Any:
        request = type(TAKERS[name][1])()
        request.CopyFrom(TAKERS[name][1])
        request.MergeFrom(type(request)(**more))
        answer = getattr(self.stub, name)(request, timeout=30)
        return [event async for event in answer][-1] if name == "Ask" else await answer


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    """Edge with one collection, and the doubles that note the filters they receive."""
    world = World()
    async with serve_doubles(world) as stages, serve_app(build, addresses=stages) as served:
        running = Place(served, world)
        await running.stub.CreateCollection(CreateCollectionRequest(collection=Collection(name="plans")))
        yield running


@pytest.mark.parametrize("name", TAKERS)
async def test_the_stage_gets_it(place: Place, name: str) -> None:
    method = TAKERS[name][0]
    text = Filter(json='{"tags": "x"}')
    for more in ({"filter": YEAR}, {"filter": text}, {}):
        await place.call(name, **more)
    asked = place.world.requests(method)
    assert [one.filter for one in asked[:2]] == [YEAR, text]
    assert not asked[-1].HasField("filter")


async def test_an_answer_keeps_its_filter_and_is_made_again_with_it(place: Place) -> None:
    answer = (await place.call("Ask", filter=YEAR)).completed.answer
    told = await place.stub.GetAnswerManifest(GetAnswerManifestRequest(answer_id=answer.id))
    assert told.manifest.filter == YEAR
    await place.stub.ReplayAnswer(ReplayAnswerRequest(answer_id=answer.id))
    assert [one.filter for one in place.world.requests("Retrieve")] == [YEAR, YEAR]


async def test_an_operator_that_this_version_does_not_know_is_refused_by_its_place(place: Place) -> None:
    unknown = Filter(comparison=Comparison(field="a", op=99))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument) as caught:
        await place.call("Search", filter=Filter(**{"and": FilterList(filters=[YEAR, unknown])}))  # type: ignore[arg-type]
    assert [one.field for one in caught.value.violations] == ["filter.and.filters[1].comparison.op"]


async def test_over_http_it_is_given_in_a_body_or_as_json_in_a_query(place: Place) -> None:
    typed = {"comparison": {"field": "year", "op": "COMPARISON_OP_GTE", "value": {"number_value": 2024}}}
    async with httpx2.AsyncClient(base_url=place.http) as http:
        found = await http.post("/v1/search", json={"query": "tea", "filter": typed})
        assert found.status_code == 200, found.text
        assert place.world.requests("Retrieve")[-1].filter == YEAR
        refused = await http.get("/v1/collections/plans/chunks", params={"filter": "{}"})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "filter")
        asked = await http.get("/v1/collections/plans/chunks", params={"filter.json": '{"tags": "x"}'})
        assert asked.status_code == 200, asked.text
        assert place.world.requests("QueryChunks")[-1].filter.json == '{"tags": "x"}'
