"""From a stage's error to the failure that the uploader reads on the document."""

from footnote.types.v1.document_pb2 import Failure, FailureReason
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Unavailable

_BY_ERROR_REASON = {
    "FILE_EMPTY": "NO_TEXT",
    "FILE_TOO_LARGE": "TOO_LARGE",
    "FILE_UNSUPPORTED": "UNSUPPORTED",
    "FILE_PASSWORD_PROTECTED": "PASSWORD_PROTECTED",
    "FILE_CORRUPT": "CORRUPT",
    "PROVIDER_FAILED": "EMBEDDING_FAILED",
    "PROVIDER_INVALID": "EMBEDDING_FAILED",
    "PROVIDER_UNCONFIGURED": "EMBEDDING_FAILED",
    "PROVIDER_NOT_ALLOWED": "COLLECTION_INVALID",
    "DIMENSION_MISMATCH": "COLLECTION_INVALID",
    "COLLECTION_NOT_FOUND": "COLLECTION_INVALID",
    "STORE_UNAVAILABLE": "STORE_FAILED",
    "DEADLINE": "TIMEOUT",
}

_HINTS = {
    "EMBEDDING_FAILED": "Check the collection's embedding provider and its key, then reindex the document.",
    "COLLECTION_INVALID": "Check that the collection exists and its settings are valid, then reindex the document.",
    "STORE_FAILED": "Reindex the document; if it fails again, look at the vector store.",
    "TIMEOUT": "Split the file into smaller ones, or allow more time per document.",
    "INTERNAL": "Reindex the document; if it fails again, report it with the time of the failure.",
    "PASSWORD_PROTECTED": "Remove the password and replace the file.",
    "CORRUPT": "Open the file in its program, save it anew and replace it.",
    "NO_TEXT": "The file holds no text; run OCR over scanned pages and replace it.",
    "TOO_LARGE": "Split the file into smaller ones.",
    "UNSUPPORTED": "Convert the file to a format that is read, for example PDF.",
}


def failure_of(error: FootnoteError) -> Failure:
    """Return the typed failure: as the parser named it where it did, else by the error's reason."""
    name = error.metadata.get("failure_reason", "") or _BY_ERROR_REASON.get(error.reason, "")
    if not name and isinstance(error, DeadlineExceeded):
        name = "TIMEOUT"
    if not name and isinstance(error, Unavailable):
        name = "STORE_FAILED"
    full = f"FAILURE_REASON_{name}"
    if full not in FailureReason.keys():  # noqa: SIM118 - an enum wrapper, not a dict
        name, full = "INTERNAL", "FAILURE_REASON_INTERNAL"
    hint = error.metadata.get("hint", "") or _HINTS.get(name, "")
    return Failure(reason=FailureReason.Value(full), message=error.message, hint=hint)
