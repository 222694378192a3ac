"""Converts rows of the documents table to `Document` messages and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from footnote.stages.v1.parsing_pb2 import Structure
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.collection_pb2 import ChunkingStrategy
from footnote.types.v1.document_pb2 import (
    ChunkingChoice,
    DocumentState,
    Failure,
    FailureReason,
    WaitingReason,
    WarningKind,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.timestamp_pb2 import Timestamp
from sqlalchemy import RowMapping

from footnote_ingestion.model.values import Stored

_STATE = "DOCUMENT_STATE_"
_WAITING = "WAITING_REASON_"
_STRATEGY = "CHUNKING_STRATEGY_"
_CHOICE = "CHUNKING_CHOICE_"
_REASON = "FAILURE_REASON_"
_OTHER = WarningKind.Name(WarningKind.WARNING_KIND_OTHER)
_PLAIN = (
    *("id", "collection_id", "tenant_id", "owner_id", "filename", "mime_type", "document_type", "source_type"),
    *("size_bytes", "sha256", "revision", "indexed_revision", "attempts", "title", "language"),
    *("page_count", "word_count", "char_count", "chunks_expected", "chunks_stored"),
    *("settings_digest", "waiting_message", "waiting_attempts"),
)
_LISTS = ("authors", "keywords", "tags")
_TIMES = ("create_time", "update_time", "index_time", "file_time", "expire_time", "next_attempt_time")


def state_name(state: DocumentState.ValueType) -> str:
    """Return a state's name without prefix, as in the table."""
    return DocumentState.Name(state).removeprefix(_STATE)


def to_row(stored: Stored) -> dict[str, Any]:
    """Convert a document to a row."""
    document = stored.document
    row: dict[str, Any] = {name: getattr(document, name) for name in _PLAIN}
    row |= {name: list(getattr(document, name)) for name in _LISTS}
    row |= {name: _micros(document, name) for name in _TIMES}
    failed = document.HasField("failure")
    row |= {
        "filename_folded": document.filename.casefold(),
        "state": state_name(document.state),
        "waiting_reason": _name(WaitingReason, _WAITING, document.waiting_reason),
        "chunking_strategy": _name(ChunkingStrategy, _STRATEGY, document.chunking_strategy),
        "chunking_choice": _name(ChunkingChoice, _CHOICE, document.chunking_choice),
        "failure_reason": FailureReason.Name(document.failure.reason).removeprefix(_REASON) if failed else "",
        "failure_message": document.failure.message,
        "failure_hint": document.failure.hint,
        "structure": MessageToDict(document.structure, preserving_proto_field_name=True),
        "metadata": MessageToDict(document.metadata),
        "warnings": [one.text for one in document.warnings],
        "reading_warnings": [MessageToDict(one, preserving_proto_field_name=True) for one in document.warnings],
        "version": stored.version,
        "blob_key": stored.blob_key,
        "parsed_key": stored.parsed_key,
        "replacement": _replacement(document),
        "replacement_sha256": document.replacement.sha256,
        "replacement_bytes": document.replacement.size_bytes,
        "searched_key": stored.searched_key,
        "first_revision": stored.first_revision,
        "last_revision": stored.last_revision,
    }
    return row


def from_row(row: Mapping[str, Any] | RowMapping) -> Stored:
    """Convert a row to a document."""
    document = Document(**{name: row[name] for name in (*_PLAIN, *_LISTS)})
    document.state = DocumentState.Value(_STATE + row["state"])
    document.waiting_reason = _value(WaitingReason, _WAITING, row["waiting_reason"])
    document.chunking_strategy = _value(ChunkingStrategy, _STRATEGY, row["chunking_strategy"])
    document.chunking_choice = _value(ChunkingChoice, _CHOICE, row["chunking_choice"])
    document.etag = str(row["version"])
    if row["structure"]:
        document.structure.CopyFrom(ParseDict(row["structure"], Structure(), ignore_unknown_fields=True))
    if row["metadata"]:
        document.metadata.update(row["metadata"])
    # Documents parsed before warnings had kinds have only their texts.
    for one in row["reading_warnings"] or [{"kind": _OTHER, "text": text} for text in row["warnings"]]:
        ParseDict(one, document.warnings.add(), ignore_unknown_fields=True)
    if row["failure_reason"]:
        reason = FailureReason.Value(_REASON + row["failure_reason"])
        document.failure.CopyFrom(Failure(reason=reason, message=row["failure_message"], hint=row["failure_hint"]))
    for name in _TIMES:
        if row[name] is not None:
            getattr(document, name).CopyFrom(timestamp(row[name]))
    if row["replacement"]:
        ParseDict(row["replacement"], document.replacement, ignore_unknown_fields=True)
        document.replacement.last_revision = document.revision
    kept = {name: row[name] for name in ("searched_key", "first_revision", "last_revision")}
    return Stored(document, row["blob_key"], row["parsed_key"], row["version"], **kept)


def _replacement(document: Document) -> dict[str, Any] | None:
    if not document.HasField("replacement"):
        return None
    return MessageToDict(document.replacement, preserving_proto_field_name=True)


def _name(enum: Any, prefix: str, value: int) -> str:
    return str(enum.Name(value)).removeprefix(prefix) if value else ""


def _value(enum: Any, prefix: str, name: str) -> Any:
    """Return a value by its name in the table, 0 for none and for a name unknown to this version."""
    return enum.Value(prefix + name) if prefix + name in enum.keys() else 0  # noqa: SIM118 - an enum wrapper


def timestamp(micros: int) -> Timestamp:
    """Convert microseconds since 1970 to a protobuf timestamp."""
    return Timestamp(seconds=micros // 1_000_000, nanos=micros % 1_000_000 * 1000)


def micros(moment: Timestamp) -> int:
    """Convert a protobuf timestamp to microseconds since 1970."""
    return moment.seconds * 1_000_000 + moment.nanos // 1000


def _micros(document: Document, name: str) -> int | None:
    return micros(getattr(document, name)) if document.HasField(name) else None  # type: ignore[arg-type]
