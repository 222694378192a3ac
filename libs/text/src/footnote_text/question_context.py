"""The context of a question, as text: in brackets after it, which is formatted and parsed here, or as dialogue lines.

Round brackets hold the subject that the question needs: "What does it weigh? (chair Vela)". Square brackets hold
earlier topics that may or may not still be meant: "What does error E04 mean? [boiler Alto]".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_LONGEST = 300


@dataclass(frozen=True, slots=True)
class QuestionInContext:
    """A question, its subject, and earlier topics; the last two are "" when absent."""

    question: str
    subject: str = ""
    before: str = ""

    def __str__(self) -> str:
        """Return all of it in one line."""
        subject = f" ({self.subject})" if self.subject else ""
        before = f" [{self.before}]" if self.before else ""
        return f"{self.question}{subject}{before}"


def with_context(question: str, subject: Sequence[str] = (), before: Sequence[str] = ()) -> str:
    """Return a question with context in brackets; the question itself without context."""
    return (
        str(QuestionInContext(question.strip(), " ".join(subject), " ".join(before))) if subject or before else question
    )


def parted(question: str) -> QuestionInContext:
    """Split the context in trailing brackets off a question; a text that is only brackets stays whole.

    Brackets qualify a question and are never the question itself.
    """
    text, before = _last(question, "[", "]")
    text, subject = _last(text, "(", ")")
    return QuestionInContext(text, subject, before)


def _last(text: str, opens: str, closes: str) -> tuple[str, str]:
    whole = text.rstrip()
    start = whole.rfind(opens)
    if not whole.endswith(closes) or start < 1 or len(whole) - start > _LONGEST or closes in whole[start:-1]:
        return text, ""
    return whole[:start].rstrip(), whole[start + 1 : -1].strip()


def line(speaker: str, text: str) -> str:
    """Return "[speaker] text"; further lines are indented, so that none can pose as another speaker's."""
    return f"[{speaker}] " + "\n  ".join(text.splitlines())
