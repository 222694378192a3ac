"""Translates messages that earlier releases stored as bytes into this release's format.

Stored messages keep their field numbers. This module alone translates numbers whose meaning has changed. Two changes
are known: until 2026-11-22 an answer's manifest had other field numbers, and until 2026-11-26 a filter was JSON text in
its own field.
"""

import re
from typing import Any

from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.answer_pb2 import AnswerManifest
from footnote.types.v1.filter_pb2 import Filter, FilterList
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

VERSION = 1
"""Version of the payloads that this release writes; 0 marks payloads that could not be translated."""

_WHERE = {AskRequest: 9, AnswerManifest: 6}
"""Former field number of the filter's JSON text."""
_TEXTS = {1: "question", 2: "query", 5: "provider", 6: "model", 8: "prompt_hash", 9: "template_version"}
_COLLECTION, _SOURCE, _TIME = 4, 10, 11
"""Field numbers in a manifest of the first format, where the prompt's hash is text instead of a message."""
_HASH = re.compile(rb"[0-9a-f]{64}")
_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
_FILE = FileDescriptorProto(name="footnote/edge/stored.proto", package="footnote.edge", syntax="proto3")
_FILE.message_type.add(name="Stored").field.add(
    name="manifest", number=7, type=FieldDescriptorProto.TYPE_BYTES, label=FieldDescriptorProto.LABEL_REPEATED
)
_POOL = DescriptorPool()
_POOL.AddSerializedFile(_FILE.SerializeToString())
_STORED: Any = GetMessageClass(_POOL.FindMessageTypeByName("footnote.edge.Stored"))
"""A message whose manifest is not read yet; all its other fields are unknown to it, and stay."""


def message_of(payload: bytes) -> ConversationMessage:
    """Return a message or a standalone answer in this release's format; raises DecodeError."""
    stored = _STORED.FromString(payload)
    found, manifest = len(stored.manifest), b"".join(stored.manifest)
    stored.ClearField("manifest")
    message = ConversationMessage.FromString(stored.SerializeToString())
    if found:
        message.manifest.CopyFrom(_first(manifest) or AnswerManifest.FromString(manifest))
        _filter(message.manifest)
    return message


def asked_of(payload: bytes | None) -> AskRequest:
    """Return the request of a question in this release's format; raises DecodeError."""
    asked = AskRequest.FromString(payload or b"")
    _filter(asked)
    return asked


def ids_in(payload: bytes) -> set[str]:
    """Return every value that may be a document id in an unreadable payload: too many rather than too few."""
    return {found.decode() for found in _ID.findall(payload)}


def _first(manifest: bytes) -> AnswerManifest | None:
    """Translate a manifest of the first format; None for any other. Drops its settings, which were free text."""
    unknown: Any = UnknownFieldSet(Empty.FromString(manifest))
    fields = [(one.field_number, one.data) for one in unknown if isinstance(one.data, bytes)]
    if not any(number == 8 and _HASH.fullmatch(data) for number, data in fields):
        return None
    translated = AnswerManifest()
    for number, data in fields:
        if number in _TEXTS:
            setattr(translated, _TEXTS[number], data.decode())
        elif number == _COLLECTION:
            translated.collections.append(data.decode())
        elif number == _SOURCE:
            translated.sources.add().MergeFromString(data)
        elif number == _TIME:
            translated.create_time.MergeFromString(data)
    return translated


def _filter(kept: Any) -> None:
    """Move the old field's JSON text into the filter; where both were given, both apply."""
    number = _WHERE[type(kept)]
    unknown: Any = UnknownFieldSet(kept)
    texts = [one.data for one in unknown if one.field_number == number and isinstance(one.data, bytes)]
    if not texts or not texts[-1]:
        return
    json = Filter(json=texts[-1].decode())
    kept.DiscardUnknownFields()
    if kept.HasField("filter"):
        json = Filter(**{"and": FilterList(filters=[json, kept.filter])})  # type: ignore[arg-type]
    kept.filter.CopyFrom(json)
