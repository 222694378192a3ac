"""The one server interceptor: proof, request id, deadline, scope, telemetry and errors for every handler.

A single wrapper instead of a chain keeps a hop cheap. Health and reflection only get bounded requests.
"""

import asyncio
import inspect
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.message import DecodeError
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from footnote_kit import context as call_context
from footnote_kit import names, status, telemetry, transient_errors, validation
from footnote_kit.credential import refused
from footnote_kit.errors import (
    DeadlineExceeded,
    FootnoteError,
    Internal,
    InvalidArgument,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)
from footnote_kit.logs import get_logger
from footnote_kit.refused_calls import REQUEST_ID, REQUEST_ID_KEY, Refusals, bounded
from footnote_kit.trust import Trust, believed

_FOREIGN = "/grpc."
UNTRACED = "/footnote.telemetry."  # reading traces must not evict others from memory
_WATCH = "Watch"
_LONG_SECONDS = 1.0
_NOT_AGAIN = ("grpc-retry-pushback-ms", "-1")
"""Keeps the caller's channel from retrying. A stage that waited in vain for a dependency would wait four times, until
the caller's deadline passes and the reason is lost. An immediate failure is retried, because it may be over by then."""
_CODES = {code.value[0]: code for code in grpc.StatusCode}
_active: Counter[str] = Counter()  # calls being served, by service; read when metrics are collected
_log = get_logger("footnote.rpc")
_propagator = TraceContextTextMapPropagator()
_proven: ContextVar[bytes | None] = ContextVar("footnote_proven", default=None)  # the scope in the caller's proof


