"""The one hierarchy of errors that services raise; it imports no grpc, so that logic can use it freely."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, NamedTuple, Self

from footnote_kit.hints import ERROR_HINTS
from footnote_kit.redact import redact

MAX_BYTES = 1000
"""The longest message. Messages travel in headers, for which callers accept some kilobytes; quoted names may be
longer."""


class FieldViolation(NamedTuple):
    """One invalid field of a request: its path, such as `settings.chunk_size`, and what is wrong with it."""

    field: str
    description: str


class FootnoteError(Exception):
    """A failure with a meaning for the caller; it crosses the wire as a rich gRPC status and keeps its class.

    `reason` names a value of `footnote.types.v1.ErrorReason` without its prefix. `metadata` holds a few words for
    programs, `violations` the invalid fields, `retry_after` the seconds to wait before the next attempt.

    People see the message, so it contains no document text. The constructor removes this process's secrets, once for
    status, log, span, degradation and document failure. Text from a provider passes through here too.
    """

    code: ClassVar[str] = "UNKNOWN"
    default_reason: ClassVar[str] = "INTERNAL"

    def __init__(
        self,
        message: str,
        *,
        reason: str | None = None,
        metadata: Mapping[str, str] | None = None,
        violations: Iterable[tuple[str, str]] = (),
        retry_after: float | None = None,
    ) -> None:
        self.message = _safe(message)
        super().__init__(self.message)
        self.reason = reason or self.default_reason
        self.metadata = {key: _safe(value) for key, value in (metadata or {}).items()}
        self.violations = tuple(FieldViolation(_bounded(field), _safe(problem)) for field, problem in violations)
        self.retry_after = retry_after

    @property
    def hint(self) -> str:
        """Return what a person can do about the error; "" where the message is enough."""
        return self.metadata.get("hint") or ERROR_HINTS.get(self.reason, "")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r}, reason={self.reason!r})"


def _safe(text: str) -> str:
    return _bounded(redact(text))


def _bounded(text: str) -> str:
    """Return the text cut to at most MAX_BYTES in UTF-8, with an ellipsis where it was cut."""
    if len(text) <= MAX_BYTES // 4:
        return text
    encoded = text.encode("utf-8", "replace")
    return text if len(encoded) <= MAX_BYTES else encoded[: MAX_BYTES - 3].decode("utf-8", "ignore") + "…"


class InvalidArgument(FootnoteError):
    """The request is invalid, whatever the state of the system."""

    code = "INVALID_ARGUMENT"
    default_reason = "INVALID_FIELD"

    @classmethod
    def field(cls, name: str, problem: str) -> Self:
        """Return the error for one invalid field; `problem` follows its name, as in "must be between 1 and 100"."""
        return cls(f"{name} {problem}", violations=[FieldViolation(name, problem)])


class Unauthenticated(FootnoteError):
    """The caller is not authenticated."""

    code = "UNAUTHENTICATED"
    default_reason = "CREDENTIALS_INVALID"


class PermissionDenied(FootnoteError):
    """The caller is authenticated and may not do this."""

    code = "PERMISSION_DENIED"
    default_reason = "PERMISSION_DENIED"


class NotFound(FootnoteError):
    """The named object does not exist, or not for this caller; `reason` names its kind."""

    code = "NOT_FOUND"

    def __init__(self, message: str, *, reason: str, metadata: Mapping[str, str] | None = None) -> None:
        super().__init__(message, reason=reason, metadata=metadata)


class AlreadyExists(FootnoteError):
    """An object of that name already exists."""

    code = "ALREADY_EXISTS"
    default_reason = "COLLECTION_EXISTS"


class FailedPrecondition(FootnoteError):
    """The system is not in the required state; a retry fails until that changes."""

    code = "FAILED_PRECONDITION"
    default_reason = "ILLEGAL_STATE"


class Aborted(FootnoteError):
    """A concurrent change came first; read again and repeat."""

    code = "ABORTED"
    default_reason = "CONFLICT"


class ResourceExhausted(FootnoteError):
    """A quota or rate limit is reached."""

    code = "RESOURCE_EXHAUSTED"
    default_reason = "QUOTA_EXCEEDED"


class Unavailable(FootnoteError):
    """A dependency does not respond at the moment; a later retry may succeed."""

    code = "UNAVAILABLE"
    default_reason = "STAGE_UNAVAILABLE"


class DeadlineExceeded(FootnoteError):
    """The deadline passed."""

    code = "DEADLINE_EXCEEDED"
    default_reason = "DEADLINE"


class Internal(FootnoteError):
    """A defect in this project; the log has details under the same request id."""

    code = "INTERNAL"
    default_reason = "INTERNAL"


class NotOffered(Internal):
    """The called stage does not implement the call: another implementation may omit it, or another release."""
