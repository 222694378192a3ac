"""Why a statement is not supported: the reason, and a sentence that explains it in the answer's language."""

from __future__ import annotations

import re
from dataclasses import dataclass

from footnote.types.v1 import reasons_pb2 as pb
from footnote.types.v1.reasons_pb2 import CLAIM_REASON_UNSPECIFIED, ClaimReason
from footnote_text import locales
from footnote_text.lexical import is_unspaced


@dataclass(frozen=True, slots=True)
class ClaimIssue:
    """A reason and its words in statement (`stated`, `subject`) and source (`found`); falsy if none."""

    reason: ClaimReason.ValueType = CLAIM_REASON_UNSPECIFIED
    stated: str = ""
    found: str = ""
    subject: str = ""

    def __bool__(self) -> bool:
        """Whether there is a reason."""
        return self.reason != CLAIM_REASON_UNSPECIFIED


NONE = ClaimIssue()
"""Nothing contradicts the statement."""


_LONGEST = 160
"""Maximum characters of a quote."""
_NEEDS_STATED = frozenset({pb.CLAIM_REASON_NOT_IN_SOURCE, pb.CLAIM_REASON_OTHER_VALUE})
_NEEDS_FOUND = frozenset({pb.CLAIM_REASON_OTHER_VALUE, pb.CLAIM_REASON_OTHER_PLACE})


def explain(issue: ClaimIssue, place: str, quote: str, locale: str) -> str:
    """Return an issue as a sentence; `place` is the label of a source's place, `quote` its text."""
    if not issue:
        return ""
    reason, shown = issue.reason, shorten(quote, issue.found)
    if (reason in _NEEDS_STATED and not _is_word(issue.stated)) or (reason in _NEEDS_FOUND and not issue.found):
        reason = pb.CLAIM_REASON_PARTLY_IN_SOURCE if reason in _NEEDS_FOUND else pb.CLAIM_REASON_NOT_SAID
    words = locales.choose(locale).reasons
    sentence: str = getattr(words, pb.ClaimReason.Name(reason).removeprefix("CLAIM_REASON_").lower())
    if "{quote}" in sentence and not shown:
        sentence = words.not_said
    return sentence.format(
        place=place, quote=shown, stated=_line(issue.stated), found=_line(issue.found), subject=_line(issue.subject)
    )


def _is_word(text: str) -> bool:
    """Return whether a token is a whole word to show: in scripts without spaces it may be part of one."""
    return bool(text.strip()) and (any(map(str.isdigit, text)) or not any(map(is_unspaced, text)))


def shorten(quote: str, found: str) -> str:
    """Return a quote on one line; for a long one, the words around what was found."""
    line = _line(quote).strip("|").strip()
    if len(line) <= _LONGEST:
        return line.rstrip(".")
    at = max(0, line.find(_line(found))) if found else 0
    first = max(0, min(at - _LONGEST // 3, len(line) - _LONGEST))
    piece = line[first : first + _LONGEST]
    if first and " " in piece[:30]:
        piece = piece[piece.index(" ") + 1 :]
    if first + _LONGEST < len(line) and " " in piece[-30:]:
        piece = piece[: piece.rindex(" ")]
    return f"{'…' if first else ''}{piece}{'…' if first + _LONGEST < len(line) else ''}"


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
