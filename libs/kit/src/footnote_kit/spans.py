"""Spans without secrets: cleaned once, before the ring and every exporter sees them."""

from opentelemetry.sdk.trace import Event, ReadableSpan, SynchronousMultiSpanProcessor
from opentelemetry.trace import Status

from footnote_kit.redact import redact, redact_all


class CleaningProcessors(SynchronousMultiSpanProcessor):
    """The processors that spans go to at their end, names, attributes, events and status cleaned."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def on_end(self, span: ReadableSpan) -> None:
        """Hand a span on as it was where it held no secret, else a clean copy."""
        super().on_end(clean(span))


def clean(span: ReadableSpan) -> ReadableSpan:
    """Return the span, or a copy without secrets."""
    name, attributes = redact(span.name), redact_all(dict(span.attributes or {}))
    description = redact(span.status.description or "")
    events = [
        Event(redact(event.name), redact_all(dict(event.attributes or {})), event.timestamp) for event in span.events
    ]
    same = (
        name == span.name
        and attributes == dict(span.attributes or {})
        and description == (span.status.description or "")
        and all(dict(a.attributes or {}) == dict(b.attributes or {}) for a, b in zip(events, span.events, strict=True))
    )
    if same:
        return span
    return ReadableSpan(
        name=name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=attributes,
        events=events,
        links=span.links,
        kind=span.kind,
        status=Status(span.status.status_code, description or None),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )
