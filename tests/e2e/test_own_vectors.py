"""Own vectors through both doors of real deployments: ids, sizes, lengths, searches, pages, deletion."""

import asyncio
import json
from collections.abc import AsyncIterator
from urllib.parse import quote
from uuid import uuid4

import httpx2
import numpy as np
import pytest
from footnote.edge.v1 import collections_pb2, vectors_pb2
from footnote.edge.v1.documents_pb2 import QueryChunksRequest
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_kit.errors import Aborted, InvalidArgument, NotFound
from footnote_kit.paging import PAGE_BYTES
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Value
from support.deployment import Deployment
from support.edge_client import EdgeClient
from support.own_vectors import AXES, TEXTS, add, create, delete, get, ids_of, pages, rng, row_ids, search, stocked

pytestmark = [pytest.mark.full, pytest.mark.slow]

MOST_BYTES = int(3.5 * 1024 * 1024)
LENGTH = 1536  # of OpenAI's small model
ODD_IDS = [
    "intro", "docs/guide/intro.md#2", "a:b:000001:0000000", "Ünïcöde ✓ 漢字", " spaces  inside ", "100%2F",
    "quote\"'\\", "?query=1&x", "..", "x" * 150, "'" * 150, "0", "-",
]  # fmt: skip


@pytest.fixture
async def http(running: Deployment) -> AsyncIterator[httpx2.AsyncClient]:
    """An HTTP client of the deployment."""
    async with httpx2.AsyncClient(base_url=f"http://{running.address('http')}", timeout=120) as client:
        yield client


# Sizes


def test_a_vector_travels_in_four_bytes_a_number() -> None:
    vector = rng().normal(size=LENGTH).astype(np.float32)
    row = VectorRow(id="r", text="x" * 20, vector=vector)
    loose = Value()
    loose.list_value.extend(vector.tolist())
    assert 6_100 < row.ByteSize() < 6_200
    assert 16_800 < loose.ByteSize() < 17_000, "what a row took as google.protobuf.Value"


