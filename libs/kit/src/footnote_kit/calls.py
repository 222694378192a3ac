"""One call to another stage: its span, its deadline, and its failure as a FootnoteError."""

import asyncio
import time
from collections.abc import AsyncIterator, Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import grpc
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind

from footnote_kit import context as call_context
from footnote_kit import names, status, telemetry
from footnote_kit.ending import Ending, error_of
from footnote_kit.errors import DeadlineExceeded
from footnote_kit.interceptor import REQUEST_ID_KEY, UNTRACED

_UNTRACED = ("/grpc.", UNTRACED)


@dataclass(frozen=True, slots=True)
class Wiring:
    """What the calls of one channel share; timeouts in seconds."""

    peer: str
    call_timeout: float
    stream_timeout: float


class _Call:
    """What unary and streaming calls have in common. The RPC starts when the object is made, as in grpc.aio."""

    def __init__(
        self,
        wiring: Wiring,
        method: str,
        start: Any,
        request: Any,
        options: dict[str, Any],
        default_timeout: float,
        streams_requests: bool,
    ) -> None:
        self._wiring, self._method = wiring, method
        self._started = time.perf_counter()
        self._source_error: BaseException | None = None
        self._ended = True  # until there is a span to end
        remaining = call_context.time_remaining()
        if remaining == 0:
            raise DeadlineExceeded("The time given to the call ran out")
        limits = [limit for limit in (options.pop("timeout", None) or default_timeout, remaining) if limit is not None]
        metadata = list(options.pop("metadata", None) or ())
        if request_id := call_context.request_id():
            metadata.append((REQUEST_ID_KEY, request_id))
        self._span = self._start_span(metadata)
        if streams_requests and request is not None:
            request = self._watched(request)
        arguments = (request,) if request is not None or not streams_requests else ()
        self._ended = False
        self._rpc = start(*arguments, timeout=min(limits), metadata=metadata, **options)
        self._ending = Ending(self._rpc) if streams_requests else None

    def _start_span(self, metadata: list[tuple[str, str | bytes]]) -> Span | None:
        """Start the client span and put its context into the metadata; none where the caller sees to it."""
        if self._method.startswith(_UNTRACED) or any(key == "traceparent" for key, _ in metadata):
            return None
        span = telemetry.tracer().start_span(
            self._method[1:],
            kind=SpanKind.CLIENT,
            attributes={names.RPC_SYSTEM: "grpc", names.RPC_METHOD: self._method[1:]},
        )
        metadata.append(("traceparent", telemetry.traceparent(span)))
        return span

    async def _watched(self, requests: Any) -> AsyncIterator[Any]:
        """Yield the caller's requests; keep its exception, which grpc.aio turns into a bare cancellation."""
        try:
            if isinstance(requests, Iterable):
                for request in requests:
                    yield request
            else:
                async for request in requests:
                    yield request
        except Exception as error:
            self._source_error = error
            raise

    async def _failure(self, error: BaseException) -> BaseException:
        """Return the exception to raise for one that came out of grpc.aio, and end the span."""
        if isinstance(error, grpc.aio.AioRpcError):
            error = await self._ending.of(error) if self._ending is not None else error
        shown = error
        if isinstance(error, asyncio.CancelledError) and self._source_error is not None:
            shown = self._source_error
        elif isinstance(error, grpc.aio.AioRpcError):
            shown = status.from_rpc_error(error, self._wiring.peer)
        code = error.code() if isinstance(error, grpc.aio.AioRpcError) else grpc.StatusCode.CANCELLED
        self._end(code, shown)
        return shown

    def _end(self, code: grpc.StatusCode, error: BaseException | None = None) -> None:
        if self._ended:
            return
        self._ended = True
        if self._span is None:
            return
        self._span.set_attribute(names.RPC_STATUS_CODE, code.name)
        if isinstance(error, asyncio.CancelledError):
            self._span.set_attribute(names.CANCELLED, True)
        elif error is not None:
            telemetry.mark_failed(self._span, error)
        self._span.end()
        telemetry.histogram(names.RPC_CLIENT_DURATION).record(
            time.perf_counter() - self._started,
            {names.RPC_METHOD: self._method[1:], names.RPC_STATUS_CODE: code.name},
            trace.set_span_in_context(self._span),
        )

    def __del__(self) -> None:
        # A stream left before its end, or a call nobody waited for: the peer hears now, not when the garbage collector
        # comes to what grpc.aio still holds of it.
        if not self._ended:
            with suppress(RuntimeError):  # the event loop is closed: so is the connection
                self._rpc.cancel()
            self._end(grpc.StatusCode.CANCELLED, asyncio.CancelledError())

    def cancel(self) -> bool:
        """Cancel the call, here and at the peer."""
        cancelled: bool = self._rpc.cancel()
        return cancelled

    def cancelled(self) -> bool:
        """Return whether it was cancelled."""
        return bool(self._rpc.cancelled())

    def done(self) -> bool:
        """Return whether it has ended."""
        return bool(self._rpc.done())

    def time_remaining(self) -> float | None:
        """Return the seconds left."""
        remaining: float | None = self._rpc.time_remaining()
        return remaining

    def add_done_callback(self, callback: Any) -> None:
        """Call `callback` with this call when it has ended."""
        self._rpc.add_done_callback(lambda _: callback(self))

    async def initial_metadata(self) -> Any:
        """Return the server's initial metadata."""
        return await self._rpc.initial_metadata()

    async def trailing_metadata(self) -> Any:
        """Return the server's trailing metadata, after the end."""
        return await self._rpc.trailing_metadata()

    async def code(self) -> grpc.StatusCode:
        """Return the status code, after the end."""
        code: grpc.StatusCode = await self._rpc.code()
        return code

    async def details(self) -> str:
        """Return the status message, after the end."""
        details: str = await self._rpc.details()
        return details

    async def wait_for_connection(self) -> None:
        """Wait until the call has reached the peer."""
        try:
            await self._rpc.wait_for_connection()
        except BaseException as error:
            raise await self._failure(error) from None

    async def write(self, request: Any) -> None:
        """Send a request; raises what ended the call when it has ended."""
        try:
            await self._rpc.write(request)
        except asyncio.InvalidStateError:
            end = await error_of(self._rpc)
            if end.code() is grpc.StatusCode.OK:
                raise
            raise await self._failure(end) from None
        except BaseException as error:
            raise await self._failure(error) from None

    async def done_writing(self) -> None:
        """Say that no more requests come."""
        await self._rpc.done_writing()


