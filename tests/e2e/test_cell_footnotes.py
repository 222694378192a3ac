"""Questions about single cells in six kinds of files: the footnote names the cell, whatever holds the table."""

import pytest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, DeleteCollectionRequest
from footnote.types.v1.answer_pb2 import VERDICT_SUPPORTED, Answer, Citation
from footnote.types.v1.collection_pb2 import Collection
from support.cell_tables import FILES, Asked
from support.edge_client import EdgeClient

pytestmark = pytest.mark.slow


def is_on(citation: Citation, asked: Asked) -> bool:
    """Whether a footnote names the cell that a question is about, in its fields and in its words."""
    cell = citation.cell
    place = f"cell {asked.place}" if asked.place else f"column '{' › '.join(cell.column_headers)}'"
    return (
        citation.support == VERDICT_SUPPORTED
        and cell.text == asked.value
        and asked.row in cell.row_headers
        and list(cell.column_headers)[-1:] == [asked.column]
        and (not asked.place or citation.locator.sheet.range == asked.place)
        and (place in citation.label)
    )


def supported(answer: Answer) -> list[Citation]:
    return [one for one in answer.citations if one.support == VERDICT_SUPPORTED]


async def test_the_footnote_names_the_cell_in_every_kind_of_file(edge: EdgeClient) -> None:
    await edge.stub.CreateCollection(CreateCollectionRequest(collection=Collection(name="cells")))
    for name, (make, _) in FILES.items():
        await edge.put(make(), name, "cells")
    missed: list[tuple[str, str, list[str]]] = []
    for _, questions in FILES.values():
        for asked in questions:
            answer = (await edge.answer(asked.question, collections=["cells"])).answer
            if asked.value:
                right = asked.value in answer.text and bool(answer.citations) and is_on(answer.citations[0], asked)
            else:
                right = not supported(answer)
            if not right:
                missed.append((asked.question, answer.text, [one.label for one in answer.citations]))
    await edge.stub.DeleteCollection(DeleteCollectionRequest(collection="cells"))
    assert not missed