class _Call:
    """The state of one call from its first byte to its status."""

    __slots__ = ("_context", "_method", "_service", "_slow_seconds", "_span", "_started")

    def __init__(self, service: str, method: str, context: Any, slow_seconds: float) -> None:
        self._slow_seconds = slow_seconds
        self._service, self._method, self._context = service, method, context
        self._started = time.perf_counter()
        metadata = _texts(context.invocation_metadata())
        call_context.bind_service(service)
        call_context.bind_call()
        given = metadata.get(REQUEST_ID_KEY, "")
        request_id = call_context.bind_request_id(given if REQUEST_ID.fullmatch(given) else "")
        # gRPC reckons with the clock, and ends calls whose time is over itself: 0 means that the clock was put on since
        # the call arrived.
        call_context.bind_deadline(context.time_remaining() or None)
        parent = _propagator.extract(metadata, otel_context.Context())
        if method.startswith(UNTRACED):
            self._span: Span = trace.INVALID_SPAN
        else:
            attributes = {
                names.RPC_SYSTEM: "grpc",
                names.RPC_METHOD: method[1:],
                names.REQUEST_ID: request_id,
            }
            self._span = telemetry.tracer(service).start_span(method[1:], parent, SpanKind.SERVER, attributes)
        # Never detached: this task serves this call only, and a stream's generator may be closed in another context.
        otel_context.attach(trace.set_span_in_context(self._span, parent))
        context.set_trailing_metadata(((REQUEST_ID_KEY, request_id),))
        _active[service] += 1

    def end(self, code: grpc.StatusCode, error: BaseException | None = None) -> None:
        """End the span and count the call."""
        seconds = time.perf_counter() - self._started
        rpc_method = self._method.rpartition("/")[2]
        self._span.set_attribute(names.RPC_STATUS_CODE, code.name)
        if isinstance(error, asyncio.CancelledError):
            self._span.set_attribute(names.CANCELLED, True)
        elif error is not None:
            telemetry.mark_failed(self._span, error)
        self._span.end()
        _active[self._service] -= 1
        telemetry.histogram(names.RPC_SERVER_DURATION).record(
            seconds,
            {names.RPC_METHOD: self._method[1:], names.RPC_STATUS_CODE: code.name},
        )
        # a watch lasts as long as its caller wants
        slow = seconds > self._slow_seconds and not rpc_method.startswith("Watch")
        log, event = (_log.warning, "rpc_slow") if slow else (_log.debug, "rpc_served")
        log(event, method=self._method, code=code.name, ms=round(seconds * 1000, 2))

    async def fail(self, error: BaseException) -> NoReturn:
        """End the call with an exception's status; from a foreign exception the caller learns only the request id."""
        error = _cause(error)
        if not isinstance(error, Exception):
            self.end(grpc.StatusCode.CANCELLED, error)
            raise error
        if isinstance(error, grpc.aio.AbortError):
            self.end(_CODES.get(self._context.code(), grpc.StatusCode.UNKNOWN), error)
            raise error
        known = self._known(error)
        code = getattr(grpc.StatusCode, known.code)
        if known.code == "INTERNAL" and not isinstance(error, FootnoteError):
            _log.error("rpc_failed", method=self._method, exc_info=error)
        else:
            # A missing trace is normal, and services use this call to check that they are trusted.
            quiet = known.code == "NOT_FOUND" and self._method.startswith(UNTRACED)
            log = _log.debug if quiet else _log.info
            log("rpc_refused", method=self._method, code=known.code, reason=known.reason)
        self.end(code, error)
        trailing = ((REQUEST_ID_KEY, call_context.request_id()), *status.trailing_metadata(known))
        if transient_errors.waits_for(known) and time.perf_counter() - self._started > _LONG_SECONDS:
            trailing = (*trailing, _NOT_AGAIN)
        await self._context.abort(code, known.message, trailing)
        raise AssertionError("abort raises")

    def _known(self, error: Exception) -> FootnoteError:
        """Return the error to show."""
        while isinstance(error, ExceptionGroup):  # a TaskGroup wraps the failure of a task
            error = next((one for one in error.exceptions if not isinstance(one, FootnoteError)), error.exceptions[0])
        if isinstance(error, FootnoteError):
            return error
        if isinstance(error, grpc.aio.AioRpcError):
            return status.from_rpc_error(error)
        if isinstance(error, TimeoutError) and call_context.time_remaining() == 0:
            return DeadlineExceeded("The call's deadline passed")
        if (passes := transient_errors.read(error)) is not None:
            return passes
        request_id = call_context.request_id()
        return Internal(f"Internal error; request id {request_id}", metadata={"request_id": request_id})


class _Requests:
    """The requests of a client stream whose first one has already been read and validated."""

    __slots__ = ("_first", "_rest")

    def __init__(self, first: Any, rest: AsyncIterator[Any]) -> None:
        self._first, self._rest = first, rest

    def __aiter__(self) -> "_Requests":
        return self

    async def __anext__(self) -> Any:
        if self._first is None:
            request = _read(await anext(self._rest))
            validation.check(request)
            return request
        first, self._first = self._first, None
        return first


def _read(request: Any) -> Any:
    """Return a request, or raise the error of its bytes."""
    if isinstance(request, FootnoteError):
        raise request
    return request


def _cause(error: BaseException) -> BaseException:
    """Return what ended a handler, an error for a cancellation from inside: grpc.aio sends no status for any."""
    task = asyncio.current_task()
    if not isinstance(error, asyncio.CancelledError) or task is None or task.cancelling():
        return error
    inside = RuntimeError("What the call waited for was cancelled")
    inside.__cause__ = error  # its traceback in the log shows what that was
    return inside


def _texts(metadata: Any) -> dict[str, str]:
    """Return the headers of a call that are text."""
    return {key: value for key, value in metadata or () if isinstance(value, str)}


def _carries_scope(method: str) -> bool:
    """Return whether a method's requests have a scope; True for methods outside this project's contracts."""
    try:
        found = descriptor_pool.Default().FindMethodByName(method[1:].replace("/", "."))
    except KeyError:
        return True
    return "scope" in found.input_type.fields_by_name


