"""Builds the final state of a document: INDEXED, or ERROR with the failure that its uploader sees."""

from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.parsing_pb2 import ParsedMetadata
from footnote.types.v1.collection_pb2 import ChunkingStrategy
from footnote.types.v1.document_pb2 import (
    DOCUMENT_STATE_INDEXED,
    FAILURE_REASON_NO_TEXT,
    FAILURE_REASON_STORE_FAILED,
    ChunkingChoice,
    Failure,
    FailureReason,
)
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Unavailable
from footnote_kit.hints import FAILURE_HINTS

_BY_ERROR_REASON = {
    "FILE_EMPTY": "NO_TEXT",
    "FILE_TOO_LARGE": "TOO_LARGE",
    "FILE_UNSUPPORTED": "UNSUPPORTED",
    "FILE_PASSWORD_PROTECTED": "PASSWORD_PROTECTED",
    "FILE_CORRUPT": "CORRUPT",
    "PROVIDER_FAILED": "EMBEDDING_FAILED",
    "PROVIDER_INVALID": "EMBEDDING_FAILED",
    "PROVIDER_NOT_ALLOWED": "COLLECTION_INVALID",
    "DIMENSION_MISMATCH": "COLLECTION_INVALID",
    "COLLECTION_NOT_FOUND": "COLLECTION_INVALID",
    "STORE_UNAVAILABLE": "STORE_FAILED",
    "DEADLINE": "TIMEOUT",
}


def failure_of(error: FootnoteError) -> Failure:
    """Return the typed failure: the parser's own reason if it gave one, else the error's."""
    name = error.metadata.get("failure_reason", "") or _BY_ERROR_REASON.get(error.reason, "")
    if not name and isinstance(error, DeadlineExceeded):
        name = "TIMEOUT"
    if not name and isinstance(error, Unavailable):
        name = "STORE_FAILED"
    full = f"FAILURE_REASON_{name}"
    if full not in FailureReason.keys():  # noqa: SIM118 - an enum wrapper, not a dict
        name, full = "INTERNAL", "FAILURE_REASON_INTERNAL"
    hint = error.metadata.get("hint", "") or FAILURE_HINTS[name]
    return Failure(reason=FailureReason.Value(full), message=error.message, hint=hint)


def end_with(
    request: ingestion.UpdateDocumentStateRequest, metadata: ParsedMetadata, result: indexing.IndexResult
) -> None:
    """Fill a document's final move, which the caller begins as ERROR, with what parsing and indexing found.

    It becomes INDEXED, or gets the failure. In a group a move to PROCESSING stays one, and its failure is not recorded.
    """
    request.parsed.CopyFrom(metadata)
    # Values of a later version are left out: ingestion would refuse them.
    if result.chunking_strategy in ChunkingStrategy.values():
        request.chunking_strategy = result.chunking_strategy
    if result.chunking_choice in ChunkingChoice.values():
        request.chunking_choice = result.chunking_choice
    request.chunks_expected = result.chunks_expected
    request.chunks_stored = result.chunks_stored
    request.settings_digest = result.settings_digest
    if not result.chunks_expected:
        request.failure.CopyFrom(_no_text())
    elif result.chunks_expected != result.chunks_stored:
        request.failure.CopyFrom(_incomplete(result))
    else:
        request.state = DOCUMENT_STATE_INDEXED


def _no_text() -> Failure:
    return Failure(
        reason=FAILURE_REASON_NO_TEXT,
        message="The file holds no text that could be indexed.",
        hint=FAILURE_HINTS["NO_TEXT"],
    )


def _incomplete(result: indexing.IndexResult) -> Failure:
    return Failure(
        reason=FAILURE_REASON_STORE_FAILED,
        message=f"Only {result.chunks_stored} of {result.chunks_expected} chunks were stored.",
        hint=FAILURE_HINTS["STORE_FAILED"],
    )
