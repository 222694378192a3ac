"""Translates messages that earlier releases stored as bytes into this release's format.

Stored messages keep their field numbers. This module alone translates numbers whose meaning has changed. Two changes
are known: until 2026-11-22 an answer's manifest had other field numbers, and until 2026-11-26 a filter was JSON text in
its own field.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.answer_pb2 import AnswerManifest
from footnote.types.v1.filter_pb2 import Filter, FilterList
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

VERSION = 1
"""Version of the payloads that this release writes; 0 marks payloads that could not be translated."""

_MANIFEST = 7
"""Field number of the manifest in a message."""
_WHERE = {AskRequest: 9, AnswerManifest: 6}
"""Former field number of the filter's JSON text."""
_TEXTS = {1: "question", 2: "query", 5: "provider", 6: "model", 8: "prompt_hash", 9: "template_version"}
_COLLECTION, _SOURCE, _TIME = 4, 10, 11
"""Field numbers in a manifest of the first format, where the prompt's hash is text instead of a message."""
_HASH = re.compile(rb"[0-9a-f]{64}")
_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


def message_of(payload: bytes) -> ConversationMessage:
    """Return a message or a standalone answer in this release's format; raises DecodeError."""
    fields = list(_fields(payload))
    manifest = b"".join(one.value for one in fields if one.number == _MANIFEST and one.wire == _BYTES)
    rest = b"".join(payload[one.start : one.end] for one in fields if one.number != _MANIFEST)
    message = ConversationMessage.FromString(rest)
    if any(one.number == _MANIFEST for one in fields):
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
    fields = [one for one in _fields(manifest) if one.wire == _BYTES]
    if not any(one.number == 8 and _HASH.fullmatch(one.value) for one in fields):
        return None
    translated = AnswerManifest()
    for one in fields:
        if one.number in _TEXTS:
            setattr(translated, _TEXTS[one.number], one.value.decode())
        elif one.number == _COLLECTION:
            translated.collections.append(one.value.decode())
        elif one.number == _SOURCE:
            translated.sources.add().MergeFromString(one.value)
        elif one.number == _TIME:
            translated.create_time.MergeFromString(one.value)
    return translated


def _filter(kept: Any) -> None:
    """Move the old field's JSON text into the filter; where both were given, both apply."""
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


class _Field(NamedTuple):
    """A field inside a payload, from `start` to `end`, with its number before its value."""

    number: int
    wire: int
    start: int
    end: int
    value: bytes


def _fields(payload: bytes) -> Iterator[_Field]:
    """Yield the fields of a message in order. Raises DecodeError."""
    place = 0
    while place < len(payload):
        start = place
        key, place = _varint(payload, place)
        wire, began = key & 7, place
        if wire == _VARINT:
            _, place = _varint(payload, place)
        elif wire == _BYTES:
            length, began = _varint(payload, place)
            place = began + length
        elif wire in (_EIGHT_BYTES, _FOUR_BYTES):
            place += 8 if wire == _EIGHT_BYTES else 4
        else:
            raise DecodeError(f"a field of wire type {wire}")
        if place > len(payload):
            raise DecodeError("a field that is cut")
        yield _Field(key >> 3, wire, start, place, payload[began:place])


def _varint(payload: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(payload) and shift < 70:
        byte = payload[place]
        value, shift, place = value | (byte & 0x7F) << shift, shift + 7, place + 1
        if byte < 0x80:
            return value, place
    raise DecodeError("a number that is cut")
