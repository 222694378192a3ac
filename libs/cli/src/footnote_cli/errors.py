"""How a failed command ends: one sentence with the failure and the next step, and an exit code."""

from dataclasses import dataclass, field

import grpc
from footnote.client.failures import failure_of
from footnote_kit.errors import FootnoteError, NotFound

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_FOUND = 3
EXIT_INTERRUPTED = 130


@dataclass(eq=False)
class CommandError(Exception):
    """Ends a command. `code` and `reason` are the server's, empty for a failure of the command line itself."""

    message: str
    hint: str = ""
    exit_code: int = EXIT_FAILED
    code: str = ""
    reason: str = ""
    violations: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{sentence(self.message)} {self.hint}".strip()

    def as_dict(self) -> dict[str, object]:
        """Return the error as JSON-ready values."""
        fields = [{"field": name, "problem": problem} for name, problem in self.violations]
        error = {"code": self.code, "reason": self.reason, "message": self.message, "hint": self.hint, "fields": fields}
        return {"error": {name: value for name, value in error.items() if value}}


class Interrupted(Exception):
    """Ctrl-C was pressed."""


def usage_error(message: str, hint: str = "") -> CommandError:
    """Return the error for a wrong call of a command."""
    return CommandError(message, hint, exit_code=EXIT_USAGE)


def sentence(text: str) -> str:
    """Return a text with the punctuation of a sentence."""
    text = text.strip()
    return text if not text or text[-1] in ".!?:…" else text + "."


def explain(error: grpc.RpcError, address: str) -> CommandError:
    """Return a failed call as a sentence with the next step."""
    return explain_failure(failure_of(error, address))


def explain_failure(failure: FootnoteError) -> CommandError:
    """Return a typed failure as a sentence with the next step."""
    reason = failure.reason or ""
    # Where the server has better advice, as for a broken file, it is used.
    hint = failure.hint
    if failure.retry_after:
        hint = f"Try again in {max(1, round(failure.retry_after))} s."
    violations = [(str(name), str(problem)) for name, problem in failure.violations]
    message = failure.message
    missing = [f"{name}: {problem}" for name, problem in violations if problem not in message]
    if missing:
        message = f"{message.rstrip('.')} ({'; '.join(missing)})"
    exit_code = EXIT_NOT_FOUND if failure.code == NotFound.code else EXIT_FAILED
    return CommandError(message, hint, exit_code, failure.code, reason, violations)
