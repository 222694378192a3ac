"""The wrapper's scenarios one by one, each by gRPC and by its HTTP path, against the real services."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from google.protobuf.json_format import ParseError
from support.deployment import Deployment
from support.doors import Door, GrpcDoor, HttpDoor, Refused
from support.edge_client import edge_client

pytestmark = pytest.mark.slow

SECTIONS = [
    ("intro", "1", "heading", "Introduction"),
    ("intro", "1", "paragraph", "Retention keeps data for a while."),
    ("retention-config", "2", "heading", "Retention"),
    ("retention-config", "2", "paragraph", "Write the number of days."),
    ("retention-config", "2", "code", "retention = 30"),
    ("limits", "3", "list", "At most 90 days."),
]


@pytest.fixture(params=["gRPC", "HTTP"])
async def door(request: pytest.FixtureRequest, running: Deployment) -> AsyncIterator[Door]:
    """The wrapper's operations by gRPC, then by their HTTP paths."""
    if request.param == "gRPC":
        async with edge_client(running.address()) as client:
            yield GrpcDoor(client.stub)
    else:
        async with httpx2.AsyncClient(base_url=f"http://{running.address('http')}", timeout=60) as http:
            yield HttpDoor(http)


@pytest.fixture
async def kb(door: Door) -> str:
    """A collection with vectors of three dimensions."""
    name = f"kb-{uuid4().hex[:8]}"
    await door.create(name, {"team": "x"}, 3)
    documents = [
        {
            "id": f"doc-{number}",
            "text": text,
            "metadata": {"section_id": section, "chapter": chapter, "doc_type": kind},
            "embedding": [1.0, float(number), 0.5],
        }
        for number, (section, chapter, kind, text) in enumerate(SECTIONS)
    ]
    assert await door.add(name, documents) == len(SECTIONS)
    return name


async def kinds(door: Door, name: str, where: str) -> list[str]:
    """Return the kinds of the documents that a filter finds; each document is whole and the figures are right."""
    found = await door.query(name, where)
    assert found["count"] == found["total"] == len(found["documents"])
    assert all(set(one) == {"id", "text", "metadata"} for one in found["documents"])
    return [one["metadata"]["doc_type"] for one in found["documents"]]


async def refusal(door: Door, name: str, documents: list[dict[str, Any]]) -> str:
    """Return the words with which documents are refused; nothing of them is stored."""
    with pytest.raises(Refused) as caught:
        await door.add(name, documents)
    assert caught.value.code == "INVALID_ARGUMENT"
    assert (await door.query(name))["total"] == len(SECTIONS)
    return str(caught.value)


async def test_add_documents_with_precomputed_embeddings(door: Door, kb: str) -> None:
    assert await door.add(kb, [{"text": "one more", "metadata": {"doc_type": "note"}, "embedding": [1, 2, 3]}]) == 1
    assert await kinds(door, kb, '{"doc_type":"note"}') == ["note"]


async def test_add_documents_without_embeddings(door: Door, kb: str) -> None:
    message = "All documents must include pre-computed embeddings"
    assert message in await refusal(door, kb, [{"text": "a", "metadata": {}}])
    assert message in await refusal(door, kb, [{"text": "a", "embedding": [1, 2, 3]}, {"text": "b"}])


@pytest.mark.parametrize("embedding", ["not a vector", [1, "x", 3], {"0": 1}])
async def test_add_documents_with_invalid_embedding_format(door: Door, kb: str, embedding: Any) -> None:
    if isinstance(door, GrpcDoor):
        with pytest.raises(ParseError):  # a typed client cannot even write it
            await door.add(kb, [{"text": "a", "embedding": embedding}])
        return
    assert "Invalid embedding format" in await refusal(door, kb, [{"text": "a", "embedding": embedding}])


