"""What readers of a shared conversation get of a message."""

from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote_edge.conversations.sharing import bare
from google.protobuf.message import Message
from support.filled_messages import filled


def test_a_reader_gets_what_was_said_and_nothing_of_how_it_was_made() -> None:
    message = filled(ConversationMessage)
    read = bare(message)
    assert _lacking(message, read) == {
        "conversation_id", "manifest", "trace_id", "degradations", "superseded_by", "versions"
    }  # fmt: skip
    assert _lacking(message.answer, read.answer) == {"provider", "model", "usage", "warnings"}
    assert _lacking(message.answer.computation, read.answer.computation) == {"query", "model"}
    assert not bare(ConversationMessage(text="tea ?")).HasField("answer")


def _lacking(whole: Message, part: Message) -> set[str]:
    return {field.name for field, _ in whole.ListFields()} - {field.name for field, _ in part.ListFields()}