class KitInterceptor(grpc.aio.ServerInterceptor):
    """Wraps every handler of one service's server."""

    def __init__(self, service: str, slow_seconds: float = math.inf, max_message_bytes: float = math.inf) -> None:
        self._service = service
        self._max_message_bytes = max_message_bytes
        self._slow_seconds = slow_seconds
        self.admit: Callable[[str, Mapping[str, str]], Awaitable[None]] | None = None
        """See `App.admit`."""
        self.refused: Callable[[str, Exception, Mapping[str, str], str], None] | None = None
        """See `App.refused`."""
        self.refusals = Refusals(service)
        self._wrapped: dict[str, Any] = {}
        self._watches: set[asyncio.Task[Any]] = set()
        self._draining = False
        self._trust: Trust | None = None
        self._public = False
        telemetry.observe(names.RPC_SERVER_ACTIVE, lambda: float(_active[service]), {"footnote.service": service})

    def trust(self, trust: Trust | None) -> None:
        """Set how callers authenticate; None for a public service, which accepts no scope from callers."""
        self._trust, self._public = trust, trust is None

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: grpc.HandlerCallDetails
    ) -> Any:
        """Return the wrapped handler of a method, created once, or a handler that refuses the call.

        grpc.aio looks up the handler when a call's headers have arrived, in the task that serves the call.
        """
        method = handler_call_details.method
        found = self._wrapped.get(method)
        if found is None:
            handler = await continuation(handler_call_details)
            if handler is None:
                return None
            if method.startswith(_FOREIGN):
                found = self._wrapped[method] = bounded(handler)
                return found
            found = self._wrapped[method] = self._wrap(method, handler)
        if method.startswith(_FOREIGN):
            return found
        metadata = handler_call_details.invocation_metadata or ()
        try:
            if self.admit is not None:
                await self.admit(method, _texts(metadata))
            if self._trust is not None:
                # This task runs the handler next, and so finds the proven scope.
                _proven.set(self._trust.admit(method, metadata))
        except BaseException as error:
            cause = _cause(error)
            if not isinstance(cause, Exception):
                raise
            return self._refusing(method, cause, metadata)
        return found

    def _refusing(self, method: str, error: Exception, metadata: Any) -> Any:
        """Return a handler that ends a call with `error` without reading its message.

        A refusal of an unauthenticated or rate-limited call has no span and no log line of its own.

        The handler streams requests, whatever the method's kind: grpc.aio reads a single request before it calls a
        handler, but reads a stream only on demand.
        """

        async def refuse(_: Any, context: Any) -> AsyncIterator[Any]:
            if self.refused is not None:
                self.refused(method, error, _texts(metadata), context.peer())
            if isinstance(error, ResourceExhausted):
                attributes = {names.RPC_METHOD: method[1:], names.RPC_STATUS_CODE: error.code}
                telemetry.histogram(names.RPC_SERVER_DURATION).record(0.0, attributes)
            if isinstance(error, Unauthenticated | ResourceExhausted):
                await self.refusals.refuse(method, error, _texts(metadata), context)
            await _Call(self._service, method, context, self._slow_seconds).fail(error)
            yield

        return grpc.stream_stream_rpc_method_handler(refuse)

    async def _checked(self, method: str, request: Any, context: Any, streams_requests: bool) -> Any:
        """Return the request or the stream of requests after checking the scope; in a stream, the first one has it.

        The first request is read here, so that the handler's own task has the scope even if another task reads the
        stream.
        """
        if self._trust is not None:
            self._trust.recognise(context.auth_context)
        if not streams_requests:
            request = _read(request)
            self._bind_scope(request)
            validation.check(request)
            return request
        rest = aiter(request)
        first = _read(await anext(rest, None))
        if first is None and not _carries_scope(method):
            raise InvalidArgument("The stream ended before its first message")
        if first is None:
            raise Unauthenticated(
                "The stream ended before its first message, which carries the scope", reason="SCOPE_MISSING"
            )
        self._bind_scope(first)
        validation.check(first)
        return _Requests(first, rest)

    def _bind_scope(self, request: Any) -> None:
        """Make the request's scope the current one if it is trusted."""
        if self._public:
            if "scope" in request.DESCRIPTOR.fields_by_name:
                raise refused("A public service accepts no scope from callers")
            return
        scope = believed(request, _proven.get())
        if scope is not None:
            call_context.bind_scope(scope)

    def _wrap(self, method: str, handler: Any) -> Any:
        kind = {
            (False, False): (grpc.unary_unary_rpc_method_handler, self._unary, handler.unary_unary),
            (False, True): (grpc.unary_stream_rpc_method_handler, self._stream, handler.unary_stream),
            (True, False): (grpc.stream_unary_rpc_method_handler, self._unary, handler.stream_unary),
            (True, True): (grpc.stream_stream_rpc_method_handler, self._stream, handler.stream_stream),
        }[bool(handler.request_streaming), bool(handler.response_streaming)]
        make, wrap, behaviour = kind
        return make(
            wrap(method, behaviour, handler.request_streaming),
            self._reading(handler.request_deserializer),
            handler.response_serializer,
        )

    def _reading(self, read: Callable[[bytes], Any] | None) -> Callable[[bytes], Any]:
        """Return a deserializer that turns an invalid request into an error, which the handler raises with details."""

        def parse(data: bytes) -> Any:
            if len(data) > self._max_message_bytes:
                return InvalidArgument(
                    f"The message has {len(data)} bytes, more than the {self._max_message_bytes} allowed",
                    reason="REQUEST_TOO_LARGE",
                    metadata={"max_bytes": str(self._max_message_bytes)},
                )
            try:
                return read(data) if read is not None else data
            except DecodeError:
                return InvalidArgument("The request is no message of this method")

        return parse

    def _unary(self, method: str, behaviour: Any, streams_requests: bool) -> Any:
        async def handle(request: Any, context: Any) -> Any:
            call = _Call(self._service, method, context, self._slow_seconds)
            try:
                response = await behaviour(await self._checked(method, request, context, streams_requests), context)
                if response is None:
                    raise TypeError(f"{method} answered nothing")
            except BaseException as error:
                await call.fail(error)
            call.end(grpc.StatusCode.OK)
            return response

        return handle

    def _stream(self, method: str, behaviour: Any, streams_requests: bool) -> Any:
        if not inspect.isasyncgenfunction(behaviour):
            raise TypeError(f"{method}: write streaming handlers as async generators")

        async def handle(request: Any, context: Any) -> AsyncIterator[Any]:
            call = _Call(self._service, method, context, self._slow_seconds)
            try:
                with self._ended_by_draining(method):
                    request = await self._checked(method, request, context, streams_requests)
                    async with aclosing(behaviour(request, context)) as responses:
                        async for response in responses:
                            yield response
            except BaseException as error:
                await call.fail(error)
            call.end(grpc.StatusCode.OK)

        return handle

    @contextmanager
    def _ended_by_draining(self, method: str) -> Iterator[None]:
        """Turn the cancellation of a watch by `end_watches` into an error that sends the caller to another replica."""
        task = asyncio.current_task()
        if task is None or not method.rpartition("/")[2].startswith(_WATCH):
            yield
            return
        stopping = Unavailable("The service is shutting down; watch again", reason="SHUTTING_DOWN")
        if self._draining:
            raise stopping
        self._watches.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if not self._draining or task in self._watches:
                raise
            task.uncancel()
            raise stopping from None
        finally:
            self._watches.discard(task)

    def end_watches(self) -> None:
        """End the calls that would never end (Watch…) and refuse new ones, so that they do not delay a shutdown."""
        self._draining = True
        for task in list(self._watches):
            self._watches.discard(task)  # distinguishes this cancellation from the caller's
            task.cancel()
