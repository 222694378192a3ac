"""The scenarios of the RAG wrapper's specification, over HTTP against the real services."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from support.deployment import Deployment

pytestmark = pytest.mark.slow

SECTIONS = [
    ("intro", "1", "heading", "Introduction"),
    ("intro", "1", "paragraph", "Retention keeps data for a while."),
    ("setup", "2", "code", "retention = 30"),
    ("setup", "3", "paragraph", "Write the number of days."),
]


@pytest.fixture
async def http(running: Deployment) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://{running.address('http')}", timeout=60) as client:
        yield client


@pytest.fixture
async def kb(http: httpx.AsyncClient) -> str:
    """A collection of four documents with vectors of three dimensions."""
    name = f"kb-{uuid4().hex[:8]}"
    made = await http.post("/collections", json={"name": name, "embedding_provider": "acme", "metadata": {"team": "x"}})
    assert made.status_code == 201, made.text
    documents = [
        {
            "id": f"doc-{number}",
            "text": text,
            "metadata": {"section_id": section, "chapter": chapter, "doc_type": kind},
            "embedding": [1.0, float(number), 0.5],
        }
        for number, (section, chapter, kind, text) in enumerate(SECTIONS)
    ]
    added = await http.post(f"/collections/{name}/documents", json={"documents": documents})
    assert added.status_code == 200, added.text
    assert added.json()["count"] == 4
    return name


async def query(http: httpx.AsyncClient, name: str, **params: Any) -> dict[str, Any]:
    answer = await http.get(f"/collections/{name}/documents", params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert found["count"] == len(found["documents"])
    return found


async def test_create_collection_with_metadata(http: httpx.AsyncClient, kb: str) -> None:
    got = (await http.get(f"/collections/{kb}")).json()
    assert got["metadata"] == {"team": "x", "embedding_provider": "acme"}
    listed = (await http.get("/collections")).json()["collections"]
    assert got["metadata"] in [one["metadata"] for one in listed]


async def test_update_collection_metadata(http: httpx.AsyncClient, kb: str) -> None:
    changed = await http.put(f"/collections/{kb}/metadata", json={"metadata": {"team": "y"}})
    assert changed.status_code == 200, changed.text
    assert (await http.get(f"/collections/{kb}")).json()["metadata"] == {"team": "y"}


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([], "Documents array is required"),
        ([{"text": "a", "metadata": {}}], "All documents must include pre-computed embeddings"),
        ([{"text": "a", "embedding": [1, 2, 3]}, {"text": "b"}], "All documents must include pre-computed embeddings"),
        ([{"text": "a", "embedding": "not a vector"}], "Invalid embedding format"),
        ([{"text": "a", "embedding": [1, "x", 3]}], "Invalid embedding format"),
        ([{"text": "a", "embedding": [1, 2, 3]}, {"text": "b", "embedding": [1, 2]}], "dimension mismatch"),
        ([{"text": "a", "embedding": [1, 2]}], "dimension mismatch"),
    ],
)
async def test_documents_that_are_refused(
    http: httpx.AsyncClient, kb: str, documents: list[dict[str, Any]], message: str
) -> None:
    refused = await http.post(f"/collections/{kb}/documents", json={"documents": documents})
    assert refused.status_code == 400
    assert message in refused.json()["detail"]
    assert (await query(http, kb))["total"] == 4


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ('{"section_id":"intro"}', 2),
        ('{"chapter":"1","doc_type":"paragraph"}', 1),
        ('{"doc_type":{"$in":["heading","paragraph"]}}', 3),
        ('{"$or":[{"chapter":"1"},{"chapter":"3"}]}', 3),
        ('{"section_id":"nowhere"}', 0),
    ],
)
async def test_metadata_filters(http: httpx.AsyncClient, kb: str, where: str, expected: int) -> None:
    found = await query(http, kb, where=where)
    assert (found["count"], found["total"]) == (expected, expected)
    for document in found["documents"]:
        assert set(document) == {"id", "text", "metadata"}


async def test_pages_and_limits(http: httpx.AsyncClient, kb: str) -> None:
    page = await query(http, kb, limit=2, offset=1)
    assert (page["count"], page["total"]) == (2, 4)
    assert (await query(http, kb, limit=5000))["count"] == 4


async def test_sibling_gathering(http: httpx.AsyncClient, kb: str) -> None:
    found = await query(http, kb, where='{"section_id":"setup"}')
    assert [one["text"] for one in found["documents"]] == ["retention = 30", "Write the number of days."]


async def test_collection_not_found(http: httpx.AsyncClient) -> None:
    missing = await http.get("/collections/nonexistent/documents")
    assert (missing.status_code, missing.json()["detail"]) == (404, "Collection 'nonexistent' not found")


async def test_invalid_json_filter(http: httpx.AsyncClient, kb: str) -> None:
    refused = await http.get(f"/collections/{kb}/documents", params={"where": "invalid-json-string"})
    assert (refused.status_code, refused.json()["detail"]) == (400, "Invalid 'where' filter: must be valid JSON")
