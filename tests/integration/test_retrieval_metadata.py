"""QueryChunks: the paging, totals and exact errors of metadata queries."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from footnote.retrieval.v1 import retrieval_service_pb2 as pb
from footnote.types.v1.filter_pb2 import Filter
from footnote_kit.errors import InvalidArgument, NotFound
from footnote_kit.testing import SCOPE
from support.chunks import make_chunk
from support.library import Library, open_library


def section(ordinal: int) -> str:
    return "intro" if ordinal < 3 else f"s{ordinal // 10}"


@pytest.fixture
async def library(uri: str) -> AsyncIterator[Library]:
    """A store with one document of 250 chunks and their metadata."""
    async with open_library(uri) as library:
        shelf = await library.add_collection("docs")
        await library.add(
            shelf,
            [
                make_chunk(f"part {i}", ordinal=i, metadata={"section_id": section(i), "kind": "p" if i % 2 else "h"})
                for i in range(250)
            ],
        )  # fmt: skip
        yield library


async def query(library: Library, **fields: Any) -> pb.QueryChunksResponse:
    fields.setdefault("collection", "docs")
    where = fields.pop("where", "")
    text = where if isinstance(where, str) else json.dumps(where)
    response: pb.QueryChunksResponse = await library.stub.QueryChunks(
        pb.QueryChunksRequest(scope=SCOPE, filter=Filter(json=text) if text else None, **fields)
    )
    return response


async def test_no_filter_gives_the_first_hundred(library: Library) -> None:
    found = await query(library)
    assert (len(found.chunks), found.total_size) == (100, 250)
    assert [chunk.ordinal for chunk in found.chunks] == list(range(100))
    assert found.chunks[0].collection == "docs"


async def test_pages(library: Library) -> None:
    found = await query(library, page_size=50, offset=100)
    assert len(found.chunks) == 50
    assert [chunk.ordinal for chunk in found.chunks] == list(range(100, 150))
    assert len((await query(library, page_size=50, offset=240)).chunks) == 10
    assert not (await query(library, offset=250)).chunks


async def test_tokens_lead_through_everything_once(library: Library) -> None:
    seen: list[int] = []
    token = ""
    while True:
        found = await query(library, page_size=60, page_token=token, offset=10)
        seen += [chunk.ordinal for chunk in found.chunks]
        assert found.total_size == 250
        token = found.next_page_token
        if not token:
            break
    assert seen == list(range(10, 250))


async def test_limit_is_capped_at_a_thousand(library: Library) -> None:
    shelf = library.known.shelves[0]
    await library.add(shelf, [make_chunk(f"more {i}", document_id="d2", ordinal=i) for i in range(900)])
    found = await query(library, page_size=5000)
    assert (len(found.chunks), found.total_size) == (1000, 1150)


async def test_siblings_come_whole_and_in_order(library: Library) -> None:
    found = await query(library, where={"section_id": "intro"})
    assert [chunk.text for chunk in found.chunks] == ["part 0", "part 1", "part 2"]
    assert (len(found.chunks), found.total_size) == (3, 3)


async def test_several_fields_mean_and(library: Library) -> None:
    found = await query(library, where={"section_id": "s2", "kind": "p"})
    assert [chunk.ordinal for chunk in found.chunks] == [21, 23, 25, 27, 29]


async def test_operators(library: Library) -> None:
    either = await query(library, where={"$or": [{"section_id": "s1"}, {"section_id": "s3"}]})
    assert either.total_size == 20
    inside = await query(library, where={"section_id": {"$in": ["s1", "s3", "none"]}})
    assert [chunk.id for chunk in inside.chunks] == [chunk.id for chunk in either.chunks]


async def test_nothing_found_is_no_error(library: Library) -> None:
    found = await query(library, where={"section_id": "no such"})
    assert (list(found.chunks), found.total_size) == ([], 0)


async def test_unknown_collection(library: Library) -> None:
    with pytest.raises(NotFound) as error:
        await query(library, collection="nonexistent")
    assert error.value.message == "Collection 'nonexistent' not found"


async def test_filter_that_is_no_json(library: Library) -> None:
    with pytest.raises(InvalidArgument) as error:
        await query(library, where="invalid-json-string")
    assert error.value.message == "Invalid 'where' filter: must be valid JSON"
    assert error.value.reason == "INVALID_FILTER"
