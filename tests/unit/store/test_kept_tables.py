"""Chunks with many cells come out of the store as they went in, compressed; those written before are still read."""

from __future__ import annotations

import base64

from footnote.stages.v1.passage_pb2 import Chunk
from footnote.types.v1.locator_pb2 import Anchor, Locator, SheetLocator, TextSpan
from footnote.types.v1.table_pb2 import Cell, Table, TableColumn
from footnote_edge.documents.views import chunk_of
from footnote_store.rows import Row, decode_chunk, encode_chunk


def chunk(cells: int) -> Chunk:
    made = Chunk(id="d:000001:0000000", document_id="d", revision=1, text="Stock: 7; " * cells)
    made.tables.append(Table(number=1, columns=[TableColumn(headers=["Stock"])]))
    for at in range(cells):
        place = Locator(sheet=SheetLocator(sheet="Stocks", range=f"B{at + 2}"))
        span = TextSpan(start=at * 10 + 7, end=at * 10 + 8)
        made.anchors.append(Anchor(span=span, locator=place, cell=Cell(row=at + 2, column=1, number=7)))
    return made


def test_many_cells_are_stored_in_less_than_they_take() -> None:
    whole = chunk(80)
    row = encode_chunk(Row(whole, "c:1", [0.0] * 4, ""), 4)
    assert len(row["extra"]) < whole.ByteSize() - len(whole.text)
    assert decode_chunk(row["id"], row["text"], row["extra"]) == whole


def test_what_was_stored_uncompressed_is_read() -> None:
    whole = chunk(80)
    rest = chunk(80)
    rest.ClearField("text")
    assert decode_chunk(whole.id, whole.text, base64.b64encode(rest.SerializeToString()).decode()) == whole


def test_callers_see_the_tables_of_a_chunk() -> None:
    whole = chunk(3)
    seen = chunk_of(whole)
    assert list(seen.tables) == list(whole.tables)
    assert list(seen.anchors) == list(whole.anchors)
