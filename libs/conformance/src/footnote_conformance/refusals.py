"""A failed call with its status exactly as received."""

from dataclasses import dataclass

import grpc
from footnote.types.v1.errors_pb2 import ErrorReason
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from google.rpc.status_pb2 import Status

DOMAIN = "footnote.types.v1"
DETAILS = "grpc-status-details-bin"
REASONS = frozenset(name.removeprefix("ERROR_REASON_") for name in ErrorReason.keys())  # noqa: SIM118 - an enum's names


@dataclass(eq=False)  # neither frozen nor slotted: code that re-raises an exception sets its traceback
class Refusal(Exception):
    """A status other than OK: gRPC's code, and from its details the domain, the reason and the wrong fields."""

    code: str
    message: str
    domain: str = ""
    reason: str = ""
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f" at {', '.join(self.fields)}" if self.fields else ""
        return f"{self.code} {self.reason or '(no reason)'}{where}: {self.message}"

    @property
    def typed(self) -> bool:
        """Whether it has an ErrorInfo of our domain with a reason of the contract."""
        return self.domain == DOMAIN and self.reason in REASONS


def refusal_of(error: grpc.aio.AioRpcError) -> Refusal:
    """Return the status of a failed call."""
    info, bad = ErrorInfo(), BadRequest()
    for key, value in error.trailing_metadata() or ():
        if key != DETAILS or not isinstance(value, bytes):
            continue
        try:
            details = Status.FromString(value).details
        except DecodeError:
            continue
        for detail in details:
            if detail.Is(ErrorInfo.DESCRIPTOR):
                detail.Unpack(info)
            elif detail.Is(BadRequest.DESCRIPTOR):
                detail.Unpack(bad)
    fields = tuple(violation.field for violation in bad.field_violations)
    return Refusal(error.code().name, error.details() or "", info.domain, info.reason, fields)
