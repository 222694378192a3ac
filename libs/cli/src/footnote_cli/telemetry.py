"""The command's own span, so that a trace begins at the user."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from footnote.telemetry.v1.telemetry_service_pb2 import TraceSpan
from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_SERVICE = "footnote-cli"


class CommandTrace:
    """Records the spans of one command; exports them by OTLP where the standard variables name an endpoint."""

    def __init__(self) -> None:
        self._memory = InMemorySpanExporter()
        self._provider = TracerProvider(resource=Resource.create({SERVICE_NAME: _SERVICE}))
        self._provider.add_span_processor(SimpleSpanProcessor(self._memory))
        if os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
            # Imported here because it costs a tenth of a second, which a plain command should not pay.
            from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

            self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._root: trace.Span = trace.INVALID_SPAN
        self._tracer = self._provider.get_tracer("footnote_cli")

    @contextmanager
    def root(self, name: str) -> Iterator[None]:
        """Run the body inside the command's root span."""
        with self._tracer.start_as_current_span(name, kind=trace.SpanKind.CLIENT) as span:
            self._root = span
            yield

    @staticmethod
    def headers() -> list[tuple[str, str]]:
        """Return the metadata that makes the server's spans children of the current one."""
        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier)
        return list(carrier.items())

    def spans(self) -> list[TraceSpan]:
        """Return the spans that have ended, and the root as if it ended now."""
        spans = list(self._memory.get_finished_spans())
        if isinstance(self._root, ReadableSpan) and self._root not in spans:
            spans.append(self._root)
        return [_to_proto(span) for span in spans]

    def close(self) -> None:
        """Export the remaining spans."""
        self._provider.shutdown()


def _to_proto(span: ReadableSpan) -> TraceSpan:
    context = span.get_span_context()
    result = TraceSpan(
        span_id=trace.format_span_id(context.span_id) if context else "",
        parent_span_id=trace.format_span_id(span.parent.span_id) if span.parent else "",
        name=span.name,
        service=_SERVICE,
    )
    result.start_time.FromNanoseconds(span.start_time or 0)
    result.end_time.FromNanoseconds(span.end_time or time.time_ns())
    return result
