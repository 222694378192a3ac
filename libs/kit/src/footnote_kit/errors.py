"""The one tree of errors that services raise; imports no grpc, so that logic can use it freely."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, NamedTuple, Self

from footnote_kit.hints import ERROR_HINTS
from footnote_kit.redact import redact

MAX_BYTES = 1000
"""Of a message: it travels as a header, of which callers take some kilobytes; names that it quotes may be longer."""


class FieldViolation(NamedTuple):
    """One field of a request that is wrong: its path, as in `settings.chunk_size`, and a sentence that says how."""

    field: str
    description: str


class FootnoteError(Exception):
    """A failure with a meaning to the caller; it crosses the wire as a rich gRPC status and arrives as the same class.

    `reason` names a value of `footnote.types.v1.ErrorReason` without its prefix, `metadata` are a few words for
    programs, `violations` the fields that are wrong, `retry_after` the seconds to wait before the next attempt.
    The message is shown to people: no document text. Secrets of this process are cut out here, once for status, log,
    span, degradation and document failure: whatever a provider said comes through this door.
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
        self.message = _told(message)
        super().__init__(self.message)
        self.reason = reason or self.default_reason
        self.metadata = {key: _told(value) for key, value in (metadata or {}).items()}
        self.violations = tuple(FieldViolation(_bounded(field), _told(problem)) for field, problem in violations)
        self.retry_after = retry_after

    @property
    def hint(self) -> str:
        """Return what a person can do about it, "" where the message says all."""
        return self.metadata.get("hint") or ERROR_HINTS.get(self.reason, "")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r}, reason={self.reason!r})"


def _told(text: str) -> str:
    return _bounded(redact(text))


def _bounded(text: str) -> str:
    """Return a text of at most MAX_BYTES in UTF-8, with an ellipsis where it was cut."""
    if len(text) <= MAX_BYTES // 4:
        return text
    encoded = text.encode("utf-8", "replace")
    return text if len(encoded) <= MAX_BYTES else encoded[: MAX_BYTES - 3].decode("utf-8", "ignore") + "…"


class InvalidArgument(FootnoteError):
    """The request is wrong whatever the state of the system."""

    code = "INVALID_ARGUMENT"
    default_reason = "INVALID_FIELD"

    @classmethod
    def field(cls, name: str, problem: str) -> Self:
        """Return the error for one wrong field; `problem` completes the sentence, as in "must be between 1 and 100"."""
        return cls(f"{name} {problem}", violations=[FieldViolation(name, problem)])


class Unauthenticated(FootnoteError):
    """It is not known who calls."""

    code = "UNAUTHENTICATED"
    default_reason = "CREDENTIALS_INVALID"


class PermissionDenied(FootnoteError):
    """The caller is known and may not do this."""

    code = "PERMISSION_DENIED"
    default_reason = "PERMISSION_DENIED"


class NotFound(FootnoteError):
    """What was named does not exist, or not for this caller; `reason` says what kind of thing it is."""

    code = "NOT_FOUND"

    def __init__(self, message: str, *, reason: str, metadata: Mapping[str, str] | None = None) -> None:
        super().__init__(message, reason=reason, metadata=metadata)


class AlreadyExists(FootnoteError):
    """Something of that name is there already."""

    code = "ALREADY_EXISTS"
    default_reason = "COLLECTION_EXISTS"


class FailedPrecondition(FootnoteError):
    """The system is not in the state that this needs; trying again does not help until it is."""

    code = "FAILED_PRECONDITION"
    default_reason = "ILLEGAL_STATE"


class Aborted(FootnoteError):
    """Somebody else was faster; read again and repeat."""

    code = "ABORTED"
    default_reason = "CONFLICT"


class ResourceExhausted(FootnoteError):
    """A quota or a rate limit is reached."""

    code = "RESOURCE_EXHAUSTED"
    default_reason = "QUOTA_EXCEEDED"


class Unavailable(FootnoteError):
    """Something that this needs does not answer now; worth trying again later."""

    code = "UNAVAILABLE"
    default_reason = "STAGE_UNAVAILABLE"


class DeadlineExceeded(FootnoteError):
    """The time given ran out."""

    code = "DEADLINE_EXCEEDED"
    default_reason = "DEADLINE"


class Internal(FootnoteError):
    """A fault of ours; details are in the log under the same request id."""

    code = "INTERNAL"
    default_reason = "INTERNAL"


class NotOffered(Internal):
    """The stage that was called does not know the call: it is of another make, and need not, or of another release."""
