"""Converts a failed call to an error: the server's own, or a description of a failed connection."""

from typing import Any

import grpc
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Unavailable
from footnote_kit.hints import ERROR_HINTS
from footnote_kit.status import DETAILS_KEY, from_rpc_error

# Meanings of gRPC's messages for a failed connection; the first match counts.
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
_CLOSED = "Channel closed!"
"""In gRPC's message for calls in flight when a channel for threads is closed."""


class Closed(FootnoteError):
    """The client was closed before the call or during it."""

    code = "CANCELLED"
    default_reason = ""

    def __init__(self) -> None:
        super().__init__("The client was closed.")


class Unreached(Unavailable):
    """No server took the call, so none has done anything."""


class Unimplemented(FootnoteError):
    """The server does not know the call: it is older, or is not edge."""

    code = "UNIMPLEMENTED"


def failure_of(error: Any, address: str, *, begun: bool = False) -> FootnoteError:
    """Return the error for a failed call to `address`; its `reason` is "" if it does not come from the server.

    `error` is gRPC's exception, of a class for threads or one for event loops, with the same methods. `begun` says that
    part of a streamed answer had arrived.
    """
    if error.code() is grpc.StatusCode.CANCELLED and _CLOSED in (error.details() or ""):
        return Closed()
    if all(key != DETAILS_KEY for key, _ in error.trailing_metadata() or ()):
        plain = _of_transport(error, address, begun)
        if plain is not None:
            plain.reason = ""
            return plain
    return from_rpc_error(error)


def _of_transport(error: Any, address: str, begun: bool) -> FootnoteError | None:
    """Return the meaning of a failure without our details: no server, or a different one."""
    code = error.code()
    if code is grpc.StatusCode.UNAVAILABLE and begun:
        hint = "Call again; a question under the same request_id is not stored twice."
        return Unavailable(f"The connection to {address} was lost amid the answer.", metadata={"hint": hint})
    if code is grpc.StatusCode.UNAVAILABLE:
        text = (error.details() or "").lower()
        for signs, message, hint in _UNREACHABLE:
            if any(sign in text for sign in signs):
                return Unreached(message.format(address=address), metadata={"hint": hint})
        hint = "See whether it runs with: footnote health"
        return Unavailable(f"The connection to {address} was lost.", metadata={"hint": hint})
    if code is grpc.StatusCode.UNIMPLEMENTED:
        hint = "Give the address of the edge service with --address."
        return Unimplemented(f"The server at {address} does not offer this.", metadata={"hint": hint})
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        hint = ERROR_HINTS["DEADLINE"]
        return DeadlineExceeded(f"The server at {address} did not answer in time.", metadata={"hint": hint})
    return None
