"""Spans, metrics and the traces that edge reads: one tracer per service, processors shared by all of a process."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from footnote.telemetry.v1 import telemetry_service_pb2 as pb
from footnote.telemetry.v1 import telemetry_service_pb2_grpc as pb_grpc
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_SYSTEM
from opentelemetry import context as otel_context
from opentelemetry import metrics, trace
from opentelemetry.metrics import Counter, Histogram, Observation
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SynchronousMultiSpanProcessor, TracerProvider
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from footnote_kit import names
from footnote_kit.context import current_service
from footnote_kit.errors import FootnoteError, InvalidArgument, NotFound
from footnote_kit.spans import CleaningProcessors
from footnote_kit.trace_buffer import TraceBuffer

MAX_CONTENT = 20_000  # characters of one recorded text
_SCOPE_NAME = "footnote"
_instance = uuid4().hex  # identifies the replica: replicas with the same id would overwrite each other's metrics
_capture = False
_provider_traces = False
ring = TraceBuffer()
_processors = CleaningProcessors(ring)
_tracers: dict[str, Tracer] = {}
_instruments: dict[str, Counter | Histogram] = {}
_observed: dict[str, dict[frozenset[tuple[str, AttributeValue]], Callable[[], float]]] = {}


def _renew_instance() -> None:
    """Give a forked process its own instance id."""
    global _instance
    _instance = uuid4().hex


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_instance)


def processors() -> SynchronousMultiSpanProcessor:
    """Return the span processors that all services share."""
    return _processors


def resource(service: str) -> Resource:
    """Return the OpenTelemetry resource of a service; "" stands for a process with several."""
    name = f"footnote-{service}" if service else "footnote"
    return Resource.create({"service.name": name, "service.instance.id": _instance})


def tracer(service: str | None = None) -> Tracer:
    """Return the tracer of a service, by default of the one whose code is running."""
    name = current_service() if service is None else service
    found = _tracers.get(name)
    if found is None:
        provider = TracerProvider(resource=resource(name), active_span_processor=_processors, shutdown_on_exit=False)
        found = _tracers[name] = provider.get_tracer(_SCOPE_NAME)
    return found


@contextmanager
def span(
    name: str,
    attributes: Mapping[str, AttributeValue] | None = None,
    kind: SpanKind = SpanKind.INTERNAL,
    links: tuple[SpanContext, ...] = (),
) -> Iterator[Span]:
    """Record a block as a span of the current service; the span is current inside the block.

    An exception marks the span as failed. A FootnoteError adds its message and reason; another exception only its
    class, because its text might quote a document. `links` are the contexts of related traces.
    """
    current = tracer().start_span(name, kind=kind, attributes=dict(attributes or {}), links=[Link(c) for c in links])
    before = otel_context.get_current()
    otel_context.attach(trace.set_span_in_context(current))
    try:
        yield current
    except BaseException as error:
        mark_failed(current, error)
        raise
    finally:
        # Not detached by its token, which is valid in one task only: an abandoned stream is closed in another.
        otel_context.attach(before)
        current.end()


@contextmanager
def side_span(name: str, attributes: Mapping[str, AttributeValue] | None = None) -> Iterator[Span]:
    """Record a block as a span of a remote call that is not current inside the block.

    For generators: what their consumer does between two values does not become a part of the span.
    """
    found = tracer().start_span(name, kind=SpanKind.CLIENT, attributes=dict(attributes or {}))
    try:
        yield found
    except BaseException as error:
        mark_failed(found, error)
        raise
    finally:
        found.end()


def in_trace() -> bool:
    """Return whether the running code belongs to a span."""
    return trace.get_current_span().get_span_context().is_valid


def trace_providers(wanted: bool) -> None:
    """Turn the sending of trace ids to providers on or off for this process; it is off by default."""
    global _provider_traces
    _provider_traces = wanted


def provider_traceparent() -> str:
    """Return the current span as a W3C traceparent for a provider; "" unless the deployment enables that."""
    return current_traceparent() if _provider_traces else ""


def capture_content(wanted: bool) -> None:
    """Turn the recording of contents on or off for this process; it is off by default."""
    global _capture
    _capture = wanted


def record_content(attribute: str, text: str) -> None:
    """Record the text of a document, prompt or answer on the current span if the deployment enables that."""
    if _capture:
        trace.get_current_span().set_attribute(attribute, text[:MAX_CONTENT])


def mark_failed(current: Span, error: BaseException) -> None:
    """Set a span's status from an exception: its reason or kind, and a message only if contents are recorded.

    A message is written for the caller and may quote a cell, a name or what a provider's server quotes.
    """
    if isinstance(error, FootnoteError):
        current.set_attribute(names.ERROR_REASON, error.reason)
        current.set_status(Status(StatusCode.ERROR, error.message if _capture else error.reason))
    elif isinstance(error, GeneratorExit):
        return
    else:
        current.set_status(Status(StatusCode.ERROR, type(error).__name__))


def current_trace_id() -> str:
    """Return the trace id of the current span as 32 hexadecimal digits; empty outside a span."""
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else ""


def remote_context(traceparent: str) -> SpanContext | None:
    """Return the span context in a W3C traceparent, for links to it; None when it is invalid."""
    context = TraceContextTextMapPropagator().extract({"traceparent": traceparent})
    found = trace.get_current_span(context).get_span_context()
    return found if found.is_valid else None


def traceparent(current: Span) -> str:
    """Return a span's context as a W3C traceparent; empty for an invalid span."""
    context = current.get_span_context()
    if not context.is_valid:
        return ""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags) & 1:02x}"


def current_traceparent() -> str:
    """Return the current span as a W3C traceparent, to store with a job; empty outside a span."""
    return traceparent(trace.get_current_span())


def untraced() -> tuple[tuple[str, str], ...]:
    """Return metadata that keeps a call untraced: frequent polls would evict all other traces from memory."""
    return (("traceparent", f"00-{uuid4().hex}-{uuid4().hex[:16]}-00"),)  # the last digits mean: not sampled


def counter(name: str) -> Counter:
    """Return the counter registered in `names.METRICS` under this name; KeyError for an unknown name."""
    unit, description = names.METRICS[name]
    found = _instruments.get(name)
    if not isinstance(found, Counter):
        found = _instruments[name] = metrics.get_meter(_SCOPE_NAME).create_counter(name, unit, description)
    return found


def histogram(name: str) -> Histogram:
    """Return the histogram registered in `names.METRICS` under this name; KeyError for an unknown name."""
    unit, description = names.METRICS[name]
    found = _instruments.get(name)
    if not isinstance(found, Histogram):
        found = _instruments[name] = metrics.get_meter(_SCOPE_NAME).create_histogram(name, unit, description)
    return found


def observe(name: str, read: Callable[[], float], attributes: Mapping[str, AttributeValue] | None = None) -> None:
    """Report the value of `read` whenever metrics are collected, on another thread, so `read` must not block.

    Several readers may share a name with different attributes; with equal attributes the later one replaces the
    earlier.
    """
    unit, description = names.METRICS[name]
    readers = _observed.setdefault(name, {})
    if not readers:
        metrics.get_meter(_SCOPE_NAME).create_observable_gauge(name, [lambda _: _observations(name)], unit, description)
    readers[frozenset((attributes or {}).items())] = read


def _observations(name: str) -> list[Observation]:
    return [Observation(read(), dict(attributes)) for attributes, read in list(_observed[name].items())]


SERVICE_NAME = "footnote.telemetry.v1.TelemetryService"


class TelemetryServicer(pb_grpc.TelemetryServiceServicer):
    """Serves traces from the ring buffer of recent spans."""

    async def GetTrace(self, request: pb.GetTraceRequest, context: Any) -> pb.GetTraceResponse:
        """Return the spans of one trace that the caller made; an admin sees those of the whole tenant."""
        try:
            trace_id = int(request.trace_id, 16) if len(request.trace_id) == 32 else 0
        except ValueError:
            trace_id = 0
        if not trace_id:
            raise InvalidArgument.field("trace_id", "must be 32 hexadecimal digits, not all zero")
        scope = request.scope
        sees_all = any(role in (ROLE_ADMIN, ROLE_SYSTEM) for role in scope.roles)
        spans = ring.spans(trace_id, scope.tenant_id, None if sees_all else scope.user_id)
        if not spans:
            raise NotFound(f"Trace {request.trace_id} is not stored", reason="TRACE_NOT_FOUND")
        return pb.GetTraceResponse(spans=[to_proto(span) for span in spans])


def to_proto(span: ReadableSpan) -> pb.TraceSpan:
    """Return a finished span as a protobuf message."""
    context = span.get_span_context()
    message = pb.TraceSpan(
        span_id=f"{context.span_id:016x}" if context else "",
        parent_span_id=f"{span.parent.span_id:016x}" if span.parent else "",
        name=span.name,
        service=str(span.resource.attributes.get("service.name", "")),
        error="" if span.status.is_ok else span.status.description or "failed",
        linked_trace_ids=[f"{link.context.trace_id:032x}" for link in span.links],
    )
    message.start_time.FromNanoseconds(span.start_time or 0)
    message.end_time.FromNanoseconds(span.end_time or 0)
    for key, value in (span.attributes or {}).items():
        message.attributes[key] = list(value) if isinstance(value, (list, tuple)) else value
    return message
