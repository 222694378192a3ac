"""Cheap handling of unauthenticated and refused calls.

It covers refusals of unknown or rate-limited callers, and the open services for health and reflection.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any
from uuid import uuid4

import grpc
from google.protobuf.message import DecodeError

from footnote_kit import status
from footnote_kit.errors import FootnoteError, Unauthenticated
from footnote_kit.logs import get_logger

MAX_MESSAGE_BYTES = 4096
"""The longest request to health and reflection, which only carries a name."""
REQUEST_ID_KEY = "x-request-id"
REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_SUMMARY_SECONDS = 10.0
_log = get_logger("footnote.rpc")


class Refusals:
    """Refuses calls without a span or log line for each; a periodic log line counts them."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._refused: Counter[tuple[bool, str]] = Counter()
        self._summary: asyncio.TimerHandle | None = None

    async def refuse(self, method: str, error: FootnoteError, headers: Mapping[str, str], context: Any) -> None:
        """End a call with an error; raises grpc.aio.AbortError."""
        self._refused[isinstance(error, Unauthenticated), error.reason] += 1
        if self._summary is None:
            self._summary = asyncio.get_running_loop().call_later(_SUMMARY_SECONDS, self._say)
        given = headers.get(REQUEST_ID_KEY, "")
        request_id = given if REQUEST_ID.fullmatch(given) else uuid4().hex
        _log.debug("rpc_refused", method=method, code=error.code, reason=error.reason)
        trailing = ((REQUEST_ID_KEY, request_id), *status.trailing_metadata(error))
        await context.abort(getattr(grpc.StatusCode, error.code), error.message, trailing)

    def end(self) -> None:
        """Log the remaining counts."""
        if self._summary is not None:
            self._summary.cancel()
            self._say()

    def _say(self) -> None:
        self._summary = None
        refused, self._refused = self._refused, Counter()
        for event, strangers in (("strangers_refused", True), ("callers_refused", False)):
            reasons = {reason: count for (unknown, reason), count in refused.items() if unknown == strangers}
            if reasons:
                _log.info(event, stage=self._service, **reasons)


class _Unreadable:
    """Stands in for a message that is too long or cannot be parsed."""

    def __init__(self, why: str) -> None:
        self.why = why


def bounded(handler: Any) -> Any:
    """Return a handler of health or reflection that refuses long and malformed messages without a traceback."""
    if handler.unary_unary is not None:
        make, behaviour = grpc.unary_unary_rpc_method_handler, _unary(handler.unary_unary)
    elif handler.unary_stream is not None:
        make, behaviour = grpc.unary_stream_rpc_method_handler, _stream(handler.unary_stream)
    elif handler.stream_unary is not None:
        make, behaviour = grpc.stream_unary_rpc_method_handler, handler.stream_unary
    else:
        make, behaviour = grpc.stream_stream_rpc_method_handler, _both(handler.stream_stream)
    return make(behaviour, _reading(handler.request_deserializer), handler.response_serializer)


def _reading(read: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def parse(data: bytes) -> Any:
        if len(data) > MAX_MESSAGE_BYTES:
            return _Unreadable(f"The request has more than {MAX_MESSAGE_BYTES} bytes")
        try:
            return read(data)
        except DecodeError:
            return _Unreadable("The request is no message of this method")

    return parse


async def _check(request: Any, context: Any) -> None:
    if isinstance(request, _Unreadable):
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, request.why)


def _unary(behaviour: Any) -> Any:
    async def handle(request: Any, context: Any) -> Any:
        await _check(request, context)
        return await behaviour(request, context)

    return handle


def _stream(behaviour: Any) -> Any:
    async def handle(request: Any, context: Any) -> Any:
        await _check(request, context)
        # gRPC's own services come in both styles: some yield responses, others write them.
        result = behaviour(request, context)
        if hasattr(result, "__aiter__"):
            async for response in result:
                await context.write(response)
        else:
            await result

    return handle


def _both(behaviour: Any) -> Any:
    async def checked(requests: Any, context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            await _check(request, context)
            yield request

    async def handle(requests: Any, context: Any) -> AsyncIterator[Any]:
        async for response in behaviour(checked(requests, context), context):
            yield response

    return handle
