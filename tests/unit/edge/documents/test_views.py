"""What callers see of documents and chunks is what the rows say, and nothing that is the stages' own."""

import pytest
from footnote.edge.v1 import chunks_pb2, documents_pb2
from footnote.stages.v1 import passage_pb2, stored_document_pb2
from footnote_edge.documents.views import chunk_of, document_of, scored_of
from footnote_kit.origins import with_origin
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from support.filled_messages import filled

OWN = {
    "Document": {"tenant_id", "attempts", "structure", "chunks_expected", "chunks_stored", "settings_digest"},
    "Chunk": {"tenant_id", "owner_id"},
}
"""Fields of rows that callers do not see."""
ELSEWHERE = {"chunk_count": "chunks_stored"}


ORIGIN = {
    "id": "s",
    "kind": "git",
    "item": "a.md",
    "version": "1",
    "address": "https://example.org/a.md",
    "time": "2026-01-01T00:00:00+00:00",
}


def document() -> tuple[Message, Message]:
    row = filled(stored_document_pb2.Document)
    row.metadata.CopyFrom(with_origin(row.metadata, ORIGIN))
    return row, document_of(row, "the collection's name")


def chunk() -> tuple[Message, Message]:
    row = filled(passage_pb2.Chunk)
    row.metadata.CopyFrom(with_origin(row.metadata, ORIGIN))
    return row, chunk_of(row)


@pytest.mark.parametrize("make", [document, chunk])
def test_every_public_field_is_filled_from_the_row(make) -> None:  # type: ignore[no-untyped-def]
    row, public = make()
    there, shown = (MessageToDict(one, preserving_proto_field_name=True) for one in (row, public))
    assert set(shown) == {field.name for field in public.DESCRIPTOR.fields}, "a field is never filled"
    source, own = shown.pop("source"), there["metadata"]
    assert (source["source_id"], source["item"], source["address"]) == ("s", "a.md", "https://example.org/a.md")
    assert own.pop("footnote_source") == ORIGIN
    for name, value in shown.items():
        if (public.DESCRIPTOR.name, name) == ("Document", "collection"):
            assert value == "the collection's name"
        else:
            assert value == there[ELSEWHERE.get(name, name)], name


@pytest.mark.parametrize("make", [document, chunk])
def test_what_is_the_stages_own_is_not_shown(make) -> None:  # type: ignore[no-untyped-def]
    row, public = make()
    hidden = {one.name for one in row.DESCRIPTOR.fields} - {one.name for one in public.DESCRIPTOR.fields}
    assert hidden == OWN[public.DESCRIPTOR.name]


def test_a_scored_chunk_keeps_its_scores_and_neighbours() -> None:
    row = filled(passage_pb2.ScoredChunk)
    public = scored_of(row)
    assert {field.name for field, _ in public.ListFields()} == {one.name for one in public.DESCRIPTOR.fields}
    assert [one.id for one in public.neighbors] == [one.id for one in row.neighbors]
    assert (public.score, public.channels, public.adjustments) == (row.score, row.channels, row.adjustments)


def test_no_public_message_holds_a_row() -> None:
    """A row in a public message would show a caller what is the stages' own."""
    rows = {"footnote.stages.v1.Document", "footnote.stages.v1.Chunk", "footnote.stages.v1.ScoredChunk"}
    for module in (documents_pb2, chunks_pb2):
        for message in module.DESCRIPTOR.message_types_by_name.values():
            used = {field.message_type.full_name for field in message.fields if field.message_type}
            assert not used & rows, message.full_name
