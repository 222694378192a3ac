"""Calls edge's own gRPC API on behalf of an HTTP request; every HTTP route goes through it."""

from collections.abc import AsyncGenerator
from typing import Any

from footnote_kit.edge import EdgeStub
from footnote_kit.errors import InvalidArgument
from google.protobuf.message import Message
from starlette.requests import Request

from footnote_edge.audit.events import CALL_ORIGIN_HEADER
from footnote_edge.gateway.limits import ASKS
from footnote_edge.settings import Settings

PASSED_ON = (
    "authorization",
    "x-api-key",
    "x-footnote-tenant",
    "x-footnote-user",
    "x-footnote-role",
    "x-footnote-groups",
)
"""Forwarded headers with the caller's identity."""

CALL_ORIGIN = "footnote.way"
"""Key in a request's scope for its origin."""

TIMEOUT_HEADER = "x-footnote-timeout"
"""The caller's timeout for the request in seconds."""

_WATCH_MARGIN = 60.0
_ANSWERS = ASKS | {"ReplayAnswer"}


class GrpcCalls:
    """Forwards requests with the caller's credentials and deadline."""

    def __init__(self, channel: Any, settings: Settings) -> None:
        self.stub = EdgeStub(channel)
        self._settings = settings

    async def unary(self, name: str, message: Any, request: Request) -> Any:
        """Call an RPC with one response; `message` may be a stream of requests."""
        return await getattr(self.stub, name)(message, **self.options(name, request))

    async def stream(self, name: str, message: Message, request: Request) -> AsyncGenerator[Any]:
        """Call an RPC that streams its responses; closing the stream cancels the call."""
        call = getattr(self.stub, name)(message, **self.options(name, request))
        try:
            async for response in call:
                yield response
        finally:
            call.cancel()

    def options(self, name: str, request: Request) -> dict[str, Any]:
        """Return the metadata and timeout of a call on behalf of `request`; InvalidArgument for its timeout."""
        return {"metadata": credentials(request), "timeout": self._timeout(name, request)}

    def _timeout(self, name: str, request: Request) -> float:
        given = request.headers.get(TIMEOUT_HEADER)
        if given is not None:
            try:
                seconds = float(given)
            except ValueError:
                seconds = -1.0
            if not 0 < seconds <= self._settings.job_timeout_seconds:
                limit = self._settings.job_timeout_seconds
                raise InvalidArgument.field(TIMEOUT_HEADER, f"must be seconds between 0 and {limit:.0f}")
            return seconds
        if name in _ANSWERS:
            return self._settings.ask_timeout_seconds
        if name.startswith("Watch"):  # edge ends it itself, and says so
            return self._settings.watch_lifetime_seconds + _WATCH_MARGIN
        # Edge limits each call to a stage; the channel's own limit is that of one such call, and would end the whole.
        return self._settings.job_timeout_seconds


def credentials(request: Request) -> tuple[tuple[str, str], ...]:
    """Return the headers with the caller's identity and origin, as metadata."""
    who = ((name, request.headers[name]) for name in PASSED_ON if name in request.headers)
    return (*who, (CALL_ORIGIN_HEADER, request.scope.get(CALL_ORIGIN, "")))
