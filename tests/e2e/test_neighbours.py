"""Hits with their neighbours and in place of children: what the model reads, and where its footnotes point."""

import pytest
from footnote.edge.v1 import collections_pb2 as pb
from footnote.types.v1 import collection_pb2 as col
from support.edge_client import EdgeClient

pytestmark = pytest.mark.slow

SUBJECTS = ("crane", "lathe", "furnace", "press", "mill", "saw", "drill", "forge")
PARAGRAPHS = [
    f"The manual of the {subject} of hall {number} has {70 + number} pages, was printed in Turin and lies in a drawer."
    for number, subject in enumerate(SUBJECTS, start=1)
]
QUESTION = "How many pages does the manual of the furnace of hall 3 have?"


async def collection(edge: EdgeClient, name: str, **chunking: bool | int) -> None:
    settings = col.CollectionSettings(
        chunking=col.ChunkingSettings(
            strategy=col.CHUNKING_STRATEGY_PARAGRAPH, size=130, overlap_percent=0, contextual_header=False, **chunking
        )
    )
    await edge.stub.CreateCollection(
        pb.CreateCollectionRequest(collection=col.Collection(name=name, settings=settings))
    )
    assert (await edge.put("\n\n".join(PARAGRAPHS).encode(), "machines.txt", collection=name)).chunk_count > 0


async def test_neighbours_stand_around_their_hit_and_footnotes_still_find_their_lines(edge: EdgeClient) -> None:
    await collection(edge, "machines")
    alone = col.RetrievalSettings(limit=1)
    wide = col.RetrievalSettings(limit=1, neighbors=1)
    (plain,) = (await edge.answer(QUESTION, collections=["machines"], retrieval=alone)).sources
    done = await edge.answer(QUESTION, collections=["machines"], retrieval=wide)
    (source,) = done.sources
    assert plain.text == PARAGRAPHS[2]
    assert source.text.split() == " ".join(PARAGRAPHS[1:4]).split()
    assert source.chunk_id == plain.chunk_id
    assert (source.locator.lines.first_line, source.locator.lines.last_line) == (3, 7)
    citation = done.answer.citations[0]
    assert "73 pages" in citation.quote
    assert (citation.locator.lines.first_line, citation.locator.lines.last_line) == (5, 5)
    assert citation.locator.span.start - source.locator.span.start == citation.quote_span.start


async def test_parents_stand_in_place_of_their_children(edge: EdgeClient) -> None:
    await collection(edge, "machines with parents", parent_child=True, parent_size=400, child_size=120)
    parents = col.RetrievalSettings(limit=1, resolve_parents=True)
    done = await edge.answer(QUESTION, collections=["machines with parents"], retrieval=parents)
    (source,) = done.sources
    assert "hall 3" in source.text
    assert len(source.text) > 200
    assert PARAGRAPHS[2] in " ".join(source.text.split())
