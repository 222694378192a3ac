"""The telemetry service of every stage: edge reads this process's traces from it, and it is never public."""

from typing import Any

from footnote.telemetry.v1 import telemetry_service_pb2 as pb
from footnote.telemetry.v1 import telemetry_service_pb2_grpc as pb_grpc
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_SYSTEM
from opentelemetry.sdk.trace import ReadableSpan

from footnote_kit import telemetry
from footnote_kit.errors import InvalidArgument, NotFound

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
        spans = telemetry.ring.spans(trace_id, scope.tenant_id, None if sees_all else scope.user_id)
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
