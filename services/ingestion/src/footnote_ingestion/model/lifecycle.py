"""The life cycle of a document: which transitions are legal and what each one records.

UPLOADED -> PROCESSING -> INDEXED or ERROR; INDEXED and ERROR may begin a new revision of the same bytes (reindex), as
edge does to retry. ERROR -> PROCESSING, a retry of the same revision, is legal too. A transition into the current state
changes nothing: a workflow resumed after a crash may repeat itself. A cancel goes from UPLOADED or PROCESSING to ERROR.
The cancelled revision is never resumed, but a new one may begin.
"""

from __future__ import annotations

from dataclasses import dataclass

from footnote.stages.v1.parsing_pb2 import ParsedMetadata
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.collection_pb2 import ChunkingStrategy
from footnote.types.v1.document_pb2 import (
    FAILURE_REASON_CANCELLED,
    ChunkingChoice,
    DocumentState,
    Failure,
    WaitingReason,
)
from footnote_kit.errors import Aborted, FailedPrecondition, InvalidArgument
from google.protobuf.timestamp_pb2 import Timestamp

UPLOADED = DocumentState.DOCUMENT_STATE_UPLOADED
PROCESSING = DocumentState.DOCUMENT_STATE_PROCESSING
INDEXED = DocumentState.DOCUMENT_STATE_INDEXED
ERROR = DocumentState.DOCUMENT_STATE_ERROR
UNSPECIFIED = DocumentState.DOCUMENT_STATE_UNSPECIFIED

_MOVES = frozenset({(UPLOADED, PROCESSING), (PROCESSING, INDEXED), (PROCESSING, ERROR), (ERROR, PROCESSING)})


@dataclass(frozen=True, slots=True)
class Move:
    """A requested transition; the fields are those of UpdateDocumentStateRequest."""

    state: DocumentState.ValueType = UNSPECIFIED
    revision: int = 0
    new_revision: bool = False
    failure: Failure | None = None
    waiting_reason: WaitingReason.ValueType = WaitingReason.WAITING_REASON_UNSPECIFIED
    parsed: ParsedMetadata | None = None
    chunking_strategy: ChunkingStrategy.ValueType = ChunkingStrategy.CHUNKING_STRATEGY_UNSPECIFIED
    chunking_choice: ChunkingChoice.ValueType = ChunkingChoice.CHUNKING_CHOICE_UNSPECIFIED
    chunks_expected: int | None = None
    chunks_stored: int | None = None
    settings_digest: str = ""
    waiting_message: str = ""
    waiting_attempts: int = 0
    next_attempt_time: Timestamp | None = None
    etag: str = ""


def apply(document: Document, move: Move) -> None:
    """Change `document` as `move` says; an illegal transition raises before any change."""
    _check_request(move)
    check_seen(document, move.etag, move.revision)
    _check_move(document, move)
    if move.new_revision:
        begin_revision(document)
    before, after = document.state, move.state or document.state
    document.state = after
    # Another attempt at the same revision begins: until it has come further, the document waits for what it waited for.
    if not (before == move.state == PROCESSING and not move.waiting_reason and not move.new_revision):
        _record_waiting(document, move)
    # A failed revision records nothing that could be taken for the searched one.
    recorded = after != ERROR or not document.indexed_revision
    if move.parsed is not None and recorded:
        _record_parsed(document, move.parsed)
    if move.chunking_strategy and recorded:
        document.chunking_strategy = move.chunking_strategy
        document.chunking_choice = move.chunking_choice
    if move.chunks_expected is not None:
        document.chunks_expected = move.chunks_expected
    if move.chunks_stored is not None:
        document.chunks_stored = move.chunks_stored
    if move.state == PROCESSING:
        document.attempts += 1
    if after == ERROR and move.failure is not None:
        document.failure.CopyFrom(move.failure)
    elif after != ERROR:
        document.ClearField("failure")
    if after == INDEXED and (before != INDEXED or document.indexed_revision != document.revision):
        _record_searched(document, document.revision, move.settings_digest)


def ends_late(document: Document, move: Move) -> bool:
    """Return whether a move says that a revision became searchable before the document's present one did."""
    return move.state == INDEXED and not move.etag and document.indexed_revision < move.revision < document.revision


def record_late_end(document: Document, move: Move) -> None:
    """Record what searches find now; the state and progress remain those of the present revision."""
    if move.parsed is not None:
        _record_parsed(document, move.parsed)
    if move.chunking_strategy:
        document.chunking_strategy = move.chunking_strategy
        document.chunking_choice = move.chunking_choice
    _record_searched(document, move.revision, move.settings_digest)


