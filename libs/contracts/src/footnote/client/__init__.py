"""Python client of a Footnote deployment, sync and async: every RPC of the public API, typed.

`Client` and `AsyncClient` have a typed stub for each noun (`client.collections.GetCollection(request)`), and `ask`,
`answer`, `upload`, `upload_many` and `watch` for tasks of several steps. Every call has a deadline, and calls that are
safe to repeat are retried. Failures are the classes below, with the contract's `reason` and a `hint`.
"""

from footnote_kit.errors import (
    Aborted,
    AlreadyExists,
    DeadlineExceeded,
    FailedPrecondition,
    FootnoteError,
    Internal,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)

from footnote.client.asynchronous import AsyncClient
from footnote.client.connection import KeyProblem
from footnote.client.failures import Closed, Unimplemented
from footnote.client.repeating import Retry
from footnote.client.synchronous import Client
from footnote.client.uploads import UploadResult

__all__ = [
    "Aborted",
    "AlreadyExists",
    "AsyncClient",
    "Client",
    "Closed",
    "DeadlineExceeded",
    "FailedPrecondition",
    "FootnoteError",
    "Internal",
    "InvalidArgument",
    "KeyProblem",
    "NotFound",
    "PermissionDenied",
    "ResourceExhausted",
    "Retry",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "UploadResult",
]