class UnaryCall(_Call):
    """A call with one response: `response = await stub.Method(request)`."""

    def __init__(
        self,
        wiring: Wiring,
        method: str,
        start: Any,
        request: Any,
        options: dict[str, Any],
        streams_requests: bool = False,
    ) -> None:
        timeout = wiring.stream_timeout if streams_requests else wiring.call_timeout
        super().__init__(wiring, method, start, request, options, timeout, streams_requests)

    def __await__(self) -> Generator[Any, None, Any]:
        return self._finish().__await__()

    async def _finish(self) -> Any:
        try:
            response = await self._rpc
        except BaseException as error:
            raise await self._failure(error) from None
        self._end(grpc.StatusCode.OK)
        return response


class StreamCall(_Call):
    """A call with a stream of responses: `async for response in stub.Method(request)`, or `read()`."""

    def __init__(
        self,
        wiring: Wiring,
        method: str,
        start: Any,
        request: Any,
        options: dict[str, Any],
        streams_requests: bool = False,
    ) -> None:
        super().__init__(wiring, method, start, request, options, wiring.stream_timeout, streams_requests)

    def __aiter__(self) -> "StreamCall":
        return self

    async def __anext__(self) -> Any:
        response = await self.read()
        if response is grpc.aio.EOF:
            raise StopAsyncIteration
        return response

    async def read(self) -> Any:
        """Return the next response, or grpc.aio.EOF."""
        try:
            response = await self._rpc.read()
        except BaseException as error:
            raise await self._failure(error) from None
        if response is grpc.aio.EOF:
            self._end(grpc.StatusCode.OK)
        return response
