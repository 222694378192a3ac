"""Hints for people: one or two sentences on how to resolve each typed failure, shared by all parts.

A part that knows more, such as a parser that has seen the file, sets a failure's `hint` or an error's metadata
instead. This module holds plain values, so that parser workers can import it without the contracts.
"""

FAILURE_HINTS = {
    "UNSPECIFIED": "",
    "PASSWORD_PROTECTED": "Remove the password and upload the file again.",
    "CORRUPT": "Open the file in the program that made it, save it again, and upload that copy.",
    "NO_TEXT": "The file seems to hold pictures or nothing; run OCR on it and upload the result.",
    "TOO_LARGE": "Split the file into smaller ones, or ask the operator to raise the limit.",
    "TIMEOUT": "Split the file into smaller ones, or save it again in a simpler form.",
    "UNSUPPORTED": "Convert it to a format that is read: pdf, docx, pptx, xlsx, csv, html, md or txt.",
    "OUT_OF_MEMORY": "Split the file into smaller ones, or save it again in a simpler form.",
    "PARSER_CRASHED": "Open the file in the program that made it, save it again, and upload that copy.",
    "PARSER_KILLED": "Reindex it later; if it fails again, ask the operator about the machine's memory and load.",
    "EMBEDDING_FAILED": "Check the collection's embedding provider and its key, then reindex the document.",
    "STORE_FAILED": "Reindex the document; if it fails again, look at the vector store.",
    "COLLECTION_INVALID": "Check that the collection exists and its settings are valid, then reindex the document.",
    "INTERNAL": "Upload or reindex it again; if it fails again, report it with the request id or the time.",
    "CANCELLED": "Reindex the document to go on; what was indexed before stays searchable.",
}
"""For the document's uploader, by the name of a `footnote.types.v1.FailureReason` without its prefix."""

_DOWN = "See what is down with: footnote health"
_KEY = "Give a valid key with --api-key or the variable FOOTNOTE_API_KEY."
_SAID = "See the ids of messages with: footnote --json conversations show ID"

ERROR_HINTS = {
    "UNSPECIFIED": "",
    "SCOPE_MISSING": _KEY,
    "CREDENTIALS_INVALID": _KEY,
    "PERMISSION_DENIED": "Ask an administrator of your tenant for a key with a role that may do this.",
    "INVALID_FIELD": "",
    "INVALID_FILTER": "",
    "COLLECTION_NOT_FOUND": "List them with: footnote collections list",
    "EVALUATION_RUN_NOT_FOUND": "List them with: footnote eval runs",
    "SOURCE_NOT_FOUND": "List them with: footnote sources list",
    "SOURCE_EXISTS": "Choose another name, or change that source with: footnote sources update",
    "SOURCE_KEY_MISSING": "Ask the operator to set FOOTNOTE_EDGE_SOURCE_KEY or FOOTNOTE_EDGE_SOURCE_KEY_FILE.",
    "SOURCE_AWAY": "Nothing was deleted; edge retries at the next scheduled time.",
    "SOURCE_REFUSED": "Check the source's settings and secrets with: footnote sources show",
    "SOURCE_LIMIT": "Narrow the source by its settings, or raise its limit.",
    "COLLECTION_EXISTS": "Change it with: footnote collections update",
    "DOCUMENT_NOT_FOUND": "List them with: footnote documents list",
    "CONVERSATION_NOT_FOUND": "List them with: footnote conversations list",
    "FILE_EMPTY": "Check the file and upload it again.",
    "FILE_TOO_LARGE": FAILURE_HINTS["TOO_LARGE"],
    "FILE_UNSUPPORTED": FAILURE_HINTS["UNSUPPORTED"],
    "FILE_PASSWORD_PROTECTED": FAILURE_HINTS["PASSWORD_PROTECTED"],
    "FILE_CORRUPT": FAILURE_HINTS["CORRUPT"],
    "QUOTA_EXCEEDED": "Delete something, or ask the operator to raise the limit: footnote limits set",
    "RATE_LIMITED": "Wait a moment and try again.",
    "ILLEGAL_STATE": "",
    "CONFLICT": "Another change came first; run the command again.",
    "DIMENSION_MISMATCH": "Use vectors of the collection's length, or another collection.",
    "PROVIDER_INVALID": "List them with: footnote providers",
    "PROVIDER_FAILED": "Check its key and address where `footnote serve` runs, or choose another: footnote providers",
    "STORE_UNAVAILABLE": _DOWN,
    "STAGE_UNAVAILABLE": _DOWN,
    "DEADLINE": "Give it more time with --timeout SECONDS, or see what is slow with: footnote health",
    "INTERNAL": "The server's log says more.",
    "TRACE_NOT_FOUND": "Only the latest traces are kept in memory; run the command again with --trace.",
    "SHUTTING_DOWN": "Try again when the server is back.",
    "SCOPE_INVALID": "Ask the operator to check that the services share one secret, and that their clocks agree.",
    "PROVIDER_NOT_ALLOWED": "Leave --provider and --model out, or see docs/models.md.",
    "REQUEST_TOO_LARGE": "Send less in one request.",
    "REQUEST_TOO_SLOW": "Try again over a faster connection, or send less in one request.",
    "TABLE_NOT_FOUND": "List the tables of the document (footnote tables list) and name one of them.",
    "QUERY_TOO_COSTLY": "Ask for less: fewer rows, joins or columns, or a total in place of rows.",
    "WATCH_EXPIRED": "Start a new watch, without a token.",
    "PROVIDER_UNCONFIGURED": "Ask the operator to configure it where `footnote serve` runs, or choose another: "
    "footnote providers",
    "TRANSFER_CORRUPT": "Send the file again.",
    "REQUEST_ID_REUSED": "Use a new request id for a different request.",
    "OWN_VECTORS": "Search it with a vector of your own or by words, and add to it with: footnote vectors add",
    "VECTOR_NOT_FOUND": "List them with: footnote vectors list",
    "ANSWER_NOT_FOUND": _SAID,
    "OPERATION_NOT_FOUND": "List them with: footnote operations list",
    "CHUNK_NOT_FOUND": "List them with: footnote chunks list",
    "REVISION_NOT_FOUND": "Leave --revision out for the file that searches see.",
    "MESSAGE_NOT_FOUND": _SAID,
    "KEY_NOT_FOUND": "List them with: footnote keys list --all",
    "KEYS_OFF": "",
    "LAST_ADMIN_KEY": "Create another administrator key first, or add --force.",
    "AUDIT_UNAVAILABLE": "Ask the operator to examine edge's database: footnote admin doctor",
    "OPERATOR_ONLY": "Ask the operator; see FOOTNOTE_EDGE_OPERATOR_TENANT and `footnote limits --help`.",
}
"""For the caller, by the name of a `footnote.types.v1.ErrorReason` without its prefix, in terms of the command line.
The hint is "" where the message needs no addition."""
