"""Spans without secrets: cleaned before anybody sees them, and only those that somebody does see."""

from opentelemetry.context import Context
from opentelemetry.sdk.trace import Event, ReadableSpan, Span, SpanProcessor, SynchronousMultiSpanProcessor
from opentelemetry.trace import Status

from footnote_kit.redact import redact, redact_all


class CleaningProcessors(SynchronousMultiSpanProcessor):
    """The processors that spans go to at their end, names, attributes, events and status cleaned.

    `cleans_itself` is one that shows spans only after it has cleaned them: of thousands a second hardly one is looked
    at, and cleaning all of them took a tenth of a search.
    """

    def __init__(self, cleans_itself: SpanProcessor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._cleans_itself = cleans_itself

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Tell every processor."""
        self._cleans_itself.on_start(span, parent_context)
        super().on_start(span, parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        """Hand a span on as it was where it held no secret, else a clean copy."""
        self._cleans_itself.on_end(span)
        if self._span_processors:
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
