"""How a failed command ends: one sentence saying what happened, what to do next, and an exit code."""

from dataclasses import dataclass, field

import grpc
import grpc.aio
from footnote_kit.errors import FootnoteError
from footnote_kit.hints import ERROR_HINTS
from footnote_kit.status import from_rpc_error

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

# What gRPC's own words for a connection that was not made mean: the first that fits.
_UNREACHABLE = (
    (("resolving", "lookup failed", "dns", "no address"), "There is no host {address}.", "Check the address."),
    (
        ("tls", "ssl", "certificate"),
        "No secure connection to {address}.",
        "Check its certificate, or leave out https://.",
    ),
    (
        ("http/2", "http1", "http status"),
        "The server at {address} does not speak gRPC.",
        "Give the address of edge with --address; its HTTP is on another port.",
    ),
    (("refused", "failed to connect", "unreachable"), "No server at {address}.", "Start one with: footnote serve all"),
)


@dataclass(eq=False)
class CommandError(Exception):
    """Ends a command. `code` and `reason` are the server's, empty when the failure is the command line's own."""

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


def usage_error(message: str, hint: str = "") -> CommandError:
    """Return the error of a command that was called wrongly."""
    return CommandError(message, hint, exit_code=EXIT_USAGE)


def sentence(text: str) -> str:
    """Return a text that ends like a sentence."""
    text = text.strip()
    return text if not text or text[-1] in ".!?:…" else text + "."


def explain(error: grpc.aio.AioRpcError, address: str) -> CommandError:
    """Return a failed call as a sentence with what to do about it."""
    details = {key for key, _ in error.trailing_metadata() or ()}
    if "grpc-status-details-bin" not in details:
        plain = _explain_transport(error, address)
        if plain is not None:
            return plain
    return explain_failure(from_rpc_error(error))


def explain_failure(failure: FootnoteError) -> CommandError:
    """Return a typed failure as a sentence with what to do about it."""
    reason = failure.reason or ""
    # Where the server knows better what to do, as with a broken file, it says so.
    hint = failure.metadata.get("hint") or ERROR_HINTS.get(reason, "")
    if failure.retry_after:
        hint = f"Try again in {max(1, round(failure.retry_after))} s."
    violations = [(str(name), str(problem)) for name, problem in failure.violations]
    message = failure.message
    missing = [f"{name}: {problem}" for name, problem in violations if problem not in message]
    if missing:
        message = f"{message.rstrip('.')} ({'; '.join(missing)})"
    return CommandError(message, hint, code=failure.code, reason=reason, violations=violations)


def _explain_transport(error: grpc.aio.AioRpcError, address: str) -> CommandError | None:
    """Return what a failure without our details means: nobody there, or somebody else."""
    code = error.code()
    if code is grpc.StatusCode.UNAVAILABLE:
        text = (error.details() or "").lower()
        for signs, message, hint in _UNREACHABLE:
            if any(sign in text for sign in signs):
                return CommandError(message.format(address=address), hint, code=code.name)
        lost = f"The connection to {address} was lost."
        return CommandError(lost, "See whether it runs with: footnote health", code=code.name)
    if code is grpc.StatusCode.UNIMPLEMENTED:
        hint = "Give the address of the edge service with --address."
        return CommandError(f"The server at {address} does not offer this.", hint, code=code.name)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return CommandError(f"The server at {address} did not answer in time.", ERROR_HINTS["DEADLINE"], code=code.name)
    return None