@pytest.mark.parametrize("lengths", [(3, 2), (2,)], ids=["with one another", "with the collection's"])
async def test_add_documents_with_mismatched_embedding_dimensions(
    door: Door, kb: str, lengths: tuple[int, ...]
) -> None:
    documents = [{"text": "a", "embedding": [1.0] * length} for length in lengths]
    assert "dimension mismatch" in await refusal(door, kb, documents)


async def test_empty_documents_array(door: Door, kb: str) -> None:
    assert await refusal(door, kb, []) == "Documents array is required"


async def test_create_collection_with_metadata(door: Door) -> None:
    name = f"kb-{uuid4().hex[:8]}"
    metadata = {"embedding_provider": "acme", "embedding_model": "m-1", "team": "x", "nested": {"n": 1.0}}
    await door.create(name, metadata, 3)
    assert await door.metadata(name) == metadata


async def test_retrieve_collection_with_metadata(door: Door, kb: str) -> None:
    assert await door.metadata(kb) == {"team": "x"}


async def test_update_collection_metadata(door: Door, kb: str) -> None:
    await door.set_metadata(kb, {"team": "y", "n": 2.0})
    assert await door.metadata(kb) == {"team": "y", "n": 2.0}


async def test_retrieve_all_collections_with_metadata(door: Door, kb: str) -> None:
    assert (await door.all_metadata())[kb] == {"team": "x"}


async def test_simple_equality_filter(door: Door, kb: str) -> None:
    assert await kinds(door, kb, '{"section_id":"intro"}') == ["heading", "paragraph"]


async def test_multiple_field_filter(door: Door, kb: str) -> None:
    assert await kinds(door, kb, '{"chapter":"1","doc_type":"paragraph"}') == ["paragraph"]


async def test_complex_filter_with_operators(door: Door, kb: str) -> None:
    found = await kinds(door, kb, '{"doc_type":{"$in":["heading","paragraph"]}}')
    assert sorted(found) == ["heading", "heading", "paragraph", "paragraph"]


async def test_logical_or_operator(door: Door, kb: str) -> None:
    assert sorted(await kinds(door, kb, '{"$or":[{"chapter":"1"},{"chapter":"3"}]}')) == [
        "heading",
        "list",
        "paragraph",
    ]


async def test_empty_results(door: Door, kb: str) -> None:
    found = await door.query(kb, '{"section_id":"nowhere"}')
    assert found == {"documents": [], "count": 0, "total": 0}


async def test_collection_not_found(door: Door) -> None:
    with pytest.raises(Refused, match=r"^Collection 'nonexistent' not found$") as caught:
        await door.query("nonexistent")
    assert caught.value.code == "NOT_FOUND"


async def test_invalid_json_filter(door: Door, kb: str) -> None:
    with pytest.raises(Refused, match=r"^Invalid 'where' filter: must be valid JSON$") as caught:
        await door.query(kb, "invalid-json-string")
    assert caught.value.code == "INVALID_ARGUMENT"


async def test_sibling_gathering_use_case(door: Door, kb: str) -> None:
    assert await kinds(door, kb, '{"section_id":"retention-config"}') == ["heading", "paragraph", "code"]


async def test_no_filter_pagination_and_limit_enforcement(door: Door) -> None:
    """500 documents and more: a hundred by default, any page of them, never more than a thousand."""
    name = f"kb-{uuid4().hex[:8]}"
    await door.create(name, {}, 2)
    for start in range(0, 1100, 100):
        batch = [
            {"text": f"text {n}", "metadata": {"half": n % 2}, "embedding": [1, n]} for n in range(start, start + 100)
        ]
        assert await door.add(name, batch) == 100
    first = await door.query(name)
    assert (first["count"], first["total"]) == (100, 1100)
    everything = await door.query(name, limit=5000)
    assert (everything["count"], everything["total"]) == (1000, 1100)
    odd = [one["id"] for one in (await door.query(name, '{"half":1}', limit=1000))["documents"]]
    page = await door.query(name, '{"half":1}', limit=50, offset=100)
    assert (page["count"], page["total"]) == (50, 550)
    assert [one["id"] for one in page["documents"]] == odd[100:150]