def begin_revision(document: Document) -> None:
    """Count the revision up and clear its predecessor's progress; the searchable revision stays searchable."""
    document.revision += 1
    document.attempts = 0
    document.chunks_expected = 0
    document.chunks_stored = 0
    _record_waiting(document, Move())
    document.ClearField("failure")


def _record_searched(document: Document, revision: int, settings_digest: str) -> None:
    document.indexed_revision = revision
    document.index_time.GetCurrentTime()
    document.settings_digest = settings_digest


def _record_waiting(document: Document, move: Move) -> None:
    """Record the service that is waited for; a transition without one clears it."""
    document.waiting_reason = move.waiting_reason
    document.waiting_message = move.waiting_message if move.waiting_reason else ""
    document.waiting_attempts = move.waiting_attempts if move.waiting_reason else 0
    document.ClearField("next_attempt_time")
    if move.waiting_reason and move.next_attempt_time is not None:
        document.next_attempt_time.CopyFrom(move.next_attempt_time)


def check_seen(document: Document, etag: str, revision: int) -> None:
    """Raise `Aborted` when the caller refers to an outdated revision or state."""
    if etag and etag != document.etag:
        raise Aborted("The document has changed since it was read; read it again", metadata={"etag": document.etag})
    if revision and revision != document.revision:
        raise Aborted(
            f"The document is at revision {document.revision}, not {revision}",
            metadata={"revision": str(document.revision)},
        )


def _check_request(move: Move) -> None:
    if move.state == ERROR and move.failure is None:
        raise InvalidArgument.field("failure", "is required with state ERROR")
    if move.failure is not None and move.state != ERROR:
        raise InvalidArgument.field("failure", "goes with state ERROR only")
    if move.new_revision and move.state not in (PROCESSING, UPLOADED):
        raise InvalidArgument.field("new_revision", "goes with state PROCESSING or UPLOADED only")
    for name in ("chunks_expected", "chunks_stored"):
        value = getattr(move, name)
        if value is not None and value < 0:
            raise InvalidArgument.field(name, "must not be negative")


def _check_move(document: Document, move: Move) -> None:
    before, after = document.state, move.state
    if is_cancelled(move.failure):
        if before not in (UPLOADED, PROCESSING):
            raise _illegal(before, after, "nothing is being processed that could be cancelled")
        return
    if move.waiting_reason and not after and before in (INDEXED, ERROR):
        raise _illegal(before, before, "it has ended and waits for nothing")
    if move.new_revision:
        if before not in (INDEXED, ERROR):
            raise _illegal(before, after, "its newest revision is still being worked on")
    elif after and is_cancelled(document.failure):
        raise _illegal(before, after, "this revision was cancelled; pass new_revision to index it again")
    elif after not in (UNSPECIFIED, before) and (before, after) not in _MOVES:
        why = "pass new_revision to index it again" if before == INDEXED else ""
        raise _illegal(before, after, why)
    if after != INDEXED:
        return
    expected = document.chunks_expected if move.chunks_expected is None else move.chunks_expected
    stored = document.chunks_stored if move.chunks_stored is None else move.chunks_stored
    if expected != stored or not expected:
        raise _illegal(before, after, f"{stored} of {expected} chunks are stored")


def is_cancelled(failure: Failure | None) -> bool:
    """Return whether a failure is a cancellation."""
    return failure is not None and failure.reason == FAILURE_REASON_CANCELLED


def _illegal(before: DocumentState.ValueType, after: DocumentState.ValueType, why: str) -> FailedPrecondition:
    names = [DocumentState.Name(state).removeprefix("DOCUMENT_STATE_") for state in (before, after)]
    message = f"The document is {names[0]} and cannot become {names[1]}" + (f": {why}" if why else "")
    return FailedPrecondition(message, metadata={"state": names[0], "requested": names[1]})


def _record_parsed(document: Document, parsed: ParsedMetadata) -> None:
    document.title = parsed.title
    document.language = parsed.language
    document.page_count = parsed.page_count
    document.word_count = parsed.word_count
    document.char_count = parsed.char_count
    document.structure.CopyFrom(parsed.structure)
    del document.authors[:]
    document.authors.extend(parsed.authors)
    del document.keywords[:]
    document.keywords.extend(parsed.keywords)
    del document.warnings[:]
    document.warnings.extend(parsed.warnings)
    document.ClearField("file_time")
    if parsed.HasField("file_time"):
        document.file_time.CopyFrom(parsed.file_time)
