"""Why a file cannot be parsed: typed reasons with a readable message and advice for the uploader."""

from __future__ import annotations

from dataclasses import dataclass

from footnote_kit.hints import FAILURE_HINTS

PASSWORD_PROTECTED = "PASSWORD_PROTECTED"
CORRUPT = "CORRUPT"
NO_TEXT = "NO_TEXT"
TOO_LARGE = "TOO_LARGE"
TIMEOUT = "TIMEOUT"
UNSUPPORTED = "UNSUPPORTED"
OUT_OF_MEMORY = "OUT_OF_MEMORY"
PARSER_CRASHED = "PARSER_CRASHED"
PARSER_KILLED = "PARSER_KILLED"
INTERNAL = "INTERNAL"


@dataclass(frozen=True, slots=True)
class FailureInfo:
    """A failure as plain values: `reason` is a FailureReason name without prefix."""

    reason: str
    message: str
    hint: str


class ParseError(Exception):
    """A file cannot be parsed; `reason` is a FailureReason name without prefix, `hint` says what to do."""

    def __init__(self, reason: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.hint = hint or FAILURE_HINTS[reason]

    @property
    def info(self) -> FailureInfo:
        """Return the failure as plain values."""
        return FailureInfo(self.reason, self.message, self.hint)
