"""Payloads of earlier releases are read as what they meant."""

from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.answer_pb2 import AnswerManifest
from footnote.types.v1.filter_pb2 import COMPARISON_OP_EXISTS, Comparison, Filter, FilterList
from footnote_edge.conversations.payloads import asked_of, message_of_payload

TYPED = Filter(comparison=Comparison(field="a", op=COMPARISON_OP_EXISTS))
TEXT = '{"tags": "hr"}'
BOTH = Filter(**{"and": FilterList(filters=[Filter(json=TEXT), TYPED])})  # type: ignore[arg-type]


def field(number: int, data: bytes) -> bytes:
    """Return a length-delimited field as it travels; numbers and lengths here are below 128."""
    assert number < 16
    assert len(data) < 128
    return bytes([number << 3 | 2, len(data)]) + data


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
    read = message_of_payload(ConversationMessage(id="a").SerializeToString() + field(7, manifest))
    assert (read.id, read.manifest.question, read.manifest.filter) == ("a", "q", BOTH)
    assert message_of_payload(read.SerializeToString()) == read
