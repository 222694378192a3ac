"""Converts FootnoteError to rich gRPC status and back: google.rpc.Status, ErrorInfo, BadRequest, RetryInfo."""

import asyncio
from collections.abc import Mapping
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
