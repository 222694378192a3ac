"""Converts audit events and filters between the contract and the database."""

from footnote.edge.v1.audit_pb2 import AuditEvent, ListAuditEventsRequest
from footnote.types.v1.errors_pb2 import ErrorReason
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc.code_pb2 import Code

from footnote_edge.audit.events import Event
from footnote_edge.audit.ports import Filters

_CODES = dict(Code.items())
_REASONS = dict(ErrorReason.items())


def filters(request: ListAuditEventsRequest, tenant_id: str) -> Filters:
    """Return the filters of a request for a tenant's events."""
    return Filters(
        tenant_id,
        start_ms=_ms(request.start_time) if request.HasField("start_time") else None,
        end_ms=_ms(request.end_time) if request.HasField("end_time") else None,
        user_id=request.user_id,
        key_id=request.key_id,
        action=request.action,
        resource=request.resource,
        outcome=request.outcome,
    )


def message(event: Event) -> AuditEvent:
    """Return an event as a message."""
    shown = AuditEvent(
        id=event.id,
        tenant_id=event.principal.tenant_id,
        user_id=event.principal.user_id,
        authentication=event.principal.authentication,
        key_id=event.principal.key_id,
        door=event.call_origin.door,
        address=event.call_origin.address,
        action=event.action,
        resource=event.resource,
        changed_fields=event.changed_fields,
        providers=event.providers,
        outcome=event.outcome,
        code=_CODES.get(event.status, Code.UNKNOWN),
        reason=_REASONS.get(f"ERROR_REASON_{event.reason}", ErrorReason.ERROR_REASON_UNSPECIFIED),
        trace_id=event.trace_id,
        request_id=event.request_id,
        count=event.count,
        mixed=event.mixed,
    )
    shown.create_time.FromMilliseconds(event.time_ms)
    if event.last_ms is not None:
        shown.last_time.FromMilliseconds(event.last_ms)
    return shown


def _ms(moment: Timestamp) -> int:
    """Return a time in milliseconds, rounded up, so that an event in the same millisecond is before it."""
    return moment.seconds * 1000 + -(-moment.nanos // 1_000_000)
