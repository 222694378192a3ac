"""Why a file cannot be read: typed reasons with a sentence for a person and advice for the uploader."""

from __future__ import annotations

from dataclasses import dataclass

PASSWORD_PROTECTED = "PASSWORD_PROTECTED"
CORRUPT = "CORRUPT"
NO_TEXT = "NO_TEXT"
TOO_LARGE = "TOO_LARGE"
TIMEOUT = "TIMEOUT"
UNSUPPORTED = "UNSUPPORTED"
OUT_OF_MEMORY = "OUT_OF_MEMORY"
PARSER_CRASHED = "PARSER_CRASHED"
INTERNAL = "INTERNAL"

_HINTS = {
    PASSWORD_PROTECTED: "Remove the password and upload the file again.",
    CORRUPT: "Open the file in the program that made it, save it anew, and upload that copy.",
    NO_TEXT: "The file seems to hold pictures or nothing; run OCR on it and upload the result.",
    TOO_LARGE: "Split the file into smaller ones, or ask the operator to raise the limit.",
    TIMEOUT: "Split the file into smaller ones, or save it anew in a simpler form.",
    UNSUPPORTED: "Convert it to a format that is read: pdf, docx, pptx, xlsx, csv, html, md or txt.",
    OUT_OF_MEMORY: "Split the file into smaller ones, or save it anew in a simpler form.",
    PARSER_CRASHED: "Open the file in the program that made it, save it anew, and upload that copy.",
    INTERNAL: "Try again; if it fails again, report it with the request id.",
}


@dataclass(frozen=True, slots=True)
class FailureInfo:
    """A failure as plain values: `reason` is a FailureReason name without prefix."""

    reason: str
    message: str
    hint: str


class ParseError(Exception):
    """A file cannot be read; `reason` is a FailureReason name without prefix, `hint` says what to do about it."""

    def __init__(self, reason: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.hint = hint or _HINTS[reason]

    @property
    def info(self) -> FailureInfo:
        """The failure as plain values."""
        return FailureInfo(self.reason, self.message, self.hint)
