"""Stored messages: bytes of a known version, or only their text if the bytes cannot be read."""

from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_EDGE, MessageRole
from footnote_kit.degradations import degradation
from footnote_kit.logs import get_logger
from google.protobuf.message import DecodeError

from footnote_edge.adapters.earlier_payloads import VERSION
from footnote_edge.adapters.tables import MessageRow

_log = get_logger(__name__)
_EFFECT = "This message is shown as its text alone: its sources and checks cannot be read."
_DETAIL = "They were stored by an earlier release, or are damaged; `footnote admin doctor` says how many are."


def message_of_row(row: MessageRow) -> ConversationMessage:
    """Return a conversation's message, or a standalone answer."""
    if row.payload_version == VERSION:
        try:
            return ConversationMessage.FromString(row.payload)
        except DecodeError:
            _log.error("message_not_readable", message_id=row.id)
    message = ConversationMessage(
        id=row.id, conversation_id=row.conversation_id or "", role=MessageRole.ValueType(row.role), text=row.text
    )
    message.create_time.FromDatetime(row.create_time)
    message.degradations.append(degradation(PIPELINE_STAGE_EDGE, "SOURCES_WITHHELD", _EFFECT, _DETAIL))
    return message


def asked_of_row(row: MessageRow) -> AskRequest:
    """Return a question's request; if it cannot be read, a request with its text alone."""
    try:
        return AskRequest.FromString(row.asked or b"")
    except DecodeError:
        _log.error("question_not_readable", message_id=row.id)
        return AskRequest()
