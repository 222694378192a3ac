"""Converts a stage's error to the failure that the uploader sees on the document."""

from footnote.types.v1.document_pb2 import Failure, FailureReason
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
