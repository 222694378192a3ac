"""A question with the words that it leans on behind it in brackets: how they are put there, and found again.

Round ones hold the subject that it needs: "What does it weigh? (chair Vela)". Square ones hold what was spoken of
before, where it may or may not still be meant: "What does error E04 mean? [boiler Alto]".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Leaning:
    """A question, what it is asked of, and what was spoken of before; the last two are "" where there are none."""

    question: str
    subject: str = ""
    before: str = ""

    def __str__(self) -> str:
        """Return all of it in one line."""
        subject = f" ({self.subject})" if self.subject else ""
        before = f" [{self.before}]" if self.before else ""
        return f"{self.question}{subject}{before}"


def leaning(question: str, subject: Sequence[str] = (), before: Sequence[str] = ()) -> str:
    """Return a question with words in brackets behind it, as it is where there are none."""
    return str(Leaning(question.strip(), " ".join(subject), " ".join(before))) if subject or before else question


def parted(question: str) -> Leaning:
    """Return a question without the brackets that it ends with, and what stands in them; all of it where that is all.

    What stands in brackets says of what is asked, not what.
    """
    text, before = _last(question, "[", "]")
    text, subject = _last(text, "(", ")")
    return Leaning(text, subject, before)


def _last(text: str, opens: str, closes: str) -> tuple[str, str]:
    whole = text.rstrip()
    start = whole.rfind(opens)
    if not whole.endswith(closes) or start < 1 or len(whole) - start > _LONGEST or closes in whole[start:-1]:
        return text, ""
    return whole[:start].rstrip(), whole[start + 1 : -1].strip()
