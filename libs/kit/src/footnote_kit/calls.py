"""One call to another stage: its span, its deadline, its proof, and its failure as a FootnoteError."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import grpc
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind

from footnote_kit import context as call_context
from footnote_kit import names, status, telemetry, wall_clock
from footnote_kit.credential import ServiceCredential, is_refusal, proof
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Unavailable
from footnote_kit.interceptor import UNTRACED
from footnote_kit.logs import get_logger
from footnote_kit.refused_calls import REQUEST_ID_KEY
from footnote_kit.status import FinalStatus, error_of

_FOREIGN = "/grpc."
_UNTRACED = (_FOREIGN, UNTRACED)
_log = get_logger("footnote.rpc")


@dataclass(frozen=True, slots=True)
class Wiring:
    """Properties shared by the calls of one channel; timeouts in seconds."""

    peer: str
    call_timeout: float
    stream_timeout: float
    credential: ServiceCredential | None = None


class _Call:
    """The common part of unary and streaming calls. The RPC starts at construction, as in grpc.aio.

    A signed call with streamed requests is an exception: its proof needs the scope in the first request and precedes
    it. That RPC starts when the first request is there and the call is awaited.
    """

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
        self._left = False
        self._ended = True  # until there is a span to end
        remaining = call_context.time_remaining()
        if remaining == 0:
            raise DeadlineExceeded("The call's deadline passed")
        wanted = options.pop("timeout", None) or default_timeout
        self._deadline = time.monotonic() + (wanted if remaining is None else min(wanted, remaining))
        self._metadata = list(options.pop("metadata", None) or ())
        if request_id := call_context.request_id():
            self._metadata.append((REQUEST_ID_KEY, request_id))
        self._span = self._start_span(self._metadata)
        self._start, self._options = start, options
        self._streams_requests = streams_requests
        self._rpc: Any = None
        self._request = None if streams_requests else request  # for a second launch
        self._signed_at = 0.0  # offset of the wall clock
        self._ending: FinalStatus | None = None
        self._launched = asyncio.Event()
        self._beginning: asyncio.Task[None] | None = None
        self._callbacks: list[Callable[[Any], Any]] = []
        if streams_requests and request is not None:
            request = self._watched(request)
        self._source = request if streams_requests else None
        self._ended = False
        if not streams_requests:
            self._launch(request, request)
        elif not self._signs:
            self._launch(None, request)

    @property
    def _signs(self) -> bool:
        return self._wiring.credential is not None and not self._method.startswith(_FOREIGN)

    def _launch(self, first: Any, requests: Any) -> None:
        """Start the RPC; `first` is the request with the scope, `requests` what grpc.aio is to send."""
        timeout, metadata = self._deadline - time.monotonic(), self._metadata
        if self._signs:
            assert self._wiring.credential is not None
            try:
                self._signed_at = wall_clock.offset()
                header = proof(self._wiring.credential, self._wiring.peer, self._method, first, timeout)
            except BaseException as error:
                self._end(grpc.StatusCode.CANCELLED, error)
                raise
            metadata = [*metadata, header]
        arguments = (requests,) if requests is not None or not self._streams_requests else ()
        self._rpc = self._start(*arguments, timeout=timeout, metadata=metadata, **self._options)
        self._ending = FinalStatus(self._rpc) if self._streams_requests else None
        for callback in self._callbacks:
            self.add_done_callback(callback)
        self._launched.set()

    def _launched_again(self, error: BaseException) -> bool:
        """Start the RPC once more, if the clock was set between the signing of its proof and the check of it.

        The stage refused it before any handler ran. Streamed requests are consumed, so that such a call fails.
        """
        request, self._request = self._request, None
        if request is None or not isinstance(error, grpc.aio.AioRpcError) or not self._clock_was_set():
            return False
        if again := is_refusal(status.from_rpc_error(error, self._wiring.peer)):
            self._launch(request, request)
        return again

    def _clock_was_set(self) -> bool:
        return self._signs and wall_clock.was_set_since(self._signed_at)

    async def _begun(self) -> Any:
        """Return the RPC; if it has not started, wait for the first request."""
        if self._rpc is None:
            if self._ended and self._beginning is None:
                raise asyncio.CancelledError
            if self._source is None:  # the first request comes by `write`
                try:
                    async with asyncio.timeout(self._deadline - time.monotonic()):
                        await self._launched.wait()
                except TimeoutError:
                    error = DeadlineExceeded("The call's deadline passed before its first request")
                    self._end(grpc.StatusCode.DEADLINE_EXCEEDED, error)
                    raise error from None
            else:
                if self._beginning is None:
                    self._beginning = asyncio.ensure_future(self._begin(self._source))
                await self._beginning
        return self._rpc

    async def _begin(self, source: AsyncIterator[Any]) -> None:
        try:
            first = await anext(source, None)
        except BaseException as error:
            self._end(grpc.StatusCode.CANCELLED, error)
            raise
        self._launch(first, _chained(first, source))

    def _start_span(self, metadata: list[tuple[str, str | bytes]]) -> Span | None:
        """Start the client span and add its context to the metadata; return None where the caller handles tracing."""
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
        """Return the exception to raise for one from grpc.aio, and end the span."""
        if isinstance(error, asyncio.CancelledError) and self._broke_off():
            late = self.time_remaining() == 0
            code = grpc.StatusCode.DEADLINE_EXCEEDED if late else grpc.StatusCode.UNAVAILABLE
            details = "The deadline passed" if late else "The connection ended while the request was sent"
            error = grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), details)
        elif isinstance(error, grpc.aio.AioRpcError):
            error = await self._ending.of(error) if self._ending is not None else error
        shown = error
        if isinstance(error, asyncio.CancelledError) and self._source_error is not None:
            shown = self._source_error
        elif isinstance(error, grpc.aio.AioRpcError):
            shown = self._of_ours(status.from_rpc_error(error, self._wiring.peer))
        code = error.code() if isinstance(error, grpc.aio.AioRpcError) else grpc.StatusCode.CANCELLED
        self._end(code, shown)
        return shown

    def _broke_off(self) -> bool:
        """Return whether grpc.aio cancelled the call by itself.

        grpc.aio cancels a call whose end it learns of while it still writes requests. It then raises the same
        exception as for a cancellation by the caller.
        """
        task = asyncio.current_task()
        asked = self._left or (task is not None and task.cancelling() > 0)
        return not asked and self._source_error is None and self._rpc is not None and bool(self._rpc.cancelled())

    def _of_ours(self, error: FootnoteError) -> FootnoteError:
        """Return the error to show: a stage that distrusts this service is not the caller's fault, and may recover."""
        if not (is_refusal(error) and call_context.current_service()):
            return error
        peer = self._wiring.peer
        if self._clock_was_set():
            return Unavailable(f"The clock was set during a call of the {peer} service", metadata={"stage": peer})
        _log.error("service_not_believed", stage=peer, method=self._method, message=error.message)
        return Unavailable(
            f"The {peer} service does not trust this one: all need the same service token", metadata={"stage": peer}
        )

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
        # A stream abandoned before its end, or a call never awaited: cancel at the peer now instead of waiting until
        # the garbage collector reaches grpc.aio's objects.
        if not self._ended:
            with suppress(RuntimeError):  # the event loop is closed, and so is the connection
                self.cancel()
            self._end(grpc.StatusCode.CANCELLED, asyncio.CancelledError())

    def cancel(self) -> bool:
        """Cancel the call, here and at the peer."""
        self._left = True
        if self._rpc is not None:
            cancelled: bool = self._rpc.cancel()
            return cancelled
        if self._ended:
            return False
        if self._beginning is not None:
            self._beginning.cancel()
        self._end(grpc.StatusCode.CANCELLED, asyncio.CancelledError())
        return True

    def cancelled(self) -> bool:
        """Return whether the call was cancelled."""
        return self._ended if self._rpc is None else bool(self._rpc.cancelled())

    def done(self) -> bool:
        """Return whether the call has ended."""
        return self._ended if self._rpc is None else bool(self._rpc.done())

    def time_remaining(self) -> float:
        """Return the seconds left until the deadline; grpc.aio's own figure follows the wall clock."""
        return max(0.0, self._deadline - time.monotonic())

    def add_done_callback(self, callback: Any) -> None:
        """Call `callback` with this call when it has ended."""
        if self._rpc is None:
            self._callbacks.append(callback)
        else:
            self._rpc.add_done_callback(lambda _: callback(self))

    async def initial_metadata(self) -> Any:
        """Return the server's initial metadata."""
        return await (await self._begun()).initial_metadata()

    async def trailing_metadata(self) -> Any:
        """Return the server's trailing metadata, after the end."""
        return await (await self._begun()).trailing_metadata()

    async def code(self) -> grpc.StatusCode:
        """Return the status code, after the end."""
        code: grpc.StatusCode = await (await self._begun()).code()
        return code

    async def details(self) -> str:
        """Return the status message, after the end."""
        details: str = await (await self._begun()).details()
        return details

    async def wait_for_connection(self) -> None:
        """Wait until the call has reached the peer."""
        rpc = await self._begun()
        try:
            await rpc.wait_for_connection()
        except BaseException as error:
            raise await self._failure(error) from None

    async def write(self, request: Any) -> None:
        """Send a request; raise the call's error when it has ended."""
        if self._rpc is None and not self._ended:
            self._launch(request, None)
        rpc = await self._begun()
        try:
            await rpc.write(request)
        except asyncio.InvalidStateError:
            end = await error_of(rpc)
            if end.code() is grpc.StatusCode.OK:
                raise
            raise await self._failure(end) from None
        except BaseException as error:
            raise await self._failure(error) from None

    async def done_writing(self) -> None:
        """End the stream of requests."""
        if self._rpc is None and not self._ended:
            self._launch(None, None)
        await (await self._begun()).done_writing()


async def _chained(first: Any, rest: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Yield the first request, unless it is None, and then the others."""
    if first is not None:
        yield first
        async for request in rest:
            yield request


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
        while True:
            rpc = await self._begun()
            try:
                response = await rpc
                break
            except BaseException as error:
                if not self._launched_again(error):
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
        while True:
            rpc = await self._begun()
            try:
                response = await rpc.read()
                break
            except BaseException as error:
                if not self._launched_again(error):
                    raise await self._failure(error) from None
        self._request = None
        if response is grpc.aio.EOF:
            self._end(grpc.StatusCode.OK)
        return response
