"""Payloads of earlier releases are read as what they meant."""

from datetime import UTC, datetime

import pytest
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.answer_pb2 import DEGRADATION_REASON_SOURCES_WITHHELD, AnswerManifest, ManifestSource
from footnote.types.v1.filter_pb2 import COMPARISON_OP_EXISTS, Comparison, Filter, FilterList
from footnote_edge.adapters.earlier_payloads import VERSION, asked_of, ids_in, message_of
from footnote_edge.adapters.messages import asked_of_row, message_of_row
from footnote_edge.adapters.tables import MessageRow
from google.protobuf.message import DecodeError

TYPED = Filter(comparison=Comparison(field="a", op=COMPARISON_OP_EXISTS))
DOCUMENT = "5631fb234506455a98ae3519df182328"
TEXT = '{"tags": "hr"}'
BOTH = Filter(**{"and": FilterList(filters=[Filter(json=TEXT), TYPED])})  # type: ignore[arg-type]


def field(number: int, data: bytes) -> bytes:
    """Return a length-delimited field as it travels; numbers here are below 16, lengths below 16384."""
    assert number < 16
    assert len(data) < 1 << 14
    length = bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 0x7F | 0x80, len(data) >> 7])
    return bytes([number << 3 | 2]) + length + data


def test_a_question_keeps_the_filter_that_it_was_asked_with() -> None:
    old = field(9, TEXT.encode())
    for more, wanted in ((AskRequest(), Filter(json=TEXT)), (AskRequest(filter=TYPED), BOTH)):
        read = asked_of(more.SerializeToString() + old)
        assert read.filter == wanted
        assert asked_of(read.SerializeToString()) == read, "read again it is the same"
    assert not asked_of(None).HasField("filter")
    assert asked_of(AskRequest(filter=TYPED).SerializeToString()).filter == TYPED


def test_an_answer_keeps_the_filter_that_it_came_of() -> None:
    manifest = AnswerManifest(question="q", filter=TYPED).SerializeToString() + field(6, TEXT.encode())
    read = message_of(ConversationMessage(id="a").SerializeToString() + field(7, manifest))
    assert (read.id, read.manifest.question, read.manifest.filter) == ("a", "q", BOTH)
    assert message_of(read.SerializeToString()) == read


def first_manifest(settings: bytes = b"\xff") -> bytes:
    """Return a manifest as the first release stored it: its settings are where ids are today."""
    source = ManifestSource(chunk_id=f"{DOCUMENT}:000001:0000000", document_id=DOCUMENT).SerializeToString()
    texts = {1: b"q", 3: b"raw", 4: b"river", 5: b"builtin", 6: b"extractive-1", 7: settings, 8: b"a1" * 32, 9: b"en/1"}
    return b"".join(field(number, value) for number, value in texts.items()) + field(10, source)


def test_a_manifest_of_the_first_release_is_translated() -> None:
    bare = ConversationMessage(id="a", text="said", trace_id="t").SerializeToString()
    read = message_of(bare + field(7, first_manifest()))
    assert (read.id, read.text, read.trace_id) == ("a", "said", "t")
    manifest = read.manifest
    assert (manifest.question, list(manifest.collections), manifest.provider) == ("q", ["river"], "builtin")
    assert (manifest.model, manifest.prompt_hash, manifest.template_version) == ("extractive-1", "a1" * 32, "en/1")
    assert [one.document_id for one in manifest.sources] == [DOCUMENT]
    assert message_of(read.SerializeToString()) == read


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_what_cannot_be_translated_is_refused_and_its_documents_are_known(cut: int) -> None:
    whole = ConversationMessage(id="a").SerializeToString() + field(7, first_manifest())
    with pytest.raises((DecodeError, UnicodeDecodeError)):
        message_of(whole[:-cut])
    assert DOCUMENT in ids_in(whole[:-cut] + b"\xff")


@pytest.mark.parametrize(("version", "payload"), [(0, b"\xff\xff"), (VERSION, b"\xff\xff"), (0, b"")])
def test_a_message_that_cannot_be_read_is_its_text(version: int, payload: bytes) -> None:
    row = MessageRow(
        id="a", conversation_id="c", role=3, text="The heron eats frogs [1].", payload=payload, payload_version=version,
        create_time=datetime(2026, 11, 21, tzinfo=UTC), asked=b"\xff\xff",
    )  # fmt: skip
    read = message_of_row(row)
    assert (read.id, read.conversation_id, read.role, read.text) == ("a", "c", 3, row.text)
    assert [one.reason for one in read.degradations] == [DEGRADATION_REASON_SOURCES_WITHHELD]
    assert asked_of_row(row) == AskRequest()
