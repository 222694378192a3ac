"""Converts FootnoteError to rich gRPC status and back: google.rpc.Status, ErrorInfo, BadRequest, RetryInfo."""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError
from google.rpc.code_pb2 import Code
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from footnote_kit import errors
from footnote_kit.errors import FootnoteError

DOMAIN = "footnote.types.v1"
"""The package of ErrorReason, which only this project uses."""
DETAILS_KEY = "grpc-status-details-bin"

# Codes that this project never sends are read as the nearest one that it sends.
_CLASSES: Mapping[str, type[FootnoteError]] = {
    kind.code: kind
    for kind in (
        errors.InvalidArgument, errors.Unauthenticated, errors.PermissionDenied, errors.AlreadyExists,
        errors.FailedPrecondition, errors.Aborted, errors.ResourceExhausted, errors.Unavailable,
        errors.DeadlineExceeded, errors.Internal,
    )
} | {"OUT_OF_RANGE": errors.InvalidArgument, "CANCELLED": errors.Unavailable}  # fmt: skip


def to_proto(error: FootnoteError) -> Status:
    """Return the google.rpc.Status of an error."""
    status = Status(code=Code.Value(error.code), message=error.message)
    status.details.add().Pack(ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=error.metadata))
    if error.violations:
        bad = BadRequest()
        for violation in error.violations:
            bad.field_violations.add(field=violation.field, description=violation.description)
        status.details.add().Pack(bad)
    if error.retry_after is not None:
        delay = Duration()
        delay.FromNanoseconds(round(error.retry_after * 1e9))
        status.details.add().Pack(RetryInfo(retry_delay=delay))
    return status


def from_proto(status: Status) -> FootnoteError:
    """Return the error that a google.rpc.Status represents; from another domain only code and message are kept."""
    info, violations, retry_after = ErrorInfo(), [], None
    bad, retry = BadRequest(), RetryInfo()
    for detail in status.details:
        if detail.Is(ErrorInfo.DESCRIPTOR):
            detail.Unpack(info)
        elif detail.Is(BadRequest.DESCRIPTOR):
            detail.Unpack(bad)
            violations = [(violation.field, violation.description) for violation in bad.field_violations]
        elif detail.Is(RetryInfo.DESCRIPTOR):
            detail.Unpack(retry)
            retry_after = retry.retry_delay.ToNanoseconds() / 1e9
    reason = info.reason if info.domain == DOMAIN else ""
    return make(Code.Name(status.code), status.message, reason, dict(info.metadata), violations, retry_after)


def make(
    code: str,
    message: str,
    reason: str = "",
    metadata: dict[str, str] | None = None,
    violations: list[tuple[str, str]] | None = None,
    retry_after: float | None = None,
) -> FootnoteError:
    """Return an error by its canonical status name; a code outside the error classes becomes Internal."""
    if code == "NOT_FOUND":
        return errors.NotFound(message, reason=reason or "INTERNAL", metadata=metadata)
    kind = _CLASSES.get(code, errors.Internal)
    return kind(message, reason=reason or None, metadata=metadata, violations=violations or (), retry_after=retry_after)


def from_rpc_error(error: grpc.aio.AioRpcError, peer: str = "") -> FootnoteError:
    """Return the error that a failed call to `peer` (a stage's name) represents.

    A status without this project's details comes from the transport. The usual ones get a new text, because the
    transport's text names addresses.
    """
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY:
            try:
                return from_proto(Status.FromString(value))
            except (DecodeError, ValueError):
                break
    name = error.code().name
    who = f"the {peer} service" if peer else "the service"
    metadata = {"stage": peer} if peer else None
    if name in ("UNAVAILABLE", "CANCELLED"):
        return errors.Unavailable(f"{who} does not answer".capitalize(), metadata=metadata)
    if name == "DEADLINE_EXCEEDED":
        return errors.DeadlineExceeded(f"{who} did not answer in time".capitalize(), metadata=metadata)
    if name == "RESOURCE_EXHAUSTED" and "larger than max" in (error.details() or ""):
        # gRPC's own limit of one message: repeated, the call would fail alike.
        return errors.Internal(f"a message of {who} is too large: {error.details()}".capitalize(), metadata=metadata)
    if name == "RESOURCE_EXHAUSTED":
        return errors.ResourceExhausted(
            f"{who} refused the call: {error.details()}".capitalize(), reason="RATE_LIMITED", metadata=metadata
        )
    if name == "UNIMPLEMENTED":
        return errors.NotOffered(f"{who} does not know this call".capitalize(), metadata=metadata)
    return make(name, error.details() or f"{who} failed".capitalize(), metadata=metadata)


def ending(error: BaseException) -> tuple[str, str]:
    """Return the status and reason with which an exception ends its call, such as ("NOT_FOUND", "KEY_NOT_FOUND")."""
    while isinstance(error, BaseExceptionGroup):
        error = next((one for one in error.exceptions if not isinstance(one, FootnoteError)), error.exceptions[0])
    if isinstance(error, asyncio.CancelledError):
        return "CANCELLED", ""
    if isinstance(error, grpc.aio.AioRpcError):
        error = from_rpc_error(error)
    if isinstance(error, FootnoteError):
        return error.code, error.reason
    return "INTERNAL", "INTERNAL"


def trailing_metadata(error: FootnoteError) -> tuple[tuple[str, Any], ...]:
    """Return the trailing metadata that carries the error's details."""
    return ((DETAILS_KEY, to_proto(error).SerializeToString()),)


# The details that grpc.aio reports when a write fails, instead of the peer's status.
_WRITE_FAILED = "Internal error from Core"
_WAIT_SECONDS = 1.0  # seconds


class FinalStatus:
    """Keeps the status that the peer gave to a call.

    A peer that refuses an upload midway ends the call while the next part is being written. The write fails, and
    grpc.aio replaces the peer's status by its own. The peer's status may be there already or arrive a moment later.
    """

    def __init__(self, rpc: Any) -> None:
        self._rpc = rpc
        self._error: grpc.aio.AioRpcError | None = None
        rpc.add_done_callback(self._ended)

    def _ended(self, rpc: Any) -> None:
        """Save the call's status unless it is only that of a failed write."""
        if _now(rpc.details()) != _WRITE_FAILED:
            self._error = _now(error_of(rpc))

    async def of(self, error: grpc.aio.AioRpcError) -> grpc.aio.AioRpcError:
        """Return the peer's status when `error` only reports a failed write; `error` itself when none arrives."""
        pause = 0.001
        while error.details() == _WRITE_FAILED and self._error is None and pause < _WAIT_SECONDS:
            await asyncio.sleep(pause)  # grpc.aio has no event for a later status
            pause *= 2
            self._ended(self._rpc)
        return self._error if error.details() == _WRITE_FAILED and self._error is not None else error


async def error_of(rpc: Any) -> grpc.aio.AioRpcError:
    """Return the error of a call that has ended."""
    return grpc.aio.AioRpcError(
        await rpc.code(), await rpc.initial_metadata(), await rpc.trailing_metadata(), await rpc.details()
    )


def _now(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine that completes without waiting."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise RuntimeError("The call has no status yet")