async def test_the_stated_limit_fits_a_message_and_one_row_more_is_refused(
    edge: EdgeClient, http: httpx2.AsyncClient
) -> None:
    name = await create(edge, dimensions=LENGTH)
    numbers = rng()

    def row(number: int) -> VectorRow:
        vector = numbers.normal(size=LENGTH).astype(np.float32)
        return VectorRow(id=f"{number:04}", text=f"Passage number {number:05}", vector=vector)

    rows = [row(number) for number in range(MOST_BYTES // row(0).ByteSize())]
    assert len(rows) == 594  # as the contract says
    request = vectors_pb2.AddVectorsRequest(collection=name, rows=rows)
    assert MOST_BYTES - 7000 < request.ByteSize() < 4 * 1024 * 1024, (
        "the most that is allowed fits any client's message"
    )
    assert (await edge.stub.AddVectors(request, timeout=120)).count == len(rows)
    with pytest.raises(InvalidArgument, match="3670016") as caught:
        await add(edge, name, [row(number) for number in range(1000, 1000 + len(rows) + 1)])
    assert caught.value.reason == "REQUEST_TOO_LARGE"
    listed = await pages(edge, name, page_size=1000, include_vectors=True)
    assert row_ids(listed) == [one.id for one in rows]
    assert len(listed) == 2, "a page ends before the 4 MiB that clients take"
    assert PAGE_BYTES - 12_000 < sum(one.ByteSize() for one in listed[0]) <= PAGE_BYTES
    more = [{"text": "x", "embedding": [0.1] * LENGTH} for _ in range(700)]
    refused = await http.post(f"/collections/{name}/documents", json={"documents": more})
    assert (refused.status_code, refused.json()["reason"]) == (413, "REQUEST_TOO_LARGE")


async def test_a_thousand_rows_fit_and_one_more_does_not(edge: EdgeClient) -> None:
    name = await create(edge)
    rows = [VectorRow(id=str(n), text="x", vector=[1, n, 2]) for n in range(1001)]
    with pytest.raises(InvalidArgument, match="at most 1000"):
        await add(edge, name, rows)
    assert (await add(edge, name, rows[:1000])).count == 1000
    assert sorted(row_ids(await pages(edge, name))) == sorted(row.id for row in rows[:1000])


# Ids


async def test_ids_come_back_as_they_were_given(edge: EdgeClient, http: httpx2.AsyncClient) -> None:
    name = await create(edge, dimensions=len(ODD_IDS))
    axes = np.eye(len(ODD_IDS), dtype=np.float32)
    rows = [
        VectorRow(id=identity, text=f"The parcel {n} weighs {n + 10} kilograms.", vector=axes[n])
        for n, identity in enumerate(ODD_IDS)
    ]
    assert list((await add(edge, name, rows)).ids) == ODD_IDS
    assert sorted(row_ids(await pages(edge, name, page_size=5))) == sorted(ODD_IDS)
    chunks = await edge.stub.QueryChunks(QueryChunksRequest(collection=name))
    assert sorted(chunk.document_id for chunk in chunks.chunks) == sorted(ODD_IDS)
    wrapped = (await http.get(f"/collections/{name}/documents")).json()["documents"]
    assert sorted(one["id"] for one in wrapped) == sorted(ODD_IDS)
    for n, identity in enumerate(ODD_IDS):
        assert (await get(edge, name, identity)).text == rows[n].text
        assert row_ids(await pages(edge, name, filter={"json": json.dumps({"document_id": identity})})) == [identity]
        found = await search(edge, name, query_vector=axes[n], settings={"limit": 1})
        assert ids_of(found) == [identity]
        narrowed = await search(edge, name, query_vector=axes[0], document_ids=[identity])
        assert ids_of(narrowed) == [identity], "an id that was found can be searched by"
        if identity == "..":
            continue  # which clients resolve before they send it
        answer = await http.get(f"/v1/collections/{name}/vectors/{quote(identity, safe='')}")
        assert (answer.status_code, answer.json()["row"]["id"]) == (200, identity)


async def test_answers_cite_the_id_that_was_given(edge: EdgeClient, http: httpx2.AsyncClient) -> None:
    name = await create(edge)
    await add(edge, name, [VectorRow(id="kb/parcels#7", text="The parcel weighs 12 kilograms.", vector=[1, 0, 0])])
    done = await edge.answer("How many kilograms does the parcel weigh?", collections=[name], query_vector=[1, 0, 0])
    assert [source.document_id for source in done.sources] == ["kb/parcels#7"]
    assert done.answer.citations
    assert {citation.document_id for citation in done.answer.citations} == {"kb/parcels#7"}
    assert {(citation.revision, citation.sha256) for citation in done.answer.citations} == {(0, "")}
    asked = {"role": "user", "content": "How many kilograms does the parcel weigh?"}
    body = {"model": "footnote", "messages": [asked]}
    said = (await http.post("/v1/chat/completions", json=body)).json()
    (cited, *_) = said["choices"][0]["message"]["annotations"]
    row = (await http.get(cited["url_citation"]["url"])).json()["row"]
    assert row["id"] == "kb/parcels#7"


async def test_the_same_id_again_replaces_and_elsewhere_is_another(edge: EdgeClient) -> None:
    name, other = await stocked(edge), await stocked(edge)
    for turn in range(3):
        text = f"Bolts are counted for the time number {turn}."
        assert list((await add(edge, name, [VectorRow(id="r0", text=text, vector=AXES[0])])).ids) == ["r0"]
        assert sorted(row_ids(await pages(edge, name))) == ["r0", "r1", "r2"]
        assert (await get(edge, name, "r0")).text == text
        found = await search(edge, name, query_vector=AXES[0])
        assert [one.chunk.text for one in found.chunks if one.chunk.document_id == "r0"] == [text]
    assert (await get(edge, other, "r0")).text == TEXTS[0]
    both = await search(edge, name, other, query_vector=AXES[0], settings={"limit": 2})
    assert ids_of(both) == ["r0", "r0"]
    assert {one.chunk.collection for one in both.chunks} == {name, other}
    assert len({one.chunk.id for one in both.chunks}) == 2
    collection = await edge.stub.GetCollection(collections_pb2.GetCollectionRequest(collection=name))
    assert collection.collection.document_count == 3


async def test_an_id_is_made_where_none_is_given(edge: EdgeClient) -> None:
    name = await create(edge)
    made = await add(edge, name, [VectorRow(text="one", vector=[1, 0, 0]), VectorRow(text="two", vector=[0, 1, 0])])
    assert len(set(made.ids)) == 2
    assert sorted(row_ids(await pages(edge, name))) == sorted(made.ids)


@pytest.mark.parametrize("named", [False, True])
async def test_rows_with_made_ids_are_listed_in_the_order_of_adding(edge: EdgeClient, named: bool) -> None:
    name = await create(edge)
    for call in range(2):
        rows = [VectorRow(text=f"text {5 * call + number}", vector=[1, number, call]) for number in range(5)]
        request_id = uuid4().hex if named else ""
        request = vectors_pb2.AddVectorsRequest(collection=name, rows=rows, request_id=request_id)
        made = await edge.stub.AddVectors(request)
        if named:
            assert (await edge.stub.AddVectors(request)).ids == made.ids
    listed = [row.text for page in await pages(edge, name) for row in page]
    assert listed == [f"text {number}" for number in range(10)]


# Reading, listing, deleting


async def test_a_row_is_read_with_its_vector_at_length_one(edge: EdgeClient, http: httpx2.AsyncClient) -> None:
    name = await create(edge)
    metadata = {"shelf": "A", "tags": ["x", "y"], "n": 3.0}
    await add(
        edge, name, [ParseDict({"id": "a", "text": "bolts", "metadata": metadata, "vector": [3, 0, 4]}, VectorRow())]
    )
    kept = await get(edge, name, "a", include_vector=True)
    assert list(kept.vector) == pytest.approx([0.6, 0, 0.8])
    assert kept.text == "bolts"
    assert not (await get(edge, name, "a")).vector
    path = f"/v1/collections/{name}/vectors"
    found = (await http.get(f"{path}/a", params={"include_vector": "true"})).json()["row"]
    assert found["vector"] == pytest.approx([0.6, 0, 0.8])
    assert found["metadata"] == metadata
    listed = (await http.get(path)).json()
    assert [one["id"] for one in listed["rows"]] == ["a"]
    assert listed["next_page_token"] == ""
    for call in (get(edge, name, "b"), get(edge, name, "A")):
        with pytest.raises(NotFound) as caught:
            await call
        assert (caught.value.reason, caught.value.metadata["collection"]) == ("VECTOR_NOT_FOUND", name)
    assert (await http.get(f"{path}/b")).status_code == 404
    deleted = await http.post(f"{path}:delete", json={"ids": ["a"]})
    assert (deleted.status_code, deleted.json()) == (200, {"deleted": 1})
    assert (await http.post(f"{path}:delete", json={"ids": ["a"]})).json()["reason"] == "VECTOR_NOT_FOUND"


@pytest.mark.parametrize("size", [0, 1, 7, 60, 1000])
async def test_pages_hold_every_row_once_while_rows_come_and_go(edge: EdgeClient, size: int) -> None:
    count = 12 if size == 1 else 60
    name = await create(edge)
    ids = [f"{n:03}" for n in range(count)]
    await add(
        edge,
        name,
        [VectorRow(id=one, text=f"Text {one}", vector=[1, 0, 0], metadata={"odd": int(one) % 2}) for one in ids],
    )
    assert row_ids(await pages(edge, name, page_size=size)) == ids
    odd = await pages(edge, name, page_size=size, filter={"json": '{"odd": 1}'})
    assert row_ids(odd) == ids[1::2]
    if size != 7:
        return
    first = await edge.stub.ListVectors(vectors_pb2.ListVectorsRequest(collection=name, page_size=7))
    # Before and after the position: a row deleted, one replaced, one added.
    await delete(edge, name, "001", "020")
    again = [VectorRow(id=one, text="again", vector=[0, 1, 0]) for one in ("006", "000a", "0305", "030")]
    await add(edge, name, again)
    rest, token = list(first.rows), first.next_page_token
    while token:
        page = await edge.stub.ListVectors(
            vectors_pb2.ListVectorsRequest(collection=name, page_size=7, page_token=token)
        )
        rest, token = rest + list(page.rows), page.next_page_token
    assert [row.id for row in rest] == sorted({*ids, "0305"} - {"020"})


async def test_a_token_belongs_to_its_list(edge: EdgeClient) -> None:
    name, other = await stocked(edge), await stocked(edge)
    page = await edge.stub.ListVectors(vectors_pb2.ListVectorsRequest(collection=name, page_size=1))
    for change in ({"collection": other}, {"filter": {"json": '{"n": 1}'}}, {"include_vectors": True}):
        request = vectors_pb2.ListVectorsRequest(collection=name, page_size=1, page_token=page.next_page_token)
        with pytest.raises(InvalidArgument, match="page_token"):
            await edge.stub.ListVectors(ParseDict(change, request))
    with pytest.raises(InvalidArgument, match="page_size"):
        await edge.stub.ListVectors(vectors_pb2.ListVectorsRequest(collection=name, page_size=-1))
    with pytest.raises(InvalidArgument, match="where"):
        await edge.stub.ListVectors(vectors_pb2.ListVectorsRequest(collection=name, filter={"json": "{"}))


async def test_deleted_rows_are_gone_at_once_and_all_or_none(edge: EdgeClient) -> None:
    name = await stocked(edge)
    with pytest.raises(NotFound, match="holds no row 'nowhere'") as caught:
        await delete(edge, name, "r0", "nowhere", "r1")
    assert (caught.value.reason, caught.value.metadata["vector_id"]) == ("VECTOR_NOT_FOUND", "nowhere")
    assert row_ids(await pages(edge, name)) == ["r0", "r1", "r2"]
    assert await delete(edge, name, "r0", "nowhere", "r0", allow_missing=True) == 1
    assert row_ids(await pages(edge, name)) == ["r1", "r2"]
    assert ids_of(await search(edge, name, query_vector=AXES[0])).count("r0") == 0
    chunks = await edge.stub.QueryChunks(QueryChunksRequest(collection=name))
    assert chunks.total_size == 2
    assert await delete(edge, name, "r0", allow_missing=True) == 0
    await add(edge, name, [VectorRow(id="r0", text="back again", vector=AXES[0])])
    assert (await get(edge, name, "r0")).text == "back again"
    for ids in ([], [""], [str(n) for n in range(1001)]):
        with pytest.raises(InvalidArgument, match="ids"):
            await delete(edge, name, *ids, allow_missing=True)


async def test_rows_added_and_deleted_at_once_end_in_one_state(edge: EdgeClient) -> None:
    name = await create(edge)

    rows = [[VectorRow(id="a", text=f"turn {n}", vector=[1, 0, 0])] for n in range(8)]
    writes = [add(edge, name, one) for one in rows] + [delete(edge, name, "a") for _ in range(3)]
    ended = await asyncio.gather(*writes, return_exceptions=True)
    refusals = [one for one in ended if isinstance(one, BaseException)]
    assert all(isinstance(one, Aborted | NotFound) for one in refusals), refusals
    await add(edge, name, [VectorRow(id="a", text="the last", vector=[1, 0, 0])])
    assert [row.text for page in await pages(edge, name) for row in page] == ["the last"]
    found = await search(edge, name, query_vector=[1, 0, 0])
    assert [one.chunk.text for one in found.chunks] == ["the last"]
