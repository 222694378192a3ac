"""Messages as they are kept: payloads of earlier releases are read as what they meant.

Fields keep their numbers in messages that are stored as bytes; a number that has another meaning today is translated
here, and nowhere else. Until 2026-11-26 a filter was JSON text in a field of its own, beside the typed one.
"""

from typing import Any

from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.answer_pb2 import AnswerManifest
from footnote.types.v1.filter_pb2 import Filter, FilterList
from google.protobuf.unknown_fields import UnknownFieldSet

_WHERE = {AskRequest: 9, AnswerManifest: 6}
"""The number that the filter's JSON text had."""


def asked_of(payload: bytes | None) -> AskRequest:
    """Return what a question was asked with."""
    asked = AskRequest.FromString(payload or b"")
    _filter(asked)
    return asked


def message_of_payload(payload: bytes) -> ConversationMessage:
    """Return a message of a conversation, or an answer outside of one."""
    message = ConversationMessage.FromString(payload)
    if message.HasField("manifest"):
        _filter(message.manifest)
    return message


def _filter(kept: Any) -> None:
    """Put JSON text that stands in the old field into the filter; where both were given, both hold."""
    number = _WHERE[type(kept)]
    unknown: Any = UnknownFieldSet(kept)
    texts = [one.data for one in unknown if one.field_number == number]
    if not texts or not texts[-1]:
        return
    json = Filter(json=texts[-1].decode())
    kept.DiscardUnknownFields()
    if kept.HasField("filter"):
        json = Filter(**{"and": FilterList(filters=[json, kept.filter])})  # type: ignore[arg-type]
    kept.filter.CopyFrom(json)
