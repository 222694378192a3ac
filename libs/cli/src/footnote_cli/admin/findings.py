"""The findings of `footnote admin doctor`."""

from dataclasses import dataclass
from typing import Literal

from footnote_kit.errors import FootnoteError

State = Literal["ok", "warning", "broken"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of one examined item, and advice if something is wrong."""

    check: str
    state: State
    found: str
    advice: str = ""

    def as_dict(self) -> dict[str, str]:
        """Return it as JSON-ready values."""
        return {"check": self.check, "state": self.state, "found": self.found, "advice": self.advice}


def ok(check: str, found: str) -> Finding:
    """Return the finding for an item that is in order."""
    return Finding(check, "ok", found)


def warning(check: str, found: str, advice: str) -> Finding:
    """Return the finding for an item that works but should be fixed."""
    return Finding(check, "warning", found, advice)


def broken(check: str, found: str, advice: str) -> Finding:
    """Return the finding for a fault that stops the deployment or a part of it."""
    return Finding(check, "broken", found, advice)


def refused(check: str, error: FootnoteError) -> Finding:
    """Return the finding for a message "what: what to do", split in two."""
    found, _, advice = error.message.partition(": ")
    return broken(check, found, f"{advice[:1].upper()}{advice[1:].rstrip('.')}.")


def older(check: str, where: str, version: str, newest: str) -> Finding:
    """Return the finding for a schema of an earlier release."""
    return warning(
        check,
        f"{where} has schema {version}, older than this release's {newest}",
        "Back it up first (footnote admin backup): an earlier release cannot open it after the migration, which runs "
        "at the next start, or now with: footnote admin migrate",
    )
