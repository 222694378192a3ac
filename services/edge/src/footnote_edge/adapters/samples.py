"""Samples of the bytes that the database stores, for checks that they can be read."""

from collections.abc import Callable

from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.collection_pb2 import Collection
from footnote_database.storage import Sample, readable
from google.rpc.status_pb2 import Status

from footnote_edge.adapters.earlier_payloads import VERSION


def _message(version: int, payload: bytes) -> None:
    if version != VERSION:
        raise ValueError(f"version {version}")
    readable(ConversationMessage)(payload)


def _sample(name: str, query: str, read: Callable[..., None], effect: str) -> Sample:
    return Sample(database="edge", name=name, query=query, read=read, effect=effect)


_FAILURES = "Calls that show them fail."
SAMPLES = (
    _sample(
        "messages",
        "SELECT payload_version, payload FROM messages ORDER BY sequence DESC",
        _message,
        "These messages are shown as their text alone, without sources and checks.",
    ),
    _sample(
        "questions",
        "SELECT asked FROM messages WHERE asked IS NOT NULL ORDER BY sequence DESC",
        readable(AskRequest),
        "These questions are asked again without their filter and settings.",
    ),
    _sample(
        "failures of operations",
        "SELECT error FROM operations WHERE error <> x'' ORDER BY rowid DESC",
        readable(Status),
        _FAILURES,
    ),
    _sample(
        "failures of sources",
        "SELECT error FROM sources WHERE error <> x'' ORDER BY rowid DESC",
        readable(Status),
        _FAILURES,
    ),
    _sample(
        "remembered collections",
        "SELECT payload FROM known_collections ORDER BY rowid DESC",
        readable(Collection),
        "They are asked for once more when they are next used.",
    ),
)
